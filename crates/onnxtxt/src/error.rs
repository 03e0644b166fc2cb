//! Errors of reading and writing files.

use onnx_ir::diag::Diagnostic;
use std::fmt::{self, Display, Formatter};
use std::io;
use std::path::Path;

/// An error of reading or writing a file. The existing file is unchanged.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A file could not be read.
    Read {
        /// The name of the file, as given by the caller.
        file: String,
        /// The cause.
        source: io::Error,
    },
    /// A file could not be written.
    Write {
        /// The name of the file, as given by the caller.
        file: String,
        /// The cause.
        source: io::Error,
    },
    /// Nothing was read or written, because it would do harm or is impossible, for this reason.
    Refused(String),
    /// Something is wrong with the model or with the files beside it.
    Model(Vec<Diagnostic>),
}

impl Error {
    pub(crate) fn read(path: &Path, source: io::Error) -> Error {
        Error::Read { file: path.display().to_string(), source }
    }

    #[cfg(feature = "save")]
    pub(crate) fn write(file: &str, source: io::Error) -> Error {
        Error::Write { file: file.to_owned(), source }
    }

    #[cfg(feature = "save")]
    pub(crate) fn refused(reason: impl Into<String>) -> Error {
        Error::Refused(reason.into())
    }
}

impl Display for Error {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Error::Read { file, .. } => write!(f, "cannot read {file}"),
            Error::Write { file, .. } => write!(f, "cannot write {file}"),
            Error::Refused(reason) => f.write_str(reason),
            Error::Model(found) => match found.as_slice() {
                [] => f.write_str("the model has errors"),
                [first] => write!(f, "{first}"),
                [first, rest @ ..] => write!(f, "{first} (and {} more)", rest.len()),
            },
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Read { source, .. } | Error::Write { source, .. } => Some(source),
            Error::Refused(_) | Error::Model(_) => None,
        }
    }
}
