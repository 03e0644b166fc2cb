//! `cargo xtask package`: packs the crates, and compiles the packages as a user of a registry would.
//!
//! Nothing is published. In the registry, names such as `onnx-ir` belong to others, so packages have names of ours: package
//! `onnxtxt-ir` has the library `onnx_ir`, and programs that use it say `onnx_ir::…`, too. The manifests are rewritten in a copy of the crates
//! below `target/package`, which is packed.
//!
//! The packages are unpacked into workspaces of their own, where each finds the others in place of a registry: cargo's own check of
//! packages needs crates that may be published. One workspace has the packages of the parser alone, and a program for each example of
//! `docs/embed.md`, with the dependencies that the page says; the other has all of them. `cargo xtask tidy` checks what text can show of this,
//! in a second.

use crate::{dirs, process};
use anyhow::{Context as _, Result, ensure};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Registries accept packages up to this size.
const LARGEST: u64 = 10 << 20;
/// The crates that the page for embedders depends on.
const FOR_EMBEDDERS: &[&str] = &["onnx-ir", "onnx-text"];
/// Files of packages that are not in the folders of crates.
const BESIDE: &[&str] = &["README.md", "Cargo.lock"];

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Pack without compiling
    #[arg(long)]
    no_verify: bool,
    /// Compile the packages of the parser alone, and run the examples of docs/embed.md with them
    #[arg(long, conflicts_with = "no_verify")]
    parser: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let root = dirs::root();
    let names = crates(&root)?;
    let packed = root.join("target/package");
    let copy = packed.join("named");
    copy_crates(&root, &copy, &names)?;
    let mut pack = Command::new(env!("CARGO"));
    pack.current_dir(&copy).args(["package", "--quiet", "--no-verify", "--exclude-lockfile", "--offline"]);
    // The copy is not a checkout, and the project has no address to name.
    pack.args(["--allow-dirty", "--no-metadata", "--target-dir"]).arg(root.join("target"));
    for name in &names {
        pack.args(["--package", &published(name)]);
    }
    process::run(&mut pack)?;

    for name in &names {
        let size =
            fs::metadata(packed.join(file(name))).with_context(|| format!("{name} was not packed"))?.len();
        ensure!(size <= LARGEST, "{name}: {size} bytes are too many for a registry");
        println!("{:<15} {:>7.1} KiB", published(name), size as f64 / 1024.0);
    }
    if args.no_verify {
        return Ok(());
    }
    embed(&root, &packed)?;
    if args.parser { Ok(()) } else { verify(&root, &packed, &names) }
}

/// The crates that would be published: those below `crates`.
fn crates(root: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(root.join("crates"))? {
        names.push(entry?.file_name().into_string().ok().context("crates have ASCII names")?);
    }
    names.sort();
    Ok(names)
}

/// The name of the package of a crate: `onnxtxt-ir` of `onnx-ir`.
fn published(name: &str) -> String {
    match name.strip_prefix("onnx-") {
        Some(rest) => format!("onnxtxt-{rest}"),
        None => name.to_owned(),
    }
}

fn file(name: &str) -> String {
    format!("{}.crate", folder(name))
}

/// The name of the folder in a package. All crates have the version of the workspace.
fn folder(name: &str) -> String {
    format!("{}-{}", published(name), env!("CARGO_PKG_VERSION"))
}

/// Copies the crates into a workspace where they have the names that they would be published under.
fn copy_crates(root: &Path, copy: &Path, names: &[String]) -> Result<()> {
    if copy.exists() {
        fs::remove_dir_all(copy)?;
    }
    fs::create_dir_all(copy)?;
    for name in names {
        let to = copy.join("crates").join(name);
        copy_folder(&root.join("crates").join(name), &to)?;
        let manifest = to.join("Cargo.toml");
        let text = fs::read_to_string(&manifest)?;
        fs::write(&manifest, renamed(name, &text)?)?;
    }
    for name in BESIDE {
        fs::copy(root.join(name), copy.join(name)).with_context(|| format!("cannot copy {name}"))?;
    }
    let text = fs::read_to_string(root.join("Cargo.toml"))?;
    fs::write(copy.join("Cargo.toml"), renamed_workspace(names, &text))?;
    Ok(())
}

fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_folder(&entry.path(), &to)?;
        } else {
            fs::copy(entry.path(), to)?;
        }
    }
    Ok(())
}

