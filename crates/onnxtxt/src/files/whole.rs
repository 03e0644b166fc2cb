//! Atomic replacement of files.
//!
//! A file is written under a temporary name in the same folder, synced, and only then renamed. Until then the old file exists.
//! Several files are renamed together; if that fails, the old ones are restored. Devices and pipes are written directly.

use super::place::{FilePlace, Found, Kind};
use super::reads::Reads;
use super::temporary::{self, DeferredSignals, Replaced, Temporary};
use crate::error::Error;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Which files may be replaced: those that were not read, or all.
#[derive(Clone, Copy, Debug)]
pub struct Guard<'r> {
    reads: &'r Reads,
    replaces_read: bool,
    /// Called with the numbers of bytes that are written.
    progress: Option<fn(u64)>,
}

impl<'r> Guard<'r> {
    /// Allows replacing files that were not read.
    pub fn new(reads: &'r Reads) -> Guard<'r> {
        Guard { reads, replaces_read: false, progress: None }
    }

    /// Also allows replacing files that were read, at the user's request.
    #[must_use]
    pub fn even_read(self) -> Guard<'r> {
        Guard { replaces_read: true, ..self }
    }

    /// Calls a function with the numbers of bytes as they are written.
    pub(crate) fn reporting(self, progress: Option<fn(u64)>) -> Guard<'r> {
        Guard { progress, ..self }
    }

    /// The name under which a protected file was read.
    pub(super) fn keeps(self, found: &Found) -> Option<String> {
        if self.replaces_read { None } else { self.reads.name_of(found.file) }
    }
}

/// Writes a file atomically, following links to it.
///
/// # Errors
///
/// It cannot be written, or must not be replaced.
pub fn write(
    path: &Path,
    guard: Guard<'_>,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Error> {
    Pending::write(path, guard, write)?.commit()
}

/// Makes the folder of a file that the user named.
///
/// # Errors
///
/// It cannot be made.
pub fn make_folder_of(path: &Path) -> Result<(), Error> {
    make_folder(path.parent().unwrap_or(Path::new("")))
}

/// Makes a folder that the user named.
pub(crate) fn make_folder(folder: &Path) -> Result<(), Error> {
    if folder.as_os_str().is_empty() {
        return Ok(());
    }
    fs::create_dir_all(folder).map_err(|error| Error::write(&folder.display().to_string(), error))
}

/// Whether [`write()`] would be allowed to write this file now, for commands that work for a long time before they write.
///
/// # Errors
///
/// Its folder does not exist, or it must not be replaced.
pub fn may_write(path: &Path, guard: Guard<'_>) -> Result<(), Error> {
    if fs::metadata(path).is_ok_and(|metadata| Found::of(&metadata).kind == Kind::Other) {
        return Ok(());
    }
    let place = FilePlace::of(path)?;
    let found = place.look().map_err(|error| Error::write(&place.shown, error))?;
    found.map_or(Ok(()), |found| may_replace(&place.shown, &found, guard))
}

/// The most bytes that are written between two reports.
const MAX_UNREPORTED: usize = 8 << 20;

/// A writer that says how many bytes it has written.
struct Reporting<W> {
    out: W,
    progress: Option<fn(u64)>,
}

