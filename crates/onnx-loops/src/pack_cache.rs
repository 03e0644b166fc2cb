//! Packed constants that are kept from one program to the next, in a store that the caller provides.
//!
//! An entry has the packed numbers as they are used, so that a store of mapped files shares them between all processes of a machine.
//! Its name is a digest of everything that it depends on: the elements of the constants, the loops that pack them, the form of
//! the tiles, the instruction set and the version. So two models with the same weights share an entry, and an entry is never
//! changed.
//!
//! ```text
//! 0     magic, key, digest of the numbers, lengths of the lists, description
//! 4064  digest of the head
//! 4096  lists of numbers, each at a multiple of a cache line
//! ```
//! The store is not trusted: an entry is used only if its name, its lengths and both digests are right; everything else is packed
//! anew, and replaces it. A program that can write to the store can make both digests right, too: keeping others out is its task.

use crate::budget::spend;
use crate::failure::Failure;
use crate::parallel::parallel;
use crate::recycle::ALIGN;
use bytes::Bytes;
use onnx_ir::diag::counted;
use std::fmt::{Debug, Write as _};
use std::ops::Range;

/// A store of entries, which programs share: files, of which this crate knows nothing.
pub trait PackedStore: Debug + Send + Sync {
    /// The content of an entry, at an address that is a multiple of 64.
    fn load(&self, name: &str) -> Option<Bytes>;

    /// Stores an entry, whose content is these parts one after the other, and returns its content as [`load`](Self::load) does. If
    /// another program has stored it meanwhile, that may be the content of the other one.
    fn store(&self, name: &str, content: &[&[u8]]) -> Option<Bytes>;

    /// Removes an entry that is damaged.
    fn discard(&self, name: &str);
}

/// The description of an entry, if its head is sound; its numbers are not looked at.
pub fn description(content: &[u8]) -> Option<String> {
    let head = Head::of(content)?;
    let text = head.0.get(ABOUT..SEAL)?;
    let end = text.iter().position(|byte| *byte == 0)?;
    String::from_utf8(text[..end].to_vec()).ok()
}

/// The bytes from the start of an entry that [`description`] looks at.
pub const HEAD: usize = 4096;

/// Raise it whenever the form of packed numbers changes: otherwise programs of the same version read numbers that others have packed
/// differently. A test has digests of what is packed.
const FORMAT: u32 = 1;
const MAGIC: &[u8; 16] = b"onnxtxt packed 1";
/// Places in the head.
const KEY: usize = 16;
pub(crate) const DIGEST: usize = 48;
const LENGTHS: usize = 80;
const ABOUT: usize = LENGTHS + 8 * LISTS;
const SEAL: usize = HEAD - 32;
/// The lists of an entry: numbers, their sums, the order of groups, and the narrow ones of these.
pub(crate) const LISTS: usize = 4;
/// Smaller lists of numbers are made by each program: to look for them in a store takes as long.
pub(crate) const MIN_STORED_BYTES: usize = 1 << 18;
/// Threads digest pieces of this size.
const PIECE: usize = 1 << 20;

/// Stored numbers that are at an address which their type does not have, as an entry of a store, where they are aligned; `None` if they are
/// not large, and if the store does not take them. So all programs of a machine have one copy, and its pages can be released.
pub(crate) fn aligned(store: &dyn PackedStore, numbers: &[u8], width: usize) -> Option<Bytes> {
    if numbers.len() < MIN_STORED_BYTES {
        return None;
    }
    let about = format!("{} as stored, aligned", counted(numbers.len(), "byte"));
    // The order of bytes is that of the file, so the width does not matter to the entry.
    let key = Key::of(&format!("aligned {}", numbers.len()), &[numbers], about).ok()?;
    let lengths = [Some(numbers.len()), Some(0), Some(0), Some(0)];
    let entry = key.load(store, lengths).or_else(|| key.store(store, [numbers, &[], &[], &[]]))?;
    let place = entry.places.first()?.clone();
    let found = entry.content.slice(place);
    found.as_ptr().addr().is_multiple_of(width).then_some(found)
}

/// The identity of an entry.
pub(crate) struct Key {
    digest: [u8; 32],
    about: String,
}

impl Key {
    /// The key of constants with these elements that are packed in a form, which says everything else that the result depends on.
    pub(crate) fn of(form: &str, contents: &[&[u8]], about: String) -> Result<Key, Failure> {
        let version = (FORMAT, env!("CARGO_PKG_VERSION"));
        let form = format!("{version:?} {form}");
        // The form says how many elements each constant has, so where each begins.
        let length = (form.len() as u64).to_le_bytes();
        let form = [&length[..], form.as_bytes()];
        let all: Vec<&[u8]> = form.into_iter().chain(contents.iter().copied()).collect();
        Ok(Key { digest: digest(&all)?, about })
    }

    fn name(&self) -> String {
        let mut name = String::with_capacity(2 * self.digest.len());
        for byte in self.digest {
            _ = write!(name, "{byte:02x}");
        }
        name
    }

    /// The lists of the entry, which have these lengths in bytes; a length that is not known may be any.
    pub(crate) fn load(&self, store: &dyn PackedStore, lengths: [Option<usize>; LISTS]) -> Option<Entry> {
        let content = store.load(&self.name())?;
        let entry = self.read(&content, lengths);
        if entry.is_none() {
            store.discard(&self.name());
        }
        entry
    }

