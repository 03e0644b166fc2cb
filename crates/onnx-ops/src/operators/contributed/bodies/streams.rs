//! Operators on parallel residual streams (hyper-connections), and gated normalizations. Everything is computed in `float`.

use crate::bodies::draft::{Draft, number};
use crate::bodies::site::CallSite;
use onnx_ir::ElemType;

/// Adds `all`, the streams as `[…, branches, size]`, `outer`, the sizes of the axes before these, and `count`, the number of branches.
/// Streams may be flattened to one axis.
fn branches(draft: &mut Draft, site: &CallSite<'_>, input: &str) -> Option<()> {
    let count = site.int("num_branches")?;
    draft.add(format_args!("wide = Cast <to = 1> ({input})"));
    draft.list("rest", &[-1]);
    if count > 0 {
        draft.extents("outer", input, 0, -1);
        draft.list("count", &[count]);
        draft.add("apart = Concat <axis = 0> (outer, count, rest)");
        draft.add("all = Reshape (wide, apart)");
    } else {
        draft.extents("outer", input, 0, -2);
        draft.extents("count", input, -2, -1);
        draft.add("all = Identity (wide)");
    }
    Some(())
}

/// Adds `{x}_normal`: `x` divided by its root mean square along the last axis.
fn normalize(draft: &mut Draft, site: &CallSite<'_>, x: &str) -> Option<()> {
    draft.list(&format!("{x}_axis"), &[-1]);
    draft.scalar(&format!("{x}_epsilon"), ElemType::FLOAT, number(site.float("epsilon")?, ElemType::FLOAT));
    draft.add(format_args!("{x}_squares = Mul ({x}, {x})"));
    draft.add(format_args!("{x}_mean = ReduceMean <keepdims = 1> ({x}_squares, {x}_axis)"));
    draft.add(format_args!("{x}_sum = Add ({x}_mean, {x}_epsilon)"));
    draft.add(format_args!("{x}_root = Sqrt ({x}_sum)"));
    draft.add(format_args!("{x}_normal = Div ({x}, {x}_root)"));
    Some(())
}

/// Each branch is normalized; the scale is that of all branches, or of each.
pub(in crate::operators::contributed) fn branchwise_normalization(site: &CallSite<'_>) -> Option<Draft> {
    let mut draft = Draft::new();
    branches(&mut draft, site, "X")?;
    normalize(&mut draft, site, "all")?;
    let mut result = "all_normal";
    if site.has_input(1) {
        draft.add("scale_float = Cast <to = 1> (scale)");
        draft.extents("size", "all", -1, 0);
        draft.add("rows = Concat <axis = 0> (rest, size)");
        draft.add("scales = Reshape (scale_float, rows)");
        draft.add("scaled = Mul (all_normal, scales)");
        result = "scaled";
    }
    draft.add("shape = Shape (X)");
    draft.add(format_args!("flat = Reshape ({result}, shape)"));
    draft.add("Y = CastLike (flat, X)");
    Some(draft)
}

/// Rows have the length of the scale, of which the last axis has a multiple.
pub(in crate::operators::contributed) fn gated_normalization(site: &CallSite<'_>) -> Option<Draft> {
    let mut draft = Draft::new();
    draft.add("wide = Cast <to = 1> (X)");
    draft.list("rest", &[-1]);
    draft.add("size = Shape (scale)");
    draft.add("by_row = Concat <axis = 0> (rest, size)");
    draft.add("rows = Reshape (wide, by_row)");
    normalize(&mut draft, site, "rows")?;
    draft.add("scale_float = Cast <to = 1> (scale)");
    draft.add("scaled = Mul (rows_normal, scale_float)");
    draft.add("shape = Shape (X)");
    draft.add("normal = Reshape (scaled, shape)");
    draft.add("z = Cast <to = 1> (gate)");
    draft.add("part = Sigmoid (z)");
    match &*site.string("activation")? {
        "sigmoid" => draft.add("factor = Identity (part)"),
        "silu" | "swish" => draft.add("factor = Mul (z, part)"),
        _ => return None,
    }
    draft.add("gated = Mul (normal, factor)");
    draft.add("Y = CastLike (gated, X)");
    Some(draft)
}

/// Rounds to the type of the input after each step.
pub(in crate::operators::contributed) fn scaled_silu(site: &CallSite<'_>) -> Option<Draft> {
    let mut draft = Draft::new();
    draft.add("x = Cast <to = 1> (X)");
    if site.has_input(1) {
        draft.add("factor_float = Cast <to = 1> (scale)");
        draft.list("scalar", &[]);
        draft.add("factor = Reshape (factor_float, scalar)");
    } else {
        draft.scalar("factor", ElemType::FLOAT, number(site.float("alpha")?, ElemType::FLOAT));
    }
    draft.add("scaled = Mul (x, factor)");
    draft.add("rounded = CastLike (scaled, X)");
    draft.add("z = Cast <to = 1> (rounded)");
    draft.add("sigmoid = Sigmoid (z)");
    draft.add("rounded_sigmoid = CastLike (sigmoid, X)");
    draft.add("s = Cast <to = 1> (rounded_sigmoid)");
    draft.add("product = Mul (z, s)");
    draft.add("Y = CastLike (product, X)");
    Some(draft)
}

