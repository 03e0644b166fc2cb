//! `cargo xtask test`: everything that the project checks, in one command.
//!
//! Each step is announced and timed. A failing step does not keep the others from running: one run shows every
//! problem. What the machine does not allow (no Python, no network, no C++ compiler) is omitted and listed at the end
//! with its reason; a test that leaves something out appends a line to the file that `ONNXTXT_LEFT_OUT` names.
//!
//! With `--quick`, only what a developer wants to know after each change. With `--all`, the whole corpus is fetched, the fuzz targets
//! run under libFuzzer, and tests do what takes them minutes (`ONNXTXT_ALL`). Otherwise, and in CI, what takes most of an hour is
//! omitted and listed: the small part of the corpus has to do, with what an earlier run has fetched, and the tests run the fuzz
//! targets on seeds and fixed changes of them. A change of the executor asks for `--all` once.

mod binaries;

use crate::corpus;
use crate::venv::{self, Env};
use crate::{bench, browser, dirs, docs, doctor, fuzz, machine_code, process, python};
use anyhow::{Context as _, Result, bail, ensure};
use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The whole corpus, and fuzzing with coverage: for a change of the executor
    #[arg(long, conflicts_with = "quick")]
    all: bool,
    /// Format, tidy, packages, unit tests and golden files alone: for after each change
    #[arg(long)]
    quick: bool,
}

enum Outcome {
    Passed,
    Failed(String),
    LeftOut(String),
}

struct Context {
    everything: bool,
    is_quick: bool,
    /// The reference environment's interpreter, once there is one.
    python: Option<PathBuf>,
    left_out_file: PathBuf,
}

type Step = (&'static str, fn(&mut Context) -> Result<Outcome>);

/// Cheap ones first.
const STEPS: &[Step] = &[
    ("format", |_| cargo(&["fmt", "--all", "--check"])),
    ("tidy", |_| xtask(&["tidy"])),
    ("python environment", python),
    ("oracle", oracle),
    ("generated code", |_| xtask(&["codegen", "--check"])),
    ("clippy", |_| cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])),
    ("documentation", documentation),
    ("other processor", other_processor),
    ("other workspaces", other_workspaces),
    ("features", features),
    ("packages", |_| xtask(&["package", "--no-verify"])),
    ("corpus", corpus),
    ("tests", tests),
    ("pages", pages),
    ("installed program", installed_program),
    ("browser", browser),
    ("editors", editors),
    ("Python module", python_module),
    ("C interface", c_interface),
    ("fuzzing", fuzzing),
];

/// For `--quick`: what shows most mistakes in the shortest time, without Python and without other compilations of the crates.
const QUICK: &[Step] = &[
    ("format", |_| cargo(&["fmt", "--all", "--check"])),
    ("tidy", |_| xtask(&["tidy"])),
    ("packages", |_| xtask(&["package", "--no-verify"])),
    ("unit tests and suite", |_| {
        let mut env = vec![("INSTA_UPDATE", OsString::from("no"))];
        env.extend(seed());
        binaries::quick(&env)?;
        Ok(Outcome::Passed)
    }),
];

/// Fetching may hang on a bad line: what is there after this time has to do.
const CORPUS_LIMIT: Duration = Duration::from_secs(40 * 60);
const FUZZ_SECONDS: u64 = 30;

pub(crate) fn run(args: &Args) -> Result<()> {
    let start = Instant::now();
    let left_out_file = dirs::root().join("target/left-out.txt");
    fs::create_dir_all(dirs::root().join("target"))?;
    fs::write(&left_out_file, "")?;
    let mut context = Context { everything: args.all, is_quick: args.quick, python: None, left_out_file };

    let mut results = Vec::new();
    for (name, step) in if args.quick { QUICK } else { STEPS } {
        println!("\n=== {name}");
        let start = Instant::now();
        let outcome = step(&mut context).unwrap_or_else(|error| Outcome::Failed(format!("{error:#}")));
        println!("=== {name}: {} ({:.1} s)", word(&outcome), start.elapsed().as_secs_f32());
        results.push((*name, outcome, start.elapsed()));
    }
    summary(&results, &context, start.elapsed())
}

