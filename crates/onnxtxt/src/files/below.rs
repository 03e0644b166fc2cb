//! The files of some kind below a folder.

use crate::Error;
use std::fs;
use std::path::{Path, PathBuf};

/// The regular files below a folder that have one of these extensions, sorted by name in each folder. Hidden folders, links to
/// folders, pipes and devices are skipped: reading one could wait for ever. A file that has gone, or a link that leads nowhere, is
/// listed: reading it fails at once.
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
        } else if !is_dir
            && extension.is_some_and(|extension| extensions.contains(&extension))
            && path.metadata().map_or(true, |metadata| metadata.is_file())
        {
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

    #[cfg(unix)]
    #[test]
    fn only_regular_files_are_listed() {
        use std::os::unix::fs::symlink;
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        fs::write(at("file.onnx"), "").unwrap();
        fs::create_dir(at("folder")).unwrap();
        symlink("file.onnx", at("link.onnx")).unwrap();
        symlink("nowhere", at("lost.onnx")).unwrap();
        symlink("folder", at("folder.onnx")).unwrap();
        symlink("/dev/zero", at("device.onnx")).unwrap();
        std::os::unix::net::UnixListener::bind(at("socket.onnx")).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(at("pipe.onnx")).status().unwrap().success());
        let files = below(root.path(), &["onnx"]).unwrap();
        let names: Vec<_> = files.iter().map(|file| file.strip_prefix(root.path()).unwrap()).collect();
        assert_eq!(names, ["file.onnx", "link.onnx", "lost.onnx"].map(Path::new));
    }
}
