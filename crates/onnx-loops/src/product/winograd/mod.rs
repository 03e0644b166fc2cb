//! Convolutions of 3×3 taps by Winograd's F(4×4, 3×3): 36 products for 16 elements of the result instead of 144.
//!
//! ```text
//! for each image, for each band of lines
//!   a copy of what is read, with a border
//!   for each chunk of tiles of 4×4 elements
//!     the 6×6 pixels of each tile, transformed                 36 matrices: tiles × channels
//!     36 products with the transformed weights                 36 matrices: tiles × output channels
//!     for each stretch of tiles of a line: transformed back, and what is computed from totals, stored
//! ```
//! It is selected for constant weights, by a cost model of products and memory traffic. Results differ from plain sums by a few
//! millionths of the largest one; weights that would lose more than 2e-5 of the sum of absolute products are refused when they
//! are packed. Infinities and NaN spread over a tile; `CompileOptions::exact` of onnx-exec switches the algorithm off. An element does
//! not depend on which tiles are computed together, and parts start at tile boundaries, so results do not depend on the number of
//! threads.

mod transform;
mod weights;

pub(super) use weights::extent;

use super::finish::{ColumnRun, Finish};
use super::image::Image;
use super::micro::{self, Factor, Micro, Rows, StepList, Steps};
use super::prepacked::Prepacked;
use super::{Contraction, LINE, blocks};
use crate::budget::spend;
use crate::failure::{Failure, fail};
use crate::lanes::multiversion::widest;
use crate::lanes::view::Operands;
use crate::scratch::scratch;
use std::ops::Range;
use std::sync::Arc;
use transform::{Backward, Forward, IN, OUT, PRODUCTS};

/// Numbers of a chunk of tiles, including inputs and results of the products.
const CHUNK: usize = 1 << 19;
/// Tiles of a line that are transformed back together; they fit into the first-level cache.
const STRETCH: usize = 8;
/// The cost of fetching a weight, and of moving and transforming a number of a tile, in products.
const WEIGHT_COST: usize = 10;
const NUMBER_COST: usize = 6;
/// Rows at a multiple of this distance in numbers compete for the same few lines of the first-level cache.
const ALIASING_STRIDE: usize = 256;

/// A convolution by this algorithm, and its weights once they are packed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Winograd {
    pub(super) weights: Option<Arc<Prepacked>>,
}

impl Winograd {
    /// Whether a product is such a convolution.
    pub(super) fn fits(contraction: &Contraction) -> bool {
        contraction.winograd_taps().is_some()
    }

    /// Whether it is faster than the plain product.
    pub(super) fn is_worth_it(contraction: &Contraction) -> bool {
        let (extents, steps) = contraction.axes();
        let Some(image) = Image::of::<f32>(&contraction.a, &extents, &steps) else { return false };
        let [height, width] = image.size();
        let channels: usize = contraction.over.iter().product::<usize>() / 9;
        let columns = contraction.b.count(&extents);
        let tiles = image.count().saturating_mul(height.div_ceil(OUT) * width.div_ceil(OUT));
        let chunks = tiles.div_ceil(chunk(channels, columns));
        let pairs = channels.saturating_mul(columns);
        let weights = WEIGHT_COST.saturating_mul(chunks);
        let products = PRODUCTS.saturating_mul(pairs).saturating_mul(tiles.saturating_add(weights));
        let numbers = PRODUCTS.saturating_mul(channels + columns).saturating_mul(tiles);
        let plain = image.count().saturating_mul(height * width).saturating_add(WEIGHT_COST);
        let plain = plain.saturating_mul(9).saturating_mul(pairs);
        products.saturating_add(numbers.saturating_mul(NUMBER_COST)) < plain / 8 * 7
    }
}

/// The number of tiles that are computed together.
fn chunk(channels: usize, columns: usize) -> usize {
    (CHUNK / PRODUCTS / (channels + columns).max(1)).max(12)
}

