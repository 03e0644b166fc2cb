//! Packed weights in files of the user's cache folder, which all processes of a machine map.
//!
//! ```text
//! ~/.cache/onnxtxt/weights/0b5e…c2.packed     named by a digest of everything that it depends on, never changed
//! ~/.cache/onnxtxt/weights/.onnxtxt-….tmp     is being written, or was left by a program that was killed
//! ```
//! A file gets its name when it is complete, and is removed whole: a program that has mapped it keeps it. `onnx_exec` verifies all of it
//! whenever it is mapped, so that nothing here is synced and anything may be removed at any time. Only files that belong to the user, in a
//! folder to which only the user can write, are read.

use super::place::Folder;
use super::temporary::{Temporary, defer_signals, is_temporary};
use crate::error::Error;
use bytes::Bytes;
use onnx_exec::PackedStore;
use onnx_exec::pack_cache::{HEAD, description};
use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, File, Metadata};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

/// A cache of packed weights, for [`CompileOptions::packed_store`](onnx_exec::CompileOptions).
#[derive(Debug)]
pub struct WeightCache {
    path: PathBuf,
    folder: Folder,
    max_bytes: u64,
    /// The bytes of all entries, as far as this process knows.
    total: Mutex<Option<u64>>,
}

/// An entry of the cache.
#[derive(Clone, Debug)]
pub struct CacheEntry {
    /// The name of its file.
    pub name: String,
    /// The size of the file.
    pub bytes: u64,
    /// When it was used the last time, to the hour.
    pub used: SystemTime,
    /// Its description, `float32 768 x 3072 in tiles of 16`; `None` if it is damaged or from another version.
    pub description: Option<String>,
}

/// The files that were removed.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Cleaned {
    /// Their number.
    pub entries: usize,
    /// Their bytes.
    pub bytes: u64,
}

/// The end of the names of entries.
const ENDING: &str = ".packed";
/// The digits before it.
const DIGITS: usize = 64;
/// The time of use of an entry is renewed if it is older than this.
const NOTED_AFTER: Duration = Duration::from_secs(3600);
/// A temporary file that was not written to for so long was left by a program that was killed.
const ABANDONED_AFTER: Duration = Duration::from_secs(3600);

impl WeightCache {
    /// The most bytes of all entries, unless the caller says otherwise.
    pub const MAX_BYTES: u64 = 16 << 30;

    /// The folder of the cache, by variables of the environment: `$ONNXTXT_CACHE/weights`, otherwise `onnxtxt/weights` in the folder
    /// that the system has for caches (`$XDG_CACHE_HOME`, `~/.cache`; `~/Library/Caches`; `%LOCALAPPDATA%`). Relative paths do not
    /// count.
    pub fn default_path(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
        let folder = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let of_system = || {
            if cfg!(windows) {
                return folder("LOCALAPPDATA");
            }
            let in_home = if cfg!(target_vendor = "apple") { "Library/Caches" } else { ".cache" };
            folder("XDG_CACHE_HOME").or_else(|| Some(folder("HOME")?.join(in_home)))
        };
        let folder = folder("ONNXTXT_CACHE").or_else(|| Some(of_system()?.join("onnxtxt")))?;
        Some(folder.join("weights"))
    }