fn word(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Passed => "passed",
        Outcome::Failed(_) => "FAILED",
        Outcome::LeftOut(_) => "left out",
    }
}

fn summary(results: &[(&str, Outcome, Duration)], context: &Context, took: Duration) -> Result<()> {
    println!("\n=== summary after {:.0} s", took.as_secs_f32());
    for (name, outcome, took) in results {
        println!("{:<20} {:<8} {:>7.1} s", name, word(outcome), took.as_secs_f32());
    }
    let mut left_out: Vec<String> = results
        .iter()
        .filter_map(|(name, outcome, _)| match outcome {
            Outcome::LeftOut(why) => Some(format!("{name}: {why}")),
            Outcome::Passed | Outcome::Failed(_) => None,
        })
        .collect();
    left_out.extend(fs::read_to_string(&context.left_out_file)?.lines().map(str::to_owned));
    if context.is_quick {
        println!("\nNOT CHECKED: everything else (`cargo xtask test`)");
    } else if left_out.is_empty() {
        println!("\nnothing was left out");
    } else {
        println!("\nLEFT OUT:");
        for line in left_out {
            println!("  {line}");
        }
    }
    let failed: Vec<&str> = results
        .iter()
        .filter_map(|(name, outcome, _)| {
            let Outcome::Failed(why) = outcome else { return None };
            println!("\nFAILED: {name}: {why}");
            Some(*name)
        })
        .collect();
    if failed.is_empty() { Ok(()) } else { bail!("failed: {}", failed.join(", ")) }
}

fn cargo(args: &[&str]) -> Result<Outcome> {
    process::run(Command::new(env!("CARGO")).current_dir(dirs::root()).args(args))?;
    Ok(Outcome::Passed)
}

/// A task of this program, in a process of its own.
fn xtask(args: &[&str]) -> Result<Outcome> {
    process::run(Command::new(this_program()?).args(args))?;
    Ok(Outcome::Passed)
}

fn this_program() -> Result<PathBuf> {
    std::env::current_exe().context("where this program lies")
}

/// A processor with other vector instructions and none of those that are looked for when a program runs.
const OTHER: &str = "aarch64-unknown-linux-gnu";

/// Compiles for another processor what has code for some of them.
fn other_processor(_: &mut Context) -> Result<Outcome> {
    let mut rustup = Command::new("rustup");
    let there = rustup.current_dir(dirs::root()).args(["target", "add", OTHER]).output();
    if !there.is_ok_and(|done| done.status.success()) {
        return Ok(Outcome::LeftOut(format!(
            "rustup cannot add the target {OTHER}; {}",
            doctor::hint("aarch64")
        )));
    }
    cargo(&[
        "clippy",
        "--package",
        "onnx-loops",
        "--package",
        "onnx-kernels",
        "--package",
        "onnx-exec",
        "--target",
        OTHER,
        "--",
        "-D",
        "warnings",
    ])
}

/// Features of the library by themselves; without any, it reads and prints models.
const FEATURES: &[&str] = &["", "config", "ops", "render", "run", "save"];
/// Crates that programs which only read models must not build.
const NOT_FOR_READERS: &[&str] = &["ariadne", "clap", "serde_json", "zip"];
/// Everything that is compiled for a program which only parses text, each version of a crate once: a new name is a decision. Without
/// procedural macros, nothing waits for a compiler to be compiled first.
#[rustfmt::skip]
const FOR_PARSERS: &[&str] = &[
    "allocator-api2", "bytemuck", "bytes", "chumsky", "equivalent", "foldhash", "foldhash", "hashbrown", "logos", "memchr",
    "onnx-ir", "onnx-text", "smallvec", "strsim", "unicode-ident", "unicode-segmentation",
];

