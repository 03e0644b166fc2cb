//! Names in an open folder. Files are created there without following links.
//!
//! Only a path given by the user may be a link; [`resolve`] follows it, once. On Unix the folder is a file descriptor and every
//! call is relative to it; elsewhere it is a path, and a link created in the meantime could be followed.

use super::reads::{self, FileId};
use crate::error::Error;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata};
use std::io;
use std::path::{Component, Path, PathBuf};

/// More links count as a cycle.
const LINKS: usize = 40;

/// The target of a path through all links: the file need not exist, its folder must.
pub fn resolve(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..LINKS {
        match fs::read_link(&path) {
            Ok(to) => path = path.parent().unwrap_or(Path::new("")).join(to),
            Err(_) => {
                let folder = match path.parent() {
                    Some(folder) if !folder.as_os_str().is_empty() => folder,
                    Some(_) | None => Path::new("."),
                };
                return match path.file_name() {
                    Some(name) => Ok(folder.canonicalize()?.join(name)),
                    None => path.canonicalize(),
                };
            }
        }
    }
    Err(io::Error::other("the links form a circle"))
}

/// A name in a folder, which may exist or not.
#[derive(Clone, Debug)]
pub(crate) struct FilePlace {
    pub(crate) folder: Folder,
    pub(crate) name: OsString,
    /// The name for messages.
    pub(crate) shown: String,
}

/// The properties of an existing file.
pub(crate) struct Found {
    pub(crate) kind: Kind,
    pub(crate) permissions: u32,
    pub(crate) file: FileId,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    File,
    Folder,
    Link,
    Other,
}

impl FilePlace {
    /// The target of a path given by the user.
    pub(crate) fn of(path: &Path) -> Result<FilePlace, Error> {
        let shown = path.display().to_string();
        let cannot = |error| Error::write(&shown, error);
        let resolved = resolve(path).map_err(cannot)?;
        let (Some(folder), Some(name)) = (resolved.parent(), resolved.file_name()) else {
            return Err(Error::refused(format!("{shown} is not the name of a file")));
        };
        let folder = Folder::open(folder).map_err(cannot)?;
        Ok(FilePlace { folder, name: name.to_owned(), shown })
    }

    /// The place of `location` relative to this one's folder: a name, or a name in a folder, which is created.
    pub(crate) fn beside(&self, location: &str) -> Result<FilePlace, Error> {
        let shown = Path::new(&self.shown).with_file_name(location).display().to_string();
        let (folder, name) = match location.split_once('/') {
            None => (self.folder.clone(), location),
            Some((folder, name)) => {
                let called = Path::new(&self.shown).with_file_name(folder);
                (made(&self.folder, OsStr::new(folder), &called)?, name)
            }
        };
        Ok(FilePlace { folder, name: name.into(), shown })
    }

    /// The place of `name` below a folder that the user gave. Folders between that do not exist are made, and those that do are not
    /// links.
    pub(crate) fn below(root: &Path, name: &Path) -> Result<FilePlace, Error> {
        let shown = root.join(name);
        let root = if root.as_os_str().is_empty() { Path::new(".") } else { root };
        let cannot = |error| Error::write(&root.display().to_string(), error);
        let mut folder = Folder::open(root).map_err(cannot)?;
        let mut called = root.to_owned();
        let mut last = None;
        for part in name.components() {
            let Component::Normal(part) = part else {
                return Err(Error::refused(format!("{} is not below {}", shown.display(), root.display())));
            };
            if let Some(part) = last.replace(part) {
                called.push(part);
                folder = made(&folder, part, &called)?;
            }
        }
        let Some(name) = last else {
            return Err(Error::refused(format!("{} is not the name of a file", shown.display())));
        };
        Ok(FilePlace { folder, name: name.to_owned(), shown: shown.display().to_string() })
    }

    pub(crate) fn look(&self) -> io::Result<Option<Found>> {
        self.folder.look(&self.name)
    }
}

/// A folder in another one, which is made if it does not exist, and must not be a link.
fn made(folder: &Folder, name: &OsStr, called: &Path) -> Result<Folder, Error> {
    let called = called.display().to_string();
    let cannot = |error| Error::write(&called, error);
    match folder.look(name).map_err(cannot)?.map(|found| found.kind) {
        None => folder.make(name).map_err(cannot)?,
        Some(Kind::Folder) => {}
        Some(Kind::Link) => return Err(Error::refused(format!("{called} is a link, which is not followed"))),
        Some(Kind::File | Kind::Other) => return Err(Error::refused(format!("{called} is not a folder"))),
    }
    folder.sub(name).map_err(cannot)
}

#[cfg(unix)]
pub(crate) use descriptors::Folder;
#[cfg(not(unix))]
pub(crate) use paths::Folder;

