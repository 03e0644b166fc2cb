//! The files of some kind below a folder.

use crate::Error;
use std::fs;
use std::path::{Path, PathBuf};

/// The files below a folder that have one of these extensions, sorted by name in each folder. Hidden folders and links to folders
/// are skipped.
///
/// # Errors
///
/// A folder cannot be read.
pub fn below(folder: &Path, extensions: &[&str]) -> Result<Vec<PathBuf>, Error> {
    let mut files = Vec::new();
    walk(folder, extensions, &mut files)?;
    Ok(files)
}

fn walk(folder: &Path, extensions: &[&str], files: &mut Vec<PathBuf>) -> Result<(), Error> {
    let cannot = |source| Error::read(folder, source);
    let mut entries: Vec<_> =
        fs::read_dir(folder).map_err(cannot)?.collect::<Result<_, _>>().map_err(cannot)?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        let is_dir = entry.file_type().map_err(|source| Error::read(&path, source))?.is_dir();
        let extension = path.extension().and_then(|extension| extension.to_str());
        if is_dir && !entry.file_name().to_string_lossy().starts_with('.') {
            walk(&path, extensions, files)?;
        } else if !is_dir && extension.is_some_and(|extension| extensions.contains(&extension)) {
            files.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_folders_and_other_files_are_skipped() {
        let root = tempfile::tempdir().unwrap();
        for file in ["b.onnx", "a/c.onnx", "a/.d.onnx", ".git/e.onnx", "a/f.txt", "onnx"] {
            let path = root.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let files = below(root.path(), &["onnx"]).unwrap();
        let names: Vec<_> = files.iter().map(|file| file.strip_prefix(root.path()).unwrap()).collect();
        assert_eq!(names, ["a/.d.onnx", "a/c.onnx", "b.onnx"].map(Path::new));
        assert!(below(&root.path().join("b.onnx"), &["onnx"]).is_err());
    }
}
