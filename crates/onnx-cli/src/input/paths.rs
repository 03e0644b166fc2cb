//! The files that a command line names: folders stand for the files of a kind in them.

use crate::read_files::Unreadable;
use onnxtxt::files::below;
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
            files.extend(below(path, extensions).map_err(unreadable)?);
        } else {
            files.push(path.clone());
        }
    }
    Ok(files)
}

fn unreadable(error: onnxtxt::Error) -> anyhow::Error {
    match error {
        onnxtxt::Error::Read { file, source } => {
            let message = format!("cannot read folder {file}");
            anyhow::Error::new(source).context(Unreadable::because(&file, message))
        }
        error => error.into(),
    }
}
