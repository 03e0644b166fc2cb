//! Operators that carry a state from one call to the next: convolutions, attention with a cache, rotary positions.

use crate::bodies::draft::Draft;
use crate::bodies::site::CallSite;

/// A causal convolution of each channel, in one dimension; the last inputs are the next state. Several channel axes may be the last ones.
pub(in crate::operators::contributed) fn causal_convolution(site: &CallSite<'_>) -> Option<Draft> {
    let (channels, dilation) = (site.extent(1, 0)?, site.int("dilation")?);
    if site.int("ndim")? != 1 || site.int("state_window")? != 0 || dilation < 1 {
        return None;
    }
    let is_last = site.int("channels_last")? != 0;
    let mut draft = Draft::new();
    let channels_first = |draft: &mut Draft, name: &str, of: &str| {
        if is_last {
            draft.list(&format!("{name}_shape"), &[0, 0, -1]);
            draft.add(format_args!("{name}_rows = Reshape ({of}, {name}_shape)"));
            draft.add(format_args!("{name} = Transpose <perm = [0, 2, 1]> ({name}_rows)"));
        } else {
            draft.add(format_args!("{name} = Identity ({of})"));
        }
    };
    channels_first(&mut draft, "x", "input");
    draft.extent("kernel", "weight", 2);
    draft.list("one", &[1]);
    draft.list("dilation", &[dilation]);
    draft.add("taps = Sub (kernel, one)");
    draft.add("back = Mul (taps, dilation)");
    if site.has_input(3) {
        channels_first(&mut draft, "past", "past_state");
    } else {
        draft.extents("rows", "x", 0, 2);
        draft.add("past_shape = Concat <axis = 0> (rows, back)");
        draft.add("zeros = ConstantOfShape (past_shape)");
        draft.add("past = CastLike (zeros, input)");
    }
    draft.add("all = Concat <axis = 2> (past, x)");
    let bias = if site.has_input(2) { ", bias" } else { "" };
    draft
        .add(format_args!("plain = Conv <group = {channels}, dilations = [{dilation}]> (all, weight{bias})"));
    match &*site.string("activation")? {
        "none" => draft.add("y = Identity (plain)"),
        "silu" | "swish" => {
            draft.add("gate = Sigmoid (plain)");
            draft.add("y = Mul (plain, gate)");
        }
        _ => return None,
    }
    draft.extent("length", "x", 2);
    draft.list("end", &[i64::MAX]);
    draft.list("positions", &[2]);
    draft.add("state = Slice (all, length, end, positions)");
    for (name, of) in [("output", "y"), ("present_state", "state")].iter().take(site.output_count()) {
        if is_last {
            draft.add(format_args!("{of}_rows = Transpose <perm = [0, 2, 1]> ({of})"));
            draft.extent(&format!("{of}_batch"), of, 0);
            draft.extent(&format!("{of}_length"), of, 2);
            draft.extents(&format!("{of}_channels"), "input", 2, 0);
            draft
                .add(format_args!("{of}_shape = Concat <axis = 0> ({of}_batch, {of}_length, {of}_channels)"));
            draft.add(format_args!("{name} = Reshape ({of}_rows, {of}_shape)"));
        } else {
            draft.add(format_args!("{name} = Identity ({of})"));
        }
    }
    Some(draft)
}

