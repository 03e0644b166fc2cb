//! `cargo xtask package`: packs the crates, and compiles the packages as a user of a registry would.
//!
//! Nothing is published. The packages are unpacked into a workspace of their own, where each finds the others in place of a
//! registry: cargo's own check of packages needs crates that may be published. `cargo xtask tidy` checks what text can show of
//! this, in a second.

use crate::{dirs, process};
use anyhow::{Context as _, Result, ensure};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Registries accept packages up to this size.
const LARGEST: u64 = 10 << 20;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Pack without compiling
    #[arg(long)]
    no_verify: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let root = dirs::root();
    let names = crates(&root)?;
    let mut pack = Command::new(env!("CARGO"));
    pack.current_dir(&root).args(["package", "--quiet", "--no-verify", "--exclude-lockfile"]);
    // Changes that are not committed are packed, too; the project has no address to name.
    pack.args(["--allow-dirty", "--no-metadata"]);
    for name in &names {
        pack.args(["--package", name]);
    }
    process::run(&mut pack)?;

    let packed = root.join("target/package");
    for name in &names {
        let size =
            fs::metadata(packed.join(file(name))).with_context(|| format!("{name} was not packed"))?.len();
        ensure!(size <= LARGEST, "{name}: {size} bytes are too many for a registry");
        println!("{name:<12} {:>7.1} KiB", size as f64 / 1024.0);
    }
    if args.no_verify { Ok(()) } else { verify(&root, &packed, &names) }
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

fn file(name: &str) -> String {
    format!("{}.crate", folder(name))
}

/// The name of the folder in a package. All crates have the version of the workspace.
fn folder(name: &str) -> String {
    format!("{name}-{}", env!("CARGO_PKG_VERSION"))
}

/// Unpacks the packages into a workspace and compiles it.
fn verify(root: &Path, packed: &Path, names: &[String]) -> Result<()> {
    let workspace = packed.join("unpacked");
    if workspace.exists() {
        fs::remove_dir_all(&workspace)?;
    }
    fs::create_dir_all(&workspace)?;
    for name in names {
        let archive = packed.join(file(name));
        process::run(Command::new("tar").arg("-xzf").arg(&archive).arg("-C").arg(&workspace))?;
    }
    let mut manifest = "[workspace]\nresolver = \"3\"\nmembers = [\"*-*\"]\n\n[patch.crates-io]\n".to_owned();
    for name in names {
        writeln!(manifest, "{name} = {{ path = \"{}\" }}", folder(name))?;
    }
    // With the profiles of the project, what it has compiled of other crates serves here, too.
    let project = fs::read_to_string(root.join("Cargo.toml"))?;
    let profiles = project.split_once("\n[profile.dev]").context("Cargo.toml has no [profile.dev]")?.1;
    write!(manifest, "\n[profile.dev]{profiles}")?;
    fs::write(workspace.join("Cargo.toml"), manifest)?;
    fs::copy(root.join("Cargo.lock"), workspace.join("Cargo.lock"))?;
    process::run(
        Command::new(env!("CARGO"))
            .current_dir(&workspace)
            .args(["check", "--offline", "--workspace", "--target-dir"])
            .arg(root.join("target")),
    )
}