/// Crates whose tests compile without the features that other members of the workspace turn on.
const ALONE: &[&str] = &[
    "onnx-ir",
    "onnx-text",
    "onnx-proto",
    "onnx-formula",
    "onnx-images",
    "onnx-loops",
    "onnx-ops",
    "onnx-kernels",
    "onnx-exec",
    "onnxtxt",
    "onnxtxt-lsp",
];

/// Compiles libraries with some of their features, and looks at what it takes to parse text and to read models. With `--all`, compiles
/// each library alone, which checks most of the workspace once more.
fn features(context: &mut Context) -> Result<Outcome> {
    for library in ALONE.iter().filter(|_| context.everything) {
        let alone = ["check", "--quiet", "-p", library, "--all-targets"];
        process::run(Command::new(env!("CARGO")).current_dir(dirs::root()).args(alone))?;
    }
    for features in FEATURES {
        let library = ["check", "--quiet", "-p", "onnxtxt", "--no-default-features", "--features", features];
        process::run(Command::new(env!("CARGO")).current_dir(dirs::root()).args(library))?;
    }
    let images = ["-p", "onnx-exec", "-p", "onnx-kernels", "--no-default-features"];
    let check =
        if context.everything { &["test", "--quiet", "--lib", "image"][..] } else { &["check", "--quiet"] };
    process::run(Command::new(env!("CARGO")).current_dir(dirs::root()).args(check).args(images))?;
    for features in ["", "verify"] {
        let text = ["clippy", "--quiet", "-p", "onnx-text", "--no-default-features", "--features", features];
        let warnings = ["--", "-D", "warnings"];
        process::run(Command::new(env!("CARGO")).current_dir(dirs::root()).args(text).args(warnings))?;
    }
    let mut unwanted = compiled_for("onnxtxt")?;
    unwanted.retain(|package| NOT_FOR_READERS.contains(&package.name.as_str()));
    let names: Vec<&str> = unwanted.iter().map(|package| package.name.as_str()).collect();
    ensure!(names.is_empty(), "who only reads models compiles {}", names.join(", "));
    for_parsers(&compiled_for("onnx-text")?)?;
    once(&packages(&["-p", "onnx-cli"])?)?;
    Ok(Outcome::Passed)
}

/// Compares what is compiled for a parser with the list, and prints it.
fn for_parsers(packages: &[Compiled]) -> Result<()> {
    let names: Vec<&str> = packages.iter().map(|package| package.name.as_str()).collect();
    println!("who only parses text compiles {} packages: {}", names.len(), names.join(", "));
    ensure!(
        names == FOR_PARSERS,
        "who only parses text compiles other packages than {}",
        FOR_PARSERS.join(", ")
    );
    let macros: Vec<&Compiled> = packages.iter().filter(|package| package.is_macro).collect();
    ensure!(macros.is_empty(), "who only parses text compiles procedural macros: {macros:?}");
    Ok(())
}

/// Crates of which the program compiles two versions: png, chumsky, safetensors and prost-derive need old ones.
const TWICE: &[&str] = &["arrayvec", "foldhash", "hashbrown", "miniz_oxide", "syn"];
/// The most packages of the program, with those of macros.
const MAX_PACKAGES: usize = 160;

/// Compares the packages of the program with the budget, and prints their number.
fn once(packages: &[Compiled]) -> Result<()> {
    println!("the program is compiled from {} packages", packages.len());
    ensure!(
        packages.len() <= MAX_PACKAGES,
        "expected at most {MAX_PACKAGES} packages: cargo tree -p onnx-cli"
    );
    let twice = packages.windows(2).filter(|pair| pair[0].name == pair[1].name);
    let mut twice: Vec<&str> = twice.map(|pair| pair[0].name.as_str()).collect();
    twice.retain(|name| !TWICE.contains(name));
    ensure!(twice.is_empty(), "two versions are compiled of {}: cargo tree -p onnx-cli -d", twice.join(", "));
    Ok(())
}

/// A version of a crate that is compiled for another.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Compiled {
    name: String,
    version: String,
    is_macro: bool,
}

