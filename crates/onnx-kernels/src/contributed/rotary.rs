//! RotaryEmbedding: rotates pairs of elements by angles that depend on the position in a sequence.

use crate::real::Real;
use crate::value::Value;
use crate::{Call, Row, row};
use onnx_ir::diag::counted;
use onnx_loops::budget::spend;
use onnx_loops::failure::{Failure, fail};
use onnx_loops::list::List;
use onnx_loops::tensor::{Tensor, count_of};

pub(super) const ROWS: &[Row] = &[row("com.microsoft", "RotaryEmbedding", rotary_embedding)];

/// Cosines and sines for each position and pair.
pub(super) struct Angles {
    cos: List<f32>,
    sin: List<f32>,
    pairs: usize,
    positions: usize,
    /// Whether the elements of a pair are adjacent, instead of half the width apart.
    is_interleaved: bool,
}

impl Angles {
    pub(super) fn of(cos: &Tensor, sin: &Tensor, is_interleaved: bool) -> Result<Angles, Failure> {
        let &[positions, pairs] = cos.dims() else {
            fail!("cosines of shape {:?} are none of positions", cos.dims())
        };
        if cos.dims() != sin.dims() {
            fail!("cosines of shape {:?} and sines of shape {:?} do not fit", cos.dims(), sin.dims());
        }
        Ok(Angles { cos: f32::numbers(cos)?, sin: f32::numbers(sin)?, pairs, positions, is_interleaved })
    }

    /// The number of rotated elements.
    pub(super) fn width(&self) -> usize {
        2 * self.pairs
    }

    /// Rotates the first elements of a head, which has at least `width` elements.
    pub(super) fn turn(&self, head: &mut [f32], position: i64) -> Result<(), Failure> {
        let Some(at) = usize::try_from(position).ok().filter(|&at| at < self.positions) else {
            fail!("position {position} is wanted of {}", self.positions)
        };
        let of = |all: &'_ [f32], i: usize| all[at * self.pairs + i];
        for i in 0..self.pairs {
            let (a, b) = if self.is_interleaved { (2 * i, 2 * i + 1) } else { (i, i + self.pairs) };
            let (cos, sin) = (of(&self.cos, i), of(&self.sin, i));
            let (x, y) = (head[a], head[b]);
            head[a] = x * cos - y * sin;
            head[b] = x * sin + y * cos;
        }
        Ok(())
    }
}

/// Sequences of heads: `[batch, positions, heads * size]`, or `[batch, heads, positions, size]`.
fn rotary_embedding(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let (x, positions) = (call.tensor(0)?, call.tensor(1)?);
    let angles = Angles::of(call.tensor(2)?, call.tensor(3)?, call.attrs.flag("interleaved"))?;
    let number = |name: &str| call.attrs.int(name).and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
    let (asked, heads) = (number("rotary_embedding_dim"), number("num_heads"));
    let (batch, length, size) = match *x.dims() {
        [batch, _, length, size] => (batch, length, size),
        [batch, length, width] if asked == 0 => {
            (batch, length, width.checked_div(heads).unwrap_or(angles.width()))
        }
        [batch, length, width] if heads > 0 => (batch, length, width / heads),
        _ => fail!("sequences of shape {:?} have no heads", x.dims()),
    };
    let is_split = x.rank() == 4;
    let width = if is_split { size } else { x.dims()[2] };
    if size == 0
        || !width.is_multiple_of(size)
        || angles.width() > size
        || (asked != 0 && asked != angles.width())
    {
        fail!(
            "angles for {} do not fit heads of {size}, of {:?}",
            counted(angles.width(), "element"),
            x.dims()
        );
    }
    let given = positions.ints()?;
    let is_offset = positions.len() == 1 && positions.dims() != [batch, length];
    if !is_offset && positions.len() != count_of(&[batch, length])? {
        fail!("positions of shape {:?} do not fit {:?}", positions.dims(), x.dims());
    }
    let mut numbers = f32::numbers(x)?;
    spend(numbers.len())?;
    for (i, head) in numbers.chunks_exact_mut(size).enumerate() {
        let (b, at) = if is_split {
            (i / length / x.dims()[1], i % length)
        } else {
            (i / (width / size) / length, i / (width / size) % length)
        };
        let position = if is_offset {
            given[0].saturating_add(i64::try_from(at).unwrap_or(i64::MAX))
        } else {
            given[b * length + at]
        };
        angles.turn(head, position)?;
    }
    Ok(vec![f32::tensor(x.elem(), x.dims(), &numbers)?.into()])
}
