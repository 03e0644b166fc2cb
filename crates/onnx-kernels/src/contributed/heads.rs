//! Attention of one head of a sequence, shared by all attention operators.
//!
//! Queries are processed tile by tile over blocks of keys with an online softmax: the products of a tile with a block become
//! exponentials relative to the running maximum and are multiplied with the values at once; a new maximum rescales the previous
//! sums. So the matrix of queries times keys is never stored. Few queries read keys and values in place.

use onnx_loops::budget::spend;
use onnx_loops::failure::Failure;
use onnx_loops::list::{List, filled};
use onnx_loops::{Body, Matrix, math, widest};
use std::ops::Range;

/// Queries per tile, and keys per block: their products fit into the second-level cache.
const TILE: usize = 96;
const BLOCK: usize = 256;
/// With at most this many queries, packing the keys does not pay off.
const MAX_UNPACKED_QUERIES: usize = 4;
/// Partial sums that a processor computes at once.
const LANES: usize = 16;

/// The keys and values of a head of a sequence.
pub(crate) struct KeyValueBlocks<'m> {
    keys: &'m [f32],
    values: &'m [f32],
    /// Packed blocks, for many queries.
    blocks: Vec<[Matrix; 2]>,
    /// The number of keys and of values.
    count: usize,
    /// The elements of a key, and of a value.
    sizes: [usize; 2],
}

/// How queries attend to keys.
pub(crate) struct Attend<R, A> {
    /// The factor of products.
    pub(crate) scale: f32,
    /// The keys that a query attends to.
    pub(crate) range: R,
    /// Modifies the scaled products of a query with some keys.
    pub(crate) adjust: A,
    /// An extra product for every query, without a value.
    pub(crate) sink: Option<f32>,
    /// The result of a query whose keys are all masked.
    pub(crate) all_masked: f32,
}

/// The running softmax of a query: the maximum product, and the sum of exponentials relative to it.
#[derive(Clone, Copy)]
struct OnlineSoftmax {
    max: f32,
    sum: f32,
}

impl<'m> KeyValueBlocks<'m> {
    /// Keys and values, each contiguous, prepared for `queries` queries.
    pub(crate) fn of(
        keys: &'m [f32],
        values: &'m [f32],
        sizes: [usize; 2],
        queries: usize,
    ) -> Result<KeyValueBlocks<'m>, Failure> {
        let count = keys.len().checked_div(sizes[0]).unwrap_or(0);
        let mut blocks = Vec::new();
        if queries > MAX_UNPACKED_QUERIES && sizes.iter().all(|size| *size > 0) {
            for (keys, values) in keys.chunks(BLOCK * sizes[0]).zip(values.chunks(BLOCK * sizes[1])) {
                let keys = Matrix::of_columns(keys, sizes[0], None)?;
                blocks.push([keys, Matrix::of_rows(values, sizes[1], None)?]);
            }
        }
        Ok(KeyValueBlocks { keys, values, blocks, count, sizes })
    }

    /// Computes the softmax-weighted mean of the values for each query.
    pub(crate) fn attend<'q, R: Fn(usize) -> Range<usize>, A: Fn(usize, Range<usize>, &mut [f32])>(
        &self,
        count: usize,
        query: impl Fn(usize) -> &'q [f32],
        attend: &Attend<R, A>,
        out: &mut [f32],
    ) -> Result<(), Failure> {
        let [size, of_value] = self.sizes;
        if out.is_empty() {
            return Ok(());
        }
        let mut queries = List::with_room(TILE * size)?;
        let mut products = filled(TILE * BLOCK, 0.0)?;
        let tile = if self.blocks.is_empty() { 1 } else { TILE };
        for (first, out) in (0..count).step_by(tile).zip(out.chunks_mut(tile * of_value)) {
            let rows = first..count.min(first + tile);
            spend(rows.len().saturating_mul(self.count).saturating_mul(size + of_value))?;
            queries.clear();
            for i in rows.clone() {
                queries.extend(query(i).iter().map(|x| x * attend.scale))?;
            }
            out.fill(0.0);
            let begin = match attend.sink {
                Some(sink) => OnlineSoftmax { max: sink, sum: 1.0 },
                None => OnlineSoftmax { max: f32::NEG_INFINITY, sum: 0.0 },
            };
            let mut softmax = [begin; TILE];
            let ranges: [Range<usize>; TILE] =
                std::array::from_fn(|i| if i < rows.len() { (attend.range)(first + i) } else { 0..0 });
            for (block, start) in (0..self.count).step_by(BLOCK).enumerate() {
                let end = self.count.min(start + BLOCK);
                let is_seen = |range: &Range<usize>| range.start < end && range.end > start;
                if !ranges.iter().any(is_seen) {
                    continue;
                }
                let width = end - start;
                let products = &mut products[..rows.len() * width];
                self.multiply(block, start..end, &queries, products)?;
                let all = products.chunks_exact_mut(width).zip(&ranges).zip(&mut softmax);
                for (i, ((products, range), softmax)) in all.enumerate() {
                    let (from, to) = (range.start.clamp(start, end), range.end.clamp(start, end).max(start));
                    let from = from.min(to);
                    products[..from - start].fill(f32::NEG_INFINITY);
                    products[to - start..].fill(f32::NEG_INFINITY);
                    if from < to {
                        (attend.adjust)(first + i, from..to, &mut products[from - start..to - start]);
                    }
                    let out = &mut out[i * of_value..][..of_value];
                    *softmax = widest(Exponentials { products, softmax: *softmax, out });
                }
                self.add_values(block, start..end, products, out)?;
            }
            for ((out, softmax), range) in out.chunks_exact_mut(of_value).zip(&softmax).zip(&ranges) {
                if softmax.sum == 0.0 {
                    out.fill(if range.is_empty() { 0.0 } else { attend.all_masked });
                } else {
                    out.iter_mut().for_each(|x| *x /= softmax.sum);
                }
            }
        }
        Ok(())
    }

    /// The products of some queries with a block of keys.
    fn multiply(
        &self,
        block: usize,
        keys: Range<usize>,
        queries: &[f32],
        products: &mut [f32],
    ) -> Result<(), Failure> {
        let size = self.sizes[0];
        match self.blocks.get(block) {
            Some([matrix, _]) => {
                products.fill(0.0);
                matrix.add_products(queries, products)
            }
            None => {
                let keys = &self.keys[keys.start * size..keys.end * size];
                widest(Products { query: queries, keys, products });
                Ok(())
            }
        }
    }

    /// Adds a block of values, multiplied with their weights, to the results of queries.
    fn add_values(
        &self,
        block: usize,
        values: Range<usize>,
        weights: &[f32],
        out: &mut [f32],
    ) -> Result<(), Failure> {
        let size = self.sizes[1];
        match self.blocks.get(block) {
            Some([_, matrix]) => matrix.add_products(weights, out),
            None => {
                let values = &self.values[values.start * size..values.end * size];
                widest(Values { weights, values, out });
                Ok(())
            }
        }
    }
}

