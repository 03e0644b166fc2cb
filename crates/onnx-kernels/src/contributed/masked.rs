//! Kernels that ignore a part of their input: MaxpoolWithMask, WordConvEmbedding.

use crate::real::Real;
use crate::value::Value;
use crate::{Call, Row, row, window};
use onnx_loops::budget::spend;
use onnx_loops::failure::{Failure, fail};
use onnx_loops::list::{List, filled};
use onnx_loops::tensor::{Tensor, advance, count_of, strides};

pub(super) const ROWS: &[Row] = &[
    row("com.microsoft", "MaxpoolWithMask", max_pool_with_mask),
    row("com.microsoft", "WordConvEmbedding", word_conv_embedding),
];

/// The extents of the output, the least kernel positions, and the strides.
fn pooled(call: &Call<'_>, spatial: &[usize], kernel: &[i64]) -> Result<Pooled, Failure> {
    let rank = spatial.len();
    if !matches!(call.attrs.string("auto_pad").as_deref(), None | Some("NOTSET" | "VALID")) {
        fail!("a mask with automatic padding cannot be run");
    }
    let (steps, pads) = (window::strides(call, rank)?, window::pads(call, rank)?);
    let mut extents = Vec::new();
    for (axis, extent) in window::longs(spatial)?.into_iter().enumerate() {
        extents.push(window::positions(extent, pads[axis], (kernel[axis], 1), steps[axis])?);
    }
    Ok(Pooled { extents, begins: pads.iter().map(|pads| -pads.0).collect(), steps })
}

struct Pooled {
    extents: Vec<usize>,
    begins: Vec<i64>,
    steps: Vec<i64>,
}

/// The maximum of each window. A masked element hides those after it in its line of the window; the first element of a plane is
/// seen in any case if there are several axes.
fn max_pool_with_mask(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let (x, mask) = (call.tensor(0)?, call.tensor(1)?);
    let ([n, c, spatial @ ..], [mask_n, mask_c, of_mask @ ..]) = (x.dims(), mask.dims()) else {
        fail!("the shapes {:?} and {:?} are none of images", x.dims(), mask.dims())
    };
    let rank = spatial.len();
    let kernel = call.attrs.ints("kernel_shape").unwrap_or_default();
    if rank == 0 || kernel.len() != rank || kernel.iter().any(|k| *k < 1 || *k > i64::from(i32::MAX)) {
        fail!("a kernel of shape {kernel:?} does not fit {rank} spatial axes");
    }
    if of_mask != spatial || [mask_n, mask_c].into_iter().zip([n, c]).any(|(m, x)| *m != 1 && m != x) {
        fail!("a mask of shape {:?} does not fit {:?}", mask.dims(), x.dims());
    }
    let Pooled { extents, begins, steps } = pooled(call, spatial, &kernel)?;
    let dims = [&[*n, *c], &extents[..]].concat();
    let count = call.has_room(x.elem(), &dims)?;
    let (numbers, visible) = (x.slice::<f32>()?, mask.slice::<i32>()?);
    let (plane, strides) = (count_of(spatial)?, strides(spatial));
    let mut y = List::with_room(count)?;
    for at in 0..if count == 0 { 0 } else { n * c } {
        let numbers = &numbers[at * plane..][..plane];
        let at = if *mask_n == 1 { 0 } else { at / c } * mask_c + if *mask_c == 1 { 0 } else { at % c };
        let visible = &visible[at * plane..][..plane];
        let mut place = vec![0; rank];
        loop {
            // The part of the window that is inside.
            let ranges: Vec<_> = (0..rank)
                .map(|axis| {
                    let begin = begins[axis] + place[axis] as i64 * steps[axis];
                    let end = (begin + kernel[axis]).clamp(0, spatial[axis] as i64);
                    begin.clamp(0, end) as usize..end as usize
                })
                .collect();
            let sizes: Vec<usize> = ranges.iter().map(ExactSizeIterator::len).collect();
            spend(count_of(&sizes)?)?;
            let mut most = f32::MIN;
            if let (Some((line, outer)), false) = (ranges.split_last(), sizes.contains(&0)) {
                let mut inner = vec![0; rank - 1];
                loop {
                    let first: usize = outer
                        .iter()
                        .zip(&inner)
                        .zip(&strides)
                        .map(|((r, i), stride)| (r.start + i) * stride)
                        .sum();
                    for i in line.clone().map(|i| first + i) {
                        if visible[i] == 0 && (i > 0 || rank == 1) {
                            break;
                        }
                        if numbers[i] > most {
                            most = numbers[i];
                        }
                    }
                    if !advance(&mut inner, &sizes[..rank - 1]) {
                        break;
                    }
                }
            }
            y.push(most)?;
            if !advance(&mut place, &extents) {
                break;
            }
        }
    }
    Ok(vec![Tensor::of(&dims, &y)?.into()])
}

/// A vector for each word: the maximum over its characters of the tangent of a convolution over their embeddings. The characters
/// of a word are those up to the number of its codes that are not zero, and at least as many as the convolution has.
fn word_conv_embedding(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let [words, w, b, table] = [0, 1, 2, 3].map(|i| call.tensor(i));
    let (words, w, b, table) = (words?, w?, b?, table?);
    let (&[count, length], &[filters, 1, taps, width], &[codes, of_code]) =
        (words.dims(), w.dims(), table.dims())
    else {
        fail!("{:?} words, weights {:?} and codes {:?} do not fit", words.dims(), w.dims(), table.dims())
    };
    if width != of_code || width == 0 || b.len() != filters || taps == 0 || taps > length {
        fail!("weights of shape {:?} do not fit words of {length} codes of {of_code}", w.dims());
    }
    let (ids, table, bias) = (words.ints()?, f32::numbers(table)?, f32::numbers(b)?);
    let weights = call.kept(&[1], |store| f32::matrix(&f32::numbers(w)?, taps * width, store))?;
    let mut y = filled(call.has_room(w.elem(), &[count, filters])?, 0.0f32)?;
    spend(count_of(&[count, length, taps, width])?.saturating_mul(filters))?;
    let mut characters = filled(count_of(&[length, width])?, 0.0f32)?;
    for (word, y) in ids.chunks_exact(length).zip(y.chunks_exact_mut(filters.max(1))) {
        let used = word.iter().filter(|id| **id > 0).count();
        if word[0] <= 0 {
            continue;
        }
        let used = used.max(taps);
        for (id, to) in word[..used].iter().zip(characters.chunks_exact_mut(width.max(1))) {
            let Some(id) = usize::try_from(*id).ok().filter(|id| *id < codes) else {
                fail!("code {id} is wanted of {codes}")
            };
            to.copy_from_slice(&table[id * width..][..width]);
        }
        y.fill(-1e12);
        for first in 0..=used - taps {
            let mut sums = List::copied(&bias)?;
            f32::add_products(&weights, &characters[first * width..][..taps * width], &mut sums)?;
            for (y, sum) in y.iter_mut().zip(sums.iter()) {
                *y = y.max(sum.tanh());
            }
        }
    }
    Ok(vec![f32::tensor(w.elem(), &[count, filters], &y)?.into()])
}
