//! `cargo xtask editors`: what editors get from the project, in programs that others wrote.
//!
//! - **grammars**: TextMate, highlight.js, Pygments and Vim color every text of the project and of the corpus like the lexer;
//! - **tree-sitter**: its parser is the one of the grammar, accepts what the parser accepts, and colors like the lexer;
//! - **protocol**: a client of the makers of the protocol asks the language server everything;
//! - **vscode**: the extension compiles, passes its tests and is packed; with `--host`, it is looked at in a real editor;
//! - **neovim**: a terminal with Neovim shows findings, hints, hover, a fix, a rename and completions.
//!
//! Packages of Node are installed into `target/editors` from lock files, those of Python into an environment, and the generator of
//! tree-sitter with cargo. What cannot run is listed at the end.

mod host;
mod node;
mod tree_sitter;

use crate::venv::{self, Env};
use crate::{bench, dirs, process};
use anyhow::{Context as _, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

#[derive(clap::Args, Default)]
pub(crate) struct Args {
    /// The program `onnxtxt`, instead of one that is compiled first
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    /// The classes of tokens as `token_classes` of the package `conformance` writes them, instead of compiling it first
    #[arg(long, value_name = "FILE")]
    classes: Option<PathBuf>,
    /// Write the parser that tree-sitter generates, instead of comparing it
    #[arg(long)]
    accept: bool,
    /// Look at the extension in a real editor, too: its server, and its workbench in a headless browser
    #[arg(long)]
    host: bool,
    /// These parts alone: grammars, tree-sitter, protocol, vscode, neovim
    parts: Vec<String>,
}

/// Where everything is installed and made.
fn folder() -> PathBuf {
    dirs::root().join("target/editors")
}

type Part = (&'static str, fn(&mut Tools, &Args) -> Result<()>);

const PARTS: &[Part] = &[
    ("grammars", grammars),
    ("tree-sitter", tree_sitter::run),
    ("protocol", protocol),
    ("vscode", vscode),
    ("neovim", neovim),
];

/// A part that the machine does not allow.
#[derive(Debug)]
struct NotHere(String);

impl std::fmt::Display for NotHere {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NotHere {}

/// Programs and files that the parts need, each made when it is needed first.
#[derive(Default)]
struct Tools {
    program: Option<PathBuf>,
    classes: Option<PathBuf>,
    /// Parts of parts that the machine does not allow.
    left_out: Vec<String>,
}

/// Builds the program and the writer of classes with the features that tests have, which are compiled already where these have run.
fn build() -> Result<()> {
    cargo(&["build", "--workspace", "--bin", "onnxtxt", "--example", "token_classes"])
}

impl Tools {
    fn program(&mut self) -> Result<PathBuf> {
        if self.program.is_none() {
            build()?;
            self.program = Some(bench::built("onnxtxt", "dev")?);
        }
        self.program.clone().context("it has been built")
    }

    /// The texts with the classes of their tokens.
    fn classes(&mut self) -> Result<PathBuf> {
        if let Some(classes) = &self.classes {
            return Ok(classes.clone());
        }
        let path = folder().join("classes.jsonl");
        fs::create_dir_all(folder())?;
        build()?;
        let mut command = Command::new(bench::built("examples/token_classes", "dev")?);
        process::run(command.current_dir(dirs::root()).stdout(Stdio::from(fs::File::create(&path)?)))?;
        self.classes = Some(path.clone());
        Ok(path)
    }

    /// An interpreter with editors and what compares grammars.
    fn python(&self) -> Result<PathBuf> {
        venv::ensure(Env::Editors)
    }

    fn neovim(&self) -> Result<PathBuf> {
        let packaged = self.python()?.with_file_name("nvim");
        Ok(std::env::var_os("NVIM").map_or(packaged, PathBuf::from))
    }
}

pub(crate) fn run(args: &Args) -> Result<()> {
    parts(args)?;
    Ok(())
}

/// All parts, as a step of `cargo xtask test`. Returns what was left out: without `everything`, also an editor
/// of which the installation takes minutes.
pub(crate) fn check(everything: bool) -> Result<Vec<String>> {
    let mut left_out = parts(&Args { host: everything, ..Args::default() })?;
    if !everything {
        left_out.push(
            "vscode: the extension in a real editor (--all, or `cargo xtask editors vscode --host`)"
                .to_owned(),
        );
    }
    Ok(left_out)
}

/// Runs the parts; lists and returns what was left out.
fn parts(args: &Args) -> Result<Vec<String>> {
    if let Some(unknown) = args.parts.iter().find(|part| PARTS.iter().all(|(name, _)| name != part)) {
        let names: Vec<&str> = PARTS.iter().map(|(name, _)| *name).collect();
        bail!("unknown part `{unknown}`: expected one of {}", names.join(", "));
    }
    // The parts run in folders of their own.
    let absolute = |path: &Option<PathBuf>| path.as_ref().map(std::path::absolute).transpose();
    let mut tools =
        Tools { program: absolute(&args.program)?, classes: absolute(&args.classes)?, left_out: Vec::new() };
    let (mut failed, mut missing) = (Vec::new(), Vec::new());
    for (name, part) in PARTS {
        if !args.parts.is_empty() && !args.parts.iter().any(|wanted| wanted == name) {
            continue;
        }
        println!("\n=== {name}");
        match part(&mut tools, args) {
            Ok(()) => {}
            Err(error) => match error.downcast_ref::<NotHere>() {
                Some(NotHere(why)) => missing.push(format!("{name}: {why}")),
                None => {
                    println!("FAILED: {name}: {error:#}");
                    failed.push(*name);
                }
            },
        }
    }
    missing.append(&mut tools.left_out);
    for line in &missing {
        println!("NOT CHECKED: {line}");
    }
    if failed.is_empty() { Ok(missing) } else { bail!("failed: {}", failed.join(", ")) }
}

fn cargo(args: &[&str]) -> Result<()> {
    process::run(Command::new(env!("CARGO")).current_dir(dirs::root()).args(args))
}

fn script(name: &str) -> PathBuf {
    dirs::root().join("tests/editors").join(name)
}

/// Runs each of several comparisons, and fails after the last.
fn all(commands: Vec<Command>) -> Result<()> {
    let mut failures = Vec::new();
    for mut command in commands {
        if let Err(error) = process::run(&mut command) {
            failures.push(error.to_string());
        }
    }
    if failures.is_empty() { Ok(()) } else { bail!("{}", failures.join("; ")) }
}

/// Of the corpus, Vim looks at one text of this many: it asks for each character.
const VIM_EVERY: &str = "20";

fn grammars(tools: &mut Tools, _: &Args) -> Result<()> {
    let classes = tools.classes()?;
    let mut pygments = Command::new(tools.python()?);
    pygments.arg(script("grammars/pygments_classes.py")).arg(&classes);
    let mut vim = Command::new(tools.neovim()?);
    vim.args(["--headless", "--clean", "-l"]).arg(script("grammars/vim_classes.lua"));
    vim.arg(dirs::root().join("editors/nvim/syntax/onnxtxt.vim")).arg(&classes).arg(VIM_EVERY);
    let mut commands = vec![pygments, vim];
    let node = node::script(&script("grammars/grammars.js"));
    let missing = match node {
        Ok(mut command) => {
            command.arg(&classes);
            commands.insert(0, command);
            None
        }
        Err(error) => Some(error),
    };
    all(commands)?;
    missing.map_or(Ok(()), Err)
}

fn protocol(tools: &mut Tools, _: &Args) -> Result<()> {
    let mut command = node::script(&script("protocol.js"))?;
    process::run(command.arg(tools.program()?))
}

fn vscode(tools: &mut Tools, args: &Args) -> Result<()> {
    let copy = folder().join("vscode");
    node::copy(&dirs::root().join("editors/vscode"), &copy)?;
    node::install(&copy)?;
    let program = tools.program()?;
    for task in ["lint", "test", "package"] {
        let mut npm = node::npm(&copy)?;
        process::run(npm.args(["run", "--silent", task]).env("ONNXTXT_PROGRAM", &program))?;
    }
    if args.host { host::run(&program, &packed(&copy)?) } else { Ok(()) }
}

/// The extension as it was packed.
fn packed(copy: &Path) -> Result<PathBuf> {
    let files = fs::read_dir(copy)?.filter_map(|entry| Some(entry.ok()?.path()));
    let mut packed = files.filter(|path| path.extension().is_some_and(|extension| extension == "vsix"));
    packed.next().context("no extension was packed")
}

fn neovim(tools: &mut Tools, _: &Args) -> Result<()> {
    let (python, neovim) = (tools.python()?, tools.neovim()?);
    let screens = folder().join("screens");
    process::run(Command::new(python).arg(script("neovim.py")).arg(neovim).arg(tools.program()?).arg(screens))
}

/// The paths of what this command checks.
pub(crate) const CONCERNED: &[&str] = &[
    "editors",
    "tests/editors",
    "crates/onnx-text/src/lex",
    "crates/onnx-text/src/classes.rs",
    "crates/onnxtxt-lsp/src",
    "python/onnxtxt/pygments.py",
    "docs/editors.md",
];

/// A program on the path.
fn is_on_path(program: &str) -> bool {
    process::works(Command::new(program).arg("--version"))
}

/// A file that is not what it should be.
fn differs(committed: &Path, made: &Path) -> Result<bool> {
    Ok(fs::read(committed).ok() != Some(fs::read(made).with_context(|| made.display().to_string())?))
}
