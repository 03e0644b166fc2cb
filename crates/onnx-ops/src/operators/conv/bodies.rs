//! The function body of `CausalConvWithState`.

use crate::bodies::draft::Draft;
use crate::bodies::site::CallSite;
use onnx_ir::ElemType;

/// A causal convolution of each channel; the last inputs are the next state.
pub(super) fn causal_convolution(site: &CallSite<'_>) -> Option<Draft> {
    let mut draft = Draft::new();
    draft.extent("kernel", "weight", 2);
    draft.list("one", &[1]);
    draft.add("back = Sub (kernel, one)");
    if site.has_input(3) {
        draft.add("past = Identity (past_state)");
    } else {
        draft.extents("rows", "input", 0, 2);
        draft.add("past_shape = Concat <axis = 0> (rows, back)");
        draft.add("zeros = ConstantOfShape (past_shape)");
        draft.add("past = CastLike (zeros, input)");
    }
    draft.add("all = Concat <axis = 2> (past, input)");
    draft.extent("length", "input", 2);
    let bias = if site.has_input(2) { ", bias" } else { "" };
    match site.extent(1, 0).or_else(|| site.extent(0, 1)) {
        Some(channels) => {
            draft.add(format_args!("plain = Conv <group = {channels}> (all, weight{bias})"));
        }
        None => windows(&mut draft, site.has_input(2)),
    }
    match &*site.string("activation")? {
        "none" => draft.add("output = Identity (plain)"),
        "silu" | "swish" => {
            draft.add("gate = Sigmoid (plain)");
            draft.add("output = Mul (plain, gate)");
        }
        _ => return None,
    }
    if site.output_count() > 1 {
        draft.list("end", &[i64::MAX]);
        draft.list("positions", &[2]);
        draft.add("present_state = Slice (all, length, end, positions)");
    }
    Some(draft)
}

/// The convolution for an unknown number of channels, which `Conv` needs as an attribute: each position with its window.
fn windows(draft: &mut Draft, has_bias: bool) {
    draft.scalar("begin", ElemType::INT64, 0);
    draft.scalar("step", ElemType::INT64, 1);
    draft.list("scalar", &[]);
    for (name, of) in [("place", "length"), ("offset", "kernel")] {
        draft.add(format_args!("{name}_end = Reshape ({of}, scalar)"));
        draft.add(format_args!("{name} = Range (begin, {name}_end, step)"));
    }
    draft.add("place_column = Unsqueeze (place, one)");
    draft.add("window = Add (place_column, offset)");
    draft.add("seen = Gather <axis = 2> (all, window)");
    draft.add("weighted = Mul (seen, weight)");
    draft.list("over_window", &[-1]);
    draft.add("sums = ReduceSum <keepdims = 0> (weighted, over_window)");
    if has_bias {
        draft.add("bias_column = Unsqueeze (bias, one)");
        draft.add("plain = Add (sums, bias_column)");
    } else {
        draft.add("plain = Identity (sums)");
    }
}
