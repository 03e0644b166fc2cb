//! Loads and stores of lanes.

use super::convert::{convert, convert_ints};
use super::multiversion::{Body, widest};
use super::narrow::{bf16_to_f32, f16_to_f32, f32_to_bf16, f32_to_f16};
use super::strip::Walk;
use super::view::View;
use super::{Class, Reg, Registers, int_of, wrap};
use crate::zip::zip;
use onnx_formula::Number;
use onnx_ir::ElemType;
use std::ops::Range;

/// The offsets of lanes.
#[derive(Clone, Copy)]
pub(crate) enum Places<'a> {
    /// The first offset and the stride.
    Stride(i64, i64),
    /// Rows with strides.
    Rows(Walk),
    /// Individual offsets, relative to a base; offsets out of range belong to unused lanes.
    Each(&'a [i64], i64),
}

impl Places<'_> {
    /// These offsets relative to a base.
    fn from(self, first: i64) -> Self {
        match self {
            Places::Stride(start, by) => Places::Stride(start - first, by),
            Places::Rows(walk) => Places::Rows(Walk { start: walk.start - first, ..walk }),
            Places::Each(places, before) => Places::Each(places, before + first),
        }
    }
}

fn copy<A: Copy + Default, B: Copy>(out: &mut [B], from: &[A], places: Places<'_>, convert: impl Fn(A) -> B) {
    widest(Copying { out, from, places, convert });
}

/// A load of lanes as a multiversioned function.
struct Copying<'c, A, B, F> {
    out: &'c mut [B],
    from: &'c [A],
    places: Places<'c>,
    convert: F,
}

impl<A: Copy + Default, B: Copy, F: Fn(A) -> B> Body for Copying<'_, A, B, F> {
    type Out = ();

    #[inline(always)]
    #[allow(
        clippy::redundant_closure,
        reason = "a reference to a function is called through another one, which is not inlined"
    )]
    fn run<const FUSED: bool>(self) {
        let Copying { out, from, places, convert } = self;
        let walk = match places {
            Places::Stride(start, by) => Walk::line(start, by, out.len()),
            Places::Rows(walk) => walk,
            Places::Each(places, first) => {
                for (out, at) in zip(out, places) {
                    let x = usize::try_from(*at - first).ok().and_then(|at| from.get(at));
                    *out = convert(x.copied().unwrap_or_default());
                }
                return;
            }
        };
        let [planes, rows, lanes] = walk.extents;
        if walk.by[1] == 1 && lanes < rows && columns(&mut *out, from, walk, |x| convert(x)).is_some() {
            return;
        }
        let places = (0..planes).flat_map(|plane| (0..rows).map(move |row| [plane, row]));
        for (out, at) in out.chunks_exact_mut(lanes.max(1)).zip(places) {
            line(out, from, walk.row(at), walk.by[2], |x| convert(x));
        }
    }
}

/// Converts short rows column by column, which have contiguous elements. If some are missing, `None`, and lanes have any values.
#[inline(always)]
fn columns<A: Copy + Default, B: Copy>(
    out: &mut [B],
    from: &[A],
    walk: Walk,
    convert: impl Fn(A) -> B,
) -> Option<()> {
    let [_, rows, lanes] = walk.extents;
    for (plane, out) in out.chunks_exact_mut((rows * lanes).max(1)).enumerate() {
        for lane in 0..lanes {
            let start = walk.row([plane, 0]) + walk.by[2] * lane as i64;
            let (column, _) = stretch(from, start, 1, rows)?;
            out[lane..].iter_mut().step_by(lanes).zip(column).for_each(|(out, x)| *out = convert(*x));
        }
    }
    Some(())
}

/// Converts elements with a constant stride.
#[inline(always)]
fn line<A: Copy + Default, B: Copy>(
    out: &mut [B],
    from: &[A],
    start: i64,
    by: i64,
    convert: impl Fn(A) -> B,
) {
    match stretch(from, start, by, out.len()) {
        Some((stretch, 1)) => {
            zip(out, stretch).for_each(|(out, x)| *out = convert(*x));
        }
        Some((stretch, 2)) => {
            let (pairs, last) = stretch.as_chunks::<2>();
            let first = pairs.iter().map(|[x, _]| x).chain(last);
            out.iter_mut().zip(first).for_each(|(out, x)| *out = convert(*x));
        }
        Some((stretch, by)) => {
            out.iter_mut().zip(stretch.iter().step_by(by)).for_each(|(out, x)| *out = convert(*x));
        }
        None if by == 0 => {
            let x = usize::try_from(start).ok().and_then(|at| from.get(at));
            out.fill(convert(x.copied().unwrap_or_default()));
        }
        None => {
            let mut at = start;
            for out in out {
                let x = usize::try_from(at).ok().and_then(|at| from.get(at));
                *out = convert(x.copied().unwrap_or_default());
                at += by;
            }
        }
    }
}

/// The elements from the first to the last of `n` offsets and their stride, if it is positive and all exist.
#[inline(always)]
fn stretch<A>(from: &[A], start: i64, by: i64, n: usize) -> Option<(&[A], usize)> {
    let (start, by) = (usize::try_from(start).ok()?, usize::try_from(by).ok().filter(|by| *by > 0)?);
    let length = n.checked_sub(1)?.checked_mul(by)?.checked_add(1)?;
    Some((from.get(start..)?.get(..length)?, by))
}

