//! Hashes of n-grams of tokens: NGramHashMapping, VarlenNGramHashMapping.

use crate::value::Value;
use crate::{Call, Row, row};
use onnx_ir::ElemType;
use onnx_ir::diag::counted;
use onnx_loops::budget::spend;
use onnx_loops::failure::{Failure, fail};
use onnx_loops::list::{List, Listed as _, filled};
use onnx_loops::tensor::{Tensor, count_of};
use std::ops::Range;

pub(super) const ROWS: &[Row] = &[
    row("com.microsoft", "NGramHashMapping", n_gram_hash_mapping),
    row("com.microsoft", "VarlenNGramHashMapping", varlen_n_gram_hash_mapping),
];

/// The parameters of a node.
struct Hashing {
    elem: ElemType,
    /// Tokens before the current one that a hash depends on.
    before: usize,
    /// Hashes for each length of n-grams.
    heads: usize,
    multipliers: List<i64>,
    sizes: List<i64>,
    offsets: Option<List<i64>>,
    /// The token in place of missing ones.
    missing: i64,
    /// The token that ends a text, if the tokens before it do not count.
    end: Option<i64>,
    pad: i64,
}

impl Hashing {
    /// `first` is the first of the optional inputs after the past tokens: offsets, the token that ends a text, segments.
    fn of(call: &Call<'_>, first: usize) -> Result<Hashing, Failure> {
        let number = |name: &str| call.attrs.int(name).and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
        let (longest, heads) = (number("max_ngram_size"), number("n_head_per_ngram"));
        if longest < 2 || heads == 0 {
            fail!("n-grams of up to {} have no {heads} hashes", counted(longest, "token"));
        }
        let (multipliers, sizes) = (call.tensor(1)?.ints()?, call.tensor(2)?.ints()?);
        let count = (longest - 1).checked_mul(heads);
        if multipliers.len() < longest || count != Some(sizes.len()) || sizes.iter().any(|n| *n <= 0) {
            fail!("{} factors and sizes of {sizes:?} do not fit n-grams of {longest}", multipliers.len());
        }
        let offsets = call.optional_ints(first)?;
        if offsets.as_ref().is_some_and(|offsets| offsets.len() != sizes.len()) {
            fail!("{} hashes have other offsets", sizes.len());
        }
        let end = call.optional_ints(first + 1)?.and_then(|end| end.first().copied());
        let pad = call.attrs.int("pad_id").unwrap_or(0);
        Ok(Hashing {
            elem: call.tensor(0)?.elem(),
            before: longest - 1,
            heads,
            multipliers,
            sizes,
            offsets,
            missing: end.unwrap_or(pad),
            end: end.filter(|_| call.attrs.flag("reset_on_eos")),
            pad,
        })
    }

    /// A number as the type of tokens keeps it.
    fn wrapped(&self, number: i64) -> i64 {
        if self.elem == ElemType::INT32 { i64::from(number as i32) } else { number }
    }

    /// Past tokens and those of a text; and the hashes of these.
    fn add(
        &self,
        tokens: &[i64],
        is_start: impl Fn(usize) -> bool,
        hashes: &mut List<i64>,
    ) -> Result<(), Failure> {
        spend(tokens.len().saturating_mul(self.sizes.len()))?;
        let mut start = 0;
        for at in 1..tokens.len() {
            // Tokens before `start` do not count.
            if is_start(at) || self.end.is_some_and(|end| tokens[at - 1] == end) {
                start = at;
            }
            if at < self.before {
                continue;
            }
            let token = |back: usize| if at - back >= start { tokens[at - back] } else { self.missing };
            let mut mix = self.wrapped(token(0).wrapping_mul(self.multipliers[0]));
            for back in 1..=self.before {
                mix ^= self.wrapped(token(back).wrapping_mul(self.multipliers[back]));
                for i in (back - 1) * self.heads..back * self.heads {
                    let offset = self.offsets.as_ref().map_or(0, |offsets| offsets[i]);
                    hashes.push(self.wrapped(mix.wrapping_rem(self.sizes[i]).wrapping_add(offset)))?;
                }
            }
        }
        Ok(())
    }

    fn tensor(&self, dims: &[usize], numbers: List<i64>) -> Result<Value, Failure> {
        tensor(self.elem, dims, numbers)
    }
}

fn tensor(elem: ElemType, dims: &[usize], numbers: List<i64>) -> Result<Value, Failure> {
    Ok(match elem {
        ElemType::INT32 => Tensor::of(dims, &numbers.into_iter().map(|n| n as i32).listed()?)?.into(),
        _ => Tensor::of(dims, &numbers)?.into(),
    })
}

/// A row of a matrix of past tokens, or `missing`, and then others.
fn joined(past: Option<&[i64]>, before: usize, missing: i64, tokens: &[i64]) -> Result<List<i64>, Failure> {
    let mut all = match past {
        Some(past) => List::copied(past)?,
        None => filled(before, missing)?,
    };
    all.extend(tokens.iter().copied())?;
    Ok(all)
}

/// A matrix with a row of `before` numbers for each text.
fn past(call: &Call<'_>, input: usize, rows: usize, before: usize) -> Result<Option<List<i64>>, Failure> {
    match call.optional_tensor(input)? {
        Some(past) if past.dims() != [rows, before] => {
            fail!("past tokens of shape {:?} are none of {rows} texts of {before}", past.dims())
        }
        past => past.map(Tensor::ints).transpose(),
    }
}