/// Attention of one new token: `MultiHeadAttention` whose cache may be part of a longer buffer, or with keys and values of an encoder.
/// Beams have a cache of their own.
pub(in crate::operators::contributed) fn decoding(site: &CallSite<'_>) -> Option<Draft> {
    let is_set = |name: &str| site.int(name).is_some_and(|n| n != 0);
    if site.has_input(8) || site.has_input(9) || !site.has_input(1) || is_set("output_qk") {
        return None;
    }
    let mut draft = Draft::new();
    let is_shared = is_set("past_present_share_buffer") && site.has_input(5);
    let mut past = if site.has_input(5) { ["past_key", "past_value"] } else { ["", ""] };
    if is_shared {
        draft.list("axis", &[2]);
        draft.list("start", &[0]);
        draft.list("one", &[1]);
        draft.list("end", &[i64::MAX]);
        draft.add("length_64 = Cast <to = 7> (past_sequence_length)");
        draft.add("length = Reshape (length_64, one)");
        draft.add("next = Add (length, one)");
        for of in past {
            draft.add(format_args!("{of}_seen = Slice ({of}, start, length, axis)"));
            draft.add(format_args!("{of}_free = Slice ({of}, next, end, axis)"));
        }
        past = ["past_key_seen", "past_value_seen"];
    }
    let present = match (is_shared, site.output_count()) {
        (true, _) => ", key_seen, value_seen",
        (false, 1) => "",
        (false, _) => ", present_key, present_value",
    };
    let given = |i: usize, name: &'static str| if site.has_input(i) { name } else { "" };
    let scale = site.float("scale").map(|scale| format!(", scale = {scale:?}")).unwrap_or_default();
    draft.add(format_args!(
        "output{present} = com.microsoft.MultiHeadAttention <num_heads = {}, mask_filter_value = {:?}{scale}> \
         (query, key, value, {}, {}, {}, {}, {})",
        site.int("num_heads")?,
        site.float("mask_filter_value")?,
        given(10, "bias"),
        given(3, "mask_index"),
        given(4, "attention_bias"),
        past[0],
        past[1],
    ));
    if is_shared && site.output_count() > 1 {
        for what in ["key", "value"] {
            draft.add(format_args!("present_{what} = Concat <axis = 2> ({what}_seen, past_{what}_free)"));
        }
    }
    Some(draft)
}

