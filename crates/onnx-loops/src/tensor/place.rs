//! Gathers and scatters elements of any type.

use super::{Data, Tensor};
use crate::budget::look;
use crate::failure::{Failure, fail};
use crate::list::Strings;
use onnx_ir::diag::counted;

/// The index of no element.
pub const NOWHERE: usize = usize::MAX;

impl Tensor {
    /// Gathers elements by their row-major index into a new shape. The index [`NOWHERE`] selects the only element of `filler`,
    /// which has the same type.
    pub fn picked_or(&self, filler: &Tensor, dims: &[usize], positions: &[usize]) -> Result<Tensor, Failure> {
        fn all<T: bytemuck::Pod>(
            from: &Tensor,
            filler: &Tensor,
            dims: &[usize],
            positions: &[usize],
        ) -> Result<Tensor, Failure> {
            let words = from.words::<T>();
            let Some(filler) = filler.words::<T>().first() else { fail!("the filler has another type") };
            let mut picked = Tensor::zeros(from.elem, dims)?;
            for (to, &at) in picked.words_mut::<T>()?.iter_mut().zip(positions) {
                *to = match words.get(at) {
                    Some(word) => *word,
                    None if at == NOWHERE => *filler,
                    None => fail!("a position lies outside of the tensor"),
                };
            }
            Ok(picked)
        }
        if super::count(dims) != Some(positions.len()) {
            fail!("a tensor of shape {dims:?} does not have {}", counted(positions.len(), "element"));
        }
        if self.is_strings() {
            let (from, filler) = (self.string_slice()?, filler.string_slice()?);
            let mut picked = Strings::with_room(positions.len())?;
            for &at in positions {
                match (from.get(at), filler.first()) {
                    (Some(string), _) => picked.push_copy(string)?,
                    (None, Some(filler)) if at == NOWHERE => picked.push_copy(filler)?,
                    (None, _) => fail!("a position lies outside of the tensor"),
                }
            }
            return Tensor::of_texts(dims, picked);
        }
        match super::width(self.elem) {
            Some(1) => all::<u8>(self, filler, dims, positions),
            Some(2) => all::<u16>(self, filler, dims, positions),
            Some(4) => all::<u32>(self, filler, dims, positions),
            Some(8) => all::<u64>(self, filler, dims, positions),
            Some(16) => all::<u128>(self, filler, dims, positions),
            Some(_) | None => fail!("elements of type {} cannot be moved", self.elem.0),
        }
    }

    /// The tensor with elements of another one of the same type scattered into it: each run of `run` elements goes to those from
    /// the next of `starts` on. Later runs win. What nothing else uses is overwritten.
    pub fn with_placed(self, other: &Tensor, starts: &[usize], run: usize) -> Result<Tensor, Failure> {
        fn all<T: bytemuck::Pod>(
            mut to: Tensor,
            from: &Tensor,
            starts: &[usize],
            run: usize,
        ) -> Result<Tensor, Failure> {
            let words = to.words_mut::<T>()?;
            let mut from = from.words::<T>();
            for (i, start) in starts.iter().enumerate() {
                look(i + 1)?;
                let (Some(to), Some((now, later))) =
                    (words.get_mut(*start..).and_then(|to| to.get_mut(..run)), from.split_at_checked(run))
                else {
                    fail!("a position lies outside of the tensor")
                };
                match (to, now) {
                    ([to], [now]) => *to = *now,
                    (to, now) => to.copy_from_slice(now),
                }
                from = later;
            }
            Ok(to)
        }
        if self.elem != other.elem {
            let name = |t: &Tensor| t.elem.name().unwrap_or("?");
            fail!("elements of type {} are put among those of type {}", name(other), name(&self));
        }
        if let Data::Strings(from) = &other.data {
            let outside = || Failure::new("a position lies outside of the tensor");
            let mut strings = Strings::with_room(self.len())?;
            self.string_slice()?.iter().try_for_each(|text| strings.push_copy(text))?;
            for (i, start) in starts.iter().enumerate() {
                for j in 0..run {
                    strings.set(start + j, from.0.get(i * run + j).ok_or_else(outside)?)?;
                }
            }
            return Tensor::of_texts(&self.dims, strings);
        }
        match super::width(self.elem) {
            Some(1) => all::<u8>(self, other, starts, run),
            Some(2) => all::<u16>(self, other, starts, run),
            Some(4) => all::<u32>(self, other, starts, run),
            Some(8) => all::<u64>(self, other, starts, run),
            Some(16) => all::<u128>(self, other, starts, run),
            Some(_) | None => fail!("elements of type {} cannot be moved", self.elem.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_moved_whatever_their_type() {
        let strings = |all: &[&str]| {
            Tensor::of_strings(&[all.len()], all.iter().map(|s| s.to_string()).collect()).expect("strings")
        };
        let (words, other) = (strings(&["a", "b"]), strings(&["c"]));
        let mixed = words.clone().with_placed(&other, &[1], 1).expect("there");
        assert_eq!(mixed.string_slice().expect("strings"), ["a", "c"]);
        let picked = words.picked_or(&other, &[3], &[NOWHERE, 1, 1]).expect("there");
        assert_eq!(picked.string_slice().expect("strings"), ["c", "b", "b"]);
        assert!(words.picked_or(&other, &[1], &[2]).is_err());

        let x = Tensor::of(&[3], &[1i16, 2, 3]).expect("three");
        let y = Tensor::of(&[1], &[9i16]).expect("one");
        let mixed = x.clone().with_placed(&y, &[0], 1).expect("there");
        assert_eq!(mixed.slice::<i16>().expect("int16"), [9, 2, 3]);
        assert_eq!(x.slice::<i16>().expect("int16"), [1, 2, 3], "the first stays as it is");
        assert!(x.clone().with_placed(&y, &[3], 1).is_err());
        assert!(x.with_placed(&words, &[], 1).is_err());
    }
}
