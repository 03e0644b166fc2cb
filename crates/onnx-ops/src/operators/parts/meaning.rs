//! Parts of tensors.

use crate::definition::cx::{axes, axis, long};
use crate::definition::{Binary, Cx, Definition, Expr, Formula, Index, Number};
use onnx_formula::is_float;

pub(super) fn slice(cx: &Cx<'_>) -> Option<Definition> {
    let dims = cx.input(0)?.dims;
    let starts = cx.ints(1, "starts")??;
    let axes = match cx.ints(3, "axes")? {
        Some(list) => axes(list, dims.len())?,
        None => (0..starts.len()).collect(),
    };
    let steps = cx.ints(4, "steps")?.unwrap_or_else(|| vec![1; starts.len()]);
    let mut load: Vec<Index> = (0..dims.len()).map(Index::of).collect();
    for ((&start, &along), &step) in starts.iter().zip(&axes).zip(&steps) {
        let d = long(*dims.get(along)?)?;
        let start = if start < 0 { start.saturating_add(d) } else { start };
        let start = if step < 0 { start.clamp(0, (d - 1).max(0)) } else { start.clamp(0, d) };
        load[along] = Index::Affine(start, vec![(along, step)]);
    }
    cx.element(Expr::Load(0, load))
}

/// Consecutive parts along an axis: of given sizes, or of equal size except the last.
pub(super) fn split(cx: &Cx<'_>) -> Option<Definition> {
    let input = cx.input(0)?;
    let along = axis(cx.attributes.int("axis").unwrap_or(0), input.dims.len())?;
    let extent = long(input.dims[along])?;
    let sizes = match cx.ints(1, "split")? {
        Some(sizes) if !sizes.is_empty() => sizes,
        Some(_) | None => {
            let parts = cx.attributes.int("num_outputs").or(long(cx.outputs.len())).filter(|n| *n > 0)?;
            let size = extent.checked_add(parts - 1)? / parts;
            let part = |i: i64| (extent - i.saturating_mul(size)).clamp(0, size);
            (0..long(cx.outputs.len())?).map(part).collect()
        }
    };
    let (mut formulas, mut outputs, mut start) = (Vec::new(), Vec::new(), 0i64);
    for (i, output) in cx.outputs.iter().enumerate() {
        let size = *sizes.get(i)?;
        outputs.push(output.map(|_| formulas.len()));
        if let Some(output) = output {
            let mut load: Vec<Index> = (0..input.dims.len()).map(Index::of).collect();
            load[along] = Index::Affine(start, vec![(along, 1)]);
            let (elem, dims) = (output.elem, output.dims.to_vec());
            formulas.push(Formula { elem, dims, over: None, expr: Expr::Load(0, load), then: None });
        }
        start = start.checked_add(size)?;
    }
    Some(Definition { formulas, inputs: cx.inputs.len(), outputs })
}

