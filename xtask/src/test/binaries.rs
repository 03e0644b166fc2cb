//! The test programs of the workspace, on all cores: most have one long test, so that cargo, which runs one program after the other,
//! leaves the other cores idle.
//!
//! The output of a program is shown as a whole when it ends. Programs that measure the whole machine or process time run alone,
//! at the end.

use crate::{dirs, process};
use anyhow::{Context as _, Result, bail};
use serde_json::Value;
use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::{Read as _, Seek as _};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Programs whose tests take longest: they begin first.
const LONG: &[&str] = &["operators", "memory", "cli", "execution", "scaling", "rewrites", "texts"];
/// Programs that compare times by the clock; `scaling` counts the processor time of its process.
const ALONE: &[&str] = &["hostile", "operator_sets", "bench"];

/// For one program; the longest takes two minutes on two cores.
const LIMIT: Duration = Duration::from_secs(15 * 60);

struct Program {
    name: String,
    path: PathBuf,
    /// Where its package is: cargo runs tests there.
    folder: PathBuf,
}

struct Done {
    name: String,
    is_passed: bool,
    passed: usize,
    failed: usize,
    took: Duration,
    failures: String,
}

/// The targets of `--quick`: unit tests of all crates, and the golden files. The Python module has none, and does not link without Python.
const QUICK: &[&str] = &["--exclude", "onnxtxt-python", "--lib", "--test", "suite", "--test", "values"];

/// Builds and runs the unit tests and the golden files, without what measures times.
pub(super) fn quick(env: &[(&str, OsString)]) -> Result<()> {
    let mut programs = build(QUICK)?;
    programs.retain(|program| !ALONE.contains(&program.name.as_str()));
    programs.sort_by_key(|program| program.name != "suite");
    let mut done = on(cores(), programs, env);
    summary(&mut done);
    passed(done, false)
}

/// Builds and runs all tests, those in documentation too.
pub(super) fn run(env: &[(&str, OsString)]) -> Result<()> {
    let mut programs = build(&[])?;
    let rank = |program: &Program| LONG.iter().position(|name| *name == program.name).unwrap_or(LONG.len());
    programs.sort_by_key(rank);
    let (alone, together): (Vec<_>, Vec<_>) =
        programs.into_iter().partition(|program| ALONE.contains(&program.name.as_str()));
    let mut done = on(cores(), together, env);
    done.extend(on(1, alone, env));
    summary(&mut done);
    let mut doc = Command::new(env!("CARGO"));
    doc.current_dir(dirs::root()).args(["test", "--workspace", "--doc"]).envs(env.iter().cloned());
    let is_doc_wrong = process::run(&mut doc).is_err();
    passed(done, is_doc_wrong)
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Fails with the names of what failed.
fn passed(done: Vec<Done>, is_doc_wrong: bool) -> Result<()> {
    let failed: Vec<Done> = done.into_iter().filter(|done| !done.is_passed).collect();
    let names = failed.iter().map(|done| done.name.as_str());
    let names: Vec<&str> = names.chain(is_doc_wrong.then_some("documentation")).collect();
    if names.is_empty() {
        return Ok(());
    }
    let details: String = failed.iter().map(|done| format!("\n{}: {}", done.name, done.failures)).collect();
    bail!("tests fail in {}\n{details}", names.join(", "))
}

/// Builds test programs: all, or those that the arguments select.
fn build(targets: &[&str]) -> Result<Vec<Program>> {
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(dirs::root()).args([
        "test",
        "--workspace",
        "--no-run",
        "--message-format=json-render-diagnostics",
    ]);
    command.args(targets);
    let messages = process::output(&mut command)?;
    let mut programs = Vec::new();
    for line in messages.lines() {
        let Ok(message) = serde_json::from_str::<Value>(line) else { continue };
        let (Some(path), true) = (message["executable"].as_str(), message["profile"]["test"] == true) else {
            continue;
        };
        let manifest = message["manifest_path"].as_str().map(PathBuf::from);
        let folder = manifest.and_then(|path| path.parent().map(PathBuf::from));
        programs.push(Program {
            name: message["target"]["name"].as_str().context("a target has a name")?.to_owned(),
            path: PathBuf::from(path),
            folder: folder.context("a package has a folder")?,
        });
    }
    if programs.is_empty() { bail!("cargo names no test programs") } else { Ok(programs) }
}

/// Runs programs, so many at a time.
fn on(cores: usize, programs: Vec<Program>, env: &[(&str, OsString)]) -> Vec<Done> {
    let waiting = Mutex::new(VecDeque::from(programs));
    let done = Mutex::new(Vec::new());
    let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                while let Some(program) = next() {
                    let start = Instant::now();
                    let output = one(&program, env);
                    let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
                    done.push(told(program, output, start.elapsed()));
                }
            });
        }
    });
    done.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Runs one program: whether it passed, and what it printed. It is stopped at the limit, so that a test that hangs is named.
