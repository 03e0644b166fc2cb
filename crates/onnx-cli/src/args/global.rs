//! The options of every command.

use clap::{ArgAction, Args, ValueEnum};

/// Options of every command.
#[derive(Args)]
pub(crate) struct Global {
    /// Output format of findings; `json` also for the results of commands that have a JSON form
    #[arg(long, global = true, value_enum, value_name = "FORM", default_value = "human")]
    #[arg(help_heading = "Global options")]
    pub(crate) format: Format,
    /// When to use colors; auto checks the terminal and NO_COLOR
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value = "auto")]
    #[arg(help_heading = "Global options")]
    pub(crate) color: Color,
    /// Print findings only: no notes, no summary, no progress
    #[arg(short, long, global = true, conflicts_with = "verbose", help_heading = "Global options")]
    pub(crate) quiet: bool,
    /// Print more about what is done
    #[arg(short, long, global = true, action = ArgAction::Count, help_heading = "Global options")]
    pub(crate) verbose: u8,
}

/// Output format of findings.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Format {
    /// With the source lines
    Human,
    /// `file:line:column: error[E0203]: message`
    Short,
    /// One JSON object per line
    Json,
    /// One SARIF 2.1.0 document
    Sarif,
    /// Annotations for a GitHub workflow
    Github,
    /// Markdown: `diff` only
    #[value(hide = true)]
    Markdown,
    /// HTML page: `diff` only
    #[value(hide = true)]
    Html,
}

/// When to use colors.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Color {
    Auto,
    Always,
    Never,
}
