//! `cargo xtask machine-code`: whether the loops of the installed program are vectorized.
//!
//! Multiversioned functions (`onnx-loops/src/lanes/multiversion.rs`) are in sections of their own. A loop that was not vectorized has
//! scalar instructions there, and a part that was not inlined is missing there, so the share of instructions in vector
//! registers of the full width tells. The program needs no symbols.
//!
//! Each crate of the project has a budget for its share of the program.

use crate::{bench, dirs, doctor, process};
use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;
use std::path::PathBuf;
use std::process::Command;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Look into the libraries of the executor alone, as they are compiled for the installed program: in half the time
    #[arg(long, conflicts_with = "program")]
    executor: bool,
    /// The program; by default, `onnxtxt` is built by the profile `dist`, as it is installed
    program: Option<PathBuf>,
}

/// A section, the names of its registers, and the least share of instructions that have one.
///
/// With vectorized loops, they are 19 % and 21 %; the rest addresses operands and computes what is left of the last register. A loop that is
/// not vectorized has none.
const SECTIONS: [(&str, &str, f64); 2] = [("onnxtxt.avx512", "%zmm", 0.12), ("onnxtxt.avx2", "%ymm", 0.12)];

/// The most machine code and constants of each crate, in kilobytes, as it is compiled for the installed program. More is a
/// decision: it is what everyone waits for who compiles the program.
const BUDGET: [(&str, u64); 11] = [
    ("onnx_ir", 1_250),
    ("onnx_formula", 165),
    ("onnx_text", 2_000),
    ("onnx_proto", 550),
    ("onnx_ops", 3_650),
    ("onnx_loops", 2_900),
    ("onnx_images", 50),
    ("onnx_kernels", 2_250),
    ("onnx_exec", 1_050),
    ("onnxtxt", 2_800),
    ("onnx_cli", 3_600),
];

pub(crate) fn run(args: &Args) -> Result<()> {
    if let Some(program) = &args.program {
        return check(std::slice::from_ref(program));
    }
    let package = if args.executor { "onnx-exec" } else { "onnx-cli" };
    let libraries = libraries(&built(package)?);
    within_budget(&libraries)?;
    if args.executor {
        ensure_unlinked(&std::fs::read_to_string(dirs::root().join("Cargo.toml"))?)?;
        return check(&libraries);
    }
    check(&[bench::built("onnxtxt", "dist")?])
}

/// Builds a package as it is installed: the messages of cargo.
fn built(package: &str) -> Result<String> {
    let mut build = Command::new(env!("CARGO"));
    build.current_dir(dirs::root()).args(["build", "--profile", "dist", "--package", package]);
    process::output(build.arg("--message-format=json-render-diagnostics"))
}

/// Compares the libraries of the project with the budget, and prints their sizes.
fn within_budget(libraries: &[PathBuf]) -> Result<()> {
    let mut too_large = Vec::new();
    for library in libraries {
        let name = library.file_name().context("a library has a name")?.to_string_lossy().into_owned();
        let Some((name, budget)) = budget_of(&name) else { bail!("{name}: no budget (BUDGET of xtask)") };
        let sections =
            process::output(Command::new("size").arg(library)).with_context(|| doctor::hint("binutils"))?;
        let kilobytes = code_bytes(&sections) / 1000;
        println!("{name}: {kilobytes} of {budget} kB");
        if kilobytes > budget {
            too_large.push(format!("{name} has {kilobytes} kB of machine code, expected at most {budget}"));
        }
    }
    ensure!(too_large.is_empty(), "{}", too_large.join("\n"));
    Ok(())
}

/// The row of `libonnx_ir-0123456789abcdef.rlib`.
fn budget_of(file: &str) -> Option<(&'static str, u64)> {
    let name = file.strip_prefix("lib")?.split(['-', '.']).next()?;
    BUDGET.iter().copied().find(|(known, _)| *known == name)
}

/// The sum of the first column that `size` prints: code and constants of each unit.
fn code_bytes(sections: &str) -> u64 {
    let columns = sections.lines().filter_map(|line| line.split_whitespace().next());
    columns.filter_map(|text| text.parse::<u64>().ok()).sum()
}