/// The products of one query with keys.
struct Products<'p> {
    query: &'p [f32],
    keys: &'p [f32],
    products: &'p mut [f32],
}

impl Body for Products<'_> {
    type Out = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let size = self.query.len();
        for (product, key) in self.products.iter_mut().zip(self.keys.chunks_exact(size.max(1))) {
            let (query, rest) = self.query.as_chunks::<LANES>();
            let (of_key, rest_of_key) = key.as_chunks::<LANES>();
            let mut sums = [0.0; LANES];
            for (a, b) in query.iter().zip(of_key) {
                (0..LANES).for_each(|i| sums[i] += a[i] * b[i]);
            }
            *product = total(sums) + rest.iter().zip(rest_of_key).map(|(a, b)| a * b).sum::<f32>();
        }
    }
}

/// A weighted sum of values.
struct Values<'v> {
    weights: &'v [f32],
    values: &'v [f32],
    out: &'v mut [f32],
}

impl Body for Values<'_> {
    type Out = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let size = self.out.len();
        for (weight, values) in self.weights.iter().zip(self.values.chunks_exact(size.max(1))) {
            self.out.iter_mut().zip(values).for_each(|(out, value)| *out += weight * value);
        }
    }
}

/// Replaces products by exponentials relative to the maximum; a new maximum rescales the previous sums.
struct Exponentials<'p> {
    products: &'p mut [f32],
    softmax: OnlineSoftmax,
    out: &'p mut [f32],
}

impl Body for Exponentials<'_> {
    type Out = OnlineSoftmax;

    #[inline(always)]
    fn run<const FUSED: bool>(self) -> OnlineSoftmax {
        let Exponentials { products, softmax, out } = self;
        let (whole, rest) = products.as_chunks_mut::<LANES>();
        let greater = |a: f32, b: f32| if b > a { b } else { a };
        let mut lanes = [softmax.max; LANES];
        for x in &*whole {
            (0..LANES).for_each(|i| lanes[i] = greater(lanes[i], x[i]));
        }
        let max = lanes.iter().chain(&*rest).copied().fold(softmax.max, greater);
        if max == f32::NEG_INFINITY {
            // All keys are masked; NaN stays NaN.
            products.iter_mut().for_each(|x| *x = if x.is_nan() { *x } else { 0.0 });
            let sum = products.iter().sum::<f32>() + softmax.sum;
            return OnlineSoftmax { max, sum };
        }
        let factor = if max == softmax.max { 1.0 } else { math::exp::<FUSED>(softmax.max - max) };
        let mut sums = [0.0; LANES];
        for x in whole {
            for i in 0..LANES {
                x[i] = math::exp::<FUSED>(x[i] - max);
                sums[i] += x[i];
            }
        }
        let mut sum = softmax.sum * factor + total(sums);
        for x in rest {
            *x = math::exp::<FUSED>(*x - max);
            sum += *x;
        }
        if factor != 1.0 {
            out.iter_mut().for_each(|x| *x *= factor);
        }
        OnlineSoftmax { max, sum }
    }
}