/// `GroupQueryAttention` with a bias that hides the blocks of the cache that the pattern of a head leaves out. Patterns are lists of
/// columns for each row of blocks; heads use them in turn.
pub(in crate::operators::contributed) fn sparse_attention(site: &CallSite<'_>) -> Option<Draft> {
    let elem = site.elem(0)?;
    let (heads, shared, block) =
        (site.int("num_heads")?, site.int("kv_num_heads")?, site.int("sparse_block_size")?);
    if heads < 1 || block < 1 {
        return None;
    }
    let mut draft = Draft::new();
    for (name, value) in [("zero", 0), ("one", 1), ("size", block), ("heads", heads)] {
        draft.scalar(name, onnx_ir::ElemType::INT64, value);
    }
    draft.list("first", &[0]);
    draft.list("second", &[1]);
    draft.list("last", &[-1]);
    draft.list("end", &[i64::MAX]);
    // `is_seen` of pattern, row and column of blocks: an entry of the list belongs to the row and names the column.
    draft.add("row_starts = Cast <to = 7> (block_row_indices)");
    draft.add("columns = Cast <to = 7> (block_col_indices)");
    draft.add("begins = Slice (row_starts, first, last, second)");
    draft.add("ends = Slice (row_starts, second, end, second)");
    for (name, of, axis) in [("entries", "columns", 1), ("rows", "begins", 1), ("patterns", "columns", 0)] {
        draft.extent(&format!("{name}_list"), of, axis);
        draft.add(format_args!("{name}_count = Squeeze ({name}_list)"));
        draft.add(format_args!("{name} = Range (zero, {name}_count, one)"));
    }
    draft.add("begin_column = Unsqueeze (begins, last)");
    draft.add("end_column = Unsqueeze (ends, last)");
    draft.add("is_before = Less (entries, begin_column)");
    draft.add("is_from = Not (is_before)");
    draft.add("is_until = Less (entries, end_column)");
    draft.add("is_of_row = And (is_from, is_until)");
    draft.add("named = Unsqueeze (columns, last)");
    draft.add("is_named = Equal (named, rows)");
    draft.add("of_row = Cast <to = 1> (is_of_row)");
    draft.add("of_column = Cast <to = 1> (is_named)");
    draft.add("counts = MatMul (of_row, of_column)");
    draft.add("is_seen = Cast <to = 9> (counts)");
    // For each sequence, head, query and key.
    draft.add("head_numbers = Range (zero, heads, one)");
    draft.add("head_patterns = Mod (head_numbers, patterns_count)");
    draft.add("by_head = Gather <axis = 0> (is_seen, head_patterns)");
    draft.extent("length_list", "query", 1);
    draft.add("length = Squeeze (length_list)");
    draft.add("total_64 = Cast <to = 7> (total_sequence_length)");
    draft.add("total = Squeeze (total_64)");
    draft.add("is_first = Equal (total, length)");
    draft.add("lengths = Cast <to = 7> (key_total_sequence_lengths)");
    draft.add("before = Sub (lengths, length)");
    draft.add("past = Where (is_first, zero, before)");
    draft.add("past_column = Unsqueeze (past, second)");
    draft.add("numbers = Range (zero, length, one)");
    draft.add("places = Add (past_column, numbers)");
    draft.add("query_blocks = Div (places, size)");
    draft.add("last_row = Sub (rows_count, one)");
    draft.add("query_rows = Min (query_blocks, last_row)");
    draft.add("by_query = Gather <axis = 1> (by_head, query_rows)");
    draft.extent("room_list", "past_key", 2);
    draft.add("room = Squeeze (room_list)");
    draft.add("keys = Range (zero, room, one)");
    draft.add("key_blocks = Div (keys, size)");
    draft.add("key_columns = Min (key_blocks, last_row)");
    draft.add("by_key = Gather <axis = 3> (by_query, key_columns)");
    draft.add("is_kept = Transpose <perm = [1, 0, 2, 3]> (by_key)");
    draft.scalar("nothing", elem, "0.0");
    draft.scalar("hidden", elem, "-30000.0");
    draft.add("bias = Where (is_kept, nothing, hidden)");
    draft.scalar("one_32", onnx_ir::ElemType::INT32, 1);
    draft.add("lasts = Sub (key_total_sequence_lengths, one_32)");
    let scale = site.float("scale").map(|scale| format!(", scale = {scale:?}")).unwrap_or_default();
    let flag = |name: &str| site.int(name).unwrap_or(0);
    let given = |i: usize, name: &'static str| if site.has_input(i) { name } else { "" };
    draft.add(format_args!(
        "output, key_all, value_all = com.microsoft.GroupQueryAttention <num_heads = {heads}, \
         kv_num_heads = {shared}, do_rotary = {}, rotary_interleaved = {}{scale}> (query, {}, {}, past_key, \
         past_value, lasts, total_sequence_length, {}, {}, , bias)",
        flag("do_rotary"),
        flag("rotary_interleaved"),
        given(1, "key"),
        given(2, "value"),
        given(9, "cos_cache"),
        given(10, "sin_cache"),
    ));
    // Elements after the end of a sequence stay as they are.
    draft.list("others", &[1, 2, 3]);
    draft.add("length_planes = Unsqueeze (lengths, others)");
    draft.add("key_column = Unsqueeze (keys, last)");
    draft.add("is_used = Less (key_column, length_planes)");
    for what in ["key", "value"] {
        draft.add(format_args!("present_{what} = Where (is_used, {what}_all, past_{what})"));
    }
    Some(draft)
}

/// The position, of time, height and width, that rotates each pair.
fn streams(sections: [i64; 3], is_interleaved: bool) -> Vec<usize> {
    let [time, height, width] = sections;
    let of = |i: i64| match i {
        _ if is_interleaved && i % 3 == 1 && i < 3 * height => 1,
        _ if is_interleaved && i % 3 == 2 && i < 3 * width => 2,
        _ if is_interleaved || i < time => 0,
        _ if i < time + height => 1,
        _ => 2,
    };
    (0..time + height + width).map(of).collect()
}

/// The widest head that is rotated.
const MAX_PAIRS: i64 = 1 << 16;

