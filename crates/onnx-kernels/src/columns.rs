//! The Col2Im kernel: sums overlapping blocks of an image.

use crate::arithmetic::{Arithmetic, for_elements};
use crate::value::Value;
use crate::window::{dilations, longs, pads, positions, strides};
use crate::{Call, Row, row};
use onnx_ir::diag::counted;
use onnx_loops::failure::{Failure, fail};
use onnx_loops::tensor::{Tensor, advance, count_of};

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
    /// The index of a block element in the image; `None` if it is outside.
    fn place(&self, element: &[usize], block: &[usize]) -> Option<usize> {
        let mut place = 0;
        for (axis, &extent) in self.image.iter().enumerate() {
            let (i, k) = (i64::try_from(block[axis]).ok()?, i64::try_from(element[axis]).ok()?);
            let at = i * self.strides[axis] - self.pads[axis].0 + k * self.dilations[axis];
            let at = usize::try_from(at).ok().filter(|&at| at < extent)?;
            place = place * extent + at;
        }
        Some(place)
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

fn add<T: Arithmetic>(x: &Tensor, y: &mut Tensor, blocks: &Blocks) -> Result<(), Failure> {
    let plane: usize = blocks.image.iter().product();
    let elements: usize = blocks.block.iter().product();
    let columns: usize = blocks.counts.iter().product();
    let mut element = vec![0; blocks.block.len()];
    let mut block = vec![0; blocks.block.len()];
    let planes = y.words_mut::<T>()?.chunks_exact_mut(plane);
    for (y, x) in planes.zip(x.words::<T>().chunks_exact(elements * columns)) {
        element.fill(0);
        for row in x.chunks_exact(columns) {
            block.fill(0);
            for &from in row {
                if let Some(place) = blocks.place(&element, &block) {
                    y[place] = y[place].plus(from);
                }
                advance(&mut block, &blocks.counts);
            }
            advance(&mut element, &blocks.block);
        }
    }
    Ok(())
}
