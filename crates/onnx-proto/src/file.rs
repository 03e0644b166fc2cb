//! Opens a file as [`Bytes`]: the one place of this crate that reads a file, for programs. Libraries get bytes.
//!
//! Large files are mapped, so that a model's weights are read when someone looks at them and not before.

#![allow(unsafe_code, reason = "mapping a file is unsafe by nature: another process may change it")]

use bytes::Bytes;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::path::Path;

/// Smaller files are read at once. That takes a fraction of a millisecond, and no later change of the file can hurt:
/// access to a mapping beyond the end of a file that was cut short kills the process.
const MAPPED_FROM: u64 = 1 << 20;

/// The content of a file, mapped if it is at least 1 MiB large. What is no regular file (a pipe) is read to its end.
///
/// # Errors
///
/// The file cannot be opened, read or mapped; it is a folder.
pub fn open(path: &Path) -> io::Result<Bytes> {
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    content(file, &metadata)
}

/// Like [`open`], for a file that is still `wanted` when it is open; `None` if it is not.
///
/// # Errors
///
/// As those of [`open`].
pub(crate) fn open_if(path: &Path, wanted: &dyn Fn(&Metadata) -> bool) -> io::Result<Option<Bytes>> {
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    if wanted(&metadata) { content(file, &metadata).map(Some) } else { Ok(None) }
}

fn content(mut file: File, metadata: &Metadata) -> io::Result<Bytes> {
    if metadata.is_file() && metadata.len() >= MAPPED_FROM {
        return map(&file);
    }
    let mut content = Vec::new();
    file.read_to_end(&mut content)?;
    Ok(content.into())
}

fn map(file: &File) -> io::Result<Bytes> {
    // SAFETY: The mapping is private and read-only, so this process cannot write through it. Another process that
    // changes the file meanwhile can change the bytes below us or, cutting it short, raise SIGBUS. No mapping can rule
    // that out; nothing here relies on the bytes staying the same for memory safety (decoders check as they read and
    // keep no pointers derived from contents), and the documentation of the program says so.
    let map = unsafe { memmap2::MmapOptions::new().map_copy_read_only(file) }?;
    Ok(Bytes::from_owner(map))
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
            // A mapping stays when its file is gone, and a read file too.
            let opened = open(&path).unwrap();
            std::fs::remove_file(&path).unwrap();
            assert!(opened == content, "{size} bytes");
        }
        assert!(open(&folder).is_err());
        std::fs::remove_dir(&folder).unwrap();
    }
}