fn one(program: &Program, env: &[(&str, OsString)]) -> Result<(bool, String)> {
    let mut printed = tempfile::tempfile()?;
    let mut child = Command::new(&program.path)
        .current_dir(&program.folder)
        .env("CARGO_MANIFEST_DIR", &program.folder)
        .envs(env.iter().cloned())
        .stdin(Stdio::null())
        .stdout(printed.try_clone()?)
        .stderr(printed.try_clone()?)
        .spawn()?;
    let status = process::wait_within(&mut child, LIMIT)?;
    let mut text = Vec::new();
    printed.rewind()?;
    printed.read_to_end(&mut text)?;
    let mut text = String::from_utf8_lossy(&text).into_owned();
    if status.is_none() {
        text += &format!("\nstopped after {} s: a test that is named above has no result\n", LIMIT.as_secs());
    }
    Ok((status.is_some_and(|status| status.success()), text))
}

/// Prints what a program said: everything if it failed, its last lines otherwise.
fn told(program: Program, output: Result<(bool, String)>, took: Duration) -> Done {
    let (is_passed, text) =
        output.unwrap_or_else(|error| (false, format!("cannot run {}: {error:#}", program.path.display())));
    let (passed, failed) = counts(&text);
    let word = if is_passed { "passed" } else { "FAILED" };
    println!("{word} {} ({passed} tests, {:.1} s)", program.name, took.as_secs_f32());
    if !is_passed {
        println!("{text}");
    }
    let failures = if is_passed { String::new() } else { failures(&text).to_owned() };
    Done { name: program.name, is_passed, passed, failed, took, failures }
}

/// The part of a program's output that describes its failures, or its end. It is repeated in the summary, since records of CI
/// often keep nothing but the end.
fn failures(text: &str) -> &str {
    const MAX_BYTES: usize = 6000;
    match text.find("\nfailures:\n") {
        Some(at) => &text[at..text.floor_char_boundary(at + MAX_BYTES)],
        None => &text[text.ceil_char_boundary(text.len().saturating_sub(MAX_BYTES))..],
    }
}

/// Tests that passed and failed, as the lines `test result:` say.
fn counts(text: &str) -> (usize, usize) {
    let number = |line: &str, word: &str| {
        let mut words = line.split(' ').collect::<Vec<_>>();
        words.retain(|word| !word.is_empty());
        let at = words.iter().position(|other| other.trim_end_matches(';') == word)?;
        words.get(at.checked_sub(1)?)?.parse::<usize>().ok()
    };
    let results = text.lines().filter(|line| line.starts_with("test result:"));
    results.fold((0, 0), |(passed, failed), line| {
        (passed + number(line, "passed").unwrap_or(0), failed + number(line, "failed").unwrap_or(0))
    })
}

fn summary(done: &mut [Done]) {
    done.sort_by_key(|done| std::cmp::Reverse(done.took));
    println!("\nslowest:");
    for one in done.iter().take(10) {
        println!("  {:<24} {:>7.1} s", one.name, one.took.as_secs_f32());
    }
    let passed: usize = done.iter().map(|done| done.passed).sum();
    let failed: usize = done.iter().map(|done| done.failed).sum();
    println!("{passed} passed, {failed} failed");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_repeated() {
        let text = "test a ... FAILED\n\nfailures:\n\n---- a stdout ----\nwhy\n";
        assert_eq!(failures(text), "\nfailures:\n\n---- a stdout ----\nwhy\n");
        assert_eq!(failures("signal 9"), "signal 9");
        assert_eq!(failures(&"é".repeat(4000)).len(), 6000);
    }

    #[test]
    fn results_are_counted() {
        let text = "test a ... ok\ntest result: ok. 12 passed; 1 failed; 0 ignored\n\ntest result: ok. 3 passed; 0 failed";
        assert_eq!(counts(text), (15, 1));
        assert_eq!(counts("no tests"), (0, 0));
    }
}
