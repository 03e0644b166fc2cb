//! Access to files below a model's folder.
//!
//! A model may be untrusted, and its locations are paths. Files must be below the folder, regular, and reached without a link.
//! Only the path of the model itself may be a link: it is resolved once, and the folder is that of its target.
//!
//! On Unix each component of a location is opened relative to the previous one without following links, and checks use the open
//! file: replacing a folder by a link meanwhile has no effect. Elsewhere paths are checked before they are opened.

use crate::file;
use bytes::Bytes;
use onnx_ir::diag::{Diagnostic, Entity, code};
use onnx_ir::{FileFacts, check_file, check_location};
use onnx_ir::{Model, Tensor};
use sha1::{Digest as _, Sha1};
use std::collections::HashMap;
use std::fs::Metadata;
use std::io;
use std::path::{Component, Path, PathBuf};

/// The folder of a model. Every file is opened once.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    files: HashMap<String, FolderEntry>,
}

#[derive(Debug)]
struct FolderEntry {
    facts: FileFacts,
    content: Option<Bytes>,
    metadata: Option<Metadata>,
}

impl Folder {
    /// The folder that locations are relative to.
    pub fn new(path: &Path) -> Folder {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        Folder { path: path.to_owned(), files: HashMap::new() }
    }

    /// The folder that the model at `path` is in, or that of the file that `path` is a link to.
    pub fn of(path: &Path) -> Folder {
        let place = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        Folder::new(place.parent().unwrap_or(Path::new("")))
    }

    /// The files that were read.
    pub fn read(&self) -> impl Iterator<Item = (&str, &Metadata)> {
        self.files.iter().filter_map(|(location, entry)| Some((location.as_str(), entry.metadata.as_ref()?)))
    }

    /// The properties of the file at a location. A location outside the folder does not exist.
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

    /// The part of a file that a tensor refers to; compares the `checksum` if `checksums` is set.
    ///
    /// # Errors
    ///
    /// Findings about the tensor's external data entries, or about the file.
    pub fn load(
        &mut self,
        model: &Model,
        tensor: &Tensor,
        entity: Entity,
        checksums: bool,
    ) -> Result<Bytes, Vec<Diagnostic>> {
        let mut found = check_location(model, tensor, entity);
        if found.is_empty() {
            found = self.check(model, tensor, entity, checksums);
        }
        if !found.is_empty() {
            return Err(found);
        }
        let location = location(model, tensor);
        match self.entry(location).map(|entry| entry.content.clone()) {
            Ok(Some(content)) => Ok(content),
            Ok(None) | Err(_) => {
                let message = format!("`{location}` is not a file below the model's folder");
                Err(vec![Diagnostic::new(&code::LOCATION_NOT_A_FILE, entity, message)])
            }
        }
    }

    /// Findings about the file of a tensor. If the tensor does not name one place below the folder, there are none here: `verify`
    /// reports that, by [`check_location`].
    pub fn check(
        &mut self,
        model: &Model,
        tensor: &Tensor,
        entity: Entity,
        checksums: bool,
    ) -> Vec<Diagnostic> {
        let location = location(model, tensor);
        if !is_below(location) || !check_location(model, tensor, entity).is_empty() {
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

    fn entry(&mut self, location: &str) -> io::Result<&mut FolderEntry> {
        if !self.files.contains_key(location) {
            let entry = open(&self.path, location)?;
            self.files.insert(location.to_owned(), entry);
        }
        Ok(self.files.get_mut(location).expect("it was inserted if it was missing"))
    }
}

fn location<'m>(model: &'m Model, tensor: &Tensor) -> &'m str {
    tensor.external(&model.names, "location").map_or("", |name| &model.names[name])
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
const A_LINK: FileFacts = FileFacts { exists: true, linked: true, ..NOTHING };
const NOT_REGULAR: FileFacts = FileFacts { exists: true, ..NOTHING };

fn open(folder: &Path, location: &str) -> io::Result<FolderEntry> {
    let nothing = |facts| Ok(FolderEntry { facts, content: None, metadata: None });
    if !is_below(location) {
        return nothing(NOTHING);
    }
    let (file, metadata) = match below::open(folder, Path::new(location))? {
        Ok(file) => {
            let metadata = file.metadata()?;
            (file, metadata)
        }
        Err(facts) => return nothing(facts),
    };
    if !metadata.is_file() {
        return nothing(NOT_REGULAR);
    }
    if has_links(&metadata) {
        return nothing(FileFacts { regular: true, ..A_LINK });
    }
    let content = file::content(file, &metadata, &folder.join(location))?;
    let size = u64::try_from(content.len()).unwrap_or(u64::MAX);
    let facts = FileFacts { exists: true, regular: true, linked: false, size, sha1: None };
    Ok(FolderEntry { facts, content: Some(content), metadata: Some(metadata) })
}

#[cfg(unix)]
mod below {
    use super::{A_LINK, FileFacts, NOT_REGULAR, NOTHING};
    use rustix::fd::OwnedFd;
    use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, openat, statat};
    use rustix::io::Errno;
    use std::ffi::OsStr;
    use std::fs::File;
    use std::io;
    use std::path::{Component, Path};

    /// Traversing a folder needs no permission to list it, on systems that distinguish the two.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    const THROUGH: OFlags = OFlags::PATH;
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    const THROUGH: OFlags = OFlags::RDONLY;