/// The manifest of a crate with the name of its package: its library keeps its name. What only the project has (dependencies of
/// tests by their path) is not in a package either.
fn renamed(name: &str, manifest: &str) -> Result<String> {
    let own = format!("name = \"{name}\"");
    ensure!(manifest.contains(&own), "the manifest of {name} has another name");
    let lines = manifest.lines().filter(|line| !line.contains("path = \"../"));
    let mut text: String = lines.flat_map(|line| [line, "\n"]).collect();
    if published(name) == name {
        return Ok(text);
    }
    text = text.replacen(&own, &format!("name = \"{}\"", published(name)), 1);
    let library = format!("name = \"{}\"\n", name.replace('-', "_"));
    match text.find("\n[lib]\n") {
        Some(at) => text.insert_str(at + "\n[lib]\n".len(), &library),
        None => write!(text, "\n[lib]\n{library}")?,
    }
    Ok(text)
}

/// The manifest of the workspace of crates with the names of their packages. Its dependencies keep their names, so that nothing else
/// changes.
fn renamed_workspace(names: &[String], manifest: &str) -> String {
    let mut text = String::new();
    for line in manifest.lines() {
        let key = line.split([' ', '=']).next().unwrap_or_default();
        if matches!(key, "default-members" | "exclude") {
            continue;
        }
        if key == "members" {
            text += "members = [\"crates/*\"]\n";
            continue;
        }
        let is_ours = names.iter().any(|name| name == key && published(name) != *name);
        let line = match line.split_once("{ ") {
            Some((start, rest)) if is_ours => format!("{start}{{ package = \"{}\", {rest}", published(key)),
            _ => line.to_owned(),
        };
        text += &renamed_profile(names, &line);
        text += "\n";
    }
    text
}

/// `[profile.dev.package.onnx-ir]` with the name of the package.
fn renamed_profile(names: &[String], line: &str) -> String {
    let header = line.strip_prefix("[profile.").and_then(|rest| rest.strip_suffix(']'));
    match header.and_then(|header| header.rsplit_once('.')) {
        Some((of, name)) if names.iter().any(|one| one == name) => {
            format!("[profile.{of}.{}]", published(name))
        }
        _ => line.to_owned(),
    }
}

/// Unpacks packages into a workspace, where each finds the others.
fn unpack(root: &Path, packed: &Path, workspace: &Path, names: &[String], members: &str) -> Result<()> {
    if workspace.exists() {
        fs::remove_dir_all(workspace)?;
    }
    fs::create_dir_all(workspace)?;
    let mut manifest = format!("[workspace]\nresolver = \"3\"\nmembers = [{members}]\n\n[patch.crates-io]\n");
    for name in names {
        let archive = packed.join(file(name));
        process::run(Command::new("tar").arg("-xzf").arg(&archive).arg("-C").arg(workspace))?;
        writeln!(manifest, "{} = {{ path = \"{}\" }}", published(name), folder(name))?;
    }
    fs::write(workspace.join("Cargo.toml"), manifest)?;
    fs::copy(root.join("Cargo.lock"), workspace.join("Cargo.lock"))?;
    Ok(())
}

/// Compiles all packages.
fn verify(root: &Path, packed: &Path, names: &[String]) -> Result<()> {
    let workspace = packed.join("unpacked");
    unpack(root, packed, &workspace, names, "\"*-*\"")?;
    // With the profiles of the project, what it has compiled of other crates serves here, too.
    let project = fs::read_to_string(root.join("Cargo.toml"))?;
    let profiles = project.split_once("\n[profile.dev]").context("Cargo.toml has no [profile.dev]")?.1;
    let profiles = profiles.lines().flat_map(|line| [renamed_profile(names, line), "\n".to_owned()]);
    let manifest = fs::read_to_string(workspace.join("Cargo.toml"))?;
    fs::write(workspace.join("Cargo.toml"), manifest + "\n[profile.dev]" + &profiles.collect::<String>())?;
    process::run(
        Command::new(env!("CARGO"))
            .current_dir(&workspace)
            .args(["check", "--offline", "--workspace", "--target-dir"])
            .arg(root.join("target")),
    )
}

