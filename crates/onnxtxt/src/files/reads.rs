//! Input files: they must not be replaced accidentally, and their permissions apply to the output.

use onnx_ir::Model;
use onnx_proto::external::{Folder, external_tensors};
use std::fs::Metadata;
use std::path::{Path, PathBuf};

/// The identity of a file under any name: device and inode. `None` on systems without such numbers.
pub type FileId = Option<(u64, u64)>;

/// The input files so far.
#[derive(Clone, Debug)]
pub struct Reads {
    files: Vec<(FileId, PathBuf)>,
    permissions: u32,
}

impl Default for Reads {
    fn default() -> Self {
        Reads { files: Vec::new(), permissions: 0o666 }
    }
}

impl Reads {
    /// Records an input file.
    pub fn note(&mut self, path: &Path) {
        let Ok(metadata) = path.metadata() else { return };
        if metadata.is_file() {
            self.permissions &= permissions_of(&metadata);
            self.files.push((id(&metadata), path.to_owned()));
        }
    }

    /// The files, by the names under which they were read.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.files.iter().map(|(_, path)| &**path)
    }

    /// Records the files that the model at `path` refers to, whether or not they are read.
    pub fn note_external(&mut self, model: &Model, path: &Path) {
        let place = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let mut names: Vec<&str> = external_tensors(model)
            .iter()
            .flat_map(|(tensor, _)| &tensor.extra().external)
            .filter(|entry| model.text(entry.key) == "location")
            .map(|entry| model.text(entry.value))
            .collect();
        names.sort_unstable();
        names.dedup();
        for name in names.into_iter().filter(|name| !name.contains('\0')) {
            let path = place.with_file_name(name);
            if let Some(metadata) = path.metadata().ok().filter(Metadata::is_file) {
                self.files.push((id(&metadata), path));
            }
        }
    }

    /// Applies the permissions of the files that were read beside a model.
    pub fn note_read(&mut self, folder: &Folder) {
        for (_, metadata) in folder.read() {
            self.permissions &= permissions_of(metadata);
        }
    }

    /// Records everything that `other` has recorded.
    pub fn note_all(&mut self, other: &Reads) {
        self.permissions &= other.permissions;
        self.files.extend_from_slice(&other.files);
    }

    /// The permissions of a new file: those common to all input files.
    pub(crate) fn permissions(&self) -> u32 {
        self.permissions | 0o600
    }

    /// The name of a file, if it was read. A file that has been replaced since then is gone, and a new one may have its numbers:
    /// only the file that still has the name is the one that was read.
    pub(crate) fn name_of(&self, file: FileId) -> Option<String> {
        file?;
        let is_still = |path: &Path| path.metadata().is_ok_and(|now| id(&now) == file);
        let read = self.files.iter().find(|(read, path)| *read == file && is_still(path));
        read.map(|(_, path)| path.display().to_string())
    }
}

/// The numbers that identify a file.
#[cfg(unix)]
pub fn id(metadata: &Metadata) -> FileId {
    use std::os::unix::fs::MetadataExt as _;
    Some((metadata.dev(), metadata.ino()))
}

/// `None`: this system does not identify files by numbers.
#[cfg(not(unix))]
pub fn id(_: &Metadata) -> FileId {
    None
}

#[cfg(unix)]
fn permissions_of(metadata: &Metadata) -> u32 {
    std::os::unix::fs::PermissionsExt::mode(&metadata.permissions())
}

#[cfg(not(unix))]
fn permissions_of(_: &Metadata) -> u32 {
    0o666
}

#[cfg(test)]
mod tests {
    #[cfg(unix)]
    use super::*;
    #[cfg(unix)]
    use std::fs;

    /// Systems give the numbers of a removed file to the next new one; a hard link makes sure that a file has them.
    #[cfg(unix)]
    #[test]
    fn a_file_that_was_replaced_does_not_protect_the_next_one_with_its_numbers() {
        let folder = tempfile::tempdir().unwrap();
        let [read, other, moved] = ["read", "other", "moved"].map(|name| folder.path().join(name));
        fs::write(&read, "old").unwrap();
        let mut reads = Reads::default();
        reads.note(&read);
        fs::hard_link(&read, &other).unwrap();
        let file = id(&other.metadata().unwrap());
        assert_eq!(reads.name_of(file), Some(read.display().to_string()), "under any name");
        fs::write(&moved, "new").unwrap();
        fs::rename(&moved, &read).unwrap();
        assert_eq!(id(&other.metadata().unwrap()), file);
        assert_eq!(reads.name_of(file), None);
    }
}
