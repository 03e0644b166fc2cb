//! `cargo xtask tidy`: the invariants of design.md that text can show.
//!
//! A rule is a function over the files that git knows; it gives findings with file and line. What a rule reads of a
//! Rust file is the code: comments, strings and test modules are blanked first (see [`source`]).

mod budget;
mod charged;
mod comments;
mod counts;
mod imports;
mod inlined;
mod layout;
mod libraries;
mod locks;
mod packed;
mod source;
mod text;
mod words;
mod writes;

use crate::{dirs, process};
use anyhow::{Result, ensure};
use source::File;
use std::fmt;
use std::process::Command;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Print the imports between the rooms of every crate, and check nothing
    #[arg(long)]
    imports: bool,
}

/// One broken rule at one place. `line` is 1-based, 0 for the whole file.
pub(crate) struct Finding {
    path: String,
    line: usize,
    message: String,
}

impl Finding {
    fn new(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, message: message.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path, self.message),
            line => write!(f, "{}:{line}: {}", self.path, self.message),
        }
    }
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let files = files()?;
    if args.imports {
        print!("{}", imports::report(&files));
        return Ok(());
    }
    let findings: Vec<Finding> = [
        libraries::one_home(&files),
        libraries::layers(&files),
        libraries::no_io_in_ir(&files),
        layout::opens_with_doc(&files),
        layout::telling_names(&files),
        layout::no_unwrap(&files),
        layout::no_ignored_test(&files),
        layout::unsafe_is_listed(&files),
        charged::lists_are_charged(&files),
        imports::point_down(&files),
        locks::versions_agree(&files),
        inlined::iterators_are_inlined(&files),
        comments::long_functions_have_headings(&files),
        comments::safety_names_a_bound(&files),
        counts::nouns_agree(&files),
        layout::limits_are_max_and_min(&files),
        packed::stays_inside(&files),
        packed::manifests_describe(&files),
        text::no_machine_paths(&files),
        text::known_hosts(&files),
        words::plain_english(&files),
        writes::files_are_written_in_one_place(&files),
        writes::names_are_the_users(&files),
    ]
    .into_iter()
    .flatten()
    .collect();
    for note in layout::long_files(&files) {
        println!("note: {note}");
    }
    for finding in &findings {
        println!("{finding}");
    }
    ensure!(findings.is_empty(), "tidy: {} findings", findings.len());
    println!("tidy: {} files in order", files.len());
    Ok(())
}

/// Every file that is committed or would be, as text.
fn files() -> Result<Vec<File>> {
    let root = dirs::root();
    let list = process::output(Command::new("git").current_dir(&root).args([
        "ls-files",
        "-co",
        "--exclude-standard",
        "-z",
    ]))?;
    let mut paths: Vec<&str> = list.split('\0').filter(|path| !path.is_empty()).collect();
    paths.sort_unstable();
    Ok(paths
        .into_iter()
        // A file that was deleted but not yet committed is still listed; a binary one has no lines to point at.
        .filter_map(|path| Some(File::new(path, std::fs::read_to_string(root.join(path)).ok()?)))
        .collect())
}
