//! `cargo xtask capi`: builds the C interface, installs it into `target/capi/install` as a package for CMake and pkg-config, and tests it with
//! programs in C++.
//!
//! The header is generated from the sources (`--header` writes it, otherwise it is compared), and the list of symbols is compared with
//! `capi/symbols.txt`. The programs are built by CMake against the installed package, once more with the sanitizers of the compiler, and run under
//! valgrind where there is one; one of them is built by what pkg-config says.

use crate::venv::{self, Env};
use crate::{dirs, doctor, process};
use anyhow::{Context as _, Result, bail, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Write the header and the list of symbols instead of comparing them
    #[arg(long)]
    header: bool,
    /// Only build and install it
    #[arg(long)]
    no_test: bool,
    /// The profile of the build
    #[arg(long, value_name = "NAME", default_value = "release")]
    profile: String,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let source = dirs::root().join("capi");
    header(&source, args.header)?;
    let target = dirs::root().join("target/capi");
    let build = ["build", "--locked", "--profile", &args.profile, "--target-dir"];
    process::run(Command::new(env!("CARGO")).current_dir(&source).args(build).arg(&target))?;
    // Cargo's name for the folder of the profile `dev`.
    let folder = if args.profile == "dev" { "debug" } else { &args.profile };
    let built = target.join(folder);
    symbols(&source, &built, args.header)?;
    let prefix = target.join("install");
    install(&source, &built, &prefix).with_context(|| format!("cannot install into {}", prefix.display()))?;
    println!("{}", prefix.display());
    if args.no_test { Ok(()) } else { test(&source, &target, &prefix) }
}

/// Generates the header, and writes or compares it.
fn header(source: &Path, is_written: bool) -> Result<()> {
    let mut generate = Command::new(env!("CARGO"));
    generate.args(["run", "--quiet", "--locked", "--manifest-path"]).arg(source.join("header/Cargo.toml"));
    generate.arg("--target-dir").arg(dirs::root().join("target/workspaces")).arg("--").arg(source);
    let text = process::output(&mut generate)?;
    same_or_written(&source.join("include/onnxtxt.h"), &(text + "\n"), is_written)
}

/// Compares the functions that the library exports with the list of them.
fn symbols(source: &Path, built: &Path, is_written: bool) -> Result<()> {
    if !cfg!(target_os = "linux") {
        println!("the exported symbols are looked at on Linux");
        return Ok(());
    }
    let mut list = Command::new("nm");
    list.args(["--dynamic", "--defined-only", "--format=posix"]).arg(built.join("libonnxtxt_c.so"));
    let listed = process::output(&mut list).with_context(|| doctor::hint("binutils"))?;
    let mut names: Vec<&str> = listed.lines().filter_map(|line| line.split(' ').next()).collect();
    names.sort_unstable();
    same_or_written(&source.join("symbols.txt"), &(names.join("\n") + "\n"), is_written)
}

fn same_or_written(path: &Path, text: &str, is_written: bool) -> Result<()> {
    if is_written {
        return Ok(fs::write(path, text)?);
    }
    let have = fs::read_to_string(path).unwrap_or_default();
    ensure!(have == text, "{} is out of date: `cargo xtask capi --header`", path.display());
    Ok(())
}

/// Copies headers, libraries and the files of CMake and pkg-config.
fn install(source: &Path, built: &Path, prefix: &Path) -> Result<()> {
    if prefix.exists() {
        fs::remove_dir_all(prefix)?;
    }
    let copy = |from: &Path, to: &str| -> Result<()> {
        let to = prefix.join(to);
        fs::create_dir_all(to.parent().context("a folder")?)?;
        fs::copy(from, to)?;
        Ok(())
    };
    for header in ["onnxtxt.h", "onnxtxt.hpp", "onnxtxt/onnx_parser.hpp"] {
        copy(&source.join("include").join(header), &format!("include/{header}"))?;
    }
    let libraries: &[&str] = if cfg!(windows) {
        &["onnxtxt_c.dll", "onnxtxt_c.dll.lib", "onnxtxt_c.lib"]
    } else if cfg!(target_os = "macos") {
        &["libonnxtxt_c.dylib", "libonnxtxt_c.a"]
    } else {
        &["libonnxtxt_c.so", "libonnxtxt_c.a"]
    };
    for library in libraries {
        copy(&built.join(library), &format!("lib/{library}"))?;
    }
    copy(&source.join("cmake/onnxtxtConfig.cmake"), "lib/cmake/onnxtxt/onnxtxtConfig.cmake")?;
    for (template, to) in [
        ("onnxtxtConfigVersion.cmake.in", "lib/cmake/onnxtxt/onnxtxtConfigVersion.cmake"),
        ("onnxtxt.pc.in", "lib/pkgconfig/onnxtxt.pc"),
    ] {
        let text = fs::read_to_string(source.join("cmake").join(template))?;
        fs::create_dir_all(prefix.join(to).parent().context("a folder")?)?;
        fs::write(prefix.join(to), text.replace("@VERSION@", env!("CARGO_PKG_VERSION")))?;
    }
    Ok(())
}

