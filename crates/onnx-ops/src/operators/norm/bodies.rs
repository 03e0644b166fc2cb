//! Function bodies of normalizations.

use crate::bodies::draft::{Draft, number};
use crate::bodies::site::CallSite;
use onnx_ir::ElemType;

/// Since this version, reductions have axes as an input (`ReduceSum` since 13).
pub(crate) const AXES_ARE_INPUTS: i64 = 18;

/// The axes from `axis` to the last, as negative numbers.
fn last_axes(site: &CallSite<'_>) -> Option<Vec<i64>> {
    let axis = site.int("axis")?;
    let first = if axis < 0 { axis } else { axis - i64::try_from(site.rank(0)?).ok()? };
    // No tensor has more axes.
    (-64..0).contains(&first).then(|| (first..0).collect())
}

fn mean(draft: &mut Draft, site: &CallSite<'_>, name: &str, of: &str, axes: &[i64]) {
    let is_input = site.version >= AXES_ARE_INPUTS;
    draft.with_axes(&format!("{name} = ReduceMean"), (of, axes), "keepdims = 1", is_input);
}

/// The attribute `epsilon` in the type of the computation.
fn epsilon(draft: &mut Draft, site: &CallSite<'_>, elem: ElemType) -> Option<()> {
    let epsilon = site.float("epsilon")?;
    draft.scalar("epsilon", elem, number(epsilon, elem));
    Some(())
}

pub(super) fn layer_normalization(site: &CallSite<'_>) -> Option<Draft> {
    let axes = last_axes(site)?;
    let stash = site.elem_attr("stash_type")?;
    let mut draft = Draft::new();
    draft.add(format_args!("x = Cast <to = {}> (X)", stash.0));
    mean(&mut draft, site, "average", "x", &axes);
    draft.add("deviation = Sub (x, average)");
    draft.add("square = Mul (deviation, deviation)");
    mean(&mut draft, site, "variance", "square", &axes);
    epsilon(&mut draft, site, stash)?;
    draft.add("more = Add (variance, epsilon)");
    draft.add("root = Sqrt (more)");
    draft.add("inverse = Reciprocal (root)");
    draft.add("normal = Mul (deviation, inverse)");
    draft.add("normalized = CastLike (normal, X)");
    if site.has_input(2) {
        draft.add("scaled = Mul (normalized, Scale)");
        draft.add("Y = Add (scaled, B)");
    } else {
        draft.add("Y = Mul (normalized, Scale)");
    }
    for (i, line) in ["Mean = Identity (average)", "InvStdDev = Identity (inverse)"].iter().enumerate() {
        if site.output_count() > i + 1 {
            draft.add(line);
        }
    }
    Some(draft)
}

pub(super) fn rms_normalization(site: &CallSite<'_>) -> Option<Draft> {
    let axes = last_axes(site)?;
    let stash = site.elem_attr("stash_type")?;
    let mut draft = Draft::new();
    draft.add(format_args!("x = Cast <to = {}> (X)", stash.0));
    draft.add("square = Mul (x, x)");
    mean(&mut draft, site, "average", "square", &axes);
    epsilon(&mut draft, site, stash)?;
    draft.add("more = Add (average, epsilon)");
    draft.add("root = Sqrt (more)");
    draft.add("normal = Div (x, root)");
    draft.add("normalized = CastLike (normal, scale)");
    draft.add("Y = Mul (normalized, scale)");
    Some(draft)
}

/// Each group of channels is a row. Up to version 20, there is a scale per group and no `stash_type`; since 21, there is one per
/// channel.
pub(super) fn group_normalization(site: &CallSite<'_>) -> Option<Draft> {
    let groups = site.int("num_groups")?;
    let is_by_channel = site.schema.since >= 21;
    let stash = if is_by_channel { site.elem_attr("stash_type")? } else { site.elem(0)? };
    let mut draft = Draft::new();
    draft.add("shape = Shape (X)");
    draft.list("rows", &[0, groups, -1]);
    draft.add("grouped = Reshape (X, rows)");
    if is_by_channel {
        draft.add(format_args!("x = Cast <to = {}> (grouped)", stash.0));
    } else {
        draft.add("x = Identity (grouped)");
    }
    mean(&mut draft, site, "average", "x", &[2]);
    draft.add("deviation = Sub (x, average)");
    draft.add("square = Mul (deviation, deviation)");
    mean(&mut draft, site, "variance", "square", &[2]);
    epsilon(&mut draft, site, stash)?;
    draft.add("more = Add (variance, epsilon)");
    draft.add("root = Sqrt (more)");
    draft.add("normal = Div (deviation, root)");
    draft.list("last", &[1]);
    draft.add("factor = Unsqueeze (scale, last)");
    draft.add("term = Unsqueeze (bias, last)");
    if is_by_channel {
        draft.add("normalized = CastLike (normal, X)");
        draft.extents("channels", "X", 0, 2);
        draft.list("rest", &[-1]);
        draft.add("by_channel = Concat <axis = 0> (channels, rest)");
        draft.add("columns = Reshape (normalized, by_channel)");
    } else {
        draft.add("columns = Identity (normal)");
    }
    draft.add("scaled = Mul (columns, factor)");
    draft.add("shifted = Add (scaled, term)");
    draft.add("Y = Reshape (shifted, shape)");
    Some(draft)
}

/// The deviation from the mean, divided by the standard deviation. Before it had axes, it could be without the division.
pub(super) fn mean_variance_normalization(site: &CallSite<'_>) -> Option<Draft> {
    let elem = site.elem(0)?;
    let mut draft = Draft::new();
    let is_old = site.schema.since < 9;
    let axes = match is_old {
        false => site.ints("axes")?,
        true => {
            let is_across = site.int("across_channels")? != 0;
            (0..i64::try_from(site.rank(0)?).ok()?).filter(|axis| is_across || *axis != 1).collect()
        }
    };
    if is_old {
        draft.rename(vec!["X".to_owned()], vec!["Y".to_owned()]);
    }
    mean(&mut draft, site, "average", "X", &axes);
    draft.add("deviation = Sub (X, average)");
    if is_old && site.int("normalize_variance")? == 0 {
        draft.add("Y = Identity (deviation)");
        return Some(draft);
    }
    draft.add("square = Mul (deviation, deviation)");
    mean(&mut draft, site, "variance", "square", &axes);
    draft.add("root = Sqrt (variance)");
    draft.scalar("epsilon", elem, "1e-9");
    draft.add("divisor = Add (root, epsilon)");
    draft.add("Y = Div (deviation, divisor)");
    Some(draft)
}