#[cfg(not(test))]
fn before_change() {}

/// Tests kill the program before a given change of a folder.
#[cfg(test)]
pub(crate) use faults::before_change;

#[cfg(test)]
pub(crate) mod faults {
    use std::sync::atomic::{AtomicUsize, Ordering};

    static LEFT: AtomicUsize = AtomicUsize::new(usize::MAX);

    /// Makes the program die, as if killed, after this many changes.
    pub(crate) fn die_after(changes: usize) {
        LEFT.store(changes, Ordering::Relaxed);
    }

    pub(crate) fn before_change() {
        let left = LEFT.load(Ordering::Relaxed);
        match left.checked_sub(1) {
            None => std::process::abort(),
            Some(_) if left == usize::MAX => {}
            Some(fewer) => LEFT.store(fewer, Ordering::Relaxed),
        }
    }
}

#[cfg(unix)]
mod descriptors {
    use super::*;
    use rustix::fd::OwnedFd;
    use rustix::fs::{AtFlags, CWD, FileType, FlockOperation, Mode, OFlags};
    use rustix::io::Errno;
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    /// An open folder.
    #[derive(Clone, Debug)]
    pub(crate) struct Folder(Arc<OwnedFd>);

    /// While it exists, no other process of this program replaces several files of the folder.
    #[derive(Debug)]
    pub(crate) struct Lock(Folder);

    /// A lock is held while files are renamed; a process that holds it longer is stopped.
    const PATIENCE: Duration = Duration::from_secs(30);

    const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

    impl Folder {
        pub(crate) fn open(path: &Path) -> io::Result<Folder> {
            Ok(Folder(rustix::fs::openat(CWD, path, FOLDER, Mode::empty())?.into()))
        }

        pub(crate) fn sub(&self, name: &OsStr) -> io::Result<Folder> {
            Ok(Folder(rustix::fs::openat(&self.0, name, FOLDER | OFlags::NOFOLLOW, Mode::empty())?.into()))
        }

        pub(crate) fn make(&self, name: &OsStr) -> io::Result<()> {
            match rustix::fs::mkdirat(&self.0, name, Mode::from_raw_mode(0o777)) {
                // Another process was faster; opening it checks what it is.
                Ok(()) | Err(Errno::EXIST) => Ok(()),
                Err(error) => Err(error.into()),
            }
        }

        pub(crate) fn look(&self, name: &OsStr) -> io::Result<Option<Found>> {
            let stat = match rustix::fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => stat,
                Err(Errno::NOENT) => return Ok(None),
                Err(error) => return Err(error.into()),
            };
            let kind = match FileType::from_raw_mode(stat.st_mode) {
                FileType::RegularFile => Kind::File,
                FileType::Directory => Kind::Folder,
                FileType::Symlink => Kind::Link,
                _ => Kind::Other,
            };
            #[allow(clippy::unnecessary_cast, clippy::cast_sign_loss, reason = "the types differ by system")]
            let (file, permissions) =
                ((stat.st_dev as u64, stat.st_ino as u64), Mode::from_raw_mode(stat.st_mode).bits() as u32);
            Ok(Some(Found { kind, permissions, file: Some(file) }))
        }

