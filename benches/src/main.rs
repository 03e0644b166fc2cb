//! How fast the project is, beside the Python package in the same run: `cargo xtask bench`.
//!
//! Each case is a job that both can do. Its runs alternate, ours then the peer's, so that whatever else the machine does
//! meanwhile slows both; what counts is the ratio of their times, pair by pair. The peer is `peer.py`: the package's C++
//! core where it has one for the job, on the same bytes, one thread on both sides. Freeing the result does not count.
//!
//! Whole models and single operators are run beside other runtimes: `cargo xtask bench models` (`models`).
//!
//! Nothing here is a test: no figure fails anything.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "the figures are what it is for")]

mod cases;
mod clock;
mod corpus;
mod drawn;
mod generate;
mod models;
mod pair;
mod peer;
mod program;
mod roofline;
mod table;

use anyhow::{Context as _, Result, ensure};
use cases::{CASES, Case};
use clap::{Parser, Subcommand};
use models::{Contest, ModelArgs, serve};
use pair::Bench;
use peer::Peer;
use roofline::RooflineArgs;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Parser)]
#[command(name = "bench", about = "How fast the project is, beside the Python package")]
struct Args {
    #[command(subcommand)]
    what: Option<What>,
    /// Cases: those whose name has one of these; without any, all
    names: Vec<String>,
    /// Pairs of runs of each case; slow ones make do with three
    #[arg(long, global = true, default_value_t = 9, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// One JSON object a line, with the times of each run in seconds
    #[arg(long, global = true)]
    json: bool,
    /// Name the cases and do nothing
    #[arg(long)]
    list: bool,
    /// The interpreter of the environment that has the Python package
    #[arg(long, global = true, value_name = "FILE")]
    python: Option<PathBuf>,
    /// Where `cargo xtask corpus` puts models
    #[arg(long, global = true, value_name = "FOLDER", default_value = "target/corpus")]
    corpus: PathBuf,
    /// Where generated models go
    #[arg(long, global = true, value_name = "FOLDER", default_value = "target/bench")]
    folder: PathBuf,
    /// Where the programs of benches/peers are built
    #[arg(long, global = true, value_name = "FOLDER")]
    peers: Option<PathBuf>,
}

#[derive(Subcommand)]
enum What {
    /// Whole models and single operators beside other runtimes
    Models(ModelArgs),
    /// Name the kernels that are slower fused than their nodes are one by one
    Fusion(ModelArgs),
    /// Time that kernels lose to the peaks of the processor, by class, on models that a seed draws
    Roofline(RooflineArgs),
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let mut words = std::env::args_os().skip(1);
    match words.next() {
        Some(word) if word == program::MEASURE => return program::measure(words),
        Some(word) if word == serve::SERVE => return serve::serve(),
        Some(_) | None => {}
    }
    let args = Args::parse();
    if let Some(what) = args.what {
        let Args { python, corpus, folder, peers, runs, json, .. } = args;
        let contest = |python, options| Contest { python, corpus, folder, peers, runs, json, options };
        let python = || python.context("models need a Python environment (`cargo xtask venv`)");
        return match what {
            What::Models(options) => contest(python()?, options).run(),
            What::Fusion(options) => contest(python()?, options).fusion(),
            What::Roofline(options) => {
                let python = if options.all { python()? } else { PathBuf::new() };
                roofline::run(&contest(python, ModelArgs::all()), &options)
            }
        };
    }
    let is_wanted = |case: &&Case| {
        args.names.is_empty() || args.names.iter().any(|name| case.name.contains(name.as_str()))
    };
    let cases: Vec<&Case> = CASES.iter().filter(is_wanted).collect();
    ensure!(!cases.is_empty(), "no case has such a name; --list names them");
    if args.list {
        cases.iter().for_each(|case| println!("{:<18} {}", case.name, case.what));
        return Ok(());
    }
    std::fs::create_dir_all(&args.folder)
        .with_context(|| format!("cannot make {}", args.folder.display()))?;
    let peer = args.python.as_deref().map(Peer::of_python).transpose()?;
    if peer.is_none() {
        eprintln!("{NO_PEER}");
    }
    let mut bench =
        Bench { peer, python: args.python, corpus: args.corpus, folder: args.folder, runs: args.runs };
    let mut rows = Vec::new();
    for case in cases {
        eprint!("{:<18} {} …", case.name, case.what);
        let row = (case.run)(&mut bench).with_context(|| format!("case {}", case.name))?;
        eprintln!(" {}", row.note());
        if args.json {
            println!("{}", table::json(case, &row));
        }
        rows.push((case, row));
    }
    if !args.json {
        print!("{}", table::table(&rows));
    }
    if bench.peer.is_none() {
        eprintln!("{NO_PEER}");
    }
    Ok(())
}

const NO_PEER: &str = "\
*** NO PEER: a Python environment is missing (`cargo xtask venv` makes it), so these are our figures alone.
*** They say little: a figure counts as a ratio against a peer that was measured in the same run.";

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn arguments_are_consistent() {
        Args::command().debug_assert();
    }
}