/// Softmax of some numbers.
pub(super) fn softmax(numbers: &mut [f32]) {
    let none = OnlineSoftmax { max: f32::NEG_INFINITY, sum: 0.0 };
    let softmax = widest(Exponentials { products: &mut *numbers, softmax: none, out: &mut [] });
    numbers.iter_mut().for_each(|x| *x /= softmax.sum);
}

/// Sums lanes in a fixed order.
#[inline(always)]
fn total(mut lanes: [f32; LANES]) -> f32 {
    let mut half = LANES / 2;
    while half > 0 {
        (0..half).for_each(|i| lanes[i] += lanes[i + half]);
        half /= 2;
    }
    lanes[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The reference: in doubles, with all products at once.
    fn plain(
        [queries, keys, values]: [&[f32]; 3],
        [size, of_value]: [usize; 2],
        see: impl Fn(usize) -> Range<usize>,
        sink: Option<f32>,
    ) -> Vec<f64> {
        let mut all = Vec::new();
        for (i, query) in queries.chunks_exact(size).enumerate() {
            let products: Vec<f64> = keys
                .chunks_exact(size)
                .map(|key| {
                    query.iter().zip(key).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>() * 0.5
                })
                .collect();
            let powers: Vec<f64> = (0..products.len())
                .map(|j| if see(i).contains(&j) { products[j].exp() } else { 0.0 })
                .collect();
            let sum = powers.iter().sum::<f64>() + sink.map_or(0.0, |sink| f64::from(sink).exp());
            for column in 0..of_value {
                let of = |(j, power): (usize, &f64)| power * f64::from(values[j * of_value + column]);
                let total: f64 = powers.iter().enumerate().map(of).sum();
                all.push(if see(i).is_empty() { 0.0 } else { total / sum });
            }
        }
        all
    }

    #[test]
    fn blocks_of_keys_give_what_all_of_them_give() {
        let number = |i: usize| ((i * 37 + i / 11) % 101) as f32 / 40.0 - 1.2;
        for (count, total, sizes) in
            [(1, 1, [3, 5]), (3, 700, [16, 8]), (40, 300, [8, 24]), (200, 600, [64, 64]), (5, 256, [20, 1])]
        {
            let list = |n: usize, first: usize| (first..first + n).map(number).collect::<Vec<f32>>();
            let (queries, keys) = (list(count * sizes[0], 5), list(total * sizes[0], 9));
            let values = list(total * sizes[1], 4);
            for (case, sink) in [(0, None), (1, None), (2, Some(0.5)), (3, None)] {
                let see = |i: usize| match case {
                    0 => 0..total,
                    1 => 0..(i + 1).min(total),
                    2 => i.min(total)..(i + 300).min(total),
                    _ => 0..if i.is_multiple_of(3) { 0 } else { total },
                };
                let blocks = KeyValueBlocks::of(&keys, &values, sizes, count).expect("there is room");
                let attend = Attend {
                    scale: 0.5,
                    range: see,
                    adjust: |_, _: Range<usize>, _: &mut [f32]| {},
                    sink,
                    all_masked: 0.0,
                };
                let mut out = vec![9.0; count * sizes[1]];
                let query = |i: usize| &queries[i * sizes[0]..][..sizes[0]];
                blocks.attend(count, query, &attend, &mut out).expect("there is room");
                let expected = plain([&queries, &keys, &values], sizes, see, sink);
                for (x, y) in out.iter().zip(&expected) {
                    assert!((f64::from(*x) - y).abs() < 1e-4, "{count} {total} {case}: {x} {y}");
                }
            }
        }
    }

    #[test]
    fn queries_for_which_nothing_counts_are_blind() {
        let (keys, values) = ([1.0; 4], [2.0; 4]);
        for queries in [1usize, 9] {
            let blocks = KeyValueBlocks::of(&keys, &values, [1, 1], queries).expect("there is room");
            let hide = |i: usize, _: Range<usize>, products: &mut [f32]| {
                if i == 0 {
                    products.fill(f32::NEG_INFINITY);
                }
            };
            let attend = Attend { scale: 1.0, range: |_| 0..4, adjust: hide, sink: None, all_masked: 7.0 };
            let mut out = vec![0.0; queries];
            blocks.attend(queries, |_| &[1.0][..], &attend, &mut out).expect("there is room");
            assert!(out[0] == 7.0 && out[1..].iter().all(|x| *x == 2.0), "{out:?}");
        }
    }
}
