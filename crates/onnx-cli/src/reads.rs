//! What this run has read: files that it must not replace in passing.

use onnx_ir::Model;
use onnx_proto::external::Folder;
use onnxtxt::files::Reads;
use std::fmt::{self, Display, Formatter};
use std::path::Path;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

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

static READS: LazyLock<Mutex<Reads>> = LazyLock::new(Mutex::default);

fn reads() -> MutexGuard<'static, Reads> {
    READS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Everything that was read so far.
pub(crate) fn all() -> Reads {
    reads().clone()
}

/// Remembers a file that is read.
pub(crate) fn note(path: &Path) {
    reads().note(path);
}

/// Remembers the files that a model names, whether or not they have to be read.
pub(crate) fn note_external(model: &Model, path: &Path) {
    reads().note_external(model, path);
}

/// Remembers who may read the files beside a model that were read.
pub(crate) fn note_read(folder: &Folder) {
    reads().note_read(folder);
}
