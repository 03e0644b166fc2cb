//! The files below a model's folder, and no others.
//!
//! A model may come from a stranger, and its locations are paths. What is read lies below the folder, is a regular
//! file, and is reached without a link.

use crate::file;
use bytes::Bytes;
use onnx_ir::diag::{Entity, code};
use onnx_ir::verify::{FileFacts, check_file};
use onnx_ir::{Diagnostic, Model, Tensor};
use sha1::{Digest as _, Sha1};
use std::collections::HashMap;
use std::io;
use std::path::{Component, Path, PathBuf};

/// The folder of a model. Every file is opened once.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    files: HashMap<String, Entry>,
}

#[derive(Debug)]
struct Entry {
    facts: FileFacts,
    content: Option<Bytes>,
}

impl Folder {
    /// The folder that locations are relative to.
    pub fn new(path: &Path) -> Folder {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        Folder { path: path.to_owned(), files: HashMap::new() }
    }

    /// The folder that the model at `path` is in.
    pub fn of(path: &Path) -> Folder {
        Folder::new(path.parent().unwrap_or(Path::new("")))
    }

    /// What is at a location. One that leads out of the folder does not exist.
    fn facts(&mut self, location: &str) -> io::Result<FileFacts> {
        self.entry(location).map(|entry| entry.facts)
    }

    fn facts_with_checksum(&mut self, location: &str) -> io::Result<FileFacts> {
        let entry = self.entry(location)?;
        if let (None, Some(content)) = (entry.facts.sha1, &entry.content) {
            entry.facts.sha1 = Some(Sha1::digest(content).into());
        }
        Ok(entry.facts)
    }

    /// The content of the file that a tensor names, if the tensor's part of it is there; the `checksum` is compared
    /// where `checksums` says so.
    ///
    /// # Errors
    ///
    /// What is wrong with the file, as seen from the tensor.
    pub fn load(
        &mut self,
        model: &Model,
        tensor: &Tensor,
        entity: Entity,
        checksums: bool,
    ) -> Result<Bytes, Vec<Diagnostic>> {
        let location = tensor.external(&model.names, "location").map_or("", |name| &model.names[name]);
        let found = self.check(model, tensor, entity, checksums);
        if !found.is_empty() {
            return Err(found);
        }
        match self.entry(location).map(|entry| entry.content.clone()) {
            Ok(Some(content)) => Ok(content),
            Ok(None) | Err(_) => {
                let message = format!("`{location}` is no file below the folder of the model");
                Err(vec![Diagnostic::new(&code::LOCATION_NOT_A_FILE, entity, message)])
            }
        }
    }

    /// What is wrong with the file that a tensor names. Of a location that cannot be a file below the folder nothing is
    /// said here: `verify` does.
    pub fn check(
        &mut self,
        model: &Model,
        tensor: &Tensor,
        entity: Entity,
        checksums: bool,
    ) -> Vec<Diagnostic> {
        let location = tensor.external(&model.names, "location").map_or("", |name| &model.names[name]);
        if !is_below(location) {
            return Vec::new();
        }
        let is_summed = checksums && tensor.external(&model.names, "checksum").is_some();
        let facts = if is_summed { self.facts_with_checksum(location) } else { self.facts(location) };
        match facts {
            Ok(facts) => check_file(model, tensor, entity, &facts),
            Err(error) => {
                let message = format!("`{location}` cannot be read: {error}");
                vec![Diagnostic::new(&code::LOCATION_NOT_A_FILE, entity, message)]
            }
        }
    }

    fn entry(&mut self, location: &str) -> io::Result<&mut Entry> {
        if !self.files.contains_key(location) {
            let entry = open(&self.path, location)?;
            self.files.insert(location.to_owned(), entry);
        }
        Ok(self.files.get_mut(location).expect("it was inserted if it was missing"))
    }
}

