//! `cargo xtask bench rebuilds`: how long a developer waits after a change.
//!
//! Each case changes a line, builds what answers (the tests of the room, the program), and restores the file. Compiling is timed, not
//! running: tests of one room take seconds. What was not compiled before is compiled first, which takes minutes.

use crate::{dirs, process};
use anyhow::{Context as _, Result, ensure};
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

/// A change: what is changed, the file, a text in it and its replacement, and the packages whose build answers.
struct Case {
    name: &'static str,
    file: &'static str,
    old: &'static str,
    new: &'static str,
    /// Arguments of cargo.
    answers: &'static [&'static [&'static str]],
}

const PROGRAM: &[&str] = &["build", "--package", "onnx-cli"];

const CASES: &[Case] = &[
    Case {
        name: "kernel",
        file: "crates/onnx-loops/src/reduce/softmax.rs",
        old: "at += TOGETHER;",
        new: "at += std::hint::black_box(TOGETHER);",
        answers: &[&["test", "--package", "onnx-loops", "--lib", "--no-run"], PROGRAM],
    },
    Case {
        name: "operator",
        file: "crates/onnx-ops/src/operators/activation/meaning.rs",
        old: "Expr::number(cx.out()?.elem, 0)",
        new: "Expr::number(cx.out()?.elem, 1)",
        answers: &[&["test", "--package", "onnx-ops", "--lib", "--no-run"], PROGRAM],
    },
    Case {
        name: "command",
        file: "crates/onnx-cli/src/cmd/lower.rs",
        old: "format!(\"{object}\\n\")",
        new: "format!(\"{object}\\n\\n\")",
        answers: &[PROGRAM, &["test", "--package", "onnx-cli", "--test", "cli", "--no-run"]],
    },
    Case {
        name: "message",
        file: "crates/onnx-ir/src/verify/graph.rs",
        old: "use of undefined value",
        new: "use of an undefined value",
        answers: &[
            &["test", "--package", "onnx-ir", "--lib", "--no-run"],
            &["test", "--package", "suite", "--test", "suite", "--no-run"],
        ],
    },
];

/// A changed file, which is restored at the end.
struct Changed {
    path: PathBuf,
    text: String,
}

impl Changed {
    fn new(case: &Case) -> Result<Changed> {
        let path = dirs::root().join(case.file);
        let text = fs::read_to_string(&path).with_context(|| case.file.to_owned())?;
        ensure!(text.contains(case.old), "{} has no `{}`", case.file, case.old);
        fs::write(&path, text.replacen(case.old, case.new, 1))?;
        Ok(Changed { path, text })
    }
}

impl Drop for Changed {
    fn drop(&mut self) {
        if let Err(error) = fs::write(&self.path, &self.text) {
            eprintln!("{} cannot be restored: {error}", self.path.display());
        }
    }
}

/// Measures the changes whose name has one of these words; without any, all.
pub(super) fn run(names: &[String]) -> Result<()> {
    let is_named = |case: &&Case| names.is_empty() || names.iter().any(|name| case.name.contains(&**name));
    let mut table = Vec::new();
    for case in CASES.iter().filter(is_named) {
        for answer in case.answers {
            build(answer)?;
            let changed = Changed::new(case)?;
            let (clock, processor) = timed(|| build(answer))?;
            drop(changed);
            let processor = processor.map_or("?".to_owned(), |seconds| format!("{seconds:.1}"));
            table.push(format!("{:<9} {clock:>7.1} {processor:>10}  cargo {}", case.name, answer.join(" ")));
        }
    }
    println!("change    seconds  processor  answer");
    table.iter().for_each(|line| println!("{line}"));
    Ok(())
}

fn build(arguments: &[&str]) -> Result<()> {
    process::run(Command::new(env!("CARGO")).current_dir(dirs::root()).args(arguments).arg("--quiet"))
}

/// Seconds by the clock, and of processors where the system says.
fn timed(run: impl FnOnce() -> Result<()>) -> Result<(f64, Option<f64>)> {
    let (start, before) = (Instant::now(), of_children());
    run()?;
    let clock = start.elapsed().as_secs_f64();
    Ok((clock, before.zip(of_children()).map(|(before, after)| after - before)))
}

/// Processor time of the programs that have ended: fields 16 and 17 of `/proc/self/stat`, in hundredths of a second on Linux.
fn of_children() -> Option<f64> {
    let text = fs::read_to_string("/proc/self/stat").ok()?;
    ticks_of_children(&text).map(|ticks| ticks as f64 / 100.0)
}

fn ticks_of_children(stat: &str) -> Option<u64> {
    // The name of the program is in brackets, and may have blanks.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace().skip(13);
    let mut next = || fields.next()?.parse::<u64>().ok();
    Some(next()? + next()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_change_is_possible() {
        for case in CASES {
            let text = fs::read_to_string(dirs::root().join(case.file)).expect(case.file);
            assert!(text.contains(case.old), "{} has no `{}`", case.file, case.old);
            assert_ne!(case.old, case.new);
        }
    }

    #[test]
    fn times_of_children_are_read() {
        let stat = "7 (a ) b) S 1 7 7 0 -1 4194304 1 2 3 4 10 20 300 40 20 0 1 0 5";
        assert_eq!(ticks_of_children(stat), Some(340));
    }
}