/// Texts of one length.
fn n_gram_hash_mapping(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let hashing = Hashing::of(call, 4)?;
    let ids = call.tensor(0)?;
    let &[rows, length] = ids.dims() else {
        fail!("tokens must have the shape [texts, length], not {:?}", ids.dims())
    };
    let before = hashing.before;
    let past = past(call, 3, rows, before)?;
    let segments = call.optional_ints(6)?;
    if segments.as_ref().is_some_and(|segments| segments.len() != ids.len()) {
        fail!("segments do not fit {:?} tokens", ids.dims());
    }
    let dims = [rows, length, hashing.sizes.len()];
    let mut hashes = List::with_room(call.has_room(hashing.elem, &dims)?)?;
    let mut present = List::with_room(count_of(&[rows, before])?)?;
    let ids = ids.ints()?;
    for row in 0..rows {
        let past = past.as_ref().map(|past| &past[row * before..][..before]);
        let tokens = joined(past, before, hashing.missing, &ids[row * length..][..length])?;
        let is_start = |at: usize| {
            let segments = segments.as_ref().map(|segments| &segments[row * length..][..length]);
            at > before && segments.is_some_and(|s| s[at - before] != s[at - before - 1])
        };
        hashing.add(&tokens, is_start, &mut hashes)?;
        present.extend(tokens[tokens.len() - before..].iter().copied())?;
    }
    Ok(vec![hashing.tensor(&dims, hashes)?, hashing.tensor(&[rows, before], present)?])
}

/// The places of each text among all tokens.
fn places(bounds: &[i64], total: usize) -> Result<Vec<Range<usize>>, Failure> {
    let place = |pair: &[i64; 2]| {
        let [begin, end] = pair.map(|n| usize::try_from(n).ok());
        begin.zip(end).filter(|(begin, end)| begin <= end && *end <= total).map(|(begin, end)| begin..end)
    };
    let places: Option<Vec<_>> = bounds.array_windows().map(place).collect();
    match places {
        Some(places) if bounds.first() == Some(&0) => Ok(places),
        _ => fail!("{bounds:?} must be increasing bounds of texts in {}", counted(total, "token")),
    }
}

/// Texts of different lengths, one after the other.
fn varlen_n_gram_hash_mapping(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let hashing = Hashing::of(call, 5)?;
    let ids = call.tensor(0)?.ints()?;
    let places = places(&call.tensor(3)?.ints()?, ids.len())?;
    if places.last().map_or(0, |place| place.end) != ids.len() {
        fail!("the bounds of the texts leave out some of {}", counted(ids.len(), "token"));
    }
    let (rows, before) = (places.len(), hashing.before);
    let (past_ids, past_segments) = (past(call, 4, rows, before)?, past(call, 8, rows, before)?);
    let segments = call.optional_ints(7)?;
    if segments.as_ref().is_some_and(|segments| segments.len() != ids.len()) {
        fail!("segments do not fit {}", counted(ids.len(), "token"));
    }
    let capacity = call.attrs.int("state_update_capacity").and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
    let captured = call.optional_ints(9)?;
    if captured.as_ref().map(|captured| captured.len()) != (capacity > 0).then_some(rows) {
        fail!("states of {rows} texts are captured if there is room for them");
    }
    let dims = [ids.len(), hashing.sizes.len()];
    let mut hashes = List::with_room(call.has_room(hashing.elem, &dims)?)?;
    let (mut present, mut present_segments) = (List::new(), List::new());
    let mut states = filled(count_of(&[rows, capacity, before])?, hashing.pad)?;
    for (row, place) in places.iter().enumerate() {
        fn of(past: Option<&List<i64>>, row: usize, before: usize) -> Option<&[i64]> {
            past.map(|past| &past[row * before..][..before])
        }
        let tokens =
            joined(of(past_ids.as_ref(), row, before), before, hashing.missing, &ids[place.clone()])?;
        let given = of(past_segments.as_ref(), row, before);
        let numbers = match &segments {
            Some(segments) => {
                let first = segments.get(place.start).copied().unwrap_or(0);
                Some(joined(given, before, first, &segments[place.clone()])?)
            }
            None => None,
        };
        let is_start = |at: usize| numbers.as_ref().is_some_and(|n| n[at] != n[at - 1]);
        hashing.add(&tokens, is_start, &mut hashes)?;
        present.extend(tokens[tokens.len() - before..].iter().copied())?;
        match &numbers {
            Some(numbers) => present_segments.extend(numbers[numbers.len() - before..].iter().copied())?,
            None => present_segments.extend(std::iter::repeat_n(0, before))?,
        }
        let count = captured.as_ref().map_or(0, |captured| usize::try_from(captured[row]).unwrap_or(0));
        for i in 0..count.min(place.len()).min(capacity) {
            states[(row * capacity + i) * before..][..before].copy_from_slice(&tokens[i + 1..][..before]);
        }
    }
    Ok(vec![
        hashing.tensor(&dims, hashes)?,
        hashing.tensor(&[rows, before], present)?,
        tensor(ElemType::INT32, &[rows, before], present_segments)?,
        hashing.tensor(&[rows, capacity, before], states)?,
    ])
}
