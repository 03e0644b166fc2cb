//! The function body of `LinearAttention`.

use crate::bodies::draft::{Draft, number};
use crate::bodies::site::CallSite;
use crate::opset::CONTRIBUTED;
use onnx_ir::ElemType;

/// The state of each head is a matrix; each position adds the product of its key and value. With decay the state is scaled first,
/// with beta the value is first compared with the value that the state has for the key. Everything is computed in `float`.
pub(in crate::operators) fn linear_attention(site: &CallSite<'_>) -> Option<Draft> {
    let (q_heads, heads) = (site.int("q_num_heads")?, site.int("kv_num_heads")?);
    let each = |a: i64, b: i64| a.checked_div(b).filter(|n| n.checked_mul(b) == Some(a));
    let (group, repeats) = match (each(q_heads, heads), each(heads, q_heads)) {
        (Some(group), _) => (group, 1),
        // The operator of ONNX Runtime lets heads of keys share queries, too. It has a window of states for other processors.
        (None, Some(repeats)) if &*site.schema.domain == CONTRIBUTED => (1, repeats),
        _ => return None,
    };
    if site.int("state_window").is_some_and(|window| window != 0) {
        return None;
    }
    let rule = site.string("update_rule")?;
    let (fades, corrects) = match &*rule {
        "linear" => (false, false),
        "gated" => (true, false),
        "delta" => (false, true),
        "gated_delta" => (true, true),
        _ => return None,
    };
    let mut draft = Draft::new();
    let mut query = "query";
    if repeats > 1 {
        draft.list("query_shape", &[0, 0, q_heads, 1, -1]);
        draft.add("query_heads = Reshape (query, query_shape)");
        draft.list("query_repeats", &[1, 1, 1, repeats, 1]);
        draft.add("query_all = Tile (query_heads, query_repeats)");
        query = "query_all";
    }
    // Batch, position, head and size; queries also have an index in their group.
    let mut apart = vec![("q", query, vec![0, 0, heads, group, -1])];
    apart.extend([("k", "key"), ("v", "value")].map(|(name, of)| (name, of, vec![0, 0, heads, -1])));
    if fades {
        apart.push(("g", "decay", vec![0, 0, heads, -1]));
    }
    if corrects {
        apart.push(("b", "beta", vec![0, 0, -1, 1]));
    }
    for (name, of, shape) in apart {
        draft.add(format_args!("{name}_float = Cast <to = 1> ({of})"));
        draft.list(&format!("{name}_shape"), &shape);
        draft.add(format_args!("{name} = Reshape ({name}_float, {name}_shape)"));
        // Positions come first, because not every runtime scans other axes.
        let perm = if shape.len() == 5 { "1, 0, 2, 3, 4" } else { "1, 0, 2, 3" };
        draft.add(format_args!("{name}_steps = Transpose <perm = [{perm}]> ({name})"));
    }
    if site.has_input(3) {
        draft.add("state = Cast <to = 1> (past_state)");
    } else {
        draft.extent("batch", "k", 0);
        draft.extents("head_and_key", "k", 2, 4);
        draft.extent("value_size", "v", 3);
        draft.add("state_shape = Concat <axis = 0> (batch, head_and_key, value_size)");
        draft.add("state = ConstantOfShape <value = float[1] {0}> (state_shape)");
    }
    scale(&mut draft, site)?;
    draft.list("last", &[-1]);
    draft.list("before_last", &[-2]);
    steps(&mut draft, fades, corrects);
    draft.add("by_batch = Transpose <perm = [1, 0, 2, 3, 4]> (outputs)");
    draft.add("scaled = Mul (by_batch, factor)");
    draft.list("packed", &[0, 0, -1]);
    draft.add("all = Reshape (scaled, packed)");
    draft.add("output = CastLike (all, query)");
    if site.output_count() > 1 {
        let like = if site.has_input(3) { "past_state" } else { "query" };
        draft.add(format_args!("present_state = CastLike (final, {like})"));
    }
    Some(draft)
}

/// The attribute `scale`, by default the inverse square root of the key size.
fn scale(draft: &mut Draft, site: &CallSite<'_>) -> Option<()> {
    let scale = site.float("scale")?;
    if scale == 0.0 {
        draft.extent("key_size", "q", -1);
        draft.add("size = Cast <to = 1> (key_size)");
        draft.add("root = Sqrt (size)");
        draft.add("factor = Reciprocal (root)");
    } else {
        draft.scalar("factor", ElemType::FLOAT, number(scale, ElemType::FLOAT));
    }
    Some(())
}

/// Scans the positions. In the graph, `s` is the state, `kc` the key as a column, `vr` the value as a row.
fn steps(draft: &mut Draft, fades: bool, corrects: bool) {
    let mut inputs = vec!["q", "k", "v"];
    if fades {
        inputs.push("g");
    }
    if corrects {
        inputs.push("b");
    }
    let count = inputs.len();
    let slices: Vec<String> = inputs.iter().map(|name| format!("{name}_t")).collect();
    draft.add(format_args!("final, outputs = Scan <num_scan_inputs = {count},"));
    draft.add(format_args!("    body = step (s, {}) => (next, o) {{", slices.join(", ")));
    let mut inner = |line: &str| draft.add(format_args!("        {line}"));
    inner("kc = Unsqueeze (k_t, last)");
    inner("vr = Unsqueeze (v_t, before_last)");
    if fades {
        inner("fading = Exp (g_t)");
        inner("fading_column = Unsqueeze (fading, last)");
        inner("kept = Mul (fading_column, s)");
    } else {
        inner("kept = Identity (s)");
    }
    if corrects {
        inner("k_row = Unsqueeze (k_t, before_last)");
        inner("known = MatMul (k_row, kept)");
        inner("news = Sub (vr, known)");
        inner("rate = Unsqueeze (b_t, last)");
        inner("learned = Mul (rate, news)");
    } else {
        inner("learned = Identity (vr)");
    }
    inner("product = Mul (kc, learned)");
    inner("next = Add (kept, product)");
    inner("o = MatMul (q_t, next)");
    draft.add("    }");
    let steps: Vec<String> = inputs.iter().map(|name| format!("{name}_steps")).collect();
    draft.add(format_args!("> (state, {})", steps.join(", ")));
}
