//! Opens a file as [`Bytes`]: the only file access of this crate besides external data, for programs. Libraries pass bytes.
//!
//! Large files are mapped, so that weights are read on demand. Reading a mapped file that another program has truncated raises a
//! signal: on Unix the program then ends with a message and exit code 2, after calling the function given to [`when_cut_short`].
//! [`cut_short`] detects such a file in advance; the rest of its last page reads as zeros without a signal.

#![allow(
    unsafe_code,
    reason = "mapping a file is unsafe by nature, another process may change it; so is handling the signal of that"
)]

use bytes::Bytes;
use onnx_ir::diag::counted;
use std::fs::{File, Metadata};
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// Smaller files are read at once. That takes a fraction of a millisecond, and later changes of the file have no effect.
const MAPPED_FROM: u64 = 1 << 20;

/// The most bytes that are read from what is not a regular file: a pipe or a device may have no end.
pub const MAX_STREAM: u64 = i32::MAX as u64;

/// The content of a file, mapped if it has at least 1 MiB. A file that is not regular (a pipe) is read to its end, see
/// [`read_stream`].
///
/// # Errors
///
/// The file cannot be opened, read or mapped; it is a folder, or not regular and larger than [`MAX_STREAM`].
pub fn open(path: &Path) -> io::Result<Bytes> {
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    content(file, &metadata, path)
}

/// Like [`open`], for a file that is open.
pub(crate) fn content(mut file: File, metadata: &Metadata, path: &Path) -> io::Result<Bytes> {
    if !metadata.is_file() {
        return read_stream(&mut file, MAX_STREAM).map(Bytes::from);
    }
    if metadata.len() >= MAPPED_FROM {
        return map(&file, metadata, path);
    }
    let mut content = Vec::new();
    file.read_to_end(&mut content)?;
    Ok(content.into())
}

/// The content of a regular file that is open, mapped whatever its size; empty for an empty file. `path` names it in messages.
///
/// # Errors
///
/// It cannot be mapped.
pub fn mapped(file: &File, path: &Path) -> io::Result<Bytes> {
    let metadata = file.metadata()?;
    match metadata.len() {
        0 => Ok(Bytes::new()),
        _ => map(file, &metadata, path),
    }
}

/// Whether a file belongs to the user who runs this program; true on systems whose files do not say so.
pub fn is_own(metadata: &Metadata) -> bool {
    #[cfg(unix)]
    return watch::is_own(metadata);
    #[cfg(not(unix))]
    {
        let _ = metadata;
        true
    }
}

/// Reads to the end of something that may have none.
///
/// # Errors
///
/// Reading fails, or there are more than `most` bytes.
pub fn read_stream(stream: &mut dyn Read, most: u64) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    stream.take(most).read_to_end(&mut content)?;
    if content.len() as u64 == most && stream.read(&mut [0])? > 0 {
        let message = format!(
            "it is not a regular file, and has more than {}: copy it to a file",
            counted(most, "byte")
        );
        return Err(io::Error::new(ErrorKind::FileTooLarge, message));
    }
    Ok(content)
}

/// Releases a part of a file that will not be read for a while: if it is mapped, its pages are removed from the memory of this
/// process. A later read loads them again.
///
/// ```
/// let path = std::env::temp_dir().join(format!("onnx-proto-release-{}", std::process::id()));
/// std::fs::write(&path, vec![7; 3 << 20])?;
/// let content = onnx_proto::file::open(&path)?;
/// onnx_proto::file::release(&content[1 << 20..]);
/// assert!(content.iter().all(|byte| *byte == 7));
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn release(part: &[u8]) {
    #[cfg(unix)]
    watch::release(part);
    #[cfg(not(unix))]
    let _ = part;
}

/// The name of a mapped file that is shorter than it was.
#[cfg(unix)]
#[must_use]
pub fn cut_short() -> Option<String> {
    watch::cut_short()
}

/// The name of a mapped file that is shorter than it was. This system does not let files be cut short that are mapped.
#[cfg(not(unix))]
#[must_use]
pub fn cut_short() -> Option<String> {
    None
}

/// Sets the function to call before the program ends because a mapped file was truncated; the first call wins. It is called in
/// the middle of any read, and must not block.
pub fn when_cut_short(act: fn()) {
    #[cfg(unix)]
    watch::when_cut_short(act);
    #[cfg(not(unix))]
    let _ = act;
}

