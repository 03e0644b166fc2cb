//! The function bodies of MultiHeadAttention and QAttention (ONNX Runtime).
//!
//! Queries, keys and values are `[batch, positions, heads * size]`; or all packed in the first input; or keys and values packed
//! in the second one; or keys and values are split into heads. Masked positions get a large negative number.

use crate::bodies::draft::{Draft, number};
use crate::bodies::site::CallSite;
use onnx_ir::ElemType;

pub(in crate::operators::contributed) fn multi_head(site: &CallSite<'_>) -> Option<Draft> {
    // Beam search caches have a kernel of their own.
    if site.has_input(8) || site.has_input(9) || site.output_count() > 3 {
        return None;
    }
    let elem = site.elem(0)?;
    let heads = site.int("num_heads")?;
    let mut draft = Draft::new();
    let size = operands(&mut draft, site, heads)?;
    for (what, past) in [("key", 6), ("value", 7)] {
        if site.has_input(past) {
            draft.add(format_args!("present_{what} = Concat <axis = 2> (past_{what}, {what}_heads)"));
        } else {
            draft.add(format_args!("present_{what} = Identity ({what}_heads)"));
        }
    }
    let scale = site.float("scale").filter(|scale| *scale != 0.0).unwrap_or(1.0 / (size as f32).sqrt());
    draft.scalar("scale", elem, number(scale, elem));
    draft.add("turned = Transpose <perm = [0, 1, 3, 2]> (present_key)");
    draft.add("products = MatMul (query_heads, turned)");
    draft.add("scores_0 = Mul (products, scale)");
    let mut scores = "scores_0";
    if site.has_input(5) {
        draft.add("scores_1 = Add (scores_0, attention_bias)");
        scores = "scores_1";
    }
    if site.has_input(4) {
        padding(&mut draft, site, elem)?;
        draft.add(format_args!("scores_2 = Add ({scores}, padding)"));
        scores = "scores_2";
    }
    if site.int("unidirectional")? != 0 {
        causal(&mut draft, site, elem);
        draft.add(format_args!("scores_3 = Where (is_before, {scores}, nothing)"));
        scores = "scores_3";
    }
    draft.add(format_args!("parts = Softmax <axis = -1> ({scores})"));
    draft.add("sums = MatMul (parts, present_value)");
    draft.add("positions = Transpose <perm = [0, 2, 1, 3]> (sums)");
    draft.list("joined", &[0, 0, -1]);
    draft.add("output = Reshape (positions, joined)");
    Some(draft)
}

/// Adds `query_heads`, `key_heads` and `value_heads`, all `[batch, heads, positions, size]`; returns the size of a query.
fn operands(draft: &mut Draft, site: &CallSite<'_>, heads: i64) -> Option<i64> {
    let is_packed = !site.has_input(1);
    let size = if is_packed { site.extent(0, 4)? } else { site.extent(0, 2)? / heads.max(1) };
    draft.list("split", &[0, 0, heads, -1]);
    if is_packed {
        // [batch, positions, heads, 3, size]
        draft.list("each", &[1, 1, 1]);
        draft.add("query_5, key_5, value_5 = Split <axis = 3> (query, each)");
        draft.list("fourth", &[3]);
        for what in ["query", "key", "value"] {
            draft.add(format_args!("{what}_4 = Squeeze ({what}_5, fourth)"));
        }
    } else if !site.has_input(2) {
        // [batch, positions, heads, 2, size]
        draft.list("each", &[1, 1]);
        draft.add("key_5, value_5 = Split <axis = 3> (key, each)");
        draft.list("fourth", &[3]);
        draft.add("query_4 = Reshape (query, split)");
        for what in ["key", "value"] {
            draft.add(format_args!("{what}_4 = Squeeze ({what}_5, fourth)"));
        }
    } else if site.rank(1)? == 3 {
        for what in ["query", "key", "value"] {
            draft.add(format_args!("{what}_4 = Reshape ({what}, split)"));
        }
    } else {
        draft.add("query_4 = Reshape (query, split)");
    }
    let with_heads = !is_packed && site.has_input(2) && site.rank(1)? == 4;
    let biased = bias(draft, site, heads * size, with_heads)?;
    for what in ["query", "key", "value"] {
        if with_heads && what != "query" {
            draft.add(format_args!("{what}_heads = Identity ({what})"));
        } else {
            draft.add(format_args!("{what}_heads = Transpose <perm = [0, 2, 1, 3]> ({what}_{biased})"));
        }
    }
    Some(size)
}

