//! The files that a command line names: folders stand for the files of a kind in them.

use crate::reads::Unreadable;
use anyhow::Context as _;
use std::fs;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

/// Fails instead of waiting for input on a terminal; without files, stdin is read.
pub(crate) fn ensure_given(paths: &[PathBuf]) -> anyhow::Result<()> {
    let reads_stdin = paths.iter().any(|path| path == Path::new("-"));
    anyhow::ensure!(
        !reads_stdin || !std::io::stdin().is_terminal(),
        "no file given, and stdin is a terminal: name a file or pipe one in"
    );
    Ok(())
}

/// All files named by `paths`, sorted, with folders replaced by the files in them that have one of these extensions. Skips
/// hidden entries and links to folders.
pub(crate) fn expand(paths: &[PathBuf], extensions: &[&str]) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in paths {
        if path.is_dir() {
            walk(path, extensions, &mut files)?;
        } else {
            files.push(path.clone());
        }
    }
    Ok(files)
}

fn walk(folder: &Path, extensions: &[&str], files: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    let cannot = || {
        let folder = folder.display().to_string();
        Unreadable::because(&folder, format!("cannot read folder {folder}"))
    };
    let mut entries =
        fs::read_dir(folder).with_context(cannot)?.collect::<Result<Vec<_>, _>>().with_context(cannot)?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
        let kind = entry.file_type().with_context(|| Unreadable::new(&path))?;
        let is_wanted =
            |path: &Path| path.extension().and_then(|e| e.to_str()).is_some_and(|e| extensions.contains(&e));
        if kind.is_dir() && !is_hidden {
            walk(&path, extensions, files)?;
        } else if !kind.is_dir() && is_wanted(&path) {
            files.push(path);
        }
    }
    Ok(())
}
