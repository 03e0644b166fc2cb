//! Resize and Upsample that repeat elements: nearest, with integer scales.
//!
//! ```text
//! float[1,2,4] x, y = Resize <mode = "nearest", …> (x, , scales), scales = {1, 1, 2}
//!   y[i0, i1, i2] = x[i0, i1, i2 / 2]
//! ```
//! Interpolation and other scales are not formulas here.

use crate::definition::cx::{axes, long};
use crate::definition::{Cx, Definition, Expr, Index};

/// Repeats elements if each scale is an integer and matches the sizes.
fn repeated(cx: &Cx<'_>, scales: &[Option<f64>]) -> Option<Definition> {
    let (dims, out) = (cx.input(0)?.dims, cx.out()?.dims);
    if dims.len() != out.len() || dims.len() != scales.len() {
        return None;
    }
    let index = |(i, scale): (usize, &Option<f64>)| {
        let whole = out[i].checked_div(dims[i]).filter(|n| *n > 0 && dims[i] * n == out[i])?;
        // A size adds no information to the shapes.
        let is_whole = scale.is_none_or(|scale| scale == whole as f64);
        (is_whole && out[i] < MAX_EXACT).then(|| Some(Index::of(i).div(long(whole)?)))?
    };
    let load = scales.iter().enumerate().map(index).collect::<Option<_>>()?;
    cx.element(Expr::Load(0, load))
}

/// Axes are shorter than this, so that coordinates are exact in single floats, which old versions use.
const MAX_EXACT: usize = 1 << 22;

fn floats(cx: &Cx<'_>, input: usize) -> Option<Option<Vec<f64>>> {
    let Some(input) = cx.input(input) else { return Some(None) };
    let numbers: Vec<f64> = input.value?.numbers.iter().map(|n| n.as_float()).collect();
    Some(Some(numbers).filter(|numbers| !numbers.is_empty()))
}

pub(super) fn upsample(cx: &Cx<'_>) -> Option<Definition> {
    if cx.attributes.string("mode")? != "nearest" || cx.since() < 7 {
        return None;
    }
    let scales = floats(cx, 1)?.or_else(|| cx.attributes.floats("scales"))?;
    repeated(cx, &scales.into_iter().map(Some).collect::<Vec<_>>())
}

pub(super) fn resize(cx: &Cx<'_>) -> Option<Definition> {
    let text = |name: &str| cx.attributes.string(name);
    if text("mode").is_some_and(|mode| mode != "nearest") {
        return None;
    }
    let rank = cx.input(0)?.dims.len();
    if cx.since() < 11 {
        return repeated(cx, &floats(cx, 1)??.into_iter().map(Some).collect::<Vec<_>>());
    }
    // Whether the coordinate of each element is inside its source element, and rounded to it.
    let coordinates = text("coordinate_transformation_mode").unwrap_or_else(|| "half_pixel".into());
    let is_nearest = matches!(
        (&*coordinates, text("nearest_mode").as_deref()),
        ("half_pixel" | "pytorch_half_pixel", Some("round_prefer_floor" | "round_prefer_ceil") | None)
            | ("asymmetric", Some("floor"))
    );
    let policy = text("keep_aspect_ratio_policy").unwrap_or_default();
    if !is_nearest || !matches!(&*policy, "" | "stretch") {
        return None;
    }
    let given = match (floats(cx, 3)?, floats(cx, 2)?) {
        (Some(sizes), _) => vec![None; sizes.len()],
        (None, Some(scales)) => scales.into_iter().map(Some).collect(),
        (None, None) => return None,
    };
    let mut scales = vec![None; rank];
    match cx.attributes.ints("axes") {
        None => scales = given,
        Some(list) => {
            let list = axes(list, rank)?;
            if list.len() != given.len() {
                return None;
            }
            for (axis, scale) in list.into_iter().zip(given) {
                scales[axis] = scale;
            }
        }
    }
    repeated(cx, &scales)
}
