//! Padded images, whose pixels are the rows of a product.
//!
//! ```text
//! sum over k, l, c of x[h + k - 1, w + l - 1, c] * weight[m, c, k, l]      0 where a pixel is out of bounds
//! ```
//! The rows of the image that a band of the result reads are copied with padding and with contiguous channels
//! for any input layout. Then each step is at a constant offset, and so are the pixels of a line,
//! `stride` pixels apart: micro-kernels read the copy at shifted offsets, without an im2col copy for each tap.

mod far;

use super::coordinate::Coordinate;
use super::kind::Kind;
use super::read::sums;
use super::{CACHED, Side, place};
use crate::failure::{Failure, fail};
use crate::lanes::Linear;
use crate::lanes::view::Operands;
use crate::program::{Bound, Instr};
pub(super) use far::{FarTaps, StepLists};
use std::ops::Range;

/// Pixels at a multiple of this distance in bytes compete for the same few lines of the first-level cache.
const ALIASING_STRIDE: usize = 1 << 12;
/// Bytes of a cache line.
const LINE: usize = 64;

/// How rows are read from a padded copy.
pub(super) struct Image<'i> {
    operand: usize,
    place: &'i Linear,
    otherwise: (f64, i64),
    down: Coordinate<'i>,
    along: Coordinate<'i>,
    /// The axes outside the image.
    outer: &'i [usize],
    /// The reduction axes that do not shift pixels: channels.
    channels: Vec<usize>,
    extents: &'i [usize],
    /// The numbers read per pixel, and the distances between pixels and between lines in the copy.
    of_source: usize,
    pixel: usize,
    line: usize,
    /// The values along a line that the copy has: the first, relative to that of the first pixel, and how many.
    window: (i64, usize),
}

impl<'i> Image<'i> {
    /// The image of a factor that loads an element of an image, or a padding value outside.
    pub(super) fn of<T: Kind>(side: &'i Side, extents: &'i [usize], steps: &[usize]) -> Option<Self> {
        let [Instr::LoadWhere { to, operand, elem, place, bounds, otherwise }] = &side.program.instrs[..]
        else {
            return None;
        };
        (T::is_element(*elem) && side.program.result == Some(*to)).then_some(())?;
        let (along, before) = side.axes.split_last()?;
        let (down, outer) = before.split_last().map_or((None, before), |(down, outer)| (Some(*down), outer));
        let asks = |bound: &Bound, axis: usize| bound.function.by[axis] != 0;
        let is_of_image = |bound: &Bound| {
            let of = [down.is_some_and(|axis| asks(bound, axis)), asks(bound, *along)];
            match of {
                [true, true] => None,
                [false, false] => Some(false),
                [_, _] => Some(true),
            }
        };
        // A bound that is not spatial limits the channels.
        let mut limit = None;
        for bound in bounds {
            if !is_of_image(bound)? && limit.replace(bound).is_some() {
                return None;
            }
        }
        // The lines and columns of the image, and the steps that shift each.
        let along = Coordinate::of(Some(*along), place, bounds, steps, extents)?;
        let down = Coordinate::of(down, place, bounds, steps, extents)?;
        let shifts = |it: &Coordinate<'_>, step: usize| it.shifts.iter().any(|(axis, _)| *axis == step);
        steps.iter().all(|&step| !(shifts(&down, step) && shifts(&along, step))).then_some(())?;
        let is_channel = |step: &usize| !shifts(&down, *step) && !shifts(&along, *step);
        let channels: Vec<usize> = steps.iter().copied().filter(is_channel).collect();
        let of_pixel = channels.iter().fold(1usize, |n, axis| n.saturating_mul(extents[*axis]));
        let of_source = match (limit, &channels[..]) {
            (None, _) => of_pixel,
            (Some(bound), [channel]) => {
                let Linear { base: 0, by } = &bound.function else { return None };
                let is_it = (0..by.len()).all(|axis| by[axis] == i64::from(axis == *channel));
                (is_it && bound.from == 0).then_some(())?;
                usize::try_from(bound.to).ok().filter(|count| *count <= of_pixel)?
            }
            (Some(_), _) => return None,
        };
        // Pixels are moved apart where they would compete for the same lines of the cache.
        let mut pixel = of_pixel;
        let is_alike =
            |pixel: usize| (pixel * along.stride as usize * size_of::<T>()).is_multiple_of(ALIASING_STRIDE);
        if is_alike(pixel) {
            pixel += LINE / size_of::<T>();
        }
        let window = (along.least, along.reach());
        let line = along.reach().checked_mul(pixel)?;
        let (operand, otherwise) = (*operand, *otherwise);
        Some(Image {
            operand,
            place,
            otherwise,
            down,
            along,
            outer,
            channels,
            extents,
            of_source,
            pixel,
            line,
            window,
        })
    }

