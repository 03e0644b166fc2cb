//! The state of one run: where and in which format findings are printed, and their number.

pub(crate) mod findings;
mod next_step;
pub(crate) mod panics;
pub(crate) mod progress;
pub(crate) mod watch;

use crate::args::global::{Color, Format, Global};
use crate::output;
use crate::output::numbers::count;
use crate::read_files::Unreadable;
use anstream::{AutoStream, ColorChoice};
use onnx_ir::diag::{Diagnostic, Place, Severity, code};
use onnx_text::render::{RenderOptions, Sarif, SourceKind, SourceText, github, human, json, short};
use onnx_text::visible;
use onnxtxt::broken_rules;
use std::collections::HashSet;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::Path;

/// The outcome of a run that completed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Status {
    /// No findings.
    Clean,
    /// Findings: exit code 1.
    Findings,
    /// A file could not be read, which has been reported: exit code 2.
    Unread,
}

impl Status {
    /// Findings if there are any.
    pub(crate) fn of(is_clean: bool) -> Status {
        if is_clean { Status::Clean } else { Status::Findings }
    }

    /// The worse of two.
    pub(crate) fn and(self, other: Status) -> Status {
        match (self, other) {
            (Status::Unread, _) | (_, Status::Unread) => Status::Unread,
            (Status::Clean, Status::Clean) => Status::Clean,
            (Status::Findings, _) | (_, Status::Findings) => Status::Findings,
        }
    }
}

/// Ends a command whose problems have been reported.
#[derive(Debug)]
pub(crate) struct Reported(pub(crate) Status);

impl std::fmt::Display for Reported {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("problems have been reported")
    }
}

impl std::error::Error for Reported {}

/// One run of the program.
pub(crate) struct Session {
    format: Format,
    style: RenderOptions,
    color: Color,
    quiet: bool,
    verbose: bool,
    sarif: Sarif,
    /// The files whose tolerated errors have been mentioned.
    tolerated: HashSet<String>,
    /// Whether findings are the result of the command and go to stdout.
    is_result: bool,
    /// The error that occurred when findings were written to stdout.
    broken: Option<anyhow::Error>,
    /// Number of errors so far.
    pub(crate) errors: usize,
    /// Number of warnings so far.
    pub(crate) warnings: usize,
}

/// Line width of findings outside of a terminal.
const DEFAULT_WIDTH: usize = 120;

impl Session {
    pub(crate) fn new(global: &Global) -> Session {
        let choice = match global.color {
            Color::Always => ColorChoice::Always,
            Color::Never => ColorChoice::Never,
            Color::Auto => AutoStream::choice(&io::stderr()),
        };
        choice.write_global();
        let width = terminal_size::terminal_size_of(io::stderr()).map(|(width, _)| usize::from(width.0));
        Session {
            format: global.format,
            style: RenderOptions {
                color: choice != ColorChoice::Never,
                width: width.unwrap_or(DEFAULT_WIDTH),
            },
            color: global.color,
            quiet: global.quiet,
            verbose: global.verbose > 0,
            sarif: Sarif::default(),
            tolerated: HashSet::new(),
            is_result: false,
            broken: None,
            errors: 0,
            warnings: 0,
        }
    }