impl Compiled {
    /// From a line of `cargo tree`: `logos-derive v0.16.1 (proc-macro) (*)`.
    fn read(line: &str) -> Option<Self> {
        let mut words = line.split(' ');
        let (name, version) = (words.next()?.to_owned(), words.next()?.to_owned());
        Some(Self { name, version, is_macro: words.any(|word| word == "(proc-macro)") })
    }
}

/// The packages that a crate without features needs, itself among them.
fn compiled_for(package: &str) -> Result<Vec<Compiled>> {
    packages(&["-p", package, "--no-default-features"])
}

/// The packages that `cargo tree` selects, sorted: those of macros and build scripts, too.
fn packages(selection: &[&str]) -> Result<Vec<Compiled>> {
    let tree = ["tree", "--edges", "normal,build", "--prefix", "none"];
    let mut command = Command::new(env!("CARGO"));
    let tree = process::output(command.current_dir(dirs::root()).args(tree).args(selection))?;
    let mut packages: Vec<Compiled> = tree.lines().filter_map(Compiled::read).collect();
    packages.sort();
    // A package for macros and for the program is compiled twice, but counted once.
    packages.dedup();
    Ok(packages)
}

/// Workspaces that link what nothing of ours may, so that no other step compiles them.
pub(crate) const OTHER_WORKSPACES: &[&str] = &["capi", "fuzz", "threads"];

/// Compiles the C interface, the fuzz targets, and the pool as the thread checkers see it, without linking or running them.
fn other_workspaces(_: &mut Context) -> Result<Outcome> {
    for workspace in OTHER_WORKSPACES {
        process::run(
            Command::new(env!("CARGO"))
                .current_dir(dirs::root())
                .args(["clippy", "--all-targets", "--manifest-path"])
                .arg(dirs::root().join(workspace).join("Cargo.toml"))
                .arg("--target-dir")
                .arg(dirs::root().join("target/workspaces"))
                .args(["--", "-D", "warnings"])
                // The fuzzing runtime is C++, which is not needed where nothing is linked.
                .env("CUSTOM_LIBFUZZER_PATH", dirs::root().join("target/libFuzzer.a")),
        )?;
    }
    Ok(Outcome::Passed)
}

fn documentation(_: &mut Context) -> Result<Outcome> {
    process::run(
        Command::new(env!("CARGO"))
            .current_dir(dirs::root())
            .args(["doc", "--workspace", "--no-deps", "--document-private-items"])
            .env("RUSTDOCFLAGS", "-D warnings"),
    )?;
    Ok(Outcome::Passed)
}

fn python(context: &mut Context) -> Result<Outcome> {
    match venv::ensure(Env::Reference) {
        Ok(python) => {
            context.python = Some(python);
            Ok(Outcome::Passed)
        }
        Err(error) => Ok(Outcome::LeftOut(format!(
            "{error:#}; without it, nothing is compared with the reference implementation"
        ))),
    }
}

/// The scripts that ask the reference implementation tell the truth.
fn oracle(context: &mut Context) -> Result<Outcome> {
    let Some(python) = &context.python else {
        return Ok(Outcome::LeftOut("it needs the python environment".to_owned()));
    };
    process::run(Command::new(python).arg(dirs::root().join("tests/python/selftest.py")))?;
    Ok(Outcome::Passed)
}

/// Stopped when it takes too long.
fn corpus(context: &mut Context) -> Result<Outcome> {
    if context.python.is_none() {
        return Ok(Outcome::LeftOut("it needs the python environment".to_owned()));
    }
    let set = if context.everything { "all" } else { "light" };
    let mut command = Command::new(this_program()?);
    if let Err(error) = process::run_within(command.args(["corpus", "--set", set]), CORPUS_LIMIT) {
        return Ok(Outcome::LeftOut(format!("incomplete: {error:#}")));
    }
    let missing = fs::read_to_string(corpus::missing_file())?;
    if !missing.is_empty() {
        return Ok(Outcome::LeftOut(format!(
            "these models:\n    {}",
            missing.trim().replace('\n', "\n    ")
        )));
    }
    if !context.everything {
        let line =
            "corpus: large models, exports and derived models, unless they were there (--all has them)\n";
        append(context, line)?;
    }
    Ok(Outcome::Passed)
}

