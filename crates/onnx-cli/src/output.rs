//! Where results go: stdout, or files that are replaced as a whole or not at all.
//!
//! A file is written under another name in the same folder, put onto the disk, and only then renamed. Whatever happens
//! before, the old file is there. Devices and pipes are written as they are.

use anyhow::{Context as _, bail, ensure};
use std::fs::{self, File};
use std::io::{self, BufWriter, IsTerminal as _, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// Where a result goes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Target {
    Stdout,
    File(PathBuf),
}

impl Target {
    /// `-` is stdout, and so is its device: a file that stdout was sent to must not be replaced under it.
    pub(crate) fn new(path: &Path) -> Target {
        let is_stdout = path == Path::new("-") || path == Path::new("/dev/stdout");
        if is_stdout { Target::Stdout } else { Target::File(path.to_owned()) }
    }

    /// Whether it is where `input` was read from.
    pub(crate) fn is(&self, input: &Path) -> bool {
        let Target::File(path) = self else { return false };
        match (path.canonicalize(), input.canonicalize()) {
            (Ok(a), Ok(b)) => a == b,
            _ => false,
        }
    }

    /// The name to show.
    pub(crate) fn name(&self) -> String {
        match self {
            Target::Stdout => "stdout".to_owned(),
            Target::File(path) => path.display().to_string(),
        }
    }
}

/// Writes data to stdout.
pub(crate) fn to_stdout(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> anyhow::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    write(&mut out).and_then(|()| out.flush()).context("cannot write to stdout")
}

/// Whether stdout is a terminal, where binary data does harm.
pub(crate) fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// A file that is written and not yet in its place.
pub(crate) struct Pending {
    place: PathBuf,
    /// `None`: a device or pipe, which was written at once.
    file: Option<NamedTempFile>,
}

impl Pending {
    /// Writes the content beside its place.
    pub(crate) fn write(
        path: &Path,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> anyhow::Result<Pending> {
        let name = path.display();
        let cannot = || format!("cannot write {name}");
        // A link stays: what it points to is replaced.
        let place = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let existing = match fs::metadata(&place) {
            Ok(metadata) => Some(metadata),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error).with_context(cannot),
        };
        if let Some(existing) = &existing {
            ensure!(!existing.is_dir(), "{name} is a folder");
            if !existing.is_file() {
                let mut device =
                    BufWriter::new(File::options().write(true).open(&place).with_context(cannot)?);
                write(&mut device).and_then(|()| device.flush()).with_context(cannot)?;
                return Ok(Pending { place, file: None });
            }
            ensure!(!existing.permissions().readonly(), "{name} is read-only");
        }
        let folder = match place.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            Some(_) | None => Path::new("."),
        };
        let Some(file_name) = place.file_name() else { bail!("{name} is no name of a file") };
        let mut prefix = std::ffi::OsString::from(".");
        prefix.push(file_name);
        prefix.push(".");
        let mut builder = tempfile::Builder::new();
        builder.prefix(&prefix);
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let file = builder.tempfile_in(folder).with_context(cannot)?;
        if let Some(existing) = &existing {
            file.as_file().set_permissions(existing.permissions()).with_context(cannot)?;
        }
        let mut out = BufWriter::with_capacity(1 << 18, file.as_file());
        write(&mut out).and_then(|()| out.flush()).with_context(cannot)?;
        drop(out);
        file.as_file().sync_all().with_context(cannot)?;
        Ok(Pending { place, file: Some(file) })
    }

    /// Puts the file into its place.
    pub(crate) fn commit(self) -> anyhow::Result<()> {
        let Some(file) = self.file else { return Ok(()) };
        let cannot = || format!("cannot write {}", self.place.display());
        file.persist(&self.place).with_context(cannot)?;
        // The new name is on the disk when the folder is; a system that cannot do that has other ways.
        if let Some(folder) = self.place.parent().and_then(|folder| File::open(folder).ok()) {
            _ = folder.sync_all();
        }
        Ok(())
    }
}

/// Writes a file, as a whole or not at all.
pub(crate) fn to_file(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> anyhow::Result<()> {
    Pending::write(path, write)?.commit()
}

/// Whether the reader of our output has gone.
pub(crate) fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let closed = |error: &io::Error| error.kind() == io::ErrorKind::BrokenPipe;
    error.chain().any(|cause| cause.downcast_ref().is_some_and(closed))
}

/// Lets what writes text write to what takes bytes; remembers what went wrong there.
pub(crate) struct TextWriter<'w> {
    out: &'w mut dyn Write,
    error: Option<io::Error>,
}

impl<'w> TextWriter<'w> {
    pub(crate) fn new(out: &'w mut dyn Write) -> Self {
        TextWriter { out, error: None }
    }

    /// What became of the writing.
    pub(crate) fn finish(self, result: std::fmt::Result) -> io::Result<()> {
        match (result, self.error) {
            (_, Some(error)) => Err(error),
            (Ok(()), None) => Ok(()),
            (Err(std::fmt::Error), None) => Err(io::Error::other("the text cannot be written")),
        }
    }
}

impl std::fmt::Write for TextWriter<'_> {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.out.write_all(text.as_bytes()).map_err(|error| {
            self.error = Some(error);
            std::fmt::Error
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_write_leaves_the_old_file_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m.onnx");
        fs::write(&path, "old").unwrap();
        let failed = to_file(&path, |out| {
            out.write_all(b"new")?;
            Err(io::Error::other("no more"))
        });
        assert!(failed.is_err());
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn permissions_and_links_stay() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("m"), folder.path().join("l"));
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        to_file(&link, |out| out.write_all(b"new")).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    }

    #[test]
    fn folders_and_read_only_files_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        assert!(to_file(folder.path(), |_| Ok(())).unwrap_err().to_string().ends_with("is a folder"));
        let path = folder.path().join("m");
        fs::write(&path, "old").unwrap();
        let mut permissions = fs::metadata(&path).unwrap().permissions();
        permissions.set_readonly(true);
        fs::set_permissions(&path, permissions).unwrap();
        assert!(to_file(&path, |_| Ok(())).unwrap_err().to_string().ends_with("is read-only"));
    }
}