impl Contraction {
    /// The axes of the taps (vertical, horizontal) and of the channels, if it is such a convolution.
    pub(super) fn winograd_taps(&self) -> Option<[usize; 3]> {
        let (extents, steps) = self.axes();
        (self.is_float() && self.both.is_empty() && self.b.axes.len() == 1).then_some(())?;
        let taps = Image::of::<f32>(&self.a, &extents, &steps)?.taps_of_three()?;
        let [_, _, channel] = taps;
        (steps.len() == 3 && weights::are_lanes(extents[channel])).then_some(taps)
    }

    /// The size of a part on the first axis must be a multiple of this.
    pub(crate) fn lines_of_tiles(&self) -> usize {
        let is_down = self.a.axes.len() == 2 && self.a.axes[0] == 0;
        if self.winograd.is_some() && is_down { OUT } else { 1 }
    }

    /// Computes all elements.
    pub(super) fn by_winograd(
        &self,
        weights: &Prepacked,
        operands: &Operands<'_>,
        out: &mut [u8],
    ) -> Result<(), Failure> {
        let (extents, steps) = self.axes();
        let Some(image) = Image::of::<f32>(&self.a, &extents, &steps) else { fail!("rows are of no image") };
        let Some([_, _, channel]) = self.winograd_taps() else { fail!("a convolution has other taps") };
        let (channels, columns) = (extents[channel], self.b.count(&extents));
        let [height, width] = image.size();
        let band = (image.band::<f32>() / OUT * OUT).max(OUT);
        let room = image.len(band.min(height));
        // A pixel of zeros after the copy stands for all pixels outside.
        let mut copy = scratch::<f32>(room + channels)?;
        copy[room..].fill(0.0);
        // Room for the tiles that are multiplied at once.
        let tiles_of = |lines: usize| lines.div_ceil(OUT) * width.div_ceil(OUT);
        let most = chunk(channels, columns).min(tiles_of(band.min(height)));
        let mut products = Products::new(weights, channels, columns, most)?;
        let mut finish = Finish::<f32>::new(self, &extents, products.stride);
        let mut at = vec![0; extents.len()];
        let mut tiles = Vec::with_capacity(most);
        let mut corners = Vec::with_capacity(most);
        // Band by band: copy the lines, multiply their tiles, transform back.
        for number in 0..image.count() {
            for lines in blocks(height, band) {
                image.fill(operands, &mut at, (number, lines.clone()), None, &mut copy[..room])?;
                let places = Places { apart: image.apart(), lines: lines.len(), width, outside: room };
                for numbers in blocks(tiles_of(lines.len()), most) {
                    spend(0)?;
                    tiles.clear();
                    corners.clear();
                    for tile in numbers {
                        let corner =
                            [tile / width.div_ceil(OUT), tile % width.div_ceil(OUT)].map(|at| at * OUT);
                        corners.push(corner);
                        tiles.push(places.of(corner));
                    }
                    products.multiply(&copy, &tiles)?;
                    // Tiles of one line are transformed back and stored together.
                    let mut done = 0;
                    while done < tiles.len() {
                        let [down, along] = corners[done];
                        let alike =
                            corners[done..].iter().take(STRETCH).take_while(|corner| corner[0] == down);
                        let count = alike.count();
                        products.back(done, count)?;
                        let pixels = (count * OUT).min(width - along);
                        for line in 0..OUT.min(lines.len() - down) {
                            let first = (number * height + lines.start + down + line) * width + along;
                            let totals = &products.results[line * count * OUT * products.stride..];
                            let run = ColumnRun { columns: 0..columns, from: 0 };
                            finish.store(
                                operands,
                                &mut at,
                                first..first + pixels,
                                &[run],
                                (totals, None),
                                out,
                            )?;
                        }
                        done += count;
                    }
                }
            }
        }
        Ok(())
    }
}

/// The offsets of pixels in a copy.
struct Places {
    /// The distances between lines and between pixels.
    apart: [usize; 2],
    lines: usize,
    width: usize,
    /// The offset of the zeros.
    outside: usize,
}

impl Places {
    /// The pixels that the tile at a corner reads.
    fn of(&self, [down, along]: [usize; 2]) -> [[usize; IN]; IN] {
        let mut tile = [[self.outside; IN]; IN];
        // The padding is at most one line and one pixel on each side.
        let (lines, width) = (self.lines + 2, self.width + 2);
        for (i, line) in tile.iter_mut().enumerate().take(lines - down) {
            for (j, pixel) in line.iter_mut().enumerate().take(width - along) {
                *pixel = (down + i) * self.apart[0] + (along + j) * self.apart[1];
            }
        }
        tile
    }
}

