//! The next step after wrong arguments, which is shown after their message.

use crate::cmd::cli::Cli;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory as _};
use onnxtxt::Form;
use std::ffi::OsString;
use std::path::Path;

/// Names that other tools have for a command.
const OTHER_NAMES: &[(&str, &str)] = &[
    ("cat", "print"),
    ("dump", "print"),
    ("show", "print"),
    ("text", "print"),
    ("view", "draw"),
    ("plot", "draw"),
    ("visualize", "draw"),
    ("inspect", "info"),
    ("summary", "info"),
    ("format", "fmt"),
    ("lint", "check"),
    ("validate", "check"),
    ("shape", "infer"),
    ("shapes", "infer"),
    ("execute", "run"),
    ("exec", "run"),
    ("profile", "bench"),
    ("time", "bench"),
    ("opt", "simplify"),
    ("optimize", "simplify"),
    ("downgrade", "set-opset"),
    ("upgrade", "set-opset"),
    ("split", "extract"),
    ("join", "concat"),
    ("bisect", "reduce"),
    ("anonymize", "repro"),
];

/// The step after arguments that are not understood.
pub(crate) fn after(error: &clap::Error, words: &[OsString]) -> Option<String> {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => None,
        ErrorKind::InvalidSubcommand => {
            let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else {
                return None;
            };
            let path = Path::new(word);
            Some(match path.exists() || Form::of_name(path).is_some() {
                true => format!(
                    "a command comes before the file: `onnxtxt info {word}` shows what is in it, `onnxtxt` alone lists the commands"
                ),
                false => match OTHER_NAMES.iter().find(|(other, _)| other == word) {
                    Some((_, name)) => format!("the command is `onnxtxt {name}`; `onnxtxt` alone lists all"),
                    None => "`onnxtxt` alone lists the commands".to_owned(),
                },
            })
        }
        _ => Some(format!("for example: {}", first_example(&command_of(words)?)?)),
    }
}

/// The command that the arguments name, with the commands below it.
fn command_of(words: &[OsString]) -> Option<Command> {
    let mut command = Cli::command();
    let mut is_found = false;
    for word in words.iter().skip(1) {
        if let Some(below) = word.to_str().and_then(|word| command.find_subcommand(word)) {
            command = below.clone();
            is_found = true;
        }
    }
    is_found.then_some(command)
}

/// The first example of a command's help: the most common use.
fn first_example(command: &Command) -> Option<String> {
    let help = command.get_after_help()?.to_string();
    let line = help.lines().find(|line| line.starts_with("  onnxtxt"))?.trim_start();
    Some(line.split("  ").next().unwrap_or(line).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser as _;

    /// A command and all below it, with the words that name it.
    fn all(command: &Command, name: &str, found: &mut Vec<(String, Command)>) {
        for below in command.get_subcommands().filter(|below| below.get_name() != "help") {
            let name = format!("{name} {}", below.get_name());
            all(below, &name, found);
            found.push((name, below.clone()));
        }
    }

    /// The words of a line of a shell up to a pipe or a redirection, without settings of variables before the program.
    fn words(line: &str) -> Vec<String> {
        let mut words = vec![String::new()];
        let mut quote = None;
        for char in line.trim().chars() {
            match (quote, char) {
                (Some(open), _) if char == open => quote = None,
                (None, '\'' | '"') => quote = Some(char),
                (None, ' ') => words.push(String::new()),
                _ => words.last_mut().expect("there is a first word").push(char),
            }
        }
        let end = words.iter().position(|word| ["|", "<", ">"].contains(&word.as_str()));
        words.truncate(end.unwrap_or(words.len()));
        words.retain(|word| !word.is_empty());
        let start = words.iter().position(|word| word == "onnxtxt").unwrap_or(0);
        words.split_off(start)
    }

    /// A line without what is said about it, two spaces after it.
    fn without_comment(line: &str) -> &str {
        let mut is_quoted = false;
        let mut previous = 'x';
        for (at, char) in line.char_indices() {
            is_quoted ^= char == '\'' || char == '"';
            if !is_quoted && char == ' ' && previous == ' ' {
                return &line[..at];
            }
            previous = char;
        }
        line
    }

    #[test]
    fn examples_of_every_command_are_valid_and_the_first_is_of_the_command() {
        let mut commands = Vec::new();
        all(&Cli::command(), "onnxtxt", &mut commands);
        commands.push(("onnxtxt".to_owned(), Cli::command()));
        assert!(commands.len() > 44, "{}", commands.len());
        for (name, command) in commands {
            let Some(help) = command.get_after_help().map(ToString::to_string) else {
                // Of `onnxtxt git install`, the command above has an example.
                assert!(name.split(' ').count() > 2, "{name} has no examples");
                continue;
            };
            let first = first_example(&command).unwrap_or_else(|| panic!("{name} has no examples"));
            assert!(first == name || first.starts_with(&format!("{name} ")), "{name}: {first}");
            for line in help.lines().filter(|line| line.starts_with("  ") && line.contains("onnxtxt")) {
                let line = without_comment(line.trim_start());
                if let Err(error) = Cli::try_parse_from(words(line)) {
                    panic!("{name}: {line}: {error}");
                }
            }
        }
    }

    #[test]
    fn other_names_are_of_commands_and_are_none() {
        let cli = Cli::command();
        for (other, name) in OTHER_NAMES {
            assert!(
                cli.find_subcommand(other).is_none() && cli.find_subcommand(name).is_some(),
                "{other} {name}"
            );
        }
    }

    #[test]
    fn wrong_arguments_are_followed_by_an_example() {
        let step = |line: &str| {
            let words: Vec<OsString> = words(line).into_iter().map(OsString::from).collect();
            let Err(error) = Cli::try_parse_from(&words) else { panic!("{line} is valid") };
            after(&error, &words)
        };
        for (line, expected) in [
            ("onnxtxt run", Some("onnxtxt run model.onnx -i x=x.npy")),
            ("onnxtxt -q convert model.onnx", Some("onnxtxt convert model.onnx -o model.onnxtxt")),
            ("onnxtxt weights export", Some("onnxtxt weights export model.onnx -o w.npz")),
            ("onnxtxt frobnicate", Some("`onnxtxt` alone")),
            ("onnxtxt show m.onnx", Some("`onnxtxt print`")),
            ("onnxtxt model.onnx", Some("`onnxtxt info model.onnx`")),
            ("onnxtxt run --help", None),
            ("onnxtxt --version", None),
        ] {
            let found = step(line);
            match expected {
                Some(expected) => {
                    assert!(found.as_deref().is_some_and(|step| step.contains(expected)), "{found:?}")
                }
                None => assert_eq!(found, None),
            }
        }
    }
}
