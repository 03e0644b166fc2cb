//! Folds a per-channel operation into the weights of the preceding linear operator.
//!
//! ```text
//! before:  a = Conv(x, w)     y = BatchNormalization(a, scale, b, mean, var)
//! after:   y = Conv(x, w', b')     # w' = w * s, b' = b - mean * s, with s = scale / sqrt(var + epsilon)
//! ```
//!
//! The first is `Conv`, `ConvTranspose`, `Gemm` or `MatMul` with constant weights that have no other reader. The second is a
//! `BatchNormalization` in inference mode, or `Add`, `Sub`, `Mul` or `Div` with a constant scalar or one number per channel.
//! Factors are computed in double precision and rounded once.

use super::site::FuseSite;
use super::weights::{Floats, vector};
use onnx_ir::{NodeId, ValueId};

/// Since this version, arithmetic broadcasts as NumPy does, and the number of outputs determines whether `BatchNormalization`
/// trains.
const BROADCASTS: i64 = 7;
/// Since this version, an attribute determines that.
const TRAINS_BY_ATTRIBUTE: i64 = 14;
/// Before this version, a `BatchNormalization` may have statistics for each position.
const ALWAYS_SPATIAL: i64 = 9;

/// An operation per channel: `x * scale + shift`.
struct Affine {
    scale: Option<Vec<f64>>,
    shift: Option<Vec<f64>>,
}

/// The first of the two nodes.
struct Linear {
    op: &'static str,
    /// Channels of the result.
    channels: usize,
    /// The channel axis and the rank of the result; `None` for an unknown rank with channels last.
    axis: Option<(usize, usize)>,
}

pub(super) fn fuse(site: &mut FuseSite<'_>, node: NodeId) -> Option<()> {
    let op =
        site.op(node).filter(|op| matches!(*op, "BatchNormalization" | "Add" | "Sub" | "Mul" | "Div"))?;
    let op = op.to_owned();
    if site.version < BROADCASTS {
        return None;
    }
    site.result(node)?;
    let at = |i: usize| linear_before(site, node, site.input(node, i)?);
    // `c / f(x)` is not linear.
    let (operand, (between, first)) = match at(0) {
        Some(found) => (0, found),
        None if op == "BatchNormalization" || op == "Div" => return None,
        None => (1, at(1)?),
    };
    let linear = linear(site, first)?;
    let affine = match op.as_str() {
        "BatchNormalization" => normalization(site, node, &linear)?,
        _ => arithmetic(site, node, &op, operand, &linear)?,
    };
    if !site.is_read_by(between, node) {
        return None;
    }
    rewrite(site, node, first, &linear, &affine)
}

fn linear_before(site: &FuseSite<'_>, node: NodeId, value: ValueId) -> Option<(ValueId, NodeId)> {
    let first = site.producer(value, node)?;
    linear_name(site.op(first)?).map(|_| (value, first))
}

fn linear_name(op: &str) -> Option<&'static str> {
    ["Conv", "ConvTranspose", "Gemm", "MatMul"].into_iter().find(|name| *name == op)
}

/// The first node, if its weights can be changed.
fn linear(site: &FuseSite<'_>, first: NodeId) -> Option<Linear> {
    let op = linear_name(site.op(first)?)?;
    let weights = site.input(first, 1)?;
    let dims: Vec<usize> =
        site.tensor(weights)?.dims.iter().map(|d| usize::try_from(*d).ok()).collect::<Option<_>>()?;
    // Weights with other readers would be stored twice.
    if site.reads(weights) > 1 {
        return None;
    }
    let rank = dims.len();
    let (channels, axis) = match (op, &dims[..]) {
        ("Conv", [out, _, _, ..]) => (*out, Some((1, rank))),
        ("ConvTranspose", [_, each, _, ..]) => {
            let groups = usize::try_from(site.int_attr(first, "group", 1)?).ok()?;
            (each.checked_mul(groups)?, Some((1, rank)))
        }
        ("Gemm", [rows, columns]) => {
            let is_turned = site.int_attr(first, "transB", 0)? != 0;
            (if is_turned { *rows } else { *columns }, Some((1, 2)))
        }
        ("MatMul", [_, columns]) => {
            let rank = site.input(first, 0).and_then(|x| site.shape(x)).map(<[_]>::len);
            (*columns, rank.map(|rank| Some((rank.checked_sub(1)?, rank))).unwrap_or_default())
        }
        _ => return None,
    };
    Some(Linear { op, channels, axis })
}

