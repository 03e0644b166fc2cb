//! tree-sitter: its parser is made from `grammar.js`, committed, and compared with the parser of the project.

use super::node::copy;
use super::{Args, NotHere, Tools, all, differs, folder, is_on_path, script};
use crate::{dirs, doctor, process};
use anyhow::{Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The generator. Its packages for Node and Python fetch a program from a site; that of cargo is compiled.
const VERSION: &str = "0.27.1";

/// The files that it generates, beside headers.
const GENERATED: &[&str] = &["src/parser.c", "src/grammar.json", "src/node-types.json"];
const HEADERS: &[&str] = &["src/tree_sitter/alloc.h", "src/tree_sitter/array.h", "src/tree_sitter/parser.h"];

pub(super) fn run(tools: &mut Tools, args: &Args) -> Result<()> {
    let committed = dirs::root().join("editors/tree-sitter");
    tools.left_out.extend(generated(&committed, args)?);
    let library = folder().join("onnxtxt.so");
    let mut compiler = Command::new("cc");
    compiler
        .args(["-O1", "-shared", "-fPIC", "-Wall", "-Werror", "-Wno-unused"])
        .arg("-I")
        .arg(committed.join("src"));
    compiler.arg(committed.join("src/parser.c")).arg(committed.join("src/scanner.c")).arg("-o").arg(&library);
    if !is_on_path("cc") {
        return Err(NotHere(doctor::hint("C++ compiler")).into());
    }
    process::run(&mut compiler)?;
    let mut compare = Command::new(tools.python()?);
    compare.arg(script("grammars/tree_sitter_classes.py")).arg(library).arg(tools.classes()?);
    all(vec![compare])
}

/// Generates the parser in a copy, runs its tests, and compares or accepts it. Returns why it does not, if so.
fn generated(committed: &Path, args: &Args) -> Result<Option<String>> {
    let left_out =
        |why: &str| Ok(Some(format!("tree-sitter: whether its parser is that of grammar.js ({why})")));
    if !is_on_path("node") {
        return left_out(&doctor::hint("Node"));
    }
    let generator = generator()?;
    let made = folder().join("tree-sitter");
    if made.exists() {
        fs::remove_dir_all(&made)?;
    }
    copy(committed, &made)?;
    process::run(Command::new(&generator).arg("generate").current_dir(&made))?;
    // The compiled parser is kept here, not in the folder of the user.
    let mut tests = Command::new(&generator);
    tests.arg("test").current_dir(&made).env("TREE_SITTER_LIBDIR", folder().join("parsers"));
    process::run(&mut tests)?;
    for file in GENERATED.iter().chain(HEADERS) {
        if !differs(&committed.join(file), &made.join(file))? {
            continue;
        }
        if !args.accept {
            bail!(
                "editors/tree-sitter/{file} is not what grammar.js says: `cargo xtask editors --accept tree-sitter`"
            );
        }
        fs::create_dir_all(committed.join("src/tree_sitter"))?;
        fs::copy(made.join(file), committed.join(file))?;
        println!("wrote editors/tree-sitter/{file}");
    }
    Ok(None)
}

fn folder_of_generator() -> PathBuf {
    dirs::root().join("target/tree-sitter")
}

fn installed() -> PathBuf {
    folder_of_generator().join("bin/tree-sitter")
}

fn is_current(program: &Path) -> bool {
    process::output(Command::new(program).arg("--version")).is_ok_and(|version| version.contains(VERSION))
}

/// The generator, compiled when it is needed first.
fn generator() -> Result<PathBuf> {
    let program = installed();
    if !is_current(&program) {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args([
            "install",
            "tree-sitter-cli",
            "--version",
            VERSION,
            "--locked",
            "--no-default-features",
            "--debug",
        ]);
        process::run(
            cargo.args(["--force", "--root"]).arg(folder_of_generator()).current_dir(std::env::temp_dir()),
        )?;
    }
    Ok(program)
}