/// The products of a chunk of tiles.
struct Products<'p> {
    micro: Micro<f32>,
    weights: &'p Prepacked,
    channels: usize,
    columns: usize,
    /// The distance between tiles in the transformed input, and in the sums.
    pitch: usize,
    stride: usize,
    most: usize,
    rows: StepList,
    packed: Vec<usize>,
    transformed: crate::scratch::Scratch<f32>,
    sums: crate::scratch::Scratch<f32>,
    results: crate::scratch::Scratch<f32>,
}

impl<'p> Products<'p> {
    fn new(weights: &'p Prepacked, channels: usize, columns: usize, most: usize) -> Result<Self, Failure> {
        let micro = Micro::<f32>::best();
        let pitch = if channels.is_multiple_of(ALIASING_STRIDE) { channels + LINE } else { channels };
        let stride = columns.next_multiple_of(micro.columns).next_multiple_of(transform::WIDE);
        Ok(Products {
            micro,
            weights,
            channels,
            columns,
            pitch,
            stride,
            most,
            rows: StepList::of((0..channels).collect(), f32::STEPS),
            packed: (0..f32::STEPS).map(|step| step * micro.columns).collect(),
            transformed: scratch(PRODUCTS * most * pitch)?,
            sums: scratch(PRODUCTS * most * stride)?,
            results: scratch(OUT * OUT * STRETCH * stride)?,
        })
    }

    /// Transforms tiles and multiplies them with weights.
    fn multiply(&mut self, copy: &[f32], tiles: &[[[usize; IN]; IN]]) -> Result<(), Failure> {
        let Products { channels, pitch, most, .. } = *self;
        let (each, out) = (most * pitch, &mut self.transformed[..]);
        let it = Forward { copy, tiles, channels, out, pitch, each };
        if widest(it).is_none() {
            fail!("a tile is not in the copy of its image")
        }
        for product in 0..PRODUCTS {
            for steps in blocks(channels, f32::STEPS) {
                self.one(product, tiles.len(), &steps);
            }
        }
        Ok(())
    }

    /// One of the 36 products, for some channels.
    fn one(&mut self, product: usize, tiles: usize, steps: &Range<usize>) {
        let Products { micro, weights, columns, pitch, stride, most, rows, packed, .. } = self;
        let (stride, wide) = (*stride, columns.next_multiple_of(micro.columns));
        let from = &self.transformed[product * *most * *pitch..][..tiles * *pitch];
        let sums = &mut self.sums[product * *most * stride..][..*most * stride];
        let weights = &weights.numbers::<f32>(product)[steps.start * wide..][..steps.len() * wide];
        let b_steps = Steps::of(&packed[..steps.len()]);
        let parts = tiles.div_ceil(micro.rows).max(1);
        for (left, numbers) in weights.chunks_exact(steps.len() * micro.columns).enumerate() {
            let left = left * micro.columns;
            for part in 0..parts {
                let (first, end) = (tiles * part / parts, tiles * (part + 1) / parts);
                let a = Rows::of(&from[first * *pitch..], *pitch, rows.block(steps.clone()));
                let b = micro::Columns::of(numbers, b_steps);
                let c = &mut sums[first * stride + left..];
                let size = [end - first, micro.columns.min(*columns - left)];
                micro.run(micro::Tile { a, b, c, stride, size, is_first: steps.start == 0, end: None });
            }
        }
    }

    /// Transforms adjacent tiles of a line back.
    fn back(&mut self, first: usize, tiles: usize) -> Result<(), Failure> {
        let Products { stride: pitch, most, .. } = *self;
        let (sums, out) = (&self.sums[first * pitch..], &mut self.results[..]);
        match widest(Backward { sums, pitch, each: most * pitch, tiles, out }) {
            Some(()) => Ok(()),
            None => fail!("a tile has no sums"),
        }
    }
}