    /// A cache in this folder, which is made if it does not exist. When the entries have more than `max_bytes`, the least recently used
    /// ones are removed.
    ///
    /// # Errors
    ///
    /// The folder cannot be made or opened, belongs to another user, or others can write to it.
    pub fn open(path: &Path, max_bytes: u64) -> Result<WeightCache, Error> {
        let shown = path.display().to_string();
        let cannot = |error| Error::write(&shown, error);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(cannot)?;
        }
        let mut builder = DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        match builder.create(path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(cannot(error)),
            Ok(()) | Err(_) => {}
        }
        WeightCache::open_existing(path, max_bytes)
    }

    /// The cache in this folder, which exists.
    ///
    /// # Errors
    ///
    /// Those of [`open`](Self::open).
    pub fn open_existing(path: &Path, max_bytes: u64) -> Result<WeightCache, Error> {
        let shown = path.display().to_string();
        let folder = Folder::open(path).map_err(|error| Error::write(&shown, error))?;
        if !is_private(&folder.metadata().map_err(|error| Error::write(&shown, error))?) {
            let why = format!("{shown} belongs to another user, or others can write to it");
            return Err(Error::refused(why));
        }
        Ok(WeightCache { path: path.to_owned(), folder, max_bytes, total: Mutex::new(None) })
    }

    /// Its folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// All entries, the least recently used first.
    ///
    /// # Errors
    ///
    /// The folder cannot be read.
    pub fn entries(&self) -> Result<Vec<CacheEntry>, Error> {
        let mut entries = self.files().map_err(|error| Error::read(&self.path, error))?;
        for entry in &mut entries {
            entry.description = self.head(&entry.name).and_then(|head| description(&head));
        }
        Ok(entries)
    }

    /// Removes entries that were not used for longer than `unused_for`, then the least recently used ones until the others have at most
    /// `max_bytes`. Files that programs were writing when they were killed are removed, too. Programs that have mapped an entry keep it.
    ///
    /// # Errors
    ///
    /// The folder cannot be read.
    pub fn clean(&self, unused_for: Duration, max_bytes: u64) -> Result<Cleaned, Error> {
        self.remove_old(unused_for, max_bytes, None).map_err(|error| Error::read(&self.path, error))
    }

    fn remove_old(&self, unused_for: Duration, max: u64, except: Option<&str>) -> io::Result<Cleaned> {
        let now = SystemTime::now();
        let age = |used: SystemTime| now.duration_since(used).unwrap_or_default();
        let entries = self.files()?;
        let mut left: u64 = entries.iter().map(|entry| entry.bytes).fold(0, u64::saturating_add);
        let mut cleaned = Cleaned::default();
        for entry in &entries {
            if left <= max && age(entry.used) < unused_for {
                break;
            }
            // Another program may have removed it.
            if except != Some(&entry.name) && self.folder.remove(OsStr::new(&entry.name)).is_ok() {
                cleaned.entries += 1;
                cleaned.bytes = cleaned.bytes.saturating_add(entry.bytes);
                left = left.saturating_sub(entry.bytes);
            }
        }
        *self.total.lock().unwrap_or_else(PoisonError::into_inner) = Some(left);
        for file in fs::read_dir(&self.path)?.flatten() {
            let name = file.file_name();
            let written = file.metadata().and_then(|metadata| metadata.modified());
            if name.to_str().is_some_and(is_temporary)
                && written.is_ok_and(|written| age(written) >= ABANDONED_AFTER)
            {
                _ = self.folder.remove(&name);
            }
        }
        Ok(cleaned)
    }

    /// The files of entries, the least recently used first.
    fn files(&self) -> io::Result<Vec<CacheEntry>> {
        let mut entries = Vec::new();
        for file in fs::read_dir(&self.path)?.flatten() {
            let Ok(name) = file.file_name().into_string() else { continue };
            let digits = name.strip_suffix(ENDING).unwrap_or("");
            if digits.len() != DIGITS || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
                continue;
            }
            // Another program may have removed it.
            let Ok(metadata) = file.metadata() else { continue };
            if metadata.is_dir() {
                continue;
            }
            let used = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            entries.push(CacheEntry { name, bytes: metadata.len(), used, description: None });
        }
        entries.sort_by(|a, b| (a.used, &a.name).cmp(&(b.used, &b.name)));
        Ok(entries)
    }

    /// A regular file of the user that is in the folder.
    fn file(&self, name: &str) -> Option<(File, Metadata)> {
        let file = self.folder.read(OsStr::new(name)).ok()?;
        let metadata = file.metadata().ok()?;
        (metadata.is_file() && is_private(&metadata)).then_some((file, metadata))
    }

    /// The start of an entry.
    fn head(&self, name: &str) -> Option<Vec<u8>> {
        let (file, _) = self.file(name)?;
        let mut head = Vec::with_capacity(HEAD);
        file.take(HEAD as u64).read_to_end(&mut head).ok()?;
        Some(head)
    }

    /// Writes an entry, unless another program has written it meanwhile.
    fn write(&self, name: &str, content: &[&[u8]]) -> io::Result<()> {
        let (temporary, mut file) = Temporary::create(&self.folder, 0o400)?;
        for part in content {
            file.write_all(part)?;
        }
        drop(file);
        match temporary.settle(OsStr::new(name), &mut defer_signals()) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            done => done,
        }
    }

    /// Counts a new entry, and removes others if there is not enough room for it.
    fn count(&self, name: &str, bytes: u64) -> io::Result<()> {
        let mut total = self.total.lock().unwrap_or_else(PoisonError::into_inner);
        let known = match *total {
            Some(known) => known.saturating_add(bytes),
            None => self.files()?.iter().map(|entry| entry.bytes).fold(0, u64::saturating_add),
        };
        *total = Some(known);
        drop(total);
        if known > self.max_bytes {
            // Some room for the next ones, so that the folder is not read at each.
            self.remove_old(Duration::MAX, self.max_bytes / 8 * 7, Some(name))?;
        }
        Ok(())
    }
}

impl PackedStore for WeightCache {
    fn load(&self, name: &str) -> Option<Bytes> {
        let name = format!("{name}{ENDING}");
        let (file, metadata) = self.file(&name)?;
        let used = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        if used.elapsed().is_ok_and(|elapsed| elapsed >= NOTED_AFTER) {
            _ = file.set_modified(SystemTime::now());
        }
        onnx_proto::file::mapped(&file, &self.path.join(name)).ok()
    }

    fn store(&self, name: &str, content: &[&[u8]]) -> Option<Bytes> {
        let file_name = format!("{name}{ENDING}");
        let bytes = content.iter().map(|part| part.len() as u64).fold(0, u64::saturating_add);
        if bytes > self.max_bytes {
            return None;
        }
        self.write(&file_name, content).ok()?;
        _ = self.count(&file_name, bytes);
        self.load(name)
    }

    fn discard(&self, name: &str) {
        _ = self.folder.remove(OsStr::new(&format!("{name}{ENDING}")));
    }
}

/// Whether a file belongs to the user, and no other user can write to it.
fn is_private(metadata: &Metadata) -> bool {
    #[cfg(unix)]
    let is_closed = std::os::unix::fs::MetadataExt::mode(metadata) & 0o022 == 0;
    #[cfg(not(unix))]
    let is_closed = true;
    is_closed && onnx_proto::file::is_own(metadata)
}
