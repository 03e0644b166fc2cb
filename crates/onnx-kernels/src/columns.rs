//! The Col2Im kernel: sums overlapping blocks of an image.

use crate::arithmetic::{Arithmetic, for_elements};
use crate::value::Value;
use crate::window::{dilations, longs, pads, positions, strides};
use crate::{Call, Row, row};
use onnx_ir::diag::counted;
use onnx_loops::budget::spend;
use onnx_loops::failure::{Failure, fail};
use onnx_loops::tensor::{Tensor, advance, count_of};
use std::ops::Range;

pub(crate) const ROWS: &[Row] = &[row("", "Col2Im", col2im)];

/// The geometry of blocks.
struct Blocks {
    image: Vec<usize>,
    block: Vec<usize>,
    /// The number of blocks along each axis.
    counts: Vec<usize>,
    strides: Vec<i64>,
    dilations: Vec<i64>,
    pads: Vec<(i64, i64)>,
}

impl Blocks {
    /// The place of a block element along an axis, which may lie outside of the image.
    fn along(&self, axis: usize, element: usize, block: usize) -> Option<i64> {
        let (i, k) = (i64::try_from(block).ok()?, i64::try_from(element).ok()?);
        Some(i * self.strides[axis] - self.pads[axis].0 + k * self.dilations[axis])
    }

    /// The offset of the row of the image that has an element of some blocks, by the axes before the last; `None` if it is outside.
    fn row(&self, element: &[usize], block: &[usize]) -> Option<usize> {
        let mut place = 0;
        for (axis, (block, extent)) in block.iter().zip(&self.image).enumerate() {
            let at = self.along(axis, element[axis], *block)?;
            let at = usize::try_from(at).ok().filter(|at| at < extent)?;
            place = place * extent + at;
        }
        Some(place * self.image.last().unwrap_or(&1))
    }

    /// The blocks of `count` along the last axis that have an element inside of the image, the place of the first, and the distance
    /// between places.
    fn last_axis(&self, element: &[usize], count: usize) -> (Range<usize>, usize, usize) {
        let Some(axis) = element.len().checked_sub(1) else { return (0..count, 0, 1) };
        let place = |block| usize::try_from(self.along(axis, element[axis], block)?).ok();
        let is_before = |block: &usize| place(*block).is_none();
        let is_inside = |block: &usize| place(*block).is_some_and(|at| at < self.image[axis]);
        let start = (0..count).take_while(is_before).count();
        let end = start + (start..count).take_while(is_inside).count();
        let by = usize::try_from(self.strides[axis]).unwrap_or(1);
        (start..end, place(start).unwrap_or(0), by)
    }

    /// The elements of all blocks.
    fn elements(&self) -> usize {
        self.block.iter().chain(&self.counts).product()
    }

    /// Calls a function with the elements of each row of blocks that are inside of the image, where the first of them is in the image,
    /// and how far they are apart there.
    fn each_row(&self, row: &mut dyn FnMut(Range<usize>, usize, usize)) -> Result<(), Failure> {
        let (last, outer) = match self.counts.split_last() {
            Some((last, outer)) => (*last, outer),
            None => (1, &[][..]),
        };
        let columns = self.counts.iter().product();
        let mut element = vec![0; self.block.len()];
        let mut block = vec![0; outer.len()];
        for first in (0..self.elements()).step_by(columns) {
            spend(columns)?;
            let (inside, place, by) = self.last_axis(&element, last);
            block.fill(0);
            for first in (first..first + columns).step_by(last) {
                if let Some(start) = self.row(&element, &block)
                    && !inside.is_empty()
                {
                    row(first + inside.start..first + inside.end, start + place, by);
                }
                advance(&mut block, outer);
            }
            advance(&mut element, &self.block);
        }
        Ok(())
    }
}

fn shape(call: &Call<'_>, input: usize) -> Result<Vec<usize>, Failure> {
    let extents = call.tensor(input)?.ints()?;
    let dims: Option<Vec<usize>> = extents.iter().map(|&d| usize::try_from(d).ok()).collect();
    match dims {
        Some(dims) => Ok(dims),
        None => fail!("an extent of {extents:?} is negative"),
    }
}

fn col2im(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let x = call.tensor(0)?;
    let (image, block) = (shape(call, 1)?, shape(call, 2)?);
    let rank = image.len();
    if block.len() != rank {
        fail!("blocks of shape {block:?} are none of an image of shape {image:?}");
    }
    let (strides, dilations, pads) = (strides(call, rank)?, dilations(call, rank)?, pads(call, rank)?);
    let mut counts = Vec::with_capacity(rank);
    for (axis, (from, size)) in longs(&image)?.into_iter().zip(longs(&block)?).enumerate() {
        counts.push(positions(from, pads[axis], (size, dilations[axis]), strides[axis])?);
    }
    let (elements, columns) = (count_of(&block)?, count_of(&counts)?);
    let (batch, channels) = match x.dims() {
        &[n, rows, l] if l == columns && elements > 0 && rows.is_multiple_of(elements) => {
            (n, rows / elements)
        }
        dims => fail!(
            "{} of {} cannot have the shape {dims:?}",
            counted(columns, "block"),
            counted(elements, "element")
        ),
    };
    let mut dims = vec![batch, channels];
    dims.extend_from_slice(&image);
    let mut y = Tensor::zeros(x.elem(), &dims)?;
    if !x.is_empty() && !y.is_empty() {
        let blocks = Blocks { image, block, counts, strides, dilations, pads };
        for_elements!(x.elem(), add(x, &mut y, &blocks))?;
    }
    Ok(vec![y.into()])
}

/// Adds whole rows of blocks, which are as far apart in the image as the stride of the last axis.
fn add<T: Arithmetic>(x: &Tensor, y: &mut Tensor, blocks: &Blocks) -> Result<(), Failure> {
    let plane: usize = blocks.image.iter().product();
    let planes = y.words_mut::<T>()?.chunks_exact_mut(plane);
    for (y, x) in planes.zip(x.words::<T>().chunks_exact(blocks.elements())) {
        blocks.each_row(&mut |from, to, by| {
            let (to, from) = (&mut y[to..], &x[from]);
            match by {
                1 => to.iter_mut().zip(from).for_each(|(y, x)| *y = y.plus(*x)),
                _ => to.iter_mut().step_by(by).zip(from).for_each(|(y, x)| *y = y.plus(*x)),
            }
        })?;
    }
    Ok(())
}
