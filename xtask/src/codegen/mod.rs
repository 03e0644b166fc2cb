//! `cargo xtask codegen`: committed code that something else determines.
//!
//! - [`protos`]: structs and tables of the wire format, from `proto/`;
//! - [`lexer`]: the lexer of ONNX text, from the patterns of its tokens;
//! - [`grammars`]: the grammars of editors, from the same patterns and the classes of words;
//! - [`schemas`]: signatures of operators and versions of releases, from the installed `onnx` package;
//! - [`kernels`]: what the installed `onnxruntime` package runs;
//! - [`examples`]: the list of the operators' examples, from their folder;
//! - [`bodies`], [`documents`]: the lists of the function bodies in files and of the operator sets, from their folders;
//! - [`map`]: the code map, from the documentation of the modules.
//!
//! `--check` writes nothing and fails if a file differs from what would be written; it also holds `proto/` against
//! the package. What needs the package is omitted, loudly, where no Python has it.

mod bodies;
mod documents;
mod examples;
mod grammars;
mod kernels;
mod lexer;
mod map;
mod protos;
mod schemas;

use crate::dirs;
use anyhow::{Context, Result, bail};
use std::path::PathBuf;
use std::process::Command;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Fail if a generated file is not up to date, instead of writing it
    #[arg(long)]
    check: bool,
}

/// A generated file: its path from the root of the project, what it should hold, and what that is made from.
struct Output {
    path: &'static str,
    content: String,
    source: &'static str,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let root = dirs::root();
    let compiled = protos::compile(&root)?;
    settle(&protos::outputs(&compiled)?, args)?;
    settle(&[lexer::output()?], args)?;
    settle(&grammars::outputs()?, args)?;
    settle(&[examples::output()?, bodies::output()?, documents::output()?], args)?;
    settle(&[map::output()?], args)?;
    let Some(python) = python_with_onnx() else {
        let not = if args.check { "NOT CHECKED" } else { "NOT GENERATED" };
        println!(
            "{not}: what the onnx package says of the format and the operators (no Python that imports it)"
        );
        return Ok(());
    };
    settle(&schemas::outputs(&root, &python)?, args)?;
    match kernels::output(&root, &python)? {
        Some(output) => settle(&[output], args)?,
        None if args.check => println!("NOT CHECKED: what onnxruntime runs (no Python that imports it)"),
        None => println!("NOT GENERATED: what onnxruntime runs (no Python that imports it)"),
    }
    if args.check { protos::compare_with_package(&root, &python, &compiled) } else { Ok(()) }
}

/// Writes the files that are not as they should be, or fails because of one.
fn settle(outputs: &[Output], args: &Args) -> Result<()> {
    for Output { path, content, source } in outputs {
        let file = dirs::root().join(path);
        if std::fs::read(&file).is_ok_and(|old| old == content.as_bytes()) {
            continue;
        }
        if args.check {
            bail!("{path} is not what {source} says: run `cargo xtask codegen`");
        }
        std::fs::create_dir_all(file.parent().context("outputs lie in folders")?)?;
        std::fs::write(&file, content).with_context(|| file.display().to_string())?;
        println!("wrote {path}");
    }
    Ok(())
}

/// The project's virtual environment, or `python3`, whichever can import `onnx`.
fn python_with_onnx() -> Option<PathBuf> {
    [dirs::root().join("target/venv/bin/python"), PathBuf::from("python3")].into_iter().find(|python| {
        Command::new(python).args(["-c", "import onnx"]).output().is_ok_and(|output| output.status.success())
    })
}