    /// Makes findings the result of the command: they go to stdout from now on.
    pub(crate) fn findings_are_the_result(&mut self) {
        self.is_result = true;
        let is_colored = self.colors_data();
        let width = terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| usize::from(width.0));
        self.style = RenderOptions { color: is_colored, width: width.unwrap_or(DEFAULT_WIDTH) };
    }

    /// Whether results are printed as JSON.
    pub(crate) fn wants_json(&self) -> bool {
        self.format == Format::Json
    }

    /// The format of results and findings.
    pub(crate) fn format(&self) -> Format {
        self.format
    }

    /// Whether details are printed.
    pub(crate) fn is_verbose(&self) -> bool {
        self.verbose
    }

    /// Whether only findings are printed.
    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Whether results are printed as annotations of a GitHub workflow.
    pub(crate) fn wants_github(&self) -> bool {
        self.format == Format::Github
    }

    /// Whether findings are for people, so that frequent ones are counted instead of listed.
    pub(crate) fn counts_many(&self) -> bool {
        !self.verbose && !matches!(self.format, Format::Json | Format::Sarif)
    }

    /// Prints one of many findings of a kind about one source, on one line.
    pub(crate) fn report_many(&mut self, source: &SourceText<'_>, diagnostic: &Diagnostic, count: usize) {
        match diagnostic.severity {
            Severity::Error => self.errors += count,
            Severity::Warning => self.warnings += count,
        }
        let line = match self.format {
            Format::Github => github(diagnostic, source),
            Format::Human
            | Format::Short
            | Format::Json
            | Format::Sarif
            | Format::Markdown
            | Format::Html => short(diagnostic, source),
        };
        self.show(&(line + "\n"));
    }

    /// Prints findings about one source.
    pub(crate) fn report(&mut self, source: &SourceText<'_>, diagnostics: &[Diagnostic]) {
        let mut out = String::new();
        for diagnostic in diagnostics {
            debug_assert!(
                diagnostic.severity <= diagnostic.code.severity,
                "{} is an error, not a warning",
                diagnostic.code.id
            );
            match diagnostic.severity {
                Severity::Error => self.errors += 1,
                Severity::Warning => self.warnings += 1,
            }
            match self.format {
                Format::Human | Format::Markdown | Format::Html => {
                    out += &(human(diagnostic, source, self.style) + "\n")
                }
                Format::Short => out += &(short(diagnostic, source) + "\n"),
                Format::Json => out += &(json(diagnostic, source) + "\n"),
                Format::Github => out += &(github(diagnostic, source) + "\n"),
                Format::Sarif => self.sarif.add(diagnostic, source),
            }
            if out.len() > 1 << 16 {
                self.show(&out);
                out.clear();
            }
        }
        self.show(&out);
    }

    /// Reports that a file cannot be read.
    pub(crate) fn unread(&mut self, path: &Path, error: &anyhow::Error) {
        let unreadable = error.downcast_ref::<Unreadable>();
        let file =
            unreadable.map_or_else(|| path.display().to_string(), |unreadable| unreadable.file.clone());
        let mut found = Diagnostic::new(&code::FILE_UNREADABLE, Place::Nowhere, format!("{error:#}"));
        found.help = next_step::after_error(error);
        self.report(&SourceText::new(&file, "", SourceKind::Binary), &[found]);
    }

    /// Handles an error that ends a command: an unreadable file becomes a finding in machine-readable formats.
    pub(crate) fn ended_by(&mut self, error: anyhow::Error) -> anyhow::Result<Status> {
        if let Some(Reported(status)) = error.downcast_ref() {
            return Ok(*status);
        }
        if self.format == Format::Human || error.downcast_ref::<Unreadable>().is_none() {
            return Err(error);
        }
        self.unread(Path::new(""), &error);
        Ok(Status::Unread)
    }

    /// Writes findings.
    fn show(&mut self, text: &str) {
        if !self.is_result {
            self.say(text);
        } else if self.broken.is_none() && !text.is_empty() {
            self.broken = output::to_stdout(|out| out.write_all(text.as_bytes())).err();
        }
    }

    /// Prints a note for people.
    pub(crate) fn note(&self, text: &str) {
        if self.format == Format::Human && !self.quiet {
            self.say(&format!("{}: {}\n", self.paint("36", "note"), visible(text)));
        }
    }

    /// Notes once for each file that a command continues in spite of these errors.
    pub(crate) fn tolerated(&mut self, file: &str, errors: &[Diagnostic]) {
        if errors.is_empty() || self.format != Format::Human || self.quiet {
            return;
        }
        if self.tolerated.insert(file.to_owned()) {
            let rules = broken_rules(errors);
            let text = format!(
                "{file} breaks rules, but its meaning is clear: {rules}; `onnxtxt check` shows where"
            );
            self.say(&format!("{}: {}\n", self.paint("33", "warning"), visible(&text)));
        }
    }

    /// Prints a note in verbose mode.
    pub(crate) fn detail(&self, text: &str) {
        if self.verbose {
            self.note(text);
        }
    }

    /// Prints the number of findings on one line.
    pub(crate) fn summary(&self, files: usize) {
        if self.quiet {
            return;
        }
        let found: Vec<String> = [(self.errors, "error"), (self.warnings, "warning")]
            .into_iter()
            .filter(|(number, _)| *number > 0)
            .map(|(number, word)| count(number, word))
            .collect();
        let found = if found.is_empty() { "no findings".to_owned() } else { found.join(", ") };
        self.say(&format!("{found} in {}\n", count(files, "file")));
    }

    /// Prints the error that ends the program, and the next step.
    pub(crate) fn error(&self, error: &anyhow::Error) {
        let text = format!("{error:#}");
        self.say(&format!("{}: {}\n", self.paint("1;31", "error"), visible(&text)));
        if let Some(step) = next_step::after_error(error) {
            self.say(&format!("{}: {}\n", self.paint("36", "help"), visible(&step)));
        }
    }

    /// Ends the run: writes formats that are written as a whole. An error: findings could not be written.
    pub(crate) fn finish(&mut self) -> anyhow::Result<()> {
        if self.format == Format::Sarif {
            let document = std::mem::take(&mut self.sarif).finish(env!("CARGO_PKG_VERSION"));
            self.show(&document);
        }
        self.broken.take().map_or(Ok(()), Err)
    }

    /// Whether progress is shown.
    pub(crate) fn is_watched(&self) -> bool {
        self.format == Format::Human && !self.quiet && io::stderr().is_terminal()
    }

    /// Whether output on stdout may be colored.
    pub(crate) fn colors_data(&self) -> bool {
        match self.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => AutoStream::choice(&io::stdout()) != ColorChoice::Never,
        }
    }

    /// A text in a color of the terminal.
    pub(crate) fn paint(&self, code: &str, text: &str) -> String {
        if self.style.color { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    /// A closed stderr is not a reason to stop.
    fn say(&self, text: &str) {
        _ = to_stderr(text);
    }
}

/// Writes to stderr; the global color choice applies.
pub(crate) fn to_stderr(text: &str) -> io::Result<()> {
    let mut err = anstream::stderr().lock();
    err.write_all(text.as_bytes())?;
    err.flush()
}