fn append(context: &Context, line: &str) -> Result<()> {
    let text = fs::read_to_string(&context.left_out_file)? + line;
    Ok(fs::write(&context.left_out_file, text)?)
}

fn tests(context: &mut Context) -> Result<Outcome> {
    let mut env = vec![
        ("INSTA_UPDATE", OsString::from("no")),
        ("ONNXTXT_LEFT_OUT", context.left_out_file.clone().into_os_string()),
    ];
    env.extend(seed());
    if context.everything {
        env.push(("ONNXTXT_ALL", OsString::from("1")));
    }
    if let Some(python) = &context.python {
        env.push(("ONNXTXT_PYTHON", python.clone().into_os_string()));
        env.push(("ONNXTXT_CORPUS", dirs::corpus().into_os_string()));
    }
    binaries::run(&env)?;
    Ok(Outcome::Passed)
}

/// The seed of the random tests of proptest, under the name of the variable that it reads. In CI they draw the same each time, so that what
/// fails is a consequence of the change; elsewhere, other cases each time, and those who look for a failure choose a seed.
fn seed() -> Option<(&'static str, OsString)> {
    const SEED: &str = "PROPTEST_RNG_SEED";
    let is_ci = std::env::var_os("CI").is_some_and(|ci| !ci.is_empty() && ci != "false");
    let is_fixed = is_ci && std::env::var_os(SEED).is_none();
    is_fixed.then(|| (SEED, OsString::from("20261129")))
}

/// The machine code of the installed program where the executor or a profile has changed lately: of the executor's libraries, which are
/// half of what is compiled, and with `--all` of the program.
fn installed_program(context: &mut Context) -> Result<Outcome> {
    if !machine_code::IS_POSSIBLE {
        return Ok(Outcome::LeftOut("machine code is looked into on Linux for x86-64".to_owned()));
    }
    if !context.everything && !has_changed(&["Cargo.toml", "crates/onnx-loops"]) {
        return Ok(Outcome::LeftOut(
            "neither profiles nor loops have changed in the last two days: the machine code of the installed program is looked into with \
             --all, or `cargo xtask machine-code`"
                .to_owned(),
        ));
    }
    if context.everything { xtask(&["machine-code"]) } else { xtask(&["machine-code", "--executor"]) }
}

/// Whether commits of the last two days, or changes that are not committed, touch one of these paths. Without git, yes.
fn has_changed(paths: &[&str]) -> bool {
    let git = |arguments: &[&str]| {
        process::output(Command::new("git").current_dir(dirs::root()).args(arguments).arg("--").args(paths))
    };
    let commits = git(&["log", "--since=2 days ago", "--format=%h"]);
    let changes = git(&["status", "--porcelain"]);
    !matches!((commits, changes), (Ok(commits), Ok(changes)) if commits.is_empty() && changes.is_empty())
}

/// Pages, pictures, tables and links, and drawings of the program that the tests have compiled.
fn pages(_: &mut Context) -> Result<Outcome> {
    if let Err(error) = venv::ensure(Env::Docs) {
        return Ok(Outcome::LeftOut(format!("pages and pictures: {error:#}")));
    }
    docs::look(&bench::built("onnxtxt", "dev")?)?;
    Ok(Outcome::Passed)
}

/// Pages of drawings in a browser.
fn browser(context: &mut Context) -> Result<Outcome> {
    if !context.everything {
        return Ok(Outcome::LeftOut(
            "pages of drawings are looked at with --all, or `cargo xtask browser`".to_owned(),
        ));
    }
    if browser::find().is_none() {
        return Ok(Outcome::LeftOut(format!("pages of drawings: {}", doctor::hint("Chromium"))));
    }
    browser::run(&browser::Args { program: None })?;
    Ok(Outcome::Passed)
}

