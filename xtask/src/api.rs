//! `cargo xtask api`: the public items of the libraries, compared with those of another commit.
//!
//! A text search: the first lines of all public items, wherever they are declared, so that an item that moves is the same item; and
//! the names that each crate exports at its root, so that a path that is lost is seen.

use crate::{dirs, process};
use anyhow::Result;
use std::collections::BTreeSet;
use std::process::Command;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The commit to compare with
    #[arg(long, default_value = "main")]
    against: String,
}

/// The beginning of a public item.
const ITEM: &str = "^ *pub (const |unsafe )*(fn|struct|enum|trait|type|mod|static|const) ";

pub(crate) fn run(args: &Args) -> Result<()> {
    let (before, after) = (surface(Some(&args.against))?, surface(None)?);
    before.difference(&after).for_each(|item| println!("- {item}"));
    after.difference(&before).for_each(|item| println!("+ {item}"));
    let (removed, added) = (before.difference(&after).count(), after.difference(&before).count());
    println!("{removed} removed or changed, {added} added since {}", args.against);
    Ok(())
}

/// The items and exports of a commit, or of the files as they are.
fn surface(commit: Option<&str>) -> Result<BTreeSet<String>> {
    let grep = |options: &[&str], pattern: &str, path: &str| {
        let mut git = Command::new("git");
        git.current_dir(dirs::root()).arg("grep").args(options).args(["-E", "-e", pattern]).args(commit);
        process::output(git.args(["--", path]))
    };
    let items = grep(&["-h"], ITEM, "crates/*/src/*.rs")?;
    let mut surface: BTreeSet<String> = items.lines().map(|line| item(line).to_owned()).collect();
    for path in grep(&["-l"], "", "crates/*/src/lib.rs")?.lines() {
        // A path of a commit is `main:crates/…`.
        let text = match commit {
            Some(_) => process::output(Command::new("git").current_dir(dirs::root()).args(["show", path]))?,
            None => std::fs::read_to_string(dirs::root().join(path))?,
        };
        let name = path.split("crates/").nth(1).and_then(|rest| rest.split('/').next()).unwrap_or_default();
        surface.extend(exports(&text).into_iter().map(|export| format!("{name}: {export}")));
    }
    Ok(surface)
}

/// An item without the beginning of its body.
fn item(line: &str) -> &str {
    line.trim().trim_end_matches(['{', '(', ';', ' '])
}

/// The names that a root exports.
fn exports(text: &str) -> Vec<&str> {
    let uses = text.split("\npub use ").skip(1).filter_map(|rest| rest.split(';').next());
    let names = uses.flat_map(|list| list.split([',', '{', '}'])).filter_map(|path| path.rsplit("::").next());
    names.map(str::trim).filter(|name| !name.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_and_exports_are_found() {
        let text = "//! x\npub use a::{B, c::D};\nuse e::F;\npub use g::h;\npub use i::{\n    J, K,\n};\n";
        assert_eq!(exports(text), ["B", "D", "h", "J", "K"]);
        assert_eq!(item("    pub fn new(x: u8) -> Self {"), "pub fn new(x: u8) -> Self");
        assert_eq!(item("pub struct Pair(u8, u8);"), "pub struct Pair(u8, u8)");
    }
}