    /// Opens a file below a folder, or returns what exists instead. The caller checks the open file again.
    pub(super) fn open(folder: &Path, location: &Path) -> io::Result<Result<File, FileFacts>> {
        let through = THROUGH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let mut parts = location.components().filter_map(|part| match part {
            Component::Normal(part) => Some(part),
            Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::ParentDir => None,
        });
        let Some(last) = parts.next_back() else { return Ok(Err(NOT_REGULAR)) };
        let mut at: OwnedFd = openat(CWD, folder, through, Mode::empty())?;
        for part in parts {
            at = match openat(&at, part, through | OFlags::NOFOLLOW, Mode::empty()) {
                Ok(next) => next,
                Err(error) => return instead(&at, part, error).map(Err),
            };
        }
        // Opening a device can do something, so only what seems to be a file is opened.
        match statat(&at, last, AtFlags::SYMLINK_NOFOLLOW).map(|stat| FileType::from_raw_mode(stat.st_mode)) {
            Ok(FileType::RegularFile) => {}
            Ok(FileType::Symlink) => return Ok(Err(A_LINK)),
            Ok(_) => return Ok(Err(NOT_REGULAR)),
            Err(error) => return instead(&at, last, error).map(Err),
        }
        // It may be a pipe by now: that is not waited for.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        match openat(&at, last, flags, Mode::empty()) {
            Ok(file) => Ok(Ok(file.into())),
            Err(error) => instead(&at, last, error).map(Err),
        }
    }

    /// The properties of a path component that could not be opened.
    fn instead(at: &OwnedFd, part: &OsStr, error: Errno) -> io::Result<FileFacts> {
        match statat(at, part, AtFlags::SYMLINK_NOFOLLOW).map(|stat| FileType::from_raw_mode(stat.st_mode)) {
            Ok(FileType::Symlink) => Ok(A_LINK),
            // A folder or file was expected.
            _ if error == Errno::NOENT || error == Errno::NOTDIR => Ok(NOTHING),
            _ if error == Errno::NXIO => Ok(NOT_REGULAR),
            Ok(_) | Err(_) => Err(error.into()),
        }
    }
}

#[cfg(not(unix))]
mod below {
    use super::{A_LINK, FileFacts, NOT_REGULAR, NOTHING};
    use std::fs::File;
    use std::io;
    use std::path::Path;

    /// Opens a file below a folder, or returns what exists instead. Without system calls relative to a folder, paths are checked
    /// first; replacing folders meanwhile could redirect the access.
    pub(super) fn open(folder: &Path, location: &Path) -> io::Result<Result<File, FileFacts>> {
        let mut path = folder.to_owned();
        for part in location.components() {
            path.push(part);
            match path.symlink_metadata() {
                Ok(found) if found.is_symlink() => return Ok(Err(A_LINK)),
                Ok(_) => {}
                Err(error)
                    if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
                {
                    return Ok(Err(NOTHING));
                }
                Err(error) => return Err(error),
            }
        }
        if path.is_file() { File::open(path).map(Ok) } else { Ok(Err(NOT_REGULAR)) }
    }
}

#[cfg(unix)]
fn has_links(metadata: &Metadata) -> bool {
    std::os::unix::fs::MetadataExt::nlink(metadata) > 1
}

/// The standard library does not count links on this system.
#[cfg(not(unix))]
fn has_links(_: &Metadata) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Locations of parts drawn at random, one or two of them on a tensor: nothing from outside is ever read.
    #[cfg(unix)]
    #[test]
    fn no_location_leads_outside() {
        use onnx_ir::{BodyId, DataLocation, ElemType, GraphId, PrimaryMap};
        use std::fs;
        use std::os::unix::fs::symlink;

        let folder = std::env::temp_dir().join(format!("onnx-proto-locations-{}", std::process::id()));
        _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("in/a/b")).unwrap();
        for (name, content) in
            [("w", "OUTSIDE!"), ("in/w", "inside 1"), ("in/a/w", "inside 2"), ("in/a/b/w", "inside 3")]
        {
            fs::write(folder.join(name), content).unwrap();
        }
        symlink(&folder, folder.join("in/out")).unwrap();
        symlink("../..", folder.join("in/a/up")).unwrap();
        symlink("../w", folder.join("in/link")).unwrap();
        fs::hard_link(folder.join("w"), folder.join("in/a/hard")).unwrap();
        let absolute = folder.display().to_string();
        let parts = [
            "..", ".", "a", "b", "w", "w", "out", "up", "link", "hard", "", "\\", "\0", "..w", &absolute,
            "in",
        ];
        let mut seed = 14_u64;
        let mut draw = |below: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(seed >> 33).unwrap() % below
        };
        let (body, graph) =
            (PrimaryMap::<BodyId, ()>::new().push(()), PrimaryMap::<GraphId, ()>::new().push(()));
        let entity = Entity::Initializer(body, graph, 0);
        let mut inside = 0;
        for _ in 0..5_000 {
            let mut model = Model::new();
            let mut tensor = Tensor { elem: Some(ElemType::UINT8), ..Tensor::default() };
            tensor.dims.push(8);
            tensor.extra_mut().location = Some(DataLocation::EXTERNAL);
            for _ in 0..=draw(2) {
                let count = 1 + draw(4);
                let location: Vec<&str> = (0..count).map(|_| parts[draw(parts.len())]).collect();
                let (key, value) = (model.names.intern("location"), model.names.intern(&location.join("/")));
                tensor.extra_mut().external.push(onnx_ir::Entry { key: Some(key), value: Some(value) });
            }
            let mut files = Folder::of(&folder.join("in/model.onnx"));
            if let Ok(content) = files.load(&model, &tensor, entity, false) {
                assert!(content.starts_with(b"inside"), "{:?}", tensor.extra().external);
                inside += 1;
            }
        }
        assert!(inside > 50, "{inside} of the locations are sound");
        fs::remove_dir_all(&folder).unwrap();
    }

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