/// Whether a location can only be a place below the folder it is relative to.
fn is_below(location: &str) -> bool {
    // A backslash is a separator on some systems, and no part of a portable name.
    !location.is_empty()
        && !location.contains(['\0', '\\'])
        && Path::new(location)
            .components()
            .all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

const NOTHING: FileFacts = FileFacts { exists: false, regular: false, linked: false, size: 0, sha1: None };

fn open(folder: &Path, location: &str) -> io::Result<Entry> {
    let nothing = |facts| Ok(Entry { facts, content: None });
    if !is_below(location) {
        return nothing(NOTHING);
    }
    let mut path = folder.to_owned();
    let mut metadata = None;
    for part in Path::new(location).components() {
        path.push(part);
        let found = match path.symlink_metadata() {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return nothing(NOTHING),
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => return nothing(NOTHING),
            Err(error) => return Err(error),
        };
        if found.is_symlink() {
            return nothing(FileFacts { exists: true, linked: true, ..NOTHING });
        }
        metadata = Some(found);
    }
    let Some(metadata) = metadata else { return nothing(NOTHING) };
    let facts = FileFacts {
        exists: true,
        regular: metadata.is_file(),
        linked: metadata.is_file() && has_links(&metadata),
        size: metadata.len(),
        sha1: None,
    };
    if !facts.regular || facts.linked {
        return nothing(facts);
    }
    // A path that was exchanged for another since is seen here: what is open decides.
    let is_same = |opened: &std::fs::Metadata| opened.is_file() && same(opened, &metadata);
    match file::open_if(&path, &is_same)? {
        Some(content) => {
            let size = u64::try_from(content.len()).unwrap_or(u64::MAX);
            Ok(Entry { facts: FileFacts { size, ..facts }, content: Some(content) })
        }
        None => nothing(FileFacts { linked: true, ..facts }),
    }
}

#[cfg(unix)]
fn has_links(metadata: &std::fs::Metadata) -> bool {
    std::os::unix::fs::MetadataExt::nlink(metadata) > 1
}

#[cfg(unix)]
fn same(a: &std::fs::Metadata, b: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    (a.dev(), a.ino()) == (b.dev(), b.ino())
}

/// The standard library does not count links on this system.
#[cfg(not(unix))]
fn has_links(_: &std::fs::Metadata) -> bool {
    false
}

#[cfg(not(unix))]
fn same(a: &std::fs::Metadata, b: &std::fs::Metadata) -> bool {
    a.len() == b.len() && a.modified().ok() == b.modified().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn only_regular_files_below_the_folder_are_read() {
        use std::fs;
        use std::os::unix::fs::symlink;

        let folder = std::env::temp_dir().join(format!("onnx-proto-folder-{}", std::process::id()));
        fs::create_dir_all(folder.join("in/sub")).unwrap();
        fs::write(folder.join("secret"), b"secret").unwrap();
        fs::write(folder.join("in/w"), b"abc").unwrap();
        fs::write(folder.join("in/sub/w"), b"abcd").unwrap();
        fs::hard_link(folder.join("secret"), folder.join("in/hard")).unwrap();
        symlink(folder.join("secret"), folder.join("in/soft")).unwrap();
        symlink(folder.join("in/sub"), folder.join("in/link")).unwrap();

        let mut files = Folder::of(&folder.join("in/model.onnx"));
        let mut size = |location: &str| files.entry(location).unwrap().content.as_ref().map(Bytes::len);
        assert_eq!((size("w"), size("sub/w"), size("./sub/w")), (Some(3), Some(4), Some(4)));
        for location in
            ["../secret", "sub/../w", "/etc/hostname", "", "none", "sub", "soft", "hard", "link/w", "w/x"]
        {
            assert_eq!(size(location), None, "{location}");
        }
        let mut facts = |location: &str| files.facts_with_checksum(location).unwrap();
        assert!(facts("soft").linked && facts("hard").linked && facts("link/w").linked);
        assert!(facts("sub").exists && !facts("sub").regular && !facts("none").exists);
        assert_eq!(facts("w").sha1.unwrap()[..4], [0xa9, 0x99, 0x3e, 0x36]);
        fs::remove_dir_all(&folder).unwrap();
    }
}
