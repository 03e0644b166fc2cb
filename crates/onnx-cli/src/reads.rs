//! What this run has read: files that it must not replace in passing, and who may read what it writes.

use onnx_ir::Model;
use onnx_proto::external::{Folder, external_tensors};
use std::fmt::{self, Display, Formatter};
use std::fs::Metadata;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The context of an error: which file cannot be read. In forms for programs it is a finding about the file.
#[derive(Debug)]
pub(crate) struct Unreadable {
    pub(crate) file: String,
    message: String,
}

impl Unreadable {
    /// `cannot read m.onnx`
    pub(crate) fn new(path: &Path) -> Unreadable {
        let file = path.display().to_string();
        Unreadable { message: format!("cannot read {file}"), file }
    }

    /// The same for another reason.
    pub(crate) fn because(file: &str, message: String) -> Unreadable {
        Unreadable { file: file.to_owned(), message }
    }
}

impl Display for Unreadable {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Unreadable {}

/// A file, whatever it is called: device and inode. `None` on systems where a file cannot be told by numbers.
pub(crate) type FileId = Option<(u64, u64)>;

struct Reads {
    files: Vec<(FileId, String)>,
    permissions: u32,
}

static READS: Mutex<Reads> = Mutex::new(Reads { files: Vec::new(), permissions: 0o666 });

fn reads() -> MutexGuard<'static, Reads> {
    READS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Remembers a file that is read.
pub(crate) fn note(path: &Path) {
    let Ok(metadata) = path.metadata() else { return };
    let mut reads = reads();
    if metadata.is_file() {
        reads.permissions &= permissions_of(&metadata);
        reads.files.push((id(&metadata), path.display().to_string()));
    }
}

/// Remembers the files that a model names, whether or not they have to be read.
pub(crate) fn note_external(model: &Model, path: &Path) {
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
            reads().files.push((id(&metadata), path.display().to_string()));
        }
    }
}

/// Remembers who may read the files beside a model that were read.
pub(crate) fn note_read(folder: &Folder) {
    for (_, metadata) in folder.read() {
        reads().permissions &= permissions_of(metadata);
    }
}

/// The permissions of a new file: those that all files have that were read.
pub(crate) fn permissions() -> u32 {
    reads().permissions | 0o600
}

/// The name of a file, if it was read.
pub(crate) fn name_of(file: FileId) -> Option<String> {
    file?;
    reads().files.iter().find(|(read, _)| *read == file).map(|(_, name)| name.clone())
}

#[cfg(unix)]
pub(crate) fn id(metadata: &Metadata) -> FileId {
    use std::os::unix::fs::MetadataExt as _;
    Some((metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
pub(crate) fn id(_: &Metadata) -> FileId {
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