/// Compiles and runs the examples of the page for embedders, with nothing but the packages that it names.
fn embed(root: &Path, packed: &Path) -> Result<()> {
    let page = fs::read_to_string(root.join("docs/embed.md"))?;
    let examples = blocks(&page, "rust");
    let dependencies = blocks(&page, "toml");
    ensure!(!examples.is_empty() && dependencies.len() == 1, "docs/embed.md has no examples or dependencies");
    let names: Vec<String> = FOR_EMBEDDERS.iter().map(|name| (*name).to_owned()).collect();
    let workspace = packed.join("embed");
    unpack(root, packed, &workspace, &names, "\"page\"")?;
    let programs = workspace.join("page/src/bin");
    fs::create_dir_all(&programs)?;
    let version = env!("CARGO_PKG_VERSION");
    let manifest = format!(
        "[package]\nname = \"page\"\nversion = \"{version}\"\nedition = \"2024\"\n\n[dependencies]\n{}",
        dependencies.concat()
    );
    fs::write(workspace.join("page/Cargo.toml"), manifest)?;
    for (at, example) in examples.iter().enumerate() {
        fs::write(programs.join(format!("example{at}.rs")), format!("fn main() {{\n{example}}}\n"))?;
    }
    let cargo = |arguments: &[&str]| {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.current_dir(&workspace).args(arguments).args(["--offline", "--quiet", "--target-dir"]);
        cargo.arg(root.join("target/workspaces"));
        cargo
    };
    process::run(&mut cargo(&["build", "--package", "page"]))?;
    for at in 0..examples.len() {
        process::output(&mut cargo(&["run", "--package", "page", "--bin", &format!("example{at}")]))?;
    }
    println!(
        "the {} examples of docs/embed.md run with {} alone",
        examples.len(),
        FOR_EMBEDDERS.join(" and ")
    );
    Ok(())
}

/// The blocks of a page in a language.
fn blocks<'p>(page: &'p str, language: &str) -> Vec<&'p str> {
    let start = format!("\n```{language}\n");
    let found = page.split(start.as_str()).skip(1);
    found.filter_map(|rest| Some(&rest[..rest.find("\n```")? + 1])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_have_names_of_ours_and_libraries_keep_theirs() {
        let manifest = "[package]\nname = \"onnx-a\"\n\n[dependencies]\nonnx-b.workspace = true\nx = { path = \"../../x\" }\n";
        let expected = "[package]\nname = \"onnxtxt-a\"\n\n[dependencies]\nonnx-b.workspace = true\n\n[lib]\nname = \"onnx_a\"\n";
        assert_eq!(renamed("onnx-a", manifest).unwrap(), expected);
        let manifest = "[package]\nname = \"onnx-a\"\n\n[lib]\ndoc = false\n";
        let expected = "[package]\nname = \"onnxtxt-a\"\n\n[lib]\nname = \"onnx_a\"\ndoc = false\n";
        assert_eq!(renamed("onnx-a", manifest).unwrap(), expected);
        let manifest = "[package]\nname = \"onnxtxt-lsp\"\n";
        assert_eq!(renamed("onnxtxt-lsp", manifest).unwrap(), manifest);
        assert!(renamed("onnx-b", manifest).is_err());
    }

    #[test]
    fn a_workspace_has_the_crates_alone() {
        let names = ["onnx-a".to_owned(), "onnxtxt".to_owned()];
        let manifest = "[workspace]\nmembers = [\"a\", \"crates/*\"]\nexclude = [\"b\"]\nonnx-a = { path = \"crates/onnx-a\" }\n\
                        onnxtxt = { path = \"c\" }\nonnx-ab = { path = \"d\" }\n[profile.dev.package.onnx-a]\n[profile.dev.package.clap]\n";
        let expected = "[workspace]\nmembers = [\"crates/*\"]\nonnx-a = { package = \"onnxtxt-a\", path = \"crates/onnx-a\" }\n\
                        onnxtxt = { path = \"c\" }\nonnx-ab = { path = \"d\" }\n[profile.dev.package.onnxtxt-a]\n[profile.dev.package.clap]\n";
        assert_eq!(renamed_workspace(&names, manifest), expected);
    }

    #[test]
    fn blocks_of_a_page_are_found_by_their_language() {
        let page = "a\n```rust\nx\ny\n```\n```toml\nz\n```\n```rust\nw\n```\n";
        assert_eq!(blocks(page, "rust"), ["x\ny\n", "w\n"]);
        assert_eq!(blocks(page, "toml"), ["z\n"]);
    }
}
