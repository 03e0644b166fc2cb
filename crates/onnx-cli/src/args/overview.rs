//! The output of `onnxtxt` without arguments: the purpose of the program, on one screen.

use crate::cmd::GROUPS;

/// The default width of terminals.
const MAX_COLUMNS: usize = 80;
/// Where the names of commands begin.
const INDENT: usize = 12;

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Cli;
    use clap::CommandFactory as _;

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