/// Adds a bias, which is concatenated for queries, keys and values; returns the operands that have it.
fn bias(draft: &mut Draft, site: &CallSite<'_>, width: i64, with_heads: bool) -> Option<&'static str> {
    if !site.has_input(3) {
        return Some("4");
    }
    let of_values = site.extent(3, 0)? - 2 * width;
    draft.list("widths", &[width, width, of_values]);
    draft.add("query_bias, key_bias, value_bias = Split <axis = 0> (bias, widths)");
    draft.list("rows", &[site.int("num_heads")?, -1]);
    for what in if with_heads { &["query"][..] } else { &["query", "key", "value"] } {
        draft.add(format_args!("{what}_row = Reshape ({what}_bias, rows)"));
        draft.add(format_args!("{what}_biased = Add ({what}_4, {what}_row)"));
    }
    Some("biased")
}

/// Adds `padding` from the numbers of keys, or from a mask with 1 for each visible key, or query and key.
fn padding(draft: &mut Draft, site: &CallSite<'_>, elem: ElemType) -> Option<()> {
    draft.scalar("filler", elem, number(site.float("mask_filter_value")?, elem));
    draft.scalar("neutral", elem, "0.0");
    let axes: &[i64] = match site.rank(4)? {
        1 if site.extent(4, 0)? == site.extent(0, 0)? => &[1, 2, 3],
        2 => &[1, 2],
        3 => &[1],
        _ => return None,
    };
    draft.list("mask_axes", axes);
    draft.add("mask = Unsqueeze (key_padding_mask, mask_axes)");
    if site.rank(4)? == 1 {
        draft.extent("keys", "present_key", 2);
        draft.add("count = Squeeze (keys)");
        draft.scalar("zero", ElemType::INT64, 0);
        draft.scalar("one", ElemType::INT64, 1);
        draft.add("numbers = Range (zero, count, one)");
        draft.add("lengths = Cast <to = 7> (mask)");
        draft.add("is_key = Less (numbers, lengths)");
    } else {
        draft.add("is_key = Cast <to = 9> (mask)");
    }
    draft.add("padding = Where (is_key, neutral, filler)");
    Some(())
}

/// Adds `is_before`: a query attends to the keys up to its own position, counted after the cached keys.
fn causal(draft: &mut Draft, site: &CallSite<'_>, elem: ElemType) {
    draft.extent("queries", "query_heads", 2);
    draft.extent("keys_of_all", "present_key", 2);
    draft.add("plane = Concat <axis = 0> (queries, keys_of_all)");
    draft.add("ones = ConstantOfShape <value = int32[1] {1}> (plane)");
    if site.has_input(6) {
        draft.extent("before", "past_key", 2);
        draft.add("past = Squeeze (before)");
    } else {
        draft.scalar("past", ElemType::INT64, 0);
    }
    draft.add("triangle = Trilu <upper = 0> (ones, past)");
    draft.add("is_before = Cast <to = 9> (triangle)");
    draft.minus_infinity("nothing", elem);
}

/// Attention for quantized operands.
pub(in crate::operators::contributed) fn quantized(site: &CallSite<'_>) -> Option<Draft> {
    if site.int("do_rotary")? != 0 {
        return None;
    }
    let mut draft = Draft::new();
    for (what, scale, name) in [("input", 3, "x"), ("weight", 4, "w")] {
        // A list of one element applies to everything.
        let is_list = site.rank(scale)? == 1 && site.extent(scale, 0)? == 1;
        let zero = if site.has_input(scale + 3) { format!("{what}_zero_point") } else { String::new() };
        if is_list {
            draft.add(format_args!("{name}_scale = Squeeze ({what}_scale)"));
            if !zero.is_empty() {
                draft.add(format_args!("{name}_zero = Squeeze ({zero})"));
            }
        } else {
            draft.add(format_args!("{name}_scale = Identity ({what}_scale)"));
            if !zero.is_empty() {
                draft.add(format_args!("{name}_zero = Identity ({zero})"));
            }
        }
        let zero = if zero.is_empty() { String::new() } else { format!(", {name}_zero") };
        draft.add(format_args!("{name} = DequantizeLinear <axis = 1> ({what}, {name}_scale{zero})"));
    }
    let scale = site.float("scale").map(|scale| format!(", scale = {scale:?}")).unwrap_or_default();
    let (heads, filler) = (site.int("num_heads")?, site.float("mask_filter_value")?);
    let causal = site.int("unidirectional")?;
    let outputs = if site.output_count() > 1 { "output, present" } else { "output" };
    draft.add(format_args!(
        "{outputs} = com.microsoft.Attention <num_heads = {heads}, unidirectional = {causal}, \
         mask_filter_value = {filler:?}{scale}> (x, w, bias, {}, {})",
        if site.has_input(5) { "mask_index" } else { "" },
        if site.has_input(8) { "past" } else { "" },
    ));
    Some(draft)
}
