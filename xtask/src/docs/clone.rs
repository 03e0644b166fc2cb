//! `cargo xtask docs --clone`: a clone of the project, in which every command of README and the tour runs, those of the installation first.
//!
//! Changes that are not committed are not in the clone. Compiling takes most of the time; the next call compiles only changes.

use crate::{dirs, process};
use anyhow::{Context as _, Result, ensure};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

const PAGES: &[&str] = &["README.md", "docs/tour.md"];
/// The command that runs this one.
const NOT_RUN: &str = "cargo xtask test";

/// Runs the commands that have one of these words; without any, all.
pub(super) fn run(words: &[String]) -> Result<()> {
    let folder = dirs::root().join("target/clone");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    let project = folder.join("project");
    process::run(Command::new("git").args(["clone", "--quiet"]).arg(dirs::root()).arg(&project))?;
    process::run(Command::new("python3").args(["-m", "venv"]).arg(folder.join("venv")))?;
    let mut times = Vec::new();
    for page in PAGES {
        let text =
            fs::read_to_string(project.join(page)).with_context(|| format!("no {page} in the clone"))?;
        let mut commands = commands_of(&text);
        // Shells install the programs that the others need.
        commands.sort_by_key(|command| !command.is_shell);
        for Shown { line, status, .. } in commands {
            if line == NOT_RUN || !(words.is_empty() || words.iter().any(|word| line.contains(word))) {
                println!("not run: {line}");
                continue;
            }
            let start = Instant::now();
            println!("$ {line}");
            let code = shell(&line, &folder, &project)?;
            ensure!(code == status, "`{line}` ends with {code}, not with {status}");
            times.push((line, start.elapsed()));
        }
        // Readers of one page may not have read the others.
        for tidy in [&["reset", "--quiet", "--hard", "HEAD"][..], &["clean", "--quiet", "-fd"]] {
            process::run(Command::new("git").args(tidy).current_dir(&project))?;
        }
    }
    println!("\n{} commands in {}", times.len(), project.display());
    for (line, time) in &times {
        println!("{:>8.1} s  {line}", time.as_secs_f64());
    }
    println!("{:>8.1} s", times.iter().map(|(_, time)| *time).sum::<Duration>().as_secs_f64());
    Ok(())
}

/// A command of a page.
#[derive(PartialEq, Eq, Debug)]
struct Shown {
    line: String,
    status: i32,
    /// Whether the page has it without its output.
    is_shell: bool,
}

/// The commands of a page: lines of blocks of the language `sh`, and those after `$` in blocks of the language `console`.
fn commands_of(text: &str) -> Vec<Shown> {
    let mut language = None;
    let mut commands = Vec::new();
    for line in text.lines() {
        if let Some(fence) = line.strip_prefix("```") {
            language = if language.is_none() { Some(fence) } else { None };
            continue;
        }
        let (line, is_shell) = match (language, line.strip_prefix("$ ")) {
            (Some("sh"), None) if !line.is_empty() => (line, true),
            (Some("console"), Some(line)) => (line, false),
            _ => continue,
        };
        let status = line.split_once("# exit status ").and_then(|(_, status)| status.trim().parse().ok());
        commands.push(Shown { line: line.to_owned(), status: status.unwrap_or(0), is_shell });
    }
    commands
}

/// Runs a line in the clone, with what was installed for it on the path.
fn shell(line: &str, folder: &Path, project: &Path) -> Result<i32> {
    let mut paths = vec![folder.join("bin"), folder.join("venv/bin")];
    paths.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
    let mut shell = Command::new("sh");
    shell.args(["-c", line]).current_dir(project).env("PATH", std::env::join_paths(paths)?);
    shell.env("CARGO_INSTALL_ROOT", folder).env("CARGO_TARGET_DIR", dirs::root().join("target/clone-build"));
    // The clone has a toolchain and settings of its own.
    shell.env_remove("RUSTUP_TOOLCHAIN").env("GIT_PAGER", "cat");
    for who in ["AUTHOR", "COMMITTER"] {
        shell.env(format!("GIT_{who}_NAME"), "ada").env(format!("GIT_{who}_EMAIL"), "ada@example.com");
    }
    Ok(shell.status()?.code().unwrap_or(-1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_of_pages_are_found() {
        let page = "```sh\na b   # c\n```\n```\nx\n```\n```console\n$ y # exit status 2\nout\n$ z\n```\n```rust\n$ no\n```\n";
        let shown = |line: &str, status, is_shell| Shown { line: line.to_owned(), status, is_shell };
        assert_eq!(
            commands_of(page),
            [shown("a b   # c", 0, true), shown("y # exit status 2", 2, false), shown("z", 0, false)]
        );
        let readme = fs::read_to_string(dirs::root().join("README.md")).unwrap();
        let commands = commands_of(&readme);
        assert!(commands.len() > 10 && commands.iter().any(|command| command.line == NOT_RUN));
    }
}