    fn read(&self, content: &Bytes, lengths: [Option<usize>; LISTS]) -> Option<Entry> {
        let head = Head::of(content)?;
        let places = head.places(content.len())?;
        let fits = places.iter().zip(lengths).all(|(place, length)| length.is_none_or(|n| n == place.len()));
        let is_aligned = content.as_ptr().addr().is_multiple_of(ALIGN);
        if head.0.get(KEY..DIGEST)? != self.digest || !fits || !is_aligned {
            return None;
        }
        let is_sound = digest(&[&content[HEAD..]]).ok()? == *head.0.get(DIGEST..LENGTHS)?;
        is_sound.then(|| Entry { content: content.clone(), places })
    }

    /// Stores lists, and returns them as other programs will have them.
    pub(crate) fn store(&self, store: &dyn PackedStore, lists: [&[u8]; LISTS]) -> Option<Entry> {
        const ZEROS: [u8; ALIGN] = [0; ALIGN];
        let mut parts: Vec<&[u8]> = Vec::with_capacity(2 * LISTS);
        for list in lists {
            parts.push(list);
            parts.push(&ZEROS[..list.len().next_multiple_of(ALIGN) - list.len()]);
        }
        let payload = digest(&parts).ok()?;
        let head = Head::new(self, &payload, lists.map(<[u8]>::len));
        parts.insert(0, &head.0);
        let content = store.store(&self.name(), &parts)?;
        // It may be that of another program. Comparing it costs less than its digest.
        let places = Head::of(&content)?.places(content.len())?;
        let is_same = places.iter().zip(lists).all(|(place, list)| content[place.clone()] == *list);
        let is_aligned = content.as_ptr().addr().is_multiple_of(ALIGN);
        (is_same && is_aligned).then_some(Entry { content, places })
    }
}

/// The lists of an entry.
#[derive(Debug)]
pub(crate) struct Entry {
    content: Bytes,
    places: [Range<usize>; LISTS],
}

impl Entry {
    /// A list.
    pub(crate) fn list(&self, at: usize) -> &[u8] {
        self.places.get(at).map_or(&[], |place| &self.content[place.clone()])
    }
}

/// The head of an entry whose digest is right.
struct Head([u8; HEAD]);

impl Head {
    fn new(key: &Key, payload: &[u8; 32], lengths: [usize; LISTS]) -> Head {
        let mut head = [0; HEAD];
        head[..KEY].copy_from_slice(MAGIC);
        head[KEY..DIGEST].copy_from_slice(&key.digest);
        head[DIGEST..LENGTHS].copy_from_slice(payload);
        for (to, length) in head[LENGTHS..ABOUT].chunks_exact_mut(8).zip(lengths) {
            to.copy_from_slice(&(length as u64).to_le_bytes());
        }
        let about = key.about.as_bytes();
        let about = &about[..about.len().min(SEAL - ABOUT - 1)];
        head[ABOUT..ABOUT + about.len()].copy_from_slice(about);
        let seal = blake3::hash(&head[..SEAL]);
        head[SEAL..].copy_from_slice(seal.as_bytes());
        Head(head)
    }

    fn of(content: &[u8]) -> Option<Head> {
        let head: [u8; HEAD] = content.get(..HEAD)?.try_into().ok()?;
        let is_sound = head.starts_with(MAGIC) && blake3::hash(&head[..SEAL]).as_bytes()[..] == head[SEAL..];
        is_sound.then_some(Head(head))
    }

    /// The places of the lists in an entry of this length, if that is what they take.
    fn places(&self, length: usize) -> Option<[Range<usize>; LISTS]> {
        let mut places = [const { 0..0 }; LISTS];
        let mut at = HEAD;
        for (place, length) in places.iter_mut().zip(self.0[LENGTHS..ABOUT].as_chunks::<8>().0) {
            let end = at.checked_add(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
            *place = at..end;
            at = end.checked_next_multiple_of(ALIGN)?;
        }
        (at == length).then_some(places)
    }
}

/// The digest of parts one after the other. Threads share the work; the result does not depend on their number.
fn digest(parts: &[&[u8]]) -> Result<[u8; 32], Failure> {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    let mut pieces: Vec<Vec<&[u8]>> = vec![Vec::new()];
    let mut left = PIECE;
    for mut part in parts.iter().copied() {
        while !part.is_empty() {
            let (now, later) = part.split_at(part.len().min(left));
            if let Some(piece) = pieces.last_mut() {
                piece.push(now);
            }
            (part, left) = (later, left - now.len());
            if left == 0 {
                pieces.push(Vec::new());
                left = PIECE;
            }
        }
    }
    pieces.retain(|piece| !piece.is_empty());
    let mut digests = vec![[0; 32]; pieces.len()];
    let work: Vec<(Vec<&[u8]>, &mut [u8; 32])> = pieces.into_iter().zip(&mut digests).collect();
    parallel(work, |(piece, digest)| {
        spend(0)?;
        let mut hasher = blake3::Hasher::new();
        piece.into_iter().for_each(|part| _ = hasher.update(part));
        *digest = *hasher.finalize().as_bytes();
        Ok(())
    })?;
    let mut all = blake3::Hasher::new();
    all.update(&(length as u64).to_le_bytes());
    all.update(digests.as_flattened());
    Ok(*all.finalize().as_bytes())
}
