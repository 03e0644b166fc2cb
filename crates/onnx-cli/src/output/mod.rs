//! Output to stdout, or to files that are replaced atomically.

pub(crate) mod junit;
pub(crate) mod numbers;
pub(crate) mod results;
pub(crate) mod table;
pub(crate) mod unified_diff;

use crate::read_files;
use anyhow::Context as _;
use onnx_text::visible;
use onnxtxt::files::{self, Derived, Guard};
use std::io::{self, BufWriter, IsTerminal as _, Write};
use std::path::{Path, PathBuf};

/// Where a result is written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum OutputTarget {
    Stdout,
    File(PathBuf),
}

impl OutputTarget {
    /// `-` is stdout, and so is its device: the file that stdout is redirected to must not be replaced.
    pub(crate) fn new(path: &Path) -> OutputTarget {
        let is_stdout = path == Path::new("-") || path == Path::new("/dev/stdout");
        if is_stdout { OutputTarget::Stdout } else { OutputTarget::File(path.to_owned()) }
    }

    /// Whether it is the file that `input` was read from.
    pub(crate) fn is(&self, input: &Path) -> bool {
        let OutputTarget::File(path) = self else { return false };
        let is_same_path = match (path.canonicalize(), input.canonicalize()) {
            (Ok(a), Ok(b)) => a == b,
            _ => false,
        };
        let id = |path: &Path| path.metadata().ok().and_then(|metadata| files::id(&metadata));
        is_same_path || id(path).is_some_and(|file| Some(file) == id(input))
    }

    /// The display name.
    pub(crate) fn name(&self) -> String {
        match self {
            OutputTarget::Stdout => "stdout".to_owned(),
            OutputTarget::File(path) => path.display().to_string(),
        }
    }
}

/// Writes data to stdout.
pub(crate) fn to_stdout(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> anyhow::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    write(&mut out).and_then(|()| out.flush()).context("cannot write to stdout")
}

/// Writes a JSON document to stdout.
pub(crate) fn json(value: &serde_json::Value) -> anyhow::Result<()> {
    to_people(&format!("{value:#}\n"))
}

/// Writes text for people to stdout: escapes control sequences in names and texts of a model.
pub(crate) fn to_people(text: &str) -> anyhow::Result<()> {
    to_stdout(|out| out.write_all(visible(text).as_bytes()))
}

/// Writes the text of a model to stdout: as it is for a program or a file, and with control sequences escaped on a terminal.
pub(crate) fn model_text(text: &str) -> anyhow::Result<()> {
    let shown = if is_terminal() { visible(text) } else { text.into() };
    to_stdout(|out| out.write_all(shown.as_bytes()))
}

/// Whether stdout is a terminal, where binary data would do harm.
pub(crate) fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Writes a file atomically.
pub(crate) fn to_file(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> anyhow::Result<()> {
    Ok(files::write(path, Guard::new(&read_files::all()), write)?)
}

/// Writes a file whose name the user did not give, atomically.
pub(crate) fn derived(
    file: Derived<'_>,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> anyhow::Result<()> {
    Ok(file.write(Guard::new(&read_files::all()), write)?)
}

/// Whether [`to_file`] may write a file, for commands that work for a long time before they do.
pub(crate) fn may_write(path: &Path) -> anyhow::Result<()> {
    Ok(files::may_write(path, Guard::new(&read_files::all()))?)
}

/// Writes a file that was read, atomically.
pub(crate) fn rewrite(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> anyhow::Result<()> {
    Ok(files::write(path, Guard::new(&read_files::all()).even_read(), write)?)
}

/// Writes a file that was read, atomically. One that was found in a folder must not be a link.
pub(crate) fn rewrite_named(path: &Path, named: &[PathBuf], content: &[u8]) -> anyhow::Result<()> {
    if named.iter().any(|named| named == path) {
        return rewrite(path, |out| out.write_all(content));
    }
    let found = Derived::beside(path, |_| Ok(true));
    Ok(found.write(Guard::new(&read_files::all()).even_read(), |out| out.write_all(content))?)
}

/// Writes a small result made from `input`.
pub(crate) fn put(target: &OutputTarget, input: Option<&Path>, content: &[u8]) -> anyhow::Result<()> {
    match target {
        OutputTarget::Stdout => to_stdout(|out| out.write_all(content)),
        OutputTarget::File(path) if input.is_some_and(|input| target.is(input)) => {
            rewrite(path, |out| out.write_all(content))
        }
        OutputTarget::File(path) => to_file(path, |out| out.write_all(content)),
    }
}

/// Whether the reader of our output has closed the pipe.
pub(crate) fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let closed = |error: &io::Error| error.kind() == io::ErrorKind::BrokenPipe;
    error.chain().any(|cause| cause.downcast_ref().is_some_and(closed))
}