/// Pads with a constant, or with elements selected by `mode`. Negative padding crops.
pub(super) fn pad(cx: &Cx<'_>) -> Option<Definition> {
    let (out, dims) = (cx.out()?, cx.input(0)?.dims);
    let pads = match cx.ints(1, "pads")? {
        Some(pads) => pads,
        None => cx.attributes.ints("paddings")?,
    };
    let axes = match cx.input(3) {
        Some(list) => axes(list.value?.ints()?, dims.len())?,
        None => (0..dims.len()).collect(),
    };
    // The padding before each axis, from one form of the operator or another.
    let mut begin = vec![0; dims.len()];
    for (i, axis) in axes.iter().enumerate() {
        begin[*axis] = *pads.get(i)?;
    }
    if pads.len() != axes.len() * 2 || begin.iter().any(|b| b.unsigned_abs() > 1 << 40) {
        return None;
    }
    // Pieces that are copied, where there are few.
    let mode = cx.attributes.string("mode")?;
    if &*mode != "constant"
        && let Some(expr) = pieces(&mode, &begin, dims, out.dims)
    {
        return cx.element(expr);
    }
    // Otherwise a position that is computed, or that has conditions.
    let (mut load, mut conditions) = (Vec::new(), Vec::new());
    for (axis, (d, begin)) in dims.iter().zip(begin).enumerate() {
        let (d, last) = (long(*d)?, long(*out.dims.get(axis)?)? - 1 - begin);
        let at = Index::Affine(-begin, vec![(axis, 1)]);
        let is_below = begin > 0;
        let is_above = last >= d;
        if !is_below && !is_above {
            load.push(at);
            continue;
        }
        let index = |i: &Index| Expr::Index(i.clone());
        load.push(match &*mode {
            "constant" => {
                if is_below {
                    conditions.push(index(&at).binary(Binary::GreaterOrEqual, Expr::int(0)));
                }
                if is_above {
                    conditions.push(index(&at).less(Expr::int(d)));
                }
                at
            }
            "edge" => Index::Element(Box::new(index(&at).max(Expr::int(0)).min(Expr::int(d - 1)))),
            "wrap" if d > 0 => at.rem(d),
            "reflect" if d == 1 => Index::at(0),
            "reflect" if d > 1 => {
                // Back and forth.
                let period = (d - 1).checked_mul(2)?;
                let forth = at.rem(period);
                let back = Index::Sum(vec![(Index::at(period), 1), (forth.clone(), -1)]);
                Index::Element(Box::new(index(&forth).min(index(&back))))
            }
            _ => return None,
        });
    }
    let constant = match cx.input(2) {
        Some(_) => cx.scalar(2)?,
        None => match cx.attributes.float("value") {
            Some(x) if is_float(out.elem) => Expr::Number(Number::Float(x).wrap(out.elem)),
            Some(_) | None => Expr::number(out.elem, 0),
        },
    };
    cx.element(Expr::Load(0, load).guarded(Expr::all(conditions), constant))
}

/// Axes that are padded by pieces: each makes up to three pieces of those before.
const MAX_PADDED_AXES: usize = 2;

/// Padding with elements of the input as pieces at affine positions, which are copied; `None` where one axis has more pieces than a border at
/// each side and the input between them, or too many axes are padded.
///
/// ```text
/// x[2 - i0] if i0 < 2 else x[i0 - 2] if i0 < 2 + d else x[d + d - i0]       reflect
/// ```
fn pieces(mode: &str, begin: &[i64], dims: &[usize], padded: &[usize]) -> Option<Expr> {
    if dims.iter().any(|d| *d > 1 << 60) {
        return None;
    }
    let mut load: Vec<Index> = (0..dims.len()).map(Index::of).collect();
    // The pieces of each padded axis: where each ends, and where it reads.
    let mut axes = Vec::new();
    for (axis, (&begin, (&d, &to))) in begin.iter().zip(dims.iter().zip(padded)).enumerate() {
        let (d, to) = (long(d)?, long(to)?);
        let (before, after) = (begin.max(0), (to - begin - d).max(0));
        let affine = |first: i64, by: i64| Index::Affine(first, vec![(axis, by)]);
        let middle = affine(-begin, 1);
        if before == 0 && after == 0 {
            load[axis] = middle;
            continue;
        }
        let (most, [first, last]) = match mode {
            "edge" => (i64::MAX, [Index::at(0), Index::at(d - 1)]),
            "wrap" => (d, [affine(d - begin, 1), affine(-begin - d, 1)]),
            "reflect" => (d - 1, [affine(begin, -1), affine(begin + 2 * (d - 1), -1)]),
            _ => return None,
        };
        let is_cut = before >= to || after >= to;
        if d < 1 || before > most || after > most || is_cut || axes.len() == MAX_PADDED_AXES {
            return None;
        }
        let first = (before > 0).then_some((begin, first));
        let last = (after > 0).then_some((i64::MAX, last));
        axes.push((axis, first.into_iter().chain([(begin + d, middle)]).chain(last).collect()));
    }
    Some(of_pieces(&mut load, &axes))
}

/// The element at a position in pieces of some axes.
fn of_pieces(load: &mut Vec<Index>, axes: &[(usize, Vec<(i64, Index)>)]) -> Expr {
    let [(axis, pieces), rest @ ..] = axes else { return Expr::Load(0, load.clone()) };
    let mut all = None;
    for (end, index) in pieces.iter().rev() {
        load[*axis] = index.clone();
        let piece = of_pieces(load, rest);
        all = Some(match all {
            None => piece,
            Some(later) => piece.if_else(Expr::Index(Index::of(*axis)).less(Expr::int(*end)), later),
        });
    }
    all.unwrap_or_else(|| Expr::Load(0, load.clone()))
}