/// The numbers of a constant, one per channel.
fn per_channel(site: &FuseSite<'_>, value: ValueId, channels: usize) -> Option<Vec<f64>> {
    let floats = Floats::of(site.tensor(value)?)?;
    let list: Vec<f64> = (floats.len() == channels).then(|| floats.iter().collect())?;
    list.iter().all(|x| x.is_finite()).then_some(list)
}

fn normalization(site: &FuseSite<'_>, node: NodeId, linear: &Linear) -> Option<Affine> {
    let trains = site.version >= TRAINS_BY_ATTRIBUTE && site.int_attr(node, "training_mode", 0)? != 0;
    let is_spatial = site.version >= ALWAYS_SPATIAL || site.int_attr(node, "spatial", 1)? != 0;
    let is_at_channels = linear.axis.is_some_and(|(axis, _)| axis == 1);
    let is_alone = site.node(node).outputs.len() == 1;
    if trains || !is_spatial || !is_at_channels || !is_alone {
        return None;
    }
    let list = |i: usize| per_channel(site, site.input(node, i)?, linear.channels);
    let (gamma, beta, mean, var) = (list(1)?, list(2)?, list(3)?, list(4)?);
    let epsilon = f64::from(site.float_attr(node, "epsilon", 1e-5)?);
    let scale: Vec<f64> = gamma.iter().zip(&var).map(|(gamma, var)| gamma / (var + epsilon).sqrt()).collect();
    let shift = beta.iter().zip(&mean).zip(&scale).map(|((beta, mean), scale)| beta - mean * scale).collect();
    scale.iter().all(|s| s.is_finite()).then_some(Affine { scale: Some(scale), shift: Some(shift) })
}

fn arithmetic(
    site: &FuseSite<'_>,
    node: NodeId,
    op: &str,
    operand: usize,
    linear: &Linear,
) -> Option<Affine> {
    if site.node(node).inputs.len() != 2 {
        return None;
    }
    let other = site.input(node, 1 - operand)?;
    let dims = &site.tensor(other)?.dims;
    let is_one_or = |n: i64, channels: bool| n == 1 || channels && usize::try_from(n) == Ok(linear.channels);
    let fits = match linear.axis {
        // Aligned with the last axis.
        Some((axis, rank)) => {
            dims.len() <= rank
                && dims.iter().rev().enumerate().all(|(i, n)| is_one_or(*n, rank - 1 - i == axis))
        }
        None => dims.len() <= 1 && dims.iter().all(|n| is_one_or(*n, true)),
    };
    let count = Floats::of(site.tensor(other)?)?.len();
    let mut list = per_channel(site, other, count).filter(|_| fits)?;
    if list.len() == 1 {
        list = vec![list[0]; linear.channels];
    }
    if list.len() != linear.channels {
        return None;
    }
    // A matrix product has no bias: it becomes a `Gemm`, if possible.
    let has_shift = matches!(op, "Add" | "Sub");
    if has_shift && linear.op == "MatMul" {
        return None;
    }
    let each = |f: fn(f64) -> f64| Some(list.iter().map(|x| f(*x)).collect::<Vec<f64>>());
    Some(match (op, operand) {
        ("Add", _) => Affine { scale: None, shift: each(|x| x) },
        ("Sub", 0) => Affine { scale: None, shift: each(|x| -x) },
        ("Sub", _) => Affine { scale: each(|_| -1.0), shift: each(|x| x) },
        ("Mul", _) => Affine { scale: each(|x| x), shift: None },
        ("Div", _) if list.iter().all(|x| *x != 0.0 && (1.0 / x).is_finite()) => {
            Affine { scale: each(|x| 1.0 / x), shift: None }
        }
        _ => return None,
    })
}

