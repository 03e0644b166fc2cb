//! Stretches of narrow elements, widened to single floats once for all results that read them.
//!
//! Neighbouring lines of a stencil read the same lines of the image: of a convolution of 3×3, each is read for three lines of
//! results. A stretch stays in its place until another takes it, and the one that was read the longest time ago goes first.

use super::Elements;
use super::tiles::WIDE;
use crate::lanes::narrow::{bf16_to_f32, f16_to_f32};
use crate::scratch::AlignedFloats;
use crate::zip::zip;
use smallvec::SmallVec;
use std::ops::Range;

/// Widened stretches, each at a multiple of the pitch.
#[derive(Default)]
pub(crate) struct Widened {
    numbers: AlignedFloats,
    /// The most elements of a stretch.
    pitch: usize,
    stretches: SmallVec<[Stretch; 8]>,
    /// The zero point that was subtracted, as bits.
    zero: u32,
    turn: usize,
}

/// A range of the operand, and when it was read last.
struct Stretch {
    source: Range<usize>,
    turn: usize,
}

impl Widened {
    /// Forgets all stretches, which are of other operands.
    pub(crate) fn clear(&mut self) {
        self.stretches.clear();
    }

    /// The numbers that stretches begin in.
    pub(crate) fn numbers(&self) -> &[f32] {
        &self.numbers
    }

    /// Begins to read these ranges of the operand, which are widened if they are not there; `None` if the operand has not all.
    #[inline(always)]
    pub(crate) fn read(&mut self, x: Elements<'_>, ranges: &[Range<usize>]) -> Option<()> {
        let zero = x.zero().to_bits();
        let longest = ranges.iter().map(|range| range.len()).max().unwrap_or(0).next_multiple_of(WIDE);
        let is_more = longest > self.pitch || self.numbers.len() < ranges.len() * self.pitch;
        if is_more || zero != self.zero {
            self.stretches.clear();
            (self.pitch, self.zero) = (self.pitch.max(longest), zero);
            self.numbers.resize(self.numbers.len().max(ranges.len() * self.pitch));
        }
        self.turn += 1;
        let mut missing: SmallVec<[usize; 8]> = SmallVec::new();
        for (number, range) in ranges.iter().enumerate() {
            match self.stretches.iter_mut().find(|stretch| has(&stretch.source, range)) {
                Some(stretch) => stretch.turn = self.turn,
                None => missing.push(number),
            }
        }
        for number in missing {
            let range = &ranges[number];
            let oldest = self.stretches.iter().enumerate().min_by_key(|(_, stretch)| stretch.turn);
            let place = match oldest {
                Some((place, stretch)) if stretch.turn < self.turn => place,
                Some(_) | None => {
                    self.stretches.push(Stretch { source: 0..0, turn: 0 });
                    self.stretches.len() - 1
                }
            };
            let to = self.numbers.get_mut(place * self.pitch..)?.get_mut(..range.len())?;
            widen(x, range.clone(), to)?;
            self.stretches[place] = Stretch { source: range.clone(), turn: self.turn };
        }
        Some(())
    }

    /// How much further than in the operand a range lies that is being read.
    #[inline(always)]
    pub(crate) fn shift(&self, range: &Range<usize>) -> Option<i64> {
        let place = self
            .stretches
            .iter()
            .position(|stretch| stretch.turn == self.turn && has(&stretch.source, range))?;
        Some((place * self.pitch) as i64 - self.stretches[place].source.start as i64)
    }
}

fn has(all: &Range<usize>, range: &Range<usize>) -> bool {
    all.start <= range.start && range.end <= all.end
}

/// Widens a range of elements.
#[inline(always)]
fn widen(x: Elements<'_>, range: Range<usize>, to: &mut [f32]) -> Option<()> {
    match x {
        Elements::Single(x) => to.copy_from_slice(x.get(range)?),
        Elements::F16(x) => {
            for (to, bits) in zip(to, x.get(range)?) {
                *to = f16_to_f32(*bits);
            }
        }
        Elements::Bf16(x) => {
            for (to, bits) in zip(to, x.get(range)?) {
                *to = bf16_to_f32(*bits);
            }
        }
        Elements::Unsigned(x, zero) => {
            for (to, byte) in zip(to, x.get(range)?) {
                *to = f32::from(*byte) - zero;
            }
        }
        Elements::Signed(x, zero) => {
            for (to, byte) in zip(to, x.get(range)?) {
                *to = f32::from(*byte) - zero;
            }
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_have_the_numbers_of_the_operand_however_they_follow() {
        let bytes: Vec<u8> = (0..4000).map(|at| (at * 37 + at / 11) as u8).collect();
        let mut widened = Widened::default();
        let mut check = |zero: f32, ranges: &[Range<usize>]| {
            widened.read(Elements::Unsigned(&bytes, zero), ranges).unwrap();
            for range in ranges {
                let shift = widened.shift(range).unwrap();
                for at in range.clone() {
                    let place = usize::try_from(at as i64 + shift).unwrap();
                    assert_eq!(widened.numbers()[place], f32::from(bytes[at]) - zero, "{ranges:?} {at}");
                }
            }
            widened.stretches.len()
        };
        // Lines of an image, of which each next one is new.
        for line in 0..30 {
            let lines = [0, 1, 2].map(|of| (line + of) * 100..(line + of + 1) * 100);
            assert_eq!(check(3.0, &lines), 3);
        }
        // Parts of them, another zero point, longer ones, and more of them.
        check(3.0, &[2910..2950, 3000..3001]);
        check(4.0, &[2910..2950, 3000..3001]);
        check(4.0, &[0..1000, 2900..3000, 3500..3999]);
        check(4.0, &[10..20, 500..900, 2999..3100, 3999..4000, 5..6]);
        let behind = std::slice::from_ref(&(3990..4001));
        assert!(widened.read(Elements::Unsigned(&bytes, 4.0), behind).is_none());
        widened.clear();
        assert!(widened.shift(&(10..20)).is_none());
    }
}