impl<W: Write> Write for Reporting<W> {
    fn write(&mut self, content: &[u8]) -> io::Result<usize> {
        let Some(progress) = self.progress else { return self.out.write(content) };
        let written = self.out.write(&content[..content.len().min(MAX_UNREPORTED)])?;
        progress(written as u64);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// A file that is written but not yet renamed.
pub(crate) struct Pending {
    /// `None`: a device or pipe, which was written directly.
    file: Option<(FilePlace, Temporary)>,
}

impl Pending {
    /// Writes the content beside the target of a user's path.
    pub(crate) fn write(
        path: &Path,
        guard: Guard<'_>,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<Pending, Error> {
        let name = path.display().to_string();
        if let Ok(metadata) = fs::metadata(path)
            && Found::of(&metadata).kind == Kind::Other
        {
            let cannot = |error| Error::write(&name, why(error));
            let mut device = BufWriter::new(File::options().write(true).open(path).map_err(cannot)?);
            write(&mut device).and_then(|()| device.flush()).map_err(cannot)?;
            return Ok(Pending { file: None });
        }
        Pending::write_at(FilePlace::of(path)?, guard, write)
    }

    /// Writes the content beside its place.
    pub(crate) fn write_at(
        place: FilePlace,
        guard: Guard<'_>,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<Pending, Error> {
        let name = &place.shown;
        let cannot = |error| Error::write(name, why(error));
        let existing = place.look().map_err(cannot)?;
        if let Some(existing) = &existing {
            may_replace(name, existing, guard)?;
        }
        let permissions =
            existing.as_ref().map_or_else(|| guard.reads.permissions(), |existing| existing.permissions);
        let (temporary, file) = Temporary::create(&place.folder, permissions).map_err(cannot)?;
        if existing.is_some() {
            // Independent of the umask.
            #[cfg(unix)]
            file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(permissions & 0o7777))
                .map_err(cannot)?;
        }
        let reporting = Reporting { out: &file, progress: guard.progress };
        let mut out = BufWriter::with_capacity(1 << 18, reporting);
        write(&mut out).and_then(|()| out.flush()).map_err(cannot)?;
        drop(out);
        file.sync_all().map_err(cannot)?;
        Ok(Pending { file: Some((place, temporary)) })
    }

    /// Renames the file to its place.
    pub(crate) fn commit(self) -> Result<(), Error> {
        commit_all(vec![self])
    }
}

/// Whether an existing file may be replaced.
pub(crate) fn may_replace(name: &str, existing: &Found, guard: Guard<'_>) -> Result<(), Error> {
    let reason = match existing.kind {
        Kind::File if existing.is_read_only() => format!("{name} is read-only"),
        Kind::File => match guard.keeps(existing) {
            None => return Ok(()),
            Some(read) => {
                let also = if read == name { String::new() } else { format!(" (as {read})") };
                format!("{name} is read by this command{also} and would be replaced: choose another name")
            }
        },
        Kind::Folder => format!("{name} is a folder"),
        Kind::Link => format!("{name} is a link, which is not followed: remove it, or choose another name"),
        Kind::Other => format!("{name} is not a regular file"),
    };
    Err(Error::Refused(reason))
}

/// Renames all files to their places, or none. The last one is the one that refers to the others.
pub(crate) fn commit_all(files: Vec<Pending>) -> Result<(), Error> {
    let mut batch = Batch::new(files)?;
    let mut signals = temporary::defer_signals();
    batch.replace(&mut signals)?;
    drop(signals);
    batch.sync();
    Ok(())
}

/// Files that are renamed together.
pub(crate) struct Batch {
    files: Vec<(FilePlace, Temporary)>,
    /// The outcomes for the existing files so far.
    replaced: Vec<Replaced>,
}

impl Batch {
    pub(crate) fn new(files: Vec<Pending>) -> Result<Batch, Error> {
        // The content may come from a mapped file that was truncated.
        if let Some(name) = onnx_proto::file::cut_short() {
            return Err(Error::Refused(format!("{name} was cut short by another program while it was read")));
        }
        let files = files.into_iter().filter_map(|pending| pending.file).collect();
        Ok(Batch { files, replaced: Vec::new() })
    }

    /// Renames one file after the other. If that fails, those replaced so far are restored.
    pub(crate) fn replace(&mut self, signals: &mut DeferredSignals) -> Result<(), Error> {
        for (done, (place, temporary)) in self.files.iter().enumerate() {
            if done > 0 && done + 1 == self.files.len() {
                // Data that the last file refers to are durable before it.
                self.files.iter().take(done).for_each(|(place, _)| place.folder.sync());
            }
            match temporary.replace(&place.name, signals) {
                Ok(replaced) => self.replaced.push(replaced),
                Err(error) => {
                    let failed = Error::write(&place.shown, error);
                    self.put_back(signals);
                    return Err(failed);
                }
            }
        }
        Ok(())
    }

    /// Restores replaced files as far as they still exist.
    pub(crate) fn put_back(&mut self, signals: &mut DeferredSignals) {
        let done = self.files.iter().zip(self.replaced.drain(..)).rev();
        for ((place, temporary), replaced) in done {
            match replaced {
                Replaced::Kept => _ = temporary.replace(&place.name, signals),
                Replaced::Nothing => _ = place.folder.remove(&place.name),
                Replaced::Lost => {}
            }
        }
    }

