//! `cargo xtask new-operator NAME`: the files that a new operator needs, with blanks to fill in.
//!
//! | | |
//! | --- | --- |
//! | row | in `crates/onnx-ops/src/operators/FAMILY/mod.rs`, of the operator alone: each `.infer(…)`, `.define(…)` is added to it |
//! | example | in `crates/onnx-ops/docs`, for operators of ONNX, whose signatures `cargo xtask codegen` reads from the package |
//! | document | in `crates/onnx-ops/opsets`, for operators of other domains: the signature with a function body |
//! | suite | in `tests/suite/run`: a model with values of its inputs and outputs |
//!
//! The test `operators/nothing_is_missing` of the suite reports what is missing afterwards.

mod document;
mod row;
#[cfg(test)]
mod tests;

use crate::dirs;
use anyhow::{Context, Result, bail, ensure};
use std::fs;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
#[command(after_help = "Examples:\n  cargo xtask new-operator Softcap --family activation\n  \
                        cargo xtask new-operator MulInteger --domain com.microsoft\n  \
                        cargo xtask new-operator Blend --domain com.acme")]
pub(crate) struct Args {
    /// The operator, such as `Softcap`
    name: String,
    /// Its domain
    #[arg(long, default_value = "ai.onnx")]
    domain: String,
    /// The folder in crates/onnx-ops/src/operators that gets its row; an operator of ONNX needs one
    #[arg(long)]
    family: Option<String>,
}

/// A file that is written.
struct Edit {
    path: PathBuf,
    content: String,
    /// The next step of its user.
    next: String,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let root = dirs::root();
    for edit in edits(&root, args)? {
        fs::create_dir_all(edit.path.parent().context("files have folders")?)?;
        fs::write(&edit.path, &edit.content).with_context(|| edit.path.display().to_string())?;
        let path = edit.path.strip_prefix(&root).unwrap_or(&edit.path);
        println!("wrote {}: {}", path.display(), edit.next);
    }
    println!("then: cargo fmt, cargo xtask codegen, cargo test -p suite --test suite {}", args.name);
    println!(
        "and: UPDATE=1 cargo test -p onnx-ops --test gradient_list, which writes its line of docs/gradient.md"
    );
    Ok(())
}

/// The files to write; none is written if one of them is impossible.
fn edits(root: &Path, args: &Args) -> Result<Vec<Edit>> {
    let (name, domain) = (&*args.name, &*args.domain);
    let is_word = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    ensure!(
        is_word(name) && name.starts_with(|c: char| c.is_ascii_alphabetic()),
        "`{name}` is not the name of an operator: expected letters, digits and `_`"
    );
    ensure!(
        domain.split('.').all(|part| !part.is_empty() && is_word(part)),
        "`{domain}` is not a domain: expected words with dots between them"
    );
    let ops = root.join("crates/onnx-ops");
    let examples = ops.join("docs").join(domain);
    let is_standard = examples.is_dir();
    let mut edits = Vec::new();
    match &args.family {
        Some(family) => edits.push(row::insert(&ops.join("src/operators"), family, domain, name)?),
        None if is_standard => {
            let families = row::families(&ops.join("src/operators"))?.join(", ");
            bail!("an operator of {domain} needs `--family`: one of {families}");
        }
        None => {}
    }
    let imports = if is_standard {
        let (header, imports) = newest_imports(&examples)?;
        let path = examples.join(format!("{name}.onnxtxt"));
        if !path.exists() {
            let call = call(domain, name);
            let content = format!(
                "## Describe {name} in a sentence.\n{header}\nexample (float[N] x) => (float[N] y)\n{{\n    \
                 y = {call}\n}}\n"
            );
            edits.push(Edit { path, content, next: "describe it and use its inputs and attributes".into() });
        }
        imports
    } else {
        edits.push(document::insert(&ops.join("opsets"), domain, name)?);
        format!("\"\": 21, \"{domain}\": 1")
    };
    let path = root.join(format!("tests/suite/run/{name}.onnxtxt"));
    if !path.exists() {
        let call = call(domain, name);
        let content = format!(
            "#! run\n#! input float[2] x = {{-1, 2}}\n#! expect float[2] y = {{-1, 2}}\n\
             <ir_version: 10, opset_import: [{imports}]>\ng (float[N] x) => (float[N] y)\n{{\n   y = {call}\n}}\n"
        );
        edits.push(Edit { path, content, next: "state values of its inputs and outputs".into() });
    }
    Ok(edits)
}

/// A node with one input.
fn call(domain: &str, name: &str) -> String {
    if domain == "ai.onnx" { format!("{name}(x)") } else { format!("{domain}.{name}(x)") }
}

/// The header line with the newest imports in a folder of examples, and the imports.
fn newest_imports(folder: &Path) -> Result<(String, String)> {
    let mut newest: Option<(u32, String, String)> = None;
    for entry in fs::read_dir(folder)? {
        let text = fs::read_to_string(entry?.path())?;
        let Some(header) = text.lines().find(|line| line.starts_with("<ir_version")) else { continue };
        let imports = header.split_once("opset_import: [").and_then(|(_, rest)| rest.split_once(']'));
        let Some((imports, _)) = imports else { continue };
        let version = imports.rsplit(' ').next().and_then(|version| version.parse().ok()).unwrap_or(0);
        if newest.as_ref().is_none_or(|(known, ..)| *known < version) {
            newest = Some((version, header.to_owned(), imports.to_owned()));
        }
    }
    let (_, header, imports) = newest.with_context(|| format!("{} has no example", folder.display()))?;
    Ok((header, imports))
}
