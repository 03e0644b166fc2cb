//! Transforms and packs the weights for Winograd's algorithm, and checks their precision.

use super::super::prepacked::{Extent, Prepacked};
use super::super::{Contraction, blocks};
use super::transform::{Backward, Forward, IN, OUT, PRODUCTS, WIDE, of_weights};
use crate::failure::Failure;
use crate::lanes::multiversion::widest;
use crate::parallel::parallel;
use crate::product::micro::{Factor, Micro};
use std::sync::atomic::{AtomicBool, Ordering};

/// The error against double precision that is accepted, relative to the sum of absolute products; otherwise weights are refused.
const TOLERANCE: f64 = 2e-5;
/// Larger weights are refused, because sums in the transforms may overflow.
const MAX_WEIGHT: f64 = 1e30;
/// The number of output channels whose precision is tested.
const TESTED_CHANNELS: usize = 16;

/// All weights, packed for a plain product: columns are output channels.
struct Plain<'p> {
    packed: &'p Prepacked,
    micro: Micro<f32>,
    columns: usize,
    /// The step distances of rows and columns of weights, and of channels; the number of channels.
    strides: [usize; 3],
    channels: usize,
    /// The size of the transformed weights.
    extent: Extent,
}

impl Plain<'_> {
    /// The weights of an output channel for an input channel.
    fn weights(&self, column: usize, channel: usize) -> [[f64; 3]; 3] {
        let micro = self.micro;
        let depth = 9 * self.channels;
        let numbers = self.packed.numbers::<f32>(0);
        let (tile, own) = (column / micro.columns, column % micro.columns);
        let at = |step: usize| f64::from(numbers[(tile * depth + step) * micro.columns + own]);
        let [down, along, of_channel] = self.strides;
        [0, 1, 2].map(|k| [0, 1, 2].map(|l| at(k * down + l * along + channel * of_channel)))
    }

    /// The transformed weights in tiles of columns, a matrix for each product; `None` if they lose precision.
    fn transformed(&self) -> Result<Option<Prepacked>, Failure> {
        if !self.is_precise() {
            return Ok(None);
        }
        let Plain { micro, columns, channels, .. } = *self;
        let wide = columns.next_multiple_of(micro.columns);
        let mut known = Prepacked::room::<f32>(self.extent)?;
        // The numbers of each tile of columns: of each product, of each block of channels.
        let mut of_tiles: Vec<Vec<&mut [f32]>> = Vec::new();
        of_tiles.resize_with(wide / micro.columns, Vec::new);
        for mut product in known.all_mut().chunks_exact_mut((wide * channels).max(1)) {
            for steps in blocks(channels, f32::STEPS) {
                let (block, later) = product.split_at_mut(wide * steps.len());
                product = later;
                let tiles = block.chunks_exact_mut(steps.len() * micro.columns);
                of_tiles.iter_mut().zip(tiles).for_each(|(all, numbers)| all.push(numbers));
            }
        }
        let is_small = AtomicBool::new(true);
        let of_blocks = channels.div_ceil(f32::STEPS);
        parallel(of_tiles.into_iter().enumerate().collect(), |(tile, mut numbers)| {
            let first = tile * micro.columns;
            for column in first..columns.min(first + micro.columns) {
                for channel in 0..channels {
                    let (block, step) = (channel / f32::STEPS, channel % f32::STEPS);
                    let all = of_weights(self.weights(column, channel));
                    for (weight, numbers) in all.iter().flatten().zip(numbers.chunks_mut(of_blocks)) {
                        if weight.abs() >= MAX_WEIGHT || weight.is_nan() {
                            is_small.store(false, Ordering::Relaxed);
                        }
                        numbers[block][step * micro.columns + column - first] = *weight as f32;
                    }
                }
            }
            Ok(())
        })?;
        Ok(is_small.into_inner().then_some(known))
    }

    /// Whether the results of some output channels, for uniformly distributed input, are close to double precision.
    fn is_precise(&self) -> bool {
        let Plain { columns, channels, .. } = *self;
        let mut seed = 1u32;
        let mut random = || {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (f64::from(seed >> 8) / f64::from(1 << 23) - 1.0) as f32
        };
        let copy: Vec<f32> = (0..PRODUCTS * channels).map(|_| random()).collect();
        let mut tile = [[0; IN]; IN];
        tile.iter_mut().flatten().enumerate().for_each(|(at, pixel)| *pixel = at * channels);
        let mut input = vec![0.0; PRODUCTS * channels];
        let out = &mut input[..];
        let it = Forward { copy: &copy, tiles: &[tile], channels, out, pitch: channels, each: channels };
        if widest(it).is_none() {
            return false;
        }
        (0..columns).step_by(columns.div_ceil(TESTED_CHANNELS)).all(|column| {
            let mut sums = [0.0f32; PRODUCTS * WIDE];
            let mut exact = [(0.0f64, 0.0f64); OUT * OUT];
            for channel in 0..channels {
                let weights = self.weights(column, channel);
                for (product, weight) in of_weights(weights).iter().flatten().enumerate() {
                    sums[product * WIDE] += *weight as f32 * input[product * channels + channel];
                }
                for (at, (sum, of_sizes)) in exact.iter_mut().enumerate() {
                    for (k, l) in (0..3).flat_map(|k| (0..3).map(move |l| (k, l))) {
                        let pixel = (at / OUT + k) * IN + at % OUT + l;
                        let product = weights[k][l] * f64::from(copy[pixel * channels + channel]);
                        (*sum, *of_sizes) = (*sum + product, *of_sizes + product.abs());
                    }
                }
            }
            let mut result = [0.0f32; OUT * OUT * WIDE];
            let out = &mut result[..];
            let is_done = widest(Backward { sums: &sums, pitch: WIDE, each: WIDE, tiles: 1, out }).is_some();
            let mut pairs = exact.iter().zip(result.iter().step_by(WIDE));
            is_done && pairs.all(|((sum, of_sizes), y)| (f64::from(*y) - sum).abs() <= TOLERANCE * of_sizes)
        })
    }
}

impl Contraction {
    /// The transformed weights of a convolution with taps on these axes; `None` if they are refused.
    pub(in crate::product) fn winograd_weights(
        &self,
        packed: &Prepacked,
        taps: [usize; 3],
    ) -> Result<Option<Prepacked>, Failure> {
        let [down, along, channel] = taps;
        let (extents, steps) = self.axes();
        let stride =
            |axis: usize| steps.iter().filter(|step| **step > axis).map(|step| extents[*step]).product();
        let strides = [stride(down), stride(along), stride(channel)];
        let extent = extent(self, taps);
        let Extent { count: columns, depth: channels, .. } = extent;
        Plain { packed, micro: Micro::best(), columns, strides, channels, extent }.transformed()
    }
}

/// The size of the transformed weights of a convolution with taps on these axes.
pub(in crate::product) fn extent(contraction: &Contraction, [_, _, channel]: [usize; 3]) -> Extent {
    let (extents, _) = contraction.axes();
    let (columns, tile) = (contraction.b.count(&extents), Micro::<f32>::best().columns);
    Extent { matrices: PRODUCTS, count: columns, tile, depth: extents[channel] }
}

/// Whether this many channels fill whole vectors.
pub(in crate::product) fn are_lanes(channels: usize) -> bool {
    channels > 0 && channels.is_multiple_of(WIDE)
}
