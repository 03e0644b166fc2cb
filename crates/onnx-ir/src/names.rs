//! Interned strings: every name, domain, doc string and metadata text of a model is a [`Name`].
//!
//! Equal strings have equal ids, so scopes are arrays and comparisons are integer comparisons. Protobuf `string` fields should be
//! UTF-8, but this is not enforced; an invalid string keeps its bytes beside a readable form.

use crate::entity;
use crate::entity::{EntityId as _, FromIndex as _};
use foldhash::fast::RandomState;
use hashbrown::{HashMap, HashTable};
use std::hash::{BuildHasher, Hasher};

entity!(
    /// An interned string of one [`Names`].
    Name,
    "name"
);

impl Name {
    /// The empty string, the first name of every table.
    #[inline]
    pub fn empty() -> Self {
        Self::from_index(0)
    }

    /// Whether this is the empty string.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.index() == 0
    }
}

/// Bytes that names usually have, of those that exporters make.
const USUAL: usize = 24;

/// Slots for names that were used last.
const RECENT: usize = 1024;

/// The strings of a model, each stored once.
#[derive(Clone)]
pub struct Names {
    pool: String,
    /// `spans[i]..spans[i + 1]` is the text of name `i` in `pool`.
    starts: Vec<usize>,
    /// Names with their hashes, so that growing and most comparisons need not read text.
    table: HashTable<(u32, Name)>,
    hasher: RandomState,
    /// A name for the low bits of a hash, with all of it: the last one that was asked for. Most names of a text have just been used, and the
    /// table of a large model is not in the caches of the processor. Empty as long as there are few names.
    recent: Vec<(u32, Name)>,
    /// Exact bytes of the names that are not UTF-8; their `pool` text has replacement characters.
    invalid: HashMap<Name, Box<[u8]>, RandomState>,
    /// The number for the next fresh name of each stem: all lower ones are taken.
    next: HashMap<Name, u64, RandomState>,
}

impl Names {
    /// A table with only the empty string.
    pub fn new() -> Self {
        let mut names = Self {
            pool: String::new(),
            starts: vec![0],
            table: HashTable::new(),
            hasher: RandomState::default(),
            recent: Vec::new(),
            invalid: HashMap::default(),
            next: HashMap::default(),
        };
        names.intern("");
        names
    }

    /// The id of `text`, new or existing.
    pub fn intern(&mut self, text: &str) -> Name {
        let hash = self.hash(text.as_bytes());
        let slot = hash as usize % RECENT;
        if let Some(&(known, id)) = self.recent.get(slot)
            && known == hash
            && self.is_same(id, text.as_bytes())
            && self.is_utf8(id)
        {
            return id;
        }
        let id = match self.known(hash, text.as_bytes()) {
            Some(id) => id,
            None => self.insert(hash, text),
        };
        if let Some(slot) = self.recent.get_mut(slot) {
            *slot = (hash, id);
        }
        id
    }

    /// The id of UTF-8 that occurs.
    #[inline]
    fn known(&self, hash: u32, text: &[u8]) -> Option<Name> {
        // The text is compared only if the hashes are equal: its length may just have been written, and waiting for that would
        // dominate.
        let same = |&(known, id): &(u32, Name)| known == hash && self.is_same(id, text) && self.is_utf8(id);
        self.table.find(spread(hash), same).map(|&(_, id)| id)
    }

    #[inline]
    fn hash(&self, bytes: &[u8]) -> u32 {
        // Not `hash_one`, which also hashes the length.
        let mut hasher = self.hasher.build_hasher();
        hasher.write(bytes);
        #[allow(clippy::cast_possible_truncation, reason = "half of the hash is kept")]
        let half = hasher.finish() as u32;
        half
    }

    /// Makes room for `names` more names.
    pub fn reserve(&mut self, names: usize) {
        self.pool.reserve(names.saturating_mul(USUAL));
        self.starts.reserve(names);
        self.table.reserve(names, |&(hash, _)| spread(hash));
    }

    /// The id of a string that may not be UTF-8.
    pub fn intern_bytes(&mut self, bytes: &[u8]) -> Name {
        let hash = self.hash(bytes);
        // A string equal to UTF-8 is UTF-8, so most need no validation.
        if let Some(id) = self.known(hash, bytes) {
            return id;
        }
        if let Ok(text) = std::str::from_utf8(bytes) {
            return self.insert(hash, text);
        }
        let same = |(_, id): &(u32, Name)| self.invalid.get(id).is_some_and(|b| **b == *bytes);
        if let Some(&(_, id)) = self.table.find(spread(hash), same) {
            return id;
        }
        let id = self.insert(hash, &String::from_utf8_lossy(bytes));
        self.invalid.insert(id, bytes.into());
        id
    }

    #[inline]
    fn insert(&mut self, hash: u32, text: &str) -> Name {
        let id = Name::from_index(self.starts.len() - 1);
        if id.index() == RECENT {
            self.recent = vec![(0, Name::empty()); RECENT];
        }
        self.pool.push_str(text);
        self.starts.push(self.pool.len());
        self.table.insert_unique(spread(hash), (hash, id), |&(hash, _)| spread(hash));
        id
    }