/// The sum of the streams, weighted by a gate for each, or for each of its elements.
pub(in crate::operators::contributed) fn pre_mix(site: &CallSite<'_>) -> Option<Draft> {
    let mut draft = Draft::new();
    branches(&mut draft, site, "streams")?;
    gates(&mut draft, "pre_mix");
    draft.add("weighted = Mul (all, gates)");
    draft.list("branch_axis", &[-2]);
    draft.add("sum = ReduceSum <keepdims = 0> (weighted, branch_axis)");
    draft.scalar("factor", ElemType::FLOAT, number(site.float("reduction_scale")?, ElemType::FLOAT));
    draft.add("scaled = Mul (sum, factor)");
    draft.add("output = CastLike (scaled, streams)");
    Some(draft)
}

/// Adds `gates`, `[…, branches, 1 or size]`.
fn gates(draft: &mut Draft, of: &str) {
    draft.add(format_args!("gates_float = Cast <to = 1> ({of})"));
    draft.add("gates_apart = Concat <axis = 0> (outer, count, rest)");
    draft.add("gates = Reshape (gates_float, gates_apart)");
}

/// Mixes the streams, and adds the output of a block to each, weighted by its gate.
pub(in crate::operators::contributed) fn post_mix(site: &CallSite<'_>) -> Option<Draft> {
    let mut draft = Draft::new();
    branches(&mut draft, site, "streams")?;
    gates(&mut draft, "post_mix");
    if site.has_input(3) {
        draft.add("matrix = Cast <to = 1> (stream_mix)");
        draft.add("mixed = Einsum <equation = \"...ck,...ch->...kh\"> (matrix, all)");
    } else {
        draft.add("mixed = Identity (all)");
    }
    draft.add("block = Cast <to = 1> (block_output)");
    draft.list("branch_axis", &[-2]);
    draft.add("row = Unsqueeze (block, branch_axis)");
    draft.add("added = Mul (gates, row)");
    draft.add("sum = Add (mixed, added)");
    draft.add("shape = Shape (streams)");
    draft.add("flat = Reshape (sum, shape)");
    draft.add("output = CastLike (flat, streams)");
    Some(draft)
}

/// The gate of each stream is how well its normalized key and query agree.
pub(in crate::operators::contributed) fn engram_gate(site: &CallSite<'_>) -> Option<Draft> {
    let mut draft = Draft::new();
    for x in ["key", "query"] {
        draft.add(format_args!("{x}_float = Cast <to = 1> ({x})"));
        normalize(&mut draft, site, &format!("{x}_float"))?;
        draft.add(format_args!("{x}_scale = Cast <to = 1> ({x}_norm_scale)"));
        draft.add(format_args!("{x}_scaled = Mul ({x}_float_normal, {x}_scale)"));
    }
    draft.list("last", &[-1]);
    draft.add("products = Mul (key_scaled, query_scaled)");
    draft.add("sum = ReduceSum <keepdims = 1> (products, last)");
    draft.extents("size", "key", -1, 0);
    draft.add("size_float = Cast <to = 1> (size)");
    draft.add("size_root = Sqrt (size_float)");
    draft.add("dot = Div (sum, size_root)");
    draft.add("sign = Sign (dot)");
    draft.add("magnitude = Abs (dot)");
    draft.scalar("least", ElemType::FLOAT, "0.000001");
    draft.add("clamped = Max (magnitude, least)");
    draft.add("root = Sqrt (clamped)");
    draft.add("signed = Mul (sign, root)");
    draft.add("gate = Sigmoid (signed)");
    draft.add("value_float = Cast <to = 1> (value)");
    draft.list("branch_axis", &[2]);
    draft.add("value_row = Unsqueeze (value_float, branch_axis)");
    draft.add("gated = Mul (gate, value_row)");
    draft.add("output = CastLike (gated, key)");
    if site.output_count() > 1 {
        normalize(&mut draft, site, "gated")?;
        draft.add("conv_scale = Cast <to = 1> (conv_norm_scale)");
        draft.add("normed = Mul (gated_normal, conv_scale)");
        draft.add("gated_value_normed = CastLike (normed, key)");
    }
    Some(draft)
}

/// The decay of `LinearAttention` and its update rate.
pub(in crate::operators::contributed) fn linear_attention_gate(site: &CallSite<'_>) -> Option<Draft> {
    let mut draft = Draft::new();
    draft.add("a_float = Cast <to = 1> (a)");
    draft.add("biased = Add (a_float, dt_bias)");
    draft.add("soft = Softplus (biased)");
    draft.add("scaled = Mul (decay_scale, soft)");
    draft.add("decay = CastLike (scaled, a)");
    if site.output_count() > 1 {
        draft.add("b_float = Cast <to = 1> (b)");
        draft.add("rate = Sigmoid (b_float)");
        draft.add("beta = CastLike (rate, b)");
    }
    Some(draft)
}
