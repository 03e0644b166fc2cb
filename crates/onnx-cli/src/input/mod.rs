//! Input files: how they are opened, their formats, and what they contain.

pub(crate) mod document;
pub(crate) mod operator_set;
pub(crate) mod operators;
pub(crate) mod paths;
pub(crate) mod value;

use crate::read_files::{self, STDIN, Unreadable};
use anyhow::{Context as _, bail};
use bytes::Bytes;
use onnx_proto::file::{MAX_STREAM, read_stream};
use onnxtxt::{Error, File};
pub(crate) use onnxtxt::{Form, Loaded, undecodable};
use std::ops::Deref;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// A file that has been opened.
pub(crate) struct Input(File);

impl Deref for Input {
    type Target = File;

    fn deref(&self) -> &File {
        &self.0
    }
}

impl Input {
    /// Opens a file, or stdin for `-`.
    pub(crate) fn open(path: &Path) -> anyhow::Result<Input> {
        if path == Path::new("-") {
            static IS_READ: AtomicBool = AtomicBool::new(false);
            let unreadable = |message: &str| Unreadable::because(STDIN, message.to_owned());
            if IS_READ.swap(true, Ordering::SeqCst) {
                bail!(unreadable("stdin can be read only once, but `-` is given twice"));
            }
            let read = read_stream(&mut std::io::stdin().lock(), MAX_STREAM);
            let content = read.with_context(|| unreadable("cannot read stdin"))?;
            return Ok(Input(File::new(STDIN.to_owned(), None, content.into())));
        }
        read_files::note(path);
        match File::open(path) {
            Ok(file) => Ok(Input(file)),
            Err(Error::Read { file, source }) => {
                Err(anyhow::Error::new(source).context(Unreadable::new(Path::new(&file))))
            }
            Err(error) => bail!(Unreadable::because(&path.display().to_string(), error.to_string())),
        }
    }

    /// Content in memory.
    pub(crate) fn of(bytes: Bytes) -> Input {
        Input(File::new("<bytes>".to_owned(), None, bytes))
    }

    /// Replaces the content.
    pub(crate) fn replace(&mut self, bytes: Bytes) {
        self.0.bytes = bytes;
    }
}