/// Loads some lanes of a register.
pub(crate) fn load(regs: &mut Registers, lanes: Range<usize>, to: Reg, from: View<'_>, places: Places<'_>) {
    use ElemType as E;
    let places = places.from(from.first);
    match to.class {
        Class::Single => {
            let out = &mut regs.own(to)[lanes];
            match from.elem {
                E::FLOAT => copy(out, from.words(), places, |x: f32| x),
                E::FLOAT16 => copy(out, from.words(), places, f16_to_f32),
                E::BFLOAT16 => copy(out, from.words(), places, bf16_to_f32),
                // Integers that become floats.
                E::UINT8 => copy(out, from.words(), places, |x: u8| x.into()),
                E::INT8 => copy(out, from.words(), places, |x: i8| x.into()),
                E::INT32 => copy(out, from.words(), places, |x: i32| x as f32),
                E::BOOL => copy(out, from.words(), places, |x: u8| f32::from(x != 0)),
                elem => {
                    let decode = |bits: u8| match Number::from_bits(elem, bits.into()) {
                        Some(Number::Float(x)) => x as f32,
                        Some(Number::Int(n)) => n as f32,
                        None => f32::NAN,
                    };
                    copy(out, from.words(), places, decode);
                }
            }
        }
        Class::Double => copy(&mut regs.double[to.at][lanes], from.words(), places, |x: f64| x),
        Class::Int => ints(&mut regs.int[to.at][lanes], from, places),
    }
}

/// [`load`] of integers at the offsets in another register.
pub(crate) fn gather(regs: &mut Registers, n: usize, to: Reg, from: View<'_>, places: Reg) {
    let all = std::mem::take(&mut regs.int[places.at]);
    load(regs, 0..n, to, from, Places::Each(&all[..n], 0));
    regs.int[places.at] = all;
}

fn ints(out: &mut [i64], from: View<'_>, places: Places<'_>) {
    use ElemType as E;
    match from.elem {
        E::INT64 => copy(out, from.words(), places, |x: i64| x),
        E::UINT64 => copy(out, from.words(), places, |x: u64| x as i64),
        E::INT32 => copy(out, from.words(), places, |x: i32| x.into()),
        E::UINT32 => copy(out, from.words(), places, |x: u32| x.into()),
        E::INT16 => copy(out, from.words(), places, |x: i16| x.into()),
        E::UINT16 => copy(out, from.words(), places, |x: u16| x.into()),
        E::INT8 | E::INT4 | E::INT2 => copy(out, from.words(), places, |x: i8| x.into()),
        E::BOOL => copy(out, from.words(), places, |x: u8| i64::from(x != 0)),
        _ => copy(out, from.words(), places, |x: u8| x.into()),
    }
}

/// Rounds lanes to the element type and stores them; they must be in the register itself.
pub(crate) fn store(to: &mut [u8], elem: ElemType, regs: &Registers, from: Reg) {
    use ElemType as E;
    fn put<T: bytemuck::Pod, A: Copy>(to: &mut [u8], lanes: &[A], of: impl Fn(A) -> T) {
        convert(lanes, bytemuck::cast_slice_mut(to), of);
    }
    match from.class {
        Class::Single => {
            let lanes = &regs.single[from.at];
            match elem {
                E::FLOAT => put(to, lanes, |x: f32| x),
                E::DOUBLE => put(to, lanes, |x: f32| f64::from(x)),
                E::FLOAT16 => put(to, lanes, f32_to_f16),
                E::BFLOAT16 => put(to, lanes, f32_to_bf16),
                // Casts that were deferred to the store.
                E::INT32 => put(to, lanes, int_of),
                E::INT8 | E::UINT8 => convert_ints(lanes, to, |x| x as u8),
                E::BOOL => put(to, lanes, |x: f32| u8::from(x != 0.0)),
                _ => put(to, lanes, |x: f32| narrow(elem, x.into())),
            }
        }
        Class::Double => {
            let lanes = &regs.double[from.at];
            match elem {
                E::FLOAT => put(to, lanes, |x: f64| x as f32),
                E::DOUBLE => put(to, lanes, |x: f64| x),
                // `half` considers only the upper half of a double.
                E::FLOAT16 | E::BFLOAT16 => put(to, lanes, |x: f64| half_bits(elem, x)),
                _ => put(to, lanes, |x: f64| narrow(elem, x)),
            }
        }
        Class::Int => {
            let lanes = &regs.int[from.at];
            match elem {
                E::INT64 | E::UINT64 => put(to, lanes, |x: i64| x),
                E::INT32 | E::UINT32 => put(to, lanes, |x: i64| x as i32),
                E::INT16 | E::UINT16 => put(to, lanes, |x: i64| x as i16),
                E::INT8 | E::UINT8 => put(to, lanes, |x: i64| x as i8),
                _ => put(to, lanes, |x: i64| wrap(x, elem) as i8),
            }
        }
    }
}

fn half_bits(elem: ElemType, x: f64) -> u16 {
    Number::Float(x).to_bits(elem).unwrap_or(0) as u16
}

fn narrow(elem: ElemType, x: f64) -> u8 {
    Number::Float(x).to_bits(elem).unwrap_or(0) as u8
}
