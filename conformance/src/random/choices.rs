//! Decisions, taken from a string of bytes.

use std::path::Path;

/// Decisions, taken from a string of bytes. Behind its end, the first alternative is taken, so everything ends.
#[derive(Clone, Debug)]
pub struct Choices<'c> {
    bytes: &'c [u8],
}

impl<'c> Choices<'c> {
    /// The decisions that these bytes are.
    pub fn new(bytes: &'c [u8]) -> Self {
        Choices { bytes }
    }

    pub(super) fn byte(&mut self) -> u8 {
        match self.bytes.split_first() {
            Some((&first, rest)) => {
                self.bytes = rest;
                first
            }
            None => 0,
        }
    }

    /// A number below `count`.
    pub(super) fn below(&mut self, count: usize) -> usize {
        let wide = if count > 256 { usize::from(self.byte()) << 8 } else { 0 };
        (wide | usize::from(self.byte())) % count.max(1)
    }

    /// True in so many of 256 cases; false at the end, unless it is always true.
    pub(super) fn chance(&mut self, of_256: u16) -> bool {
        u16::from(self.byte()) >= 256 - of_256
    }

    pub(super) fn pick<'p, T>(&mut self, pool: &'p [T]) -> &'p T {
        &pool[self.below(pool.len())]
    }

    pub(super) fn bits(&mut self) -> u64 {
        (0..8).fold(0, |bits, _| bits << 8 | u64::from(self.byte()))
    }
}

/// Bytes at random, the same ones in each run.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// One of many sequences.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// The sequence of some bytes.
    pub fn of_bytes(start: u64, bytes: &[u8]) -> Random {
        Random::new(bytes.iter().fold(start, |seed, &byte| seed.wrapping_mul(31) ^ u64::from(byte)))
    }

    /// The sequence of a file of the project, wherever that is.
    pub fn of_file(path: &Path, start: u64) -> Random {
        let path = path.strip_prefix(env!("CARGO_MANIFEST_DIR")).unwrap_or(path);
        Random::of_bytes(start, path.as_os_str().as_encoded_bytes())
    }

    /// The next byte.
    pub fn byte(&mut self) -> u8 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 56) as u8
    }

    /// A number below `count`, which is less than 2^24.
    pub fn below(&mut self, count: usize) -> usize {
        (0..3).fold(0, |number, _| number << 8 | usize::from(self.byte())) % count.max(1)
    }

    /// The number of decisions.
    pub fn choices(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.byte()).collect()
    }
}