    /// The id of `text` if it occurs.
    pub fn find(&self, text: &str) -> Option<Name> {
        self.known(self.hash(text.as_bytes()), text.as_bytes())
    }

    /// An unused name: `stem`, or `stem_1` and so on. The time does not depend on the number of existing names.
    ///
    /// ```
    /// let mut names = onnx_ir::Names::new();
    /// let made = [(); 3].map(|()| names.fresh("t"));
    /// assert_eq!(made.map(|name| &names[name]), ["t", "t_1", "t_2"]);
    /// ```
    pub fn fresh(&mut self, stem: &str) -> Name {
        let Some(known) = self.find(stem) else { return self.intern(stem) };
        let mut number = self.next.get(&known).copied().unwrap_or(1);
        loop {
            let text = format!("{stem}_{number}");
            number += 1;
            if self.find(&text).is_none() {
                self.next.insert(known, number);
                return self.intern(&text);
            }
        }
    }

    /// The exact bytes of a name.
    #[inline]
    pub fn bytes(&self, name: Name) -> &[u8] {
        match self.invalid.get(&name) {
            Some(bytes) => bytes,
            None => &self.pool.as_bytes()[self.starts[name.index()]..self.starts[name.index() + 1]],
        }
    }

    /// Whether a name has this text; faster than comparing the texts.
    #[inline]
    pub fn is(&self, name: Name, text: &str) -> bool {
        self.is_same(name, text.as_bytes())
    }

    #[inline]
    fn is_same(&self, name: Name, text: &[u8]) -> bool {
        let (start, end) = (self.starts[name.index()], self.starts[name.index() + 1]);
        end - start == text.len() && self.pool.as_bytes()[start..end] == *text
    }

    /// Whether the string is UTF-8, as protobuf asks of `string` fields.
    #[inline]
    pub fn is_utf8(&self, name: Name) -> bool {
        self.invalid.is_empty() || !self.invalid.contains_key(&name)
    }

    /// Whether every string is UTF-8.
    pub fn all_utf8(&self) -> bool {
        self.invalid.is_empty()
    }

    /// The names of all strings, in the order in which they were added.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = Name> + use<> {
        (0..self.len()).map(Name::from_index)
    }

    /// The number of different strings.
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Never: the empty string is always there.
    #[inline]
    pub fn is_empty(&self) -> bool {
        false
    }
}

/// The table wants good bits at both ends of a hash.
#[inline]
fn spread(hash: u32) -> u64 {
    u64::from(hash) << 32 | u64::from(hash)
}

impl Default for Names {
    fn default() -> Self {
        Self::new()
    }
}

/// The text; bytes that are not UTF-8 read as U+FFFD (see [`Names::bytes`]).
impl std::ops::Index<Name> for Names {
    type Output = str;
    #[inline]
    fn index(&self, name: Name) -> &str {
        &self.pool[self.starts[name.index()]..self.starts[name.index() + 1]]
    }
}

impl std::fmt::Debug for Names {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Names({})", self.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_strings_are_one_name() {
        let mut names = Names::new();
        let (a, b) = (names.intern("x"), names.intern("y"));
        assert_ne!(a, b);
        assert_eq!(names.intern_bytes(b"x"), a);
        assert_eq!((&names[a], names.find("y"), names.find("z")), ("x", Some(b), None));
        assert!(names.intern("").is_empty());
    }

    #[test]
    fn names_that_share_a_slot_are_different() {
        let mut names = Names::new();
        let count = 5 * RECENT;
        let ids: Vec<Name> = (0..count).map(|i| names.intern(&i.to_string())).collect();
        assert_eq!(names.len(), count + 1);
        for step in [1, 7, RECENT - 1] {
            for i in (0..count).step_by(step) {
                assert_eq!((names.intern(&i.to_string()), &names[ids[i]]), (ids[i], &*i.to_string()));
            }
        }
        // The replacement text of a name that is not UTF-8 is another name.
        let invalid = names.intern_bytes(b"\xff");
        let text = names.intern("\u{fffd}");
        assert_eq!([names.intern("\u{fffd}"), names.intern_bytes(b"\xff")], [text, invalid]);
        assert_ne!(text, invalid);
    }

    #[test]
    fn bytes_that_are_not_utf8_are_kept() {
        let mut names = Names::new();
        let (a, b) = (names.intern_bytes(b"\xff"), names.intern_bytes(b"\xfe"));
        assert_ne!(a, b);
        assert_ne!(names.intern("\u{fffd}"), a);
        for i in 0..1000 {
            names.intern(&i.to_string());
        }
        assert_eq!(names.intern_bytes(b"\xff"), a);
        assert_eq!((names.bytes(a), &names[a], names.is_utf8(a)), (&b"\xff"[..], "\u{fffd}", false));
    }
}