    /// Waits until the names are durable.
    pub(crate) fn sync(&self) {
        self.files.iter().for_each(|(place, _)| place.folder.sync());
    }
}

/// The error of a write in the user's terms: the written memory may be a mapped file.
fn why(error: io::Error) -> io::Error {
    match onnx_proto::file::cut_short() {
        Some(name) => io::Error::other(format!("{name} was cut short by another program while it was read")),
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    #[test]
    fn progress_is_all_that_is_written() {
        static WRITTEN: AtomicU64 = AtomicU64::new(0);
        static CALLS: AtomicU64 = AtomicU64::new(0);
        fn count(number: u64) {
            WRITTEN.fetch_add(number, Ordering::Relaxed);
            CALLS.fetch_add(1, Ordering::Relaxed);
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("large");
        let content = vec![1; 3 * MAX_UNREPORTED];
        let guard = |reads| Guard::new(reads).reporting(Some(count));
        write(&path, guard(&Reads::default()), |out| {
            out.write_all(b"head").and_then(|()| out.write_all(&content))
        })
        .unwrap();
        assert_eq!(WRITTEN.load(Ordering::Relaxed), fs::metadata(&path).unwrap().len());
        assert!(CALLS.load(Ordering::Relaxed) >= 3);
    }

    #[test]
    fn a_failed_write_leaves_the_old_file_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m.onnx");
        fs::write(&path, "old").unwrap();
        let failed = write(&path, Guard::new(&Reads::default()), |out| {
            out.write_all(b"new")?;
            Err(io::Error::other("no more"))
        });
        assert!(failed.is_err());
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    /// Environment variables of the child of `a_program_that_dies_at_any_write_leaves_whole_files`.
    const DIES: &str = "ONNXTXT_TEST_DIES_AT";

    fn dying(at: usize, out: &mut dyn Write, written: &mut usize) -> io::Result<()> {
        for piece in 0..4_u8 {
            if *written == at {
                std::process::abort();
            }
            // Large enough to reach the disk.
            out.write_all(&vec![b'0' + piece; 1 << 18])?;
            *written += 1;
        }
        Ok(())
    }

    /// Calls `put` in a child process that dies before a given write.
    #[test]
    fn a_program_that_dies_at_any_write_leaves_whole_files() {
        let put = |folder: &Path, at: usize| {
            let mut written = 0;
            let names = ["m.onnxtxt.data", "m.onnxtxt"].map(|name| folder.join(name));
            let pending = names.map(|path| {
                Pending::write(&path, Guard::new(&Reads::default()), |out| dying(at, out, &mut written))
                    .unwrap()
            });
            commit_all(pending.into()).unwrap();
        };
        if let Some((folder, at)) = std::env::var(DIES).ok().as_deref().and_then(|case| case.split_once(':'))
        {
            return put(Path::new(folder), at.parse().unwrap());
        }
        let new: Vec<u8> = (b'0'..b'4').flat_map(|byte| vec![byte; 1 << 18]).collect();
        for at in 0..=8 {
            let folder = tempfile::tempdir().unwrap();
            fs::write(folder.path().join("m.onnxtxt"), "old").unwrap();
            fs::write(folder.path().join("m.onnxtxt.data"), "old data").unwrap();
            let test = "files::whole::tests::a_program_that_dies_at_any_write_leaves_whole_files";
            let status = std::process::Command::new(std::env::current_exe().unwrap())
                .args(["--exact", test])
                .env(DIES, format!("{}:{at}", folder.path().display()))
                .stdout(std::process::Stdio::null())
                .stderr(std::process::Stdio::null())
                .status()
                .unwrap();
            let read = |name: &str| fs::read(folder.path().join(name)).unwrap();
            let both = (read("m.onnxtxt"), read("m.onnxtxt.data"));
            assert_eq!(status.success(), at == 8, "{at}");
            let expected =
                if at == 8 { (new.clone(), new.clone()) } else { (b"old".to_vec(), b"old data".to_vec()) };
            assert!(both == expected, "died at write {at}");
        }
    }

    #[test]
    fn files_that_belong_together_are_replaced_together() {
        let folder = tempfile::tempdir().unwrap();
        let (data, text) = (folder.path().join("m.data"), folder.path().join("m"));
        fs::write(&data, "old data").unwrap();
        let pending = |path: &Path| {
            Pending::write(path, Guard::new(&Reads::default()), |out| out.write_all(b"new")).unwrap()
        };
        let files = vec![pending(&data), pending(&text)];
        // The second file cannot be renamed.
        fs::create_dir(&text).unwrap();
        fs::write(text.join("in"), "").unwrap();
        assert!(commit_all(files).is_err());
        assert_eq!(fs::read(&data).unwrap(), b"old data");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
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
        write(&link, Guard::new(&Reads::default()), |out| out.write_all(b"new")).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    }

    #[test]
    fn folders_and_read_only_files_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        assert!(
            write(folder.path(), Guard::new(&Reads::default()), |_| Ok(()))
                .unwrap_err()
                .to_string()
                .ends_with("is a folder")
        );
        let path = folder.path().join("m");
        fs::write(&path, "old").unwrap();
        let mut permissions = fs::metadata(&path).unwrap().permissions();
        permissions.set_readonly(true);
        fs::set_permissions(&path, permissions).unwrap();
        assert!(
            write(&path, Guard::new(&Reads::default()), |_| Ok(()))
                .unwrap_err()
                .to_string()
                .ends_with("is read-only")
        );
    }
}