/// Libraries have the code of the program only without link-time optimization, which compiles loops once more.
fn ensure_unlinked(manifest: &str) -> Result<()> {
    let other = manifest.lines().find(|line| line.starts_with("lto") && *line != "lto = \"off\"");
    let Some(line) = other else { return Ok(()) };
    bail!("Cargo.toml: with `{line}`, the libraries do not have the machine code of the program")
}

/// The libraries of the workspace, of the messages that cargo prints about what it has built.
fn libraries(messages: &str) -> Vec<PathBuf> {
    let messages = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let own = messages.filter(|message| {
        message["reason"] == "compiler-artifact"
            && message["package_id"].as_str().is_some_and(|id| id.starts_with("path+"))
    });
    let files = own.flat_map(|message| message["filenames"].as_array().cloned().unwrap_or_default());
    let files = files.filter_map(|file| file.as_str().map(PathBuf::from));
    files.filter(|file| file.extension().is_some_and(|extension| extension == "rlib")).collect()
}

/// Whether this program can be looked into: only on Linux functions have sections, and only for x86-64 several versions.
pub(crate) const IS_POSSIBLE: bool = cfg!(all(target_os = "linux", target_arch = "x86_64"));

/// Looks into a program, or into libraries.
pub(crate) fn check(files: &[PathBuf]) -> Result<()> {
    for (section, register, least) in SECTIONS {
        let mut objdump = Command::new("objdump");
        objdump.args(["--disassemble", "--no-show-raw-insn", "--section", section]).args(files);
        let code = process::output(&mut objdump).with_context(|| doctor::hint("binutils"))?;
        let names = files.iter().filter_map(|file| file.file_name());
        let name = names.map(|name| name.to_string_lossy()).collect::<Vec<_>>().join(", ");
        // An instruction is a line `  address:\tinstruction`.
        let instructions: Vec<&str> = code.lines().filter(|line| line.contains(":\t")).collect();
        ensure!(!instructions.is_empty(), "{name}: no section {section}");
        let wide = instructions.iter().filter(|line| line.contains(register)).count();
        let share = wide as f64 / instructions.len() as f64;
        println!(
            "{section}: {wide} of {} instructions use {register} ({:.0} %)",
            instructions.len(),
            share * 100.0
        );
        ensure!(
            share >= least,
            "the loops of {name} are not vectorized: {:.0} % of the instructions in {section} use {register}, expected at least {:.0} %",
            share * 100.0,
            least * 100.0
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_sums_of_code() {
        let sections = "   text\t   data\t    bss\t    dec\t    hex\tfilename\n   1000\t     16\t      0\t   1016\t    3f8\ta.o (ex x.rlib)\n    234\t      0\t      0\t    234\t     ea\tb.o\n";
        assert_eq!(code_bytes(sections), 1234);
        assert_eq!(budget_of("libonnx_ir-5b9dbf60ea617886.rlib").map(|row| row.0), Some("onnx_ir"));
        assert_eq!(budget_of("libonnx_other-5b9dbf60ea617886.rlib"), None);
    }

    #[test]
    fn libraries_are_not_the_program_with_link_time_optimization() {
        assert!(ensure_unlinked("[profile.release]\nlto = \"off\"\n").is_ok());
        assert!(ensure_unlinked("lto = \"off\"\nlto = \"thin\"\n").is_err());
    }

    #[test]
    fn libraries_are_those_of_the_workspace() {
        let artifact = |id: &str, file: &str| {
            format!(
                r#"{{"reason":"compiler-artifact","package_id":"{id}","filenames":["/t/{file}.rlib","/t/{file}.rmeta"]}}"#
            )
        };
        let messages = [
            artifact("path+file:///w/crates/onnx-exec#0.1.0", "libonnx_exec"),
            artifact("registry+file:///index#half@2.6.0", "libhalf"),
            r#"{"reason":"build-finished","success":true}"#.to_owned(),
        ];
        assert_eq!(libraries(&messages.join("\n")), [PathBuf::from("/t/libonnx_exec.rlib")]);
    }
}
