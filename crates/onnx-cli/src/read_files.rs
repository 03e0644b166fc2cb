//! The files that this run has read, which it must not replace without being asked.

use onnx_ir::Model;
use onnx_proto::external::Folder;
use onnxtxt::files::Reads;
use std::fmt::{self, Display, Formatter};
use std::path::Path;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

/// The display name of stdin.
pub(crate) const STDIN: &str = "<stdin>";

/// The context of an error: which file cannot be read. In machine-readable formats it becomes a finding about the file.
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

    /// A file that cannot be read, with a message of its own.
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

/// All files read so far.
pub(crate) fn all() -> Reads {
    reads().clone()
}

/// Records a file that is read.
pub(crate) fn note(path: &Path) {
    reads().note(path);
}

/// Records the files that a model refers to, whether or not they are read.
pub(crate) fn note_external(model: &Model, path: &Path) {
    reads().note_external(model, path);
}

/// Records the external data files that were read.
pub(crate) fn note_read(folder: &Folder) {
    reads().note_read(folder);
}
