//! Inputs that are like seeds.

use crate::random::Random;
use std::ops::Range;

/// Changes seeds at random; the same start gives the same inputs.
pub struct Mutator<'s> {
    seeds: &'s [Vec<u8>],
    words: Vec<Vec<u8>>,
    random: Random,
}

/// Larger inputs are cut off.
const MAX_BYTES: usize = 4096;

impl<'s> Mutator<'s> {
    /// Of these seeds, with the words of a dictionary to put in.
    pub fn new(seeds: &'s [Vec<u8>], words: Vec<Vec<u8>>, start: u64) -> Self {
        Mutator { seeds, words, random: Random::new(start) }
    }

    /// The next input: a seed with a few changes.
    pub fn input(&mut self) -> Vec<u8> {
        let mut bytes = self.seed();
        bytes.truncate(MAX_BYTES);
        for _ in 0..1 + self.random.below(3) {
            self.change(&mut bytes);
        }
        bytes
    }

    fn seed(&mut self) -> Vec<u8> {
        if self.seeds.is_empty() {
            return Vec::new();
        }
        let at = self.random.below(self.seeds.len());
        self.seeds[at].clone()
    }

    fn range(&mut self, bytes: &[u8], longest: usize) -> Range<usize> {
        let start = self.random.below(bytes.len() + 1);
        let length = self.random.below(longest + 1).min(bytes.len() - start);
        start..start + length
    }

    fn change(&mut self, bytes: &mut Vec<u8>) {
        match self.random.below(7) {
            0 => {
                let range = self.range(bytes, 8);
                bytes.drain(range);
            }
            1 => {
                let range = self.range(bytes, 32);
                let again = bytes[range.clone()].to_vec();
                bytes.splice(range.end..range.end, again);
            }
            2 if !bytes.is_empty() => {
                let at = self.random.below(bytes.len());
                bytes[at] = self.random.byte();
            }
            3 if !bytes.is_empty() => {
                let at = self.random.below(bytes.len());
                bytes[at] ^= 1 << self.random.below(8);
            }
            4 => {
                let range = self.range(bytes, 4);
                let other = self.seed();
                let from = self.range(&other, 40);
                bytes.splice(range, other[from].iter().copied());
            }
            5 => bytes.truncate(self.random.below(bytes.len() + 1)),
            _ => {
                let range = self.range(bytes, 2);
                let word = match self.words.len() {
                    0 => vec![self.random.byte()],
                    count => self.words[self.random.below(count)].clone(),
                };
                bytes.splice(range, word);
            }
        }
    }
}

/// The words of a dictionary of libFuzzer: a line each, in quotes.
pub fn words(dictionary: &str) -> Vec<Vec<u8>> {
    let quoted = |line: &str| {
        let rest = line.trim().split_once('"')?.1.rsplit_once('"')?.0;
        let (mut word, mut chars) = (Vec::new(), rest.bytes());
        while let Some(byte) = chars.next() {
            word.push(match (byte, byte == b'\\') {
                (byte, false) => byte,
                (_, true) => match chars.next()? {
                    b'x' => {
                        let digits = [chars.next()?, chars.next()?];
                        u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
                    }
                    escaped => escaped,
                },
            });
        }
        Some(word)
    };
    dictionary.lines().filter(|line| !line.starts_with('#')).filter_map(quoted).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_unescaped() {
        assert_eq!(words("# no\n\"a\\x0a\"\nkey=\"\\\"\\\\\"\n"), [b"a\n".to_vec(), b"\"\\".to_vec()]);
    }

    #[test]
    fn the_same_start_gives_the_same_inputs() {
        let seeds = [b"abcdef".to_vec(), Vec::new()];
        let inputs = |start| -> Vec<_> {
            let mut mutator = Mutator::new(&seeds, words("\"xyz\""), start);
            (0..200).map(|_| mutator.input()).collect()
        };
        assert_eq!(inputs(1), inputs(1));
        assert_ne!(inputs(1), inputs(2));
    }
}
