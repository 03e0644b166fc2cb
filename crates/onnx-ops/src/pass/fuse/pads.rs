//! Folds a `Pad` into the padding of the following `Conv` or pooling operator.
//!
//! ```text
//! before:  a = Pad(x, pads)     y = Conv(a, w)               # int64[8] pads = {0, 0, 1, 1, 0, 0, 1, 1}
//! after:   y = Conv <pads = [1, 1, 1, 1]> (x, w)
//! ```
//!
//! The `Pad` must add zeros, on spatial axes only. An `AveragePool` must then count padding. Padding of `MaxPool` is minus
//! infinity, so its input must not be negative.

use super::site::FuseSite;
use crate::infer::Elem;
use onnx_ir::{AttrValue, NodeId, ValueId};

/// Since this version, the pads are an input.
const PADS_ARE_INPUT: i64 = 11;
/// Since this version, `AveragePool` can count padding.
const COUNTS_PADS: i64 = 7;

pub(super) fn fuse(site: &mut FuseSite<'_>, node: NodeId) -> Option<()> {
    let op = site.op(node).filter(|op| matches!(*op, "Conv" | "AveragePool" | "MaxPool"))?.to_owned();
    let between = site.input(node, 0)?;
    site.result(node)?;
    let first = site.producer(between, node).filter(|first| site.is_op(*first, "Pad"))?;
    if site.version < COUNTS_PADS || !site.is_read_by(between, node) {
        return None;
    }
    let x = site.input(first, 0)?;
    let rank = site.shape(x)?.len();
    let (begin, end) = filled(site, first, rank)?;
    let spatial = rank.checked_sub(2).filter(|n| *n > 0)?;
    let old = match site.text_attr(node, "auto_pad", "NOTSET")?.as_str() {
        "NOTSET" if site.attr(node, "pads").is_some() => site.ints_attr(node, "pads")?,
        "NOTSET" | "VALID" => vec![0; 2 * spatial],
        _ => return None,
    };
    let old = (old.len() == 2 * spatial).then_some(old)?;
    let new: Vec<i64> = (begin.iter().skip(2).chain(end.iter().skip(2)).zip(&old))
        .map(|(more, old)| more.checked_add(*old))
        .collect::<Option<_>>()?;
    let mut attrs = site.attrs_without(node, &["pads", "auto_pad", "count_include_pad"]);
    match op.as_str() {
        "Conv" => {}
        "AveragePool" => {
            let counts = site.int_attr(node, "count_include_pad", 0)? != 0;
            let is_first = old.iter().all(|pad| *pad == 0);
            if site.int_attr(node, "ceil_mode", 0)? != 0 || !(counts || is_first) {
                return None;
            }
            reaches(site, node, &new)?;
            attrs.push(site.new_attr("count_include_pad", AttrValue::Int(1)));
        }
        _ => {
            let is_rounded_down = site.int_attr(node, "ceil_mode", 0)? == 0;
            let is_dense = site.ints_attr(node, "dilations").is_none_or(|all| all.iter().all(|d| *d == 1));
            if !is_rounded_down || !is_dense || !is_never_negative(site, x, node) {
                return None;
            }
            reaches(site, node, &new)?;
        }
    }
    attrs.push(site.new_attr("pads", AttrValue::Ints(new.into())));
    let inputs: Vec<Option<ValueId>> =
        std::iter::once(Some(x)).chain(site.node(node).inputs.iter().skip(1).copied()).collect();
    site.become_op(node, &op, &inputs, attrs);
    site.absorb(node, first);
    Some(())
}

/// The padding of a `Pad`, if it is constant, adds only zeros, and leaves batch and channels unchanged.
fn filled(site: &FuseSite<'_>, pad: NodeId, rank: usize) -> Option<(Vec<i64>, Vec<i64>)> {
    if site.text_attr(pad, "mode", "constant")? != "constant" {
        return None;
    }
    let (pads, axes) = if site.version >= PADS_ARE_INPUT {
        let is_zero = |value: ValueId| {
            let elem = site.elems(value).and_then(crate::infer::SmallTensor::single);
            elem.and_then(Elem::number) == Some(0.0)
        };
        if site.input(pad, 2).is_some_and(|value| !is_zero(value)) {
            return None;
        }
        let axes = match site.input(pad, 3) {
            Some(axes) => Some(site.ints(axes)?),
            None => None,
        };
        (site.ints(site.input(pad, 1)?)?.to_vec(), axes)
    } else {
        if site.float_attr(pad, "value", 0.0)? != 0.0 {
            return None;
        }
        (site.ints_attr(pad, "pads")?, None)
    };
    let axes: Vec<usize> = match axes {
        None => (0..rank).collect(),
        Some(axes) => {
            let size = i64::try_from(rank).ok()?;
            let axis = |axis: &i64| {
                let from_start = if *axis < 0 { axis.checked_add(size)? } else { *axis };
                usize::try_from(from_start).ok().filter(|axis| *axis < rank)
            };
            axes.iter().map(axis).collect::<Option<_>>()?
        }
    };
    if pads.len() != 2 * axes.len() || pads.iter().any(|pad| *pad < 0) {
        return None;
    }
    let (mut begin, mut end) = (vec![0; rank], vec![0; rank]);
    for (i, axis) in axes.iter().enumerate() {
        (begin[*axis], end[*axis]) = (pads[i], pads[axes.len() + i]);
    }
    let is_spatial = begin.iter().take(2).chain(end.iter().take(2)).all(|pad| *pad == 0);
    is_spatial.then_some((begin, end))
}

/// Whether every window includes an element outside the padding, as runtimes require.
fn reaches(site: &FuseSite<'_>, node: NodeId, pads: &[i64]) -> Option<()> {
    let kernel = site.ints_attr(node, "kernel_shape")?;
    let fits = kernel.len() * 2 == pads.len()
        && pads.iter().zip(kernel.iter().chain(&kernel)).all(|(pad, extent)| pad < extent);
    fits.then_some(())
}

/// Whether no element of a value is negative.
fn is_never_negative(site: &FuseSite<'_>, value: ValueId, reader: NodeId) -> bool {
    let Some(node) = site.producer(value, reader) else { return false };
    match site.op(node) {
        Some("Relu" | "Sigmoid" | "HardSigmoid" | "Softmax" | "Exp" | "Sqrt") => true,
        Some("Clip") => {
            let least = match site.input(node, 1) {
                Some(least) => {
                    site.elems(least).and_then(crate::infer::SmallTensor::single).and_then(Elem::number)
                }
                None => site.float_attr(node, "min", f32::MIN).map(f64::from),
            };
            least.is_some_and(|least| least >= 0.0)
        }
        _ => false,
    }
}