/// Rotates pairs by angles for time, height or width. Heads are packed along the last axis, or `[batch, heads, positions, size]`.
pub(in crate::operators::contributed) fn rotary_embedding(site: &CallSite<'_>) -> Option<Draft> {
    let sections: [i64; 3] = site.ints("mrope_section")?.try_into().ok()?;
    if sections.iter().any(|n| !(0..=MAX_PAIRS).contains(n)) || site.int("is_packed_batching")? != 0 {
        return None;
    }
    let is_interleaved = match site.int("mrope_layout")? {
        0 => false,
        1 => true,
        _ => return None,
    };
    let streams = streams(sections, is_interleaved);
    let half = i64::try_from(streams.len()).ok()?;
    let width = site.int("rotary_embedding_dim")?;
    if width != 0 && width != 2 * half {
        return None;
    }
    let (rank, heads) = (site.rank(0)?, site.int("num_heads")?);
    let mut draft = Draft::new();
    let heads_axis = match rank {
        4 => {
            draft.add("x = Identity (input)");
            1
        }
        3 if heads > 0 => {
            draft.list("by_head", &[0, 0, heads, -1]);
            draft.add("x = Reshape (input, by_head)");
            2
        }
        _ => return None,
    };
    draft.list("first", &[0]);
    draft.list("each", &[1, 1, 1]);
    draft.list("heads_axis", &[heads_axis]);
    for (name, stream) in [("height", 1), ("width", 2)] {
        let is_it: Vec<i64> = streams.iter().map(|of| i64::from(*of == stream)).collect();
        draft.list(&format!("{name}_numbers"), &is_it);
        draft.add(format_args!("is_{name} = Cast <to = 9> ({name}_numbers)"));
    }
    for of in ["cos", "sin"] {
        draft.add(format_args!("{of}_all = Gather <axis = 0> ({of}_cache, position_ids)"));
        draft.add(format_args!("{of}_0, {of}_1, {of}_2 = Split <axis = 0> ({of}_all, each)"));
        draft.add(format_args!("{of}_mixed = Where (is_height, {of}_1, {of}_0)"));
        draft.add(format_args!("{of}_one = Where (is_width, {of}_2, {of}_mixed)"));
        draft.add(format_args!("{of}_rows = Squeeze ({of}_one, first)"));
        draft.add(format_args!("{of} = Unsqueeze ({of}_rows, heads_axis)"));
    }
    draft.list("last", &[-1]);
    draft.list("half", &[half]);
    draft.list("whole", &[2 * half]);
    draft.list("end", &[i64::MAX]);
    draft.add("turning = Slice (x, first, whole, last)");
    draft.add("rest = Slice (x, whole, end, last)");
    let is_adjacent = site.int("interleaved")? != 0;
    if is_adjacent {
        draft.list("in_pairs", &[0, 0, 0, half, 2]);
        draft.add("pairs = Reshape (turning, in_pairs)");
        draft.list("both", &[1, 1]);
        draft.add("a_column, b_column = Split <axis = -1> (pairs, both)");
        draft.add("a = Squeeze (a_column, last)");
        draft.add("b = Squeeze (b_column, last)");
    } else {
        draft.add("a = Slice (turning, first, half, last)");
        draft.add("b = Slice (turning, half, whole, last)");
    }
    for (name, line) in [("a_cos", "a, cos"), ("b_sin", "b, sin"), ("a_sin", "a, sin"), ("b_cos", "b, cos")] {
        draft.add(format_args!("{name} = Mul ({line})"));
    }
    draft.add("c = Sub (a_cos, b_sin)");
    draft.add("d = Add (a_sin, b_cos)");
    if is_adjacent {
        draft.add("c_column = Unsqueeze (c, last)");
        draft.add("d_column = Unsqueeze (d, last)");
        draft.add("turned_pairs = Concat <axis = -1> (c_column, d_column)");
        draft.list("flat", &[0, 0, 0, 2 * half]);
        draft.add("turned = Reshape (turned_pairs, flat)");
    } else {
        draft.add("turned = Concat <axis = -1> (c, d)");
    }
    draft.add("heads = Concat <axis = -1> (turned, rest)");
    draft.add("shape = Shape (input)");
    draft.add("output = Reshape (heads, shape)");
    Some(draft)
}
