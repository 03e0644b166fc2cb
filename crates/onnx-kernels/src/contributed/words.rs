//! Kernels for tokens: MurmurHash3, NGramRepeatBlock.

use crate::value::Value;
use crate::{Call, Row, row};
use onnx_ir::ElemType;
use onnx_loops::budget::spend;
use onnx_loops::failure::{Failure, fail};
use onnx_loops::list::{List, Listed as _};
use onnx_loops::tensor::Tensor;

pub(super) const ROWS: &[Row] = &[
    row("com.microsoft", "MurmurHash3", murmur_hash),
    row("com.microsoft", "NGramRepeatBlock", n_gram_repeat_block),
];

/// A 32-bit hash of the bytes of each element.
fn murmur_hash(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let x = call.tensor(0)?;
    let seed = call.attrs.int("seed").unwrap_or(0) as u32;
    let mut hashes = List::with_room(x.len())?;
    if x.is_strings() {
        hashes.extend(x.string_slice()?.iter().map(|s| hash(s.as_bytes(), seed)))?;
    } else if !x.is_empty() {
        let width = x.bytes().len() / x.len();
        hashes.extend(x.bytes().chunks_exact(width).map(|bytes| hash(bytes, seed)))?;
    }
    let y = if call.attrs.flag("positive") {
        Tensor::of(x.dims(), &hashes)?
    } else {
        let signed = hashes.into_iter().map(|hash: u32| hash as i32).listed()?;
        Tensor::of(x.dims(), &signed)?
    };
    Ok(vec![y.into()])
}

/// MurmurHash3_x86_32, by Austin Appleby.
fn hash(bytes: &[u8], seed: u32) -> u32 {
    let mixed = |k: u32| k.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593);
    let (words, rest) = bytes.as_chunks::<4>();
    let mut h = seed;
    for word in words {
        h = (h ^ mixed(u32::from_le_bytes(*word))).rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64);
    }
    let last = rest.iter().rev().fold(0u32, |k, &byte| k << 8 | u32::from(byte));
    if !rest.is_empty() {
        h ^= mixed(last);
    }
    h ^= bytes.len() as u32;
    h = (h ^ h >> 16).wrapping_mul(0x85eb_ca6b);
    h = (h ^ h >> 13).wrapping_mul(0xc2b2_ae35);
    h ^ h >> 16
}

/// Sets the scores of tokens to minus infinity that would repeat an n-gram of their row.
fn n_gram_repeat_block(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let (ids, scores) = (call.tensor(0)?, call.tensor(1)?);
    let (&[rows, length], &[batch, words]) = (ids.dims(), scores.dims()) else {
        fail!("tokens of shape {:?} and scores of shape {:?} do not fit", ids.dims(), scores.dims())
    };
    let size = call.attrs.int("ngram_size").and_then(|n| usize::try_from(n).ok()).filter(|&n| n > 0);
    let Some(size) = size.filter(|_| rows == batch && scores.elem() == ElemType::FLOAT) else {
        fail!("tokens of shape {:?} and scores of shape {:?} do not fit", ids.dims(), scores.dims())
    };
    let mut numbers = List::copied(scores.slice::<f32>()?)?;
    let ids = ids.ints()?;
    for (row, numbers) in ids.chunks_exact(length.max(1)).zip(numbers.chunks_exact_mut(words.max(1))) {
        if length < size {
            continue;
        }
        spend(length.saturating_mul(size))?;
        let last = &row[length + 1 - size..];
        for n_gram in row.windows(size).filter(|n_gram| n_gram.starts_with(last)) {
            match usize::try_from(n_gram[size - 1]).ok().and_then(|id| numbers.get_mut(id)) {
                Some(score) => *score = f32::NEG_INFINITY,
                None => fail!("token {} is none of {words}", n_gram[size - 1]),
            }
        }
    }
    Ok(vec![Tensor::of(scores.dims(), &numbers)?.into()])
}