fn map(file: &File, metadata: &Metadata, path: &Path) -> io::Result<Bytes> {
    // SAFETY: The mapping is private and read-only, so this process cannot write through it. Another process that
    // changes the file meanwhile can change the bytes below us or, cutting it short, raise SIGBUS. No mapping can rule
    // that out; nothing here relies on the bytes staying the same for memory safety (decoders check as they read and
    // keep no pointers derived from contents), and the documentation of the program says so.
    let map = unsafe { memmap2::MmapOptions::new().map_copy_read_only(file) }?;
    #[cfg(unix)]
    {
        let watched = watch::begin(&map, metadata, path);
        Ok(Bytes::from_owner(watch::Mapped { map, watched }))
    }
    #[cfg(not(unix))]
    {
        let _ = (metadata, path);
        Ok(Bytes::from_owner(map))
    }
}

/// Mapped files, and the handling of failed reads.
#[cfg(unix)]
mod watch {
    use memmap2::Mmap;
    use nix::libc;
    use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};
    use std::fs::Metadata;
    use std::io;
    use std::os::unix::fs::MetadataExt as _;
    use std::path::{Path, PathBuf};
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    /// A file that is or was mapped; they form a list that a handler of signals can walk, and stay for ever.
    pub(super) struct Watched {
        start: usize,
        /// The end address; 0 after unmapping.
        end: AtomicUsize,
        path: PathBuf,
        /// Device, inode and size.
        file: (u64, u64, u64),
        message: String,
        next: OnceLock<&'static Watched>,
    }

    static FIRST: OnceLock<&'static Watched> = OnceLock::new();
    /// The previous signal handler.
    static BEFORE: OnceLock<SigAction> = OnceLock::new();
    static LAST_ACT: OnceLock<fn()> = OnceLock::new();
    static REPORTED: AtomicBool = AtomicBool::new(false);

    /// A mapping with its entry in the list.
    pub(super) struct Mapped {
        pub(super) map: Mmap,
        pub(super) watched: &'static Watched,
    }

    impl AsRef<[u8]> for Mapped {
        fn as_ref(&self) -> &[u8] {
            &self.map
        }
    }

    impl Drop for Mapped {
        fn drop(&mut self) {
            self.watched.end.store(0, Ordering::Release);
        }
    }

    fn all() -> impl Iterator<Item = &'static Watched> {
        std::iter::successors(FIRST.get().copied(), |watched| watched.next.get().copied())
    }

    pub(super) fn begin(map: &[u8], metadata: &Metadata, path: &Path) -> &'static Watched {
        let name: String = path.display().to_string().chars().map(visible).collect();
        let watched: &'static Watched = Box::leak(Box::new(Watched {
            start: map.as_ptr().addr(),
            end: AtomicUsize::new(map.as_ptr().addr() + map.len()),
            path: path.to_owned(),
            file: (metadata.dev(), metadata.ino(), metadata.len()),
            message: format!("error: {name} was cut short by another program while it was read\n"),
            next: OnceLock::new(),
        }));
        let mut place = &FIRST;
        while place.set(watched).is_err() {
            let Some(other) = place.get() else { break };
            place = &other.next;
        }
        BEFORE.get_or_init(|| {
            let flags = SaFlags::SA_ONSTACK | SaFlags::SA_SIGINFO;
            let ours = SigAction::new(SigHandler::SigAction(handle), flags, SigSet::empty());
            let default = SigAction::new(SigHandler::SigDfl, SaFlags::empty(), SigSet::empty());
            // SAFETY: the handler reads atomics and makes system calls; see there for the rest.
            unsafe { sigaction(Signal::SIGBUS, &ours) }.unwrap_or(default)
        });
        watched
    }

    fn visible(c: char) -> char {
        if c.is_control() { char::REPLACEMENT_CHARACTER } else { c }
    }

    pub(super) fn cut_short() -> Option<String> {
        let is_short = |watched: &&Watched| {
            let (dev, ino, size) = watched.file;
            let is_mapped = watched.end.load(Ordering::Acquire) != 0;
            let now = if is_mapped { watched.path.metadata() } else { Err(io::ErrorKind::NotFound.into()) };
            // Another file in its place is none of our business: ours is still there for us.
            now.is_ok_and(|now| (now.dev(), now.ino()) == (dev, ino) && now.len() < size)
        };
        all().find(is_short).map(|watched| watched.path.display().to_string())
    }

    /// A multiple of the size of a page, of every processor.
    const PAGES: usize = 1 << 16;

    pub(super) fn release(part: &[u8]) {
        let start = part.as_ptr().addr();
        let end = start + part.len();
        let is_mapped =
            |watched: &Watched| watched.start <= start && end <= watched.end.load(Ordering::Acquire);
        let skipped = start.next_multiple_of(PAGES) - start;
        let length = (part.len().saturating_sub(skipped)) / PAGES * PAGES;
        if length == 0 || !all().any(is_mapped) {
            return;
        }
        // SAFETY: these are whole pages of a private mapping that was never written to, and which exists as long as `part` is
        // borrowed. Later reads load the file again.
        _ = unsafe { libc::madvise(part[skipped..].as_ptr().cast_mut().cast(), length, libc::MADV_DONTNEED) };
    }

    pub(super) fn is_own(metadata: &Metadata) -> bool {
        // SAFETY: the call has no preconditions and touches no memory.
        metadata.uid() == unsafe { libc::geteuid() }
    }

    pub(super) fn when_cut_short(act: fn()) {
        _ = LAST_ACT.set(act);
    }

    extern "C" fn handle(_: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
        // SAFETY: the system provides the information that the flag SA_SIGINFO requests.
        let address = unsafe { (*info).si_addr() }.addr();
        let is_hit =
            |watched: &&Watched| (watched.start..watched.end.load(Ordering::Acquire)).contains(&address);
        if let Some(watched) = all().find(is_hit) {
            // Another thread may have met it first, and ends the program.
            while REPORTED.swap(true, Ordering::AcqRel) {
                std::thread::sleep(std::time::Duration::from_secs(60));
            }
            _ = rustix::io::write(io::stderr(), watched.message.as_bytes());
            // This thread was reading the mapping, so it is not in the middle of an allocation.
            if let Some(act) = LAST_ACT.get() {
                act();
            }
            // SAFETY: ends the program without running anything else.
            unsafe { libc::_exit(2) }
        }
        // Something else, an overflow of the stack on some systems: the access is made again, under the handler before.
        if let Some(before) = BEFORE.get() {
            // SAFETY: it was the handler before.
            _ = unsafe { sigaction(Signal::SIGBUS, before) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_and_large_files_have_their_content() {
        let folder = std::env::temp_dir().join(format!("onnx-proto-open-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        for size in [0, 10, MAPPED_FROM as usize + 3] {
            let path = folder.join(size.to_string());
            let content: Vec<u8> = (0..size).map(|at| at as u8).collect();
            std::fs::write(&path, &content).unwrap();
            // A mapping outlives the name of its file, and so does content that was read.
            let opened = open(&path).unwrap();
            std::fs::remove_file(&path).unwrap();
            assert!(opened == content, "{size} bytes");
        }
        assert!(open(&folder).is_err());
        std::fs::remove_dir(&folder).unwrap();
    }

    #[test]
    fn a_stream_without_end_is_refused() {
        let read = |mut stream: &[u8], most| read_stream(&mut stream, most).map(|content| content.len());
        assert_eq!([read(b"abc", 3).unwrap(), read(b"abc", 9).unwrap(), read(b"", 0).unwrap()], [3, 3, 0]);
        let error = read_stream(&mut io::repeat(0), 1 << 16).unwrap_err();
        assert_eq!(
            error.to_string(),
            "it is not a regular file, and has more than 65536 bytes: copy it to a file"
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_mapped_file_that_was_cut_short_is_known() {
        let path = std::env::temp_dir().join(format!("onnx-proto-short-{}", std::process::id()));
        std::fs::write(&path, vec![1; 2 << 20]).unwrap();
        let name = Some(path.display().to_string());
        let opened = open(&path).unwrap();
        assert_ne!(cut_short(), name);
        File::options().write(true).open(&path).unwrap().set_len(1 << 20).unwrap();
        assert_eq!(cut_short(), name);
        drop(opened);
        assert_ne!(cut_short(), name);
        std::fs::remove_file(&path).unwrap();
    }
}