        /// Creates a new file.
        pub(crate) fn create(&self, name: &OsStr, permissions: u32) -> io::Result<File> {
            before_change();
            let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            #[allow(
                clippy::unnecessary_cast,
                clippy::cast_possible_truncation,
                reason = "the type differs by system"
            )]
            let mode = Mode::from_bits_truncate((permissions & 0o777) as rustix::fs::RawMode);
            Ok(rustix::fs::openat(&self.0, name, flags, mode)?.into())
        }

        /// Opens a regular file for reading.
        pub(crate) fn read(&self, name: &OsStr) -> io::Result<File> {
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            Ok(rustix::fs::openat(&self.0, name, flags, Mode::empty())?.into())
        }

        pub(crate) fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
            before_change();
            Ok(rustix::fs::renameat(&self.0, from, &self.0, to)?)
        }

        /// Renames a file to a name that does not exist.
        pub(crate) fn rename_new(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
            before_change();
            #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
            let done =
                rustix::fs::renameat_with(&self.0, from, &self.0, to, rustix::fs::RenameFlags::NOREPLACE);
            #[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
            let done = Err(Errno::NOSYS);
            match done {
                // A file system that cannot do it: a file that came meanwhile is replaced.
                Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => self.rename(from, to),
                done => Ok(done?),
            }
        }

        /// The owner and the permissions of the folder itself.
        pub(crate) fn metadata(&self) -> io::Result<Metadata> {
            File::from(self.0.try_clone()?).metadata()
        }

        /// Exchanges the names of two files atomically.
        pub(crate) fn exchange(&self, a: &OsStr, b: &OsStr) -> io::Result<()> {
            before_change();
            #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
            return Ok(rustix::fs::renameat_with(&self.0, a, &self.0, b, rustix::fs::RenameFlags::EXCHANGE)?);
            #[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
            return Err(io::ErrorKind::Unsupported.into());
        }

        pub(crate) fn remove(&self, name: &OsStr) -> io::Result<()> {
            before_change();
            Ok(rustix::fs::unlinkat(&self.0, name, AtFlags::empty())?)
        }

        /// Makes new names durable; systems that cannot sync folders do it otherwise.
        pub(crate) fn sync(&self) {
            _ = rustix::fs::fsync(&self.0);
        }

        /// `Ok(None)`: folders cannot be locked on this system; checksums still detect files that do not belong together.
        pub(crate) fn lock(&self) -> io::Result<Option<Lock>> {
            let start = Instant::now();
            loop {
                match rustix::fs::flock(&self.0, FlockOperation::NonBlockingLockExclusive) {
                    Ok(()) => return Ok(Some(Lock(self.clone()))),
                    Err(Errno::AGAIN | Errno::INTR) if start.elapsed() < PATIENCE => {
                        std::thread::sleep(Duration::from_millis(5));
                    }
                    Err(Errno::AGAIN) => {
                        return Err(io::Error::other("another run of onnxtxt has locked the folder"));
                    }
                    Err(_) => return Ok(None),
                }
            }
        }
    }

    impl Drop for Lock {
        fn drop(&mut self) {
            _ = rustix::fs::flock(&self.0.0, FlockOperation::Unlock);
        }
    }
}

/// Access to files by paths, for systems without open folders.
#[cfg(not(unix))]
mod paths {
    use super::*;

    #[derive(Clone, Debug)]
    pub(crate) struct Folder(PathBuf);

    #[derive(Debug)]
    pub(crate) struct Lock;

    impl Folder {
        pub(crate) fn open(path: &Path) -> io::Result<Folder> {
            Ok(Folder(path.to_owned()))
        }

        pub(crate) fn sub(&self, name: &OsStr) -> io::Result<Folder> {
            Ok(Folder(self.0.join(name)))
        }

        pub(crate) fn make(&self, name: &OsStr) -> io::Result<()> {
            fs::create_dir_all(self.0.join(name))
        }

        pub(crate) fn look(&self, name: &OsStr) -> io::Result<Option<Found>> {
            match fs::symlink_metadata(self.0.join(name)) {
                Ok(metadata) => Ok(Some(Found::of(&metadata))),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
                Err(error) => Err(error),
            }
        }

        pub(crate) fn create(&self, name: &OsStr, _: u32) -> io::Result<File> {
            File::options().read(true).write(true).create_new(true).open(self.0.join(name))
        }

        pub(crate) fn read(&self, name: &OsStr) -> io::Result<File> {
            File::open(self.0.join(name))
        }

        pub(crate) fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
            fs::rename(self.0.join(from), self.0.join(to))
        }

        pub(crate) fn rename_new(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
            match self.look(to)? {
                Some(_) => Err(io::ErrorKind::AlreadyExists.into()),
                None => self.rename(from, to),
            }
        }

        pub(crate) fn metadata(&self) -> io::Result<Metadata> {
            fs::metadata(&self.0)
        }

        pub(crate) fn exchange(&self, _: &OsStr, _: &OsStr) -> io::Result<()> {
            Err(io::ErrorKind::Unsupported.into())
        }

        pub(crate) fn remove(&self, name: &OsStr) -> io::Result<()> {
            fs::remove_file(self.0.join(name))
        }

        pub(crate) fn sync(&self) {}

        pub(crate) fn lock(&self) -> io::Result<Option<Lock>> {
            Ok(None)
        }
    }
}

impl Found {
    /// From file metadata.
    pub(crate) fn of(metadata: &Metadata) -> Found {
        let kind = match () {
            () if metadata.is_symlink() => Kind::Link,
            () if metadata.is_dir() => Kind::Folder,
            () if metadata.is_file() => Kind::File,
            () => Kind::Other,
        };
        #[cfg(unix)]
        let permissions = std::os::unix::fs::PermissionsExt::mode(&metadata.permissions());
        #[cfg(not(unix))]
        let permissions = if metadata.permissions().readonly() { 0o444 } else { 0o666 };
        Found { kind, permissions, file: reads::id(metadata) }
    }

    /// Whether it is not writable.
    pub(crate) fn is_read_only(&self) -> bool {
        self.permissions & 0o222 == 0
    }
}