/// Grammars, extensions and the language server in editors, if they have changed lately. What cannot run here, and what takes longest to
/// install, is listed.
fn editors(context: &mut Context) -> Result<Outcome> {
    if !context.everything && !has_changed(crate::editors::CONCERNED) {
        return Ok(Outcome::LeftOut(
            "neither grammars and extensions nor the language server have changed in the last two days: they are checked in editors with \
             --all, or `cargo xtask editors`"
                .to_owned(),
        ));
    }
    for line in crate::editors::check(context.everything)? {
        append(context, &format!("editors: {line}\n"))?;
    }
    Ok(Outcome::Passed)
}

/// Programs in C and C++.
fn c_interface(context: &mut Context) -> Result<Outcome> {
    if !context.everything {
        return Ok(Outcome::LeftOut(
            "the C interface is only linted; programs in C++ are built with --all, or `cargo xtask capi`"
                .to_owned(),
        ));
    }
    let missing =
        ["g++", "nm"].into_iter().find(|tool| process::output(Command::new(tool).arg("--version")).is_err());
    if let Some(tool) = missing {
        let name = if tool == "nm" { "binutils" } else { "C++ compiler" };
        return Ok(Outcome::LeftOut(format!("programs in C++: {}", doctor::hint(name))));
    }
    xtask(&["capi"])
}

/// The tests of the Python package, if a change concerns it: of the module as the tests above are compiled, and with `--all` as it is installed.
fn python_module(context: &mut Context) -> Result<Outcome> {
    if !context.everything && !has_changed(python::PARTS) {
        return Ok(Outcome::LeftOut(
            "the Python module is only linted; it is tested when it or the crates that it calls change, with --all, or \
             `cargo xtask python [--dev]`"
                .to_owned(),
        ));
    }
    if context.python.is_none() {
        return Ok(Outcome::LeftOut(doctor::hint("python3")));
    }
    python::run(&python::Args { no_test: false, users: false, only: None, dev: !context.everything })?;
    Ok(Outcome::Passed)
}

fn fuzzing(context: &mut Context) -> Result<Outcome> {
    if !context.everything {
        return Ok(Outcome::LeftOut(
            "coverage-guided runs take minutes (--all, or `cargo xtask fuzz`); the tests run the targets on fixed inputs".to_owned(),
        ));
    }
    if !cfg!(target_os = "linux") {
        return Ok(Outcome::LeftOut("the fuzzer's flags are those of Linux".to_owned()));
    }
    if !["c++", "g++", "clang++"].iter().any(|name| process::works(Command::new(name).arg("--version"))) {
        return Ok(Outcome::LeftOut(format!("libFuzzer: {}", doctor::hint("C++ compiler"))));
    }
    if fuzz::targets()?.is_empty() {
        return Ok(Outcome::LeftOut("no fuzz targets yet".to_owned()));
    }
    fuzz::run(&fuzz::Args { target: None, seconds: FUZZ_SECONDS })?;
    Ok(Outcome::Passed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packages(lines: &[&str]) -> Vec<Compiled> {
        lines.iter().filter_map(|line| Compiled::read(line)).collect()
    }

    #[test]
    fn macros_and_new_packages_are_not_for_parsers() {
        let mut tree: Vec<String> = FOR_PARSERS.iter().map(|name| format!("{name} v1.0.0")).collect();
        let check = |tree: &[String]| {
            for_parsers(&packages(&tree.iter().map(String::as_str).collect::<Vec<_>>())).is_ok()
        };
        assert!(check(&tree));
        assert!(!check(&tree[1..]));
        tree[0] += " (proc-macro) (*)";
        assert!(!check(&tree));
    }

    #[test]
    fn two_versions_need_a_reason() {
        assert!(once(&packages(&["syn v2.0.1", "syn v3.0.1 (*)"])).is_ok());
        assert!(once(&packages(&["itoa v1.0.1", "itoa v2.0.1"])).is_err());
    }
}