    /// The axes of the taps (vertical, horizontal) and of the channels, if there are 3×3 taps of adjacent pixels.
    pub(super) fn taps_of_three(&self) -> Option<[usize; 3]> {
        let three = |it: &Coordinate<'_>| match &it.shifts[..] {
            [(axis, 1)] if it.stride == 1 && it.axis.is_some() && self.extents[*axis] == 3 => Some(*axis),
            _ => None,
        };
        let [channel] = self.channels[..] else { return None };
        let taps = [three(&self.down)?, three(&self.along)?, channel];
        (self.of_source == self.extents[channel]).then_some(taps)
    }

    /// The number of result lines per copy, so that it fits into the second-level cache.
    pub(super) fn band<T>(&self) -> usize {
        let most = (CACHED / 2 * size_of::<f32>() / size_of::<T>()) / self.line.max(1);
        let lines = most.saturating_sub(self.down.more_values()) / self.down.stride as usize;
        lines.clamp(1, self.down.extent.max(1))
    }

    /// The size of the copy for `lines` lines.
    pub(super) fn len(&self, lines: usize) -> usize {
        (self.down.stride as usize * (lines.max(1) - 1) + self.down.more_values() + 1)
            .saturating_mul(self.line)
    }

    /// The number of images.
    pub(super) fn count(&self) -> usize {
        self.outer.iter().map(|&axis| self.extents[axis]).product()
    }

    /// The lines and pixels per line of the result of an image.
    pub(super) fn size(&self) -> [usize; 2] {
        [self.down.extent, self.along.extent]
    }

    /// The distance of adjacent result lines and pixels in the copy.
    pub(super) fn apart(&self) -> [usize; 2] {
        [self.down.stride as usize * self.line, self.along.stride as usize * self.pixel]
    }

    /// The offset of each step.
    pub(super) fn steps(&self, axes: &[usize]) -> Vec<usize> {
        let of = |axis: usize| {
            self.of_channel(axis)
                + self.down.shift_of(axis) * self.line as i64
                + self.along.shift_of(axis) * self.pixel as i64
        };
        let least = self.down.least * self.line as i64 + self.along.least * self.pixel as i64;
        // The least shifts belong to the first line and pixel of the copy.
        sums(self.extents, axes, of).into_iter().map(|step| (step - least) as usize).collect()
    }

    /// The distance of the numbers of a pixel per step of an axis.
    fn of_channel(&self, axis: usize) -> i64 {
        let behind = self.channels.iter().skip_while(|other| **other != axis).skip(1);
        if !self.channels.contains(&axis) {
            return 0;
        }
        behind.map(|axis| self.extents[*axis]).product::<usize>() as i64
    }

    /// Copies what some lines of an image read; `padding` is the padding value, if it is not static.
    pub(super) fn fill<T: Kind>(
        &self,
        operands: &Operands<'_>,
        at: &mut [usize],
        (image, lines): (usize, Range<usize>),
        padding: Option<T>,
        out: &mut [T],
    ) -> Result<(), Failure> {
        let first = self.down.stride * lines.start as i64 + self.down.least;
        let count = self.len(lines.len()) / self.line;
        self.fill_lines(operands, at, image, first..first + count as i64, padding, out)
    }

    /// Copies lines, of which the values are given relative to that of the first line.
    fn fill_lines<T: Kind>(
        &self,
        operands: &Operands<'_>,
        at: &mut [usize],
        image: usize,
        values: impl Iterator<Item = i64>,
        padding: Option<T>,
        out: &mut [T],
    ) -> Result<(), Failure> {
        let Some(view) = operands.get(self.operand).copied().flatten() else { fail!("an input is left out") };
        let from: &[T] = view.words();
        let otherwise = padding.unwrap_or_else(|| T::number(self.otherwise.0, self.otherwise.1));
        place(at, self.outer, self.extents, image);
        let own = self.down.axis.iter().chain(&self.along.axis).chain(&self.channels);
        own.chain(self.down.shifts.iter().chain(&self.along.shifts).map(|(axis, _)| axis))
            .for_each(|&axis| at[axis] = 0);
        // The part of each line that is inside the image.
        let Image { down, along, pixel, of_source, .. } = self;
        let origin = |it: &Coordinate<'_>| it.function.map_or(0, |function| function.at(at));
        let first = self.place.at(at) - view.first;
        let in_down = down.values(origin(down));
        let (from_value, reach) = self.window;
        let inside = Bound::lanes_of(along.values(origin(along)), origin(along) + from_value, 1, reach);
        let mut channels = sums(self.extents, &self.channels, |axis| self.place.by[axis]);
        // Missing channels are multiplied by 0.
        channels.truncate(*of_source);
        let is_row = channels.iter().enumerate().all(|(i, at)| *at == i as i64);
        for (value, line) in values.zip(out.chunks_exact_mut(self.line)) {
            if inside.is_empty() || !in_down.contains(&(origin(down) + value)) {
                line.fill(otherwise);
                continue;
            }
            // Padding at both ends, and the line between: whole, pixel by pixel, or channel by channel.
            line[..inside.start * pixel].fill(otherwise);
            line[inside.end * pixel..].fill(otherwise);
            let to = &mut line[inside.start * pixel..inside.end * pixel];
            let start = first + down.by * value + along.by * (from_value + inside.start as i64);
            let element = |at: i64| usize::try_from(start + at).ok().filter(|at| *at < from.len());
            if is_row && along.by == *of_source as i64 && of_source == pixel {
                let row = element(0).and_then(|at| from.get(at..)?.get(..to.len()));
                let Some(row) = row else { fail!("an index is out of bounds") };
                to.copy_from_slice(row);
                continue;
            }
            if is_row {
                for (i, to) in to.chunks_exact_mut(*pixel).enumerate() {
                    let pixel = element(along.by * i as i64).and_then(|at| from.get(at..)?.get(..*of_source));
                    let Some(pixel) = pixel else { fail!("an index is out of bounds") };
                    copy_pixel(pixel, &mut to[..*of_source]);
                }
                continue;
            }
            for (channel, at) in channels.iter().enumerate() {
                let (Some(begin), Some(end)) =
                    (element(*at), element(*at + along.by * (inside.len() as i64 - 1)))
                else {
                    fail!("an index is out of bounds")
                };
                let to = to[channel..].iter_mut().step_by(*pixel);
                match usize::try_from(along.by) {
                    Ok(by @ 1..) => to.zip(from[begin..=end].iter().step_by(by)).for_each(|(to, x)| *to = *x),
                    Ok(0) | Err(_) => fail!("an image is read backwards"),
                }
            }
        }
        Ok(())
    }
}

/// Copies the numbers of a pixel; with static lengths, few are not a call of `memcpy`.
#[inline(always)]
fn copy_pixel<T: Copy>(from: &[T], to: &mut [T]) {
    match from.len() {
        8..=16 => copy_ends::<8, T>(from, to),
        17..=32 => copy_ends::<16, T>(from, to),
        33..=64 => copy_ends::<32, T>(from, to),
        _ => to.copy_from_slice(from),
    }
}

/// Copies the first `N` numbers and the last, which are all.
#[inline(always)]
fn copy_ends<const N: usize, T: Copy>(from: &[T], to: &mut [T]) {
    if let (Some(from), Some(to)) = (from.first_chunk::<N>(), to.first_chunk_mut::<N>()) {
        *to = *from;
    }
    if let (Some(from), Some(to)) = (from.last_chunk::<N>(), to.last_chunk_mut::<N>()) {
        *to = *from;
    }
}