/// Replaces both nodes by the second.
fn rewrite(
    site: &mut FuseSite<'_>,
    node: NodeId,
    first: NodeId,
    linear: &Linear,
    affine: &Affine,
) -> Option<()> {
    let (x, weights, bias) = (site.input(first, 0)?, site.input(first, 1)?, site.input(first, 2));
    let stored = site.tensor(weights)?;
    let elem = stored.elem?;
    if site.ty(x).elem().is_some_and(|of_x| of_x != elem) {
        return None;
    }
    let new_weights = match &affine.scale {
        None => None,
        Some(scale) => Some(Floats::of(stored)?.times(channel_of(site, first, linear, scale)?, stored)?),
    };
    let beta = match linear.op {
        "Gemm" => f64::from(site.float_attr(first, "beta", 1.0)?),
        _ => 1.0,
    };
    let old: Option<Vec<f64>> = match bias {
        None => None,
        Some(bias) => Some(bias_of(site, bias, linear, beta)?),
    };
    let scaled = old.map(|old| match &affine.scale {
        Some(scale) => old.iter().zip(scale).map(|(b, s)| b * s).collect::<Vec<f64>>(),
        None => old,
    });
    let new_bias = match (scaled, &affine.shift) {
        (Some(scaled), Some(shift)) => Some(scaled.iter().zip(shift).map(|(a, b)| a + b).collect()),
        (Some(scaled), None) => Some(scaled),
        (None, Some(shift)) => Some(shift.clone()),
        (None, None) => None,
    };
    let new_bias = match new_bias {
        Some(list) => Some(vector(elem, &list)?),
        None => None,
    };
    // A product with a bias must be one of matrices.
    let is_gemm = linear.op == "MatMul" && new_bias.is_some();
    if is_gemm && linear.axis != Some((1, 2)) {
        return None;
    }
    let weights = match new_weights {
        Some(tensor) => site.constant(node, Some(weights), tensor),
        None => weights,
    };
    let stem = bias.or(site.input(first, 1));
    let bias = new_bias.map(|tensor| site.constant(node, stem, tensor));
    let attrs = site.attrs_without(first, if linear.op == "Gemm" { &["beta"] } else { &[] });
    let op = if is_gemm { "Gemm" } else { linear.op };
    site.become_op(node, op, &[Some(x), Some(weights), bias], attrs);
    site.take_name(node, first);
    site.absorb(node, first);
    Some(())
}

/// The factor for an element of the weights, by its index.
fn channel_of<'s>(
    site: &FuseSite<'_>,
    first: NodeId,
    linear: &Linear,
    scale: &'s [f64],
) -> Option<Box<dyn Fn(usize) -> f64 + 's>> {
    let dims: Vec<usize> = (site.tensor(site.input(first, 1)?)?.dims.iter())
        .map(|d| usize::try_from(*d).ok())
        .collect::<Option<_>>()?;
    let inner: usize = dims.iter().skip(1).product();
    match linear.op {
        "Conv" => Some(Box::new(move |i| scale[i / inner])),
        "ConvTranspose" => {
            let groups = usize::try_from(site.int_attr(first, "group", 1)?).ok().filter(|n| *n > 0)?;
            let (rows, each) = (dims[0], dims[1]);
            let per_group = (rows % groups == 0).then_some(rows / groups).filter(|n| *n > 0)?;
            let kernel = inner.checked_div(each)?;
            Some(Box::new(move |i| scale[(i / inner) / per_group * each + i / kernel % each]))
        }
        "Gemm" if site.int_attr(first, "transB", 0)? != 0 => Some(Box::new(move |i| scale[i / inner])),
        _ => Some(Box::new(move |i| scale[i % inner])),
    }
}

/// A constant bias, one number per channel.
fn bias_of(site: &FuseSite<'_>, bias: ValueId, linear: &Linear, beta: f64) -> Option<Vec<f64>> {
    let tensor = site.tensor(bias)?;
    let floats = Floats::of(tensor)?;
    // The bias of a Gemm may be a row, a number, a matrix or a column; the last two are not per channel.
    let is_row = tensor.dims.iter().rev().skip(1).all(|n| *n == 1);
    let list: Vec<f64> = match floats.len() {
        n if n == linear.channels && is_row => floats.iter().map(|b| b * beta).collect(),
        1 => vec![floats.iter().next()? * beta; linear.channels],
        _ => return None,
    };
    list.iter().all(|b| b.is_finite()).then_some(list)
}
