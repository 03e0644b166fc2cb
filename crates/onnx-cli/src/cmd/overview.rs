//! The commands by what they are for: the output of `onnxtxt` without arguments, on one screen, and the list in `onnxtxt --help`.

use crate::cmd::GROUPS;
use clap::Command;
use std::fmt::Write as _;

/// The default width of terminals.
const MAX_COLUMNS: usize = 80;
/// Where the names of commands begin.
const INDENT: usize = 12;
/// The longest name of a command.
const NAME_COLUMNS: usize = 12;

/// The commands in their groups, examples, and where help is.
pub(crate) fn overview() -> String {
    let mut text = "\
ONNX models as text: look at them, edit them and write them back byte for byte,
check, run, test and train them. Every command reads binary models and texts.

"
    .to_owned();
    for (group, commands) in GROUPS {
        let mut line = format!("  {group:<width$}", width = INDENT - 3);
        for command in *commands {
            if line.len() + 1 + command.len() > MAX_COLUMNS {
                text += &format!("{line}\n");
                line = " ".repeat(INDENT - 1);
            }
            line += &format!(" {}", command.replace('_', "-"));
        }
        text += &format!("{line}\n");
    }
    text + "
Examples:
  onnxtxt info model.onnx      what is in it, on one screen
  onnxtxt check model.onnx     everything that is wrong with it, with the lines
  onnxtxt edit model.onnx      change it as text, in your editor

Options and examples: onnxtxt COMMAND --help; all commands: onnxtxt --help
"
}

/// The layout of `onnxtxt --help`: the program's own is one list of all commands.
pub(crate) fn help_template(command: &Command) -> String {
    let (header, literal) = (command.get_styles().get_header(), command.get_styles().get_literal());
    let about = |name: &str| {
        let about = command.find_subcommand(name).and_then(Command::get_about);
        about.map(ToString::to_string).unwrap_or_default()
    };
    let mut text = "{before-help}{about-with-newline}\n{usage-heading} {usage}\n".to_owned();
    for (group, commands) in GROUPS {
        let (first, rest) = group.split_at(1);
        _ = write!(text, "\n{header}{}{rest}:{header:#}\n", first.to_uppercase());
        for name in *commands {
            let name = name.replace('_', "-");
            _ = writeln!(text, "  {literal}{name:<NAME_COLUMNS$}{literal:#}  {}", about(&name));
        }
    }
    _ = write!(text, "\n{header}Options:{header:#}\n{{options}}{{after-help}}");
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cmd::cli::{self, Cli};
    use clap::CommandFactory as _;

    #[test]
    fn help_has_every_command_under_its_group() {
        for mut help in
            [cli::command().render_help().to_string(), cli::command().render_long_help().to_string()]
        {
            help.retain(|c| c != '\r');
            for line in help.lines() {
                assert!(line.chars().count() <= 100, "{line}");
            }
            for (group, commands) in GROUPS {
                let heading = format!("\n{}{}:\n", group[..1].to_uppercase(), &group[1..]);
                let (_, rest) = help.split_once(&heading).unwrap_or_else(|| panic!("{heading} in {help}"));
                let shown = rest.lines().take_while(|line| !line.is_empty());
                let shown: Vec<&str> = shown.filter_map(|line| line.split_whitespace().next()).collect();
                let names: Vec<String> = commands.iter().map(|name| name.replace('_', "-")).collect();
                assert_eq!(shown, names);
            }
            assert!(
                help.contains("\nOptions:\n")
                    && help.contains("--format <FORM>")
                    && help.contains("\nExamples:\n")
            );
        }
    }

    #[test]
    fn one_screen_has_every_command_once() {
        let text = overview();
        assert!(text.lines().count() <= 20, "{text}");
        for line in text.lines() {
            assert!(line.chars().count() <= MAX_COLUMNS, "{line}");
        }
        let groups = text.split("\n\n").nth(1).unwrap_or_default();
        let rest = groups.lines().filter_map(|line| line.get(INDENT - 1..));
        let mut shown: Vec<&str> = rest.flat_map(str::split_whitespace).collect();
        shown.sort_unstable();
        let command = Cli::command();
        let mut commands: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
        commands.sort_unstable();
        assert_eq!(shown, commands);
    }
}