/// Builds the programs as a user does, and runs them: plain, with sanitizers, under valgrind.
fn test(source: &Path, target: &Path, prefix: &Path) -> Result<()> {
    let cmake = cmake()?;
    let build = |folder: &str, kind: &str, options: &[&str]| {
        let built = target.join(format!("{folder}{kind}"));
        cmake_build(&cmake, &source.join(folder), &built, prefix, options)
    };
    let model = dirs::root().join("capi/tests/network.onnxtxt");
    let infer = |examples: &Path, runs: &str| -> Result<()> {
        let mut inference = Command::new(examples.join("inference"));
        let said = process::output(inference.arg(&model).args(["4", runs]))?;
        ensure!(said == "all results are equal", "the inference program says: {said}");
        Ok(())
    };
    let (examples, tests) = (build("examples", "", &[])?, build("tests", "", &[])?);
    compile_a_model(&examples.join("compiler"))?;
    infer(&examples, "200")?;
    for program in ["allocator", "api", "plain", "reference_parser"] {
        process::output(Command::new(tests.join(program)).current_dir(target))?;
    }
    by_pkg_config(source, target, prefix)?;

    let sanitizers = &["-DCMAKE_CXX_FLAGS=-fsanitize=address,undefined -fno-sanitize-recover=all -g"];
    let sanitized = build("examples", "-sanitized", sanitizers)?;
    compile_a_model(&sanitized.join("compiler"))?;
    infer(&sanitized, "50")?;
    let sanitized = build("tests", "-sanitized", sanitizers)?;
    for program in ["allocator", "api", "reference_parser"] {
        process::run(Command::new(sanitized.join(program)).current_dir(target))?;
    }
    match process::output(Command::new("valgrind").arg("--version")) {
        Err(_) => println!("NOT RUN: {}", doctor::hint("valgrind")),
        Ok(version) => {
            println!("{version}, which runs the code for AVX2:");
            // Registers of 512 bits are not known to it, and it is slow: the programs do less.
            let model = model.to_str().context("a path in UTF-8")?;
            valgrind(target, &tests.join("api"), &["short"])?;
            valgrind(target, &examples.join("compiler"), &[model])?;
            valgrind(target, &examples.join("inference"), &[model, "2", "3"])?;
        }
    }
    Ok(())
}

/// Runs a program that must neither leak nor read what it has not written.
fn valgrind(target: &Path, program: &Path, arguments: &[&str]) -> Result<()> {
    let mut valgrind = Command::new("valgrind");
    valgrind.current_dir(target).args([
        "--quiet",
        "--error-exitcode=3",
        "--leak-check=full",
        "--show-leak-kinds=definite",
        "--errors-for-leak-kinds=definite",
    ]);
    process::run(valgrind.arg(program).args(arguments))
}

/// Builds a program by the flags of pkg-config, and runs it.
fn by_pkg_config(source: &Path, target: &Path, prefix: &Path) -> Result<()> {
    if !process::works(Command::new("pkg-config").arg("--version")) {
        println!("NOT RUN: {}", doctor::hint("pkg-config"));
        return Ok(());
    }
    let mut config = Command::new("pkg-config");
    config.env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig"));
    let flags = process::output(config.args([
        "--cflags",
        "--libs",
        concat!("onnxtxt = ", env!("CARGO_PKG_VERSION")),
    ]))?;
    let program = target.join("by-pkg-config");
    let mut compile = Command::new("cc");
    compile.arg(source.join("tests/plain.c")).arg("-o").arg(&program).args(flags.split_whitespace());
    process::run(compile.arg(format!("-Wl,-rpath,{}", prefix.join("lib").display())))?;
    process::output(&mut Command::new(&program))?;
    Ok(())
}

/// CMake of the system, or of the Python registry.
fn cmake() -> Result<PathBuf> {
    if process::output(Command::new("cmake").arg("--version")).is_ok() {
        return Ok("cmake".into());
    }
    let python = venv::ensure(Env::Cmake)?;
    Ok(python.with_file_name(format!("cmake{}", std::env::consts::EXE_SUFFIX)))
}

fn cmake_build(
    cmake: &Path,
    source: &Path,
    build: &Path,
    prefix: &Path,
    options: &[&str],
) -> Result<PathBuf> {
    let mut configure = Command::new(cmake);
    configure.arg("-S").arg(source).arg("-B").arg(build).arg("-DCMAKE_BUILD_TYPE=RelWithDebInfo");
    configure.arg(format!("-DCMAKE_PREFIX_PATH={}", prefix.display())).args(options);
    process::output(&mut configure)?;
    process::output(Command::new(cmake).arg("--build").arg(build).args(["--parallel", "2"]))?;
    Ok(build.to_owned())
}

/// The compiler lowers a model, and reports its own findings where the text has them.
fn compile_a_model(compiler: &Path) -> Result<()> {
    let tests = dirs::root().join("capi/tests");
    let lowered = process::output(Command::new(compiler).current_dir(&tests).arg("network.onnxtxt"))?;
    let expected = fs::read_to_string(tests.join("network.lowered"))?;
    ensure!(lowered == expected.trim(), "the compiler lowers tests/network.onnxtxt to:\n{lowered}");
    let output = Command::new(compiler).current_dir(&tests).arg("refused.onnxtxt").output()?;
    if output.status.code() != Some(1) {
        bail!("the compiler accepts tests/refused.onnxtxt");
    }
    let (found, expected) =
        (String::from_utf8(output.stderr)?, fs::read_to_string(tests.join("refused.findings"))?);
    ensure!(found == expected, "the compiler finds in tests/refused.onnxtxt:\n{found}");
    Ok(())
}
