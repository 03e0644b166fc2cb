//! The function body of Attention, with caches, masks and windows.
//!
//! Keys and values may have fewer heads than queries; then each serves a group of adjacent heads. If the numbers of heads are not
//! known to be equal, query heads get an axis for the group.

use crate::bodies::draft::{Draft, number};
use crate::bodies::site::CallSite;
use crate::operators::control::bodies as graphs;
use onnx_ir::ElemType;

const Q: usize = 0;
const K: usize = 1;
const V: usize = 2;
const MASK: usize = 3;
const PAST_KEY: usize = 4;
const LENGTHS: usize = 6;

/// The numbers and layout of heads.
#[derive(Clone, Copy)]
struct Heads {
    /// Heads of queries, if known.
    queries: Option<i64>,
    /// Heads of keys and values, if known.
    keys: Option<i64>,
    /// Whether heads are packed in the last of three axes.
    is_packed: bool,
}

impl Heads {
    fn of(site: &CallSite<'_>) -> Option<Self> {
        let attrs = ["q_num_heads", "kv_num_heads"].map(|name| site.int(name));
        let rank = [Q, K, V].into_iter().find_map(|i| site.rank(i));
        let is_packed = rank.map_or(attrs[0].is_some(), |rank| rank == 3);
        let [queries, keys] = match is_packed {
            true => [Some(attrs[0]?), Some(attrs[1]?)],
            false => [site.extent(Q, 1), site.extent(K, 1)],
        };
        Some(Heads { queries, keys, is_packed })
    }

    /// Whether each head of keys serves one head of queries.
    fn are_equal(self) -> bool {
        self.queries.is_some() && self.queries == self.keys
    }
}

/// The terms that are added to the scores before the softmax.
#[derive(Default)]
struct Bias {
    /// A tensor of addends.
    numbers: Option<&'static str>,
    /// Boolean tensors that are true for visible keys.
    allowed: Vec<&'static str>,
}

pub(super) fn attention(site: &CallSite<'_>) -> Option<Draft> {
    let (heads, elem) = (Heads::of(site)?, site.elem(Q)?);
    let mut draft = Draft::new();
    unpack(&mut draft, heads);
    cache(&mut draft, site);
    scores(&mut draft, site, heads, elem)?;

    let softcap = site.float("softcap")?;
    if softcap > 0.0 {
        draft.scalar("cap", elem, number(softcap, elem));
        draft.add("part_of_cap = Div (raw_scores, cap)");
        draft.add("bounded = Tanh (part_of_cap)");
        draft.add("capped = Mul (bounded, cap)");
    } else {
        draft.add("capped = Identity (raw_scores)");
    }
    let bias = bias(&mut draft, site, elem)?;
    apply(&mut draft, &bias, elem);
    softmax(&mut draft, site, &bias, elem)?;

    result(&mut draft, site, heads);
    if site.output_count() > 3 {
        let stage = match site.int("qk_matmul_output_mode")? {
            0 => "raw_scores",
            1 => "capped",
            2 => "biased",
            3 => "weights",
            _ => return None,
        };
        draft.add(format_args!("qk_matmul_output = Identity ({stage})"));
    }
    for (i, name, of) in [(1, "present_key", "keys"), (2, "present_value", "values")] {
        if site.output_count() > i {
            draft.add(format_args!("{name} = Identity ({of})"));
        }
    }
    Some(draft)
}

/// Splits queries, keys and values into heads, before the axis of positions.
fn unpack(draft: &mut Draft, heads: Heads) {
    let parts =
        [("queries", "Q", heads.queries), ("new_keys", "K", heads.keys), ("new_values", "V", heads.keys)];
    for (name, of, count) in parts {
        match count.filter(|_| heads.is_packed) {
            Some(count) => {
                draft.list(&format!("{name}_shape"), &[0, 0, count, -1]);
                draft.add(format_args!("{name}_apart = Reshape ({of}, {name}_shape)"));
                draft.add(format_args!("{name} = Transpose <perm = [0, 2, 1, 3]> ({name}_apart)"));
            }
            None => draft.add(format_args!("{name} = Identity ({of})")),
        }
    }
}

/// Appends new keys and values to the cached ones.
fn cache(draft: &mut Draft, site: &CallSite<'_>) {
    let parts =
        [("keys", "past_key", "new_keys", PAST_KEY), ("values", "past_value", "new_values", PAST_KEY + 1)];
    for (name, past, new, input) in parts {
        draft.add(match site.has_input(input) {
            true => format!("{name} = Concat <axis = 2> ({past}, {new})"),
            false => format!("{name} = Identity ({new})"),
        });
    }
    draft.extent("query_count", "queries", 2);
    draft.extent("key_count", "keys", 2);
}

/// The products of queries and keys, each scaled by the square root of the scale.
fn scores(draft: &mut Draft, site: &CallSite<'_>, heads: Heads, elem: ElemType) -> Option<()> {
    if site.has_attr("scale") {
        draft.scalar("factor", elem, number(site.float("scale")?.sqrt(), elem));
    } else {
        draft.extent("head_size", "queries", 3);
        draft.add("size = Cast <to = 1> (head_size)");
        draft.add("size_root = Sqrt (size)");
        draft.add("scale = Reciprocal (size_root)");
        draft.add("scale_root = Sqrt (scale)");
        draft.add(format_args!("factor = Cast <to = {}> (scale_root)", elem.0));
    }
    draft.add("scaled_queries = Mul (queries, factor)");
    draft.add("scaled_keys = Mul (keys, factor)");
    if heads.are_equal() {
        draft.add("turned_keys = Transpose <perm = [0, 1, 3, 2]> (scaled_keys)");
        draft.add("raw_scores = MatMul (scaled_queries, turned_keys)");
        return Some(());
    }
    draft.extent("batch", "queries", 0);
    draft.extent("query_heads", "queries", 1);
    draft.extent("key_heads", "keys", 1);
    draft.add("group = Div (query_heads, key_heads)");
    draft.extents("query_rest", "queries", 2, 4);
    draft.add("grouped_shape = Concat <axis = 0> (batch, key_heads, group, query_rest)");
    draft.add("grouped_queries = Reshape (scaled_queries, grouped_shape)");
    draft.list("group_axis", &[2]);
    draft.add("shared_keys = Unsqueeze (scaled_keys, group_axis)");
    draft.add("turned_keys = Transpose <perm = [0, 1, 2, 4, 3]> (shared_keys)");
    draft.add("grouped_scores = MatMul (grouped_queries, turned_keys)");
    draft.add("score_shape = Concat <axis = 0> (batch, query_heads, query_count, key_count)");
    draft.add("raw_scores = Reshape (grouped_scores, score_shape)");
    Some(())
}

fn bias(draft: &mut Draft, site: &CallSite<'_>, elem: ElemType) -> Option<Bias> {
    let mut bias = Bias::default();
    if site.has_input(MASK) {
        let is_boolean = site.elem(MASK)? == ElemType::BOOL;
        mask(draft, site, is_boolean, elem);
        if is_boolean {
            bias.allowed.push("mask");
        } else {
            draft.add(format_args!("mask_numbers = Cast <to = {}> (mask)", elem.0));
            bias.numbers = Some("mask_numbers");
        }
    }
    let is_causal = site.int("is_causal")? != 0;
    let window = ["left_window_size", "right_window_size"].map(|name| site.int(name).unwrap_or(-1));
    if is_causal || window.iter().any(|w| *w >= 0) || site.has_input(LENGTHS) {
        positions(draft, site);
    }
    if is_causal {
        draft.add("is_past = LessOrEqual (key_at, query_at)");
        bias.allowed.push("is_past");
    }
    if window[0] >= 0 {
        draft.scalar("left", ElemType::INT64, window[0]);
        draft.add("first = Sub (query_at, left)");
        draft.add("is_near_left = GreaterOrEqual (key_at, first)");
        bias.allowed.push("is_near_left");
    }
    if window[1] >= 0 {
        draft.scalar("right", ElemType::INT64, window[1]);
        draft.add("last = Add (query_at, right)");
        draft.add("is_near_right = LessOrEqual (key_at, last)");
        bias.allowed.push("is_near_right");
    }
    if site.has_input(LENGTHS) {
        draft.add("is_there = Less (key_at, lengths)");
        bias.allowed.push("is_there");
    }
    Some(bias)
}

/// The mask, padded to the number of keys with hidden ones.
fn mask(draft: &mut Draft, site: &CallSite<'_>, is_boolean: bool, elem: ElemType) {
    let last = site.rank(MASK).and_then(|rank| site.extent(MASK, rank.checked_sub(1)?));
    let axis = if Heads::of(site).is_some_and(|h| h.is_packed) { 1 } else { 2 };
    let keys = if site.has_input(PAST_KEY) { None } else { site.extent(K, axis) };
    if site.schema.since < 24 || last.is_some() && last == keys {
        draft.add("mask = Identity (attn_mask)");
        return;
    }
    draft.extent("mask_count", "attn_mask", -1);
    draft.add("lack = Sub (key_count, mask_count)");
    draft.list("none", &[0]);
    draft.add("pads = Concat <axis = 0> (none, lack)");
    draft.list("last_axis", &[-1]);
    match is_boolean {
        true => draft.scalar("hidden", ElemType::BOOL, 0),
        false => draft.minus_infinity("hidden", site.elem(MASK).unwrap_or(elem)),
    }
    draft.add("mask = Pad (attn_mask, pads, hidden, last_axis)");
}

/// The positions of queries as a column, and of keys as a row. Queries follow the cached keys.
fn positions(draft: &mut Draft, site: &CallSite<'_>) {
    draft.scalar("begin", ElemType::INT64, 0);
    draft.scalar("step", ElemType::INT64, 1);
    draft.list("scalar", &[]);
    for name in ["query", "key"] {
        draft.add(format_args!("{name}_end = Reshape ({name}_count, scalar)"));
        draft.add(format_args!("{name}_index = Range (begin, {name}_end, step)"));
    }
    draft.list("column", &[1]);
    draft.add("key_at = Identity (key_index)");
    draft.add("query_column = Unsqueeze (query_index, column)");
    if site.has_input(LENGTHS) {
        draft.list("over_scores", &[1, 2, 3]);
        draft.add("lengths = Unsqueeze (nonpad_kv_seqlen, over_scores)");
        draft.add("ahead = Sub (lengths, query_end)");
    } else if site.has_input(PAST_KEY) {
        draft.extent("ahead", "past_key", 2);
    } else {
        draft.add("ahead = Identity (begin)");
    }
    draft.add("query_at = Add (query_column, ahead)");
}

/// Adds the addends, and minus infinity for hidden keys.
fn apply(draft: &mut Draft, bias: &Bias, elem: ElemType) {
    let mut scores = "capped".to_owned();
    if let Some(numbers) = bias.numbers {
        let name = if bias.allowed.is_empty() { "biased" } else { "shifted" };
        draft.add(format_args!("{name} = Add ({scores}, {numbers})"));
        scores = name.to_owned();
    }
    let Some((first, others)) = bias.allowed.split_first() else {
        if bias.numbers.is_none() {
            draft.add(format_args!("biased = Identity ({scores})"));
        }
        return;
    };
    let mut all = (*first).to_owned();
    for (i, other) in others.iter().enumerate() {
        let next = format!("allowed_{i}");
        draft.add(format_args!("{next} = And ({all}, {other})"));
        all = next;
    }
    draft.minus_infinity("never", elem);
    draft.add(format_args!("biased = Where ({all}, {scores}, never)"));
}

/// The softmax over the keys; a query without visible keys yields zeros.
fn softmax(draft: &mut Draft, site: &CallSite<'_>, bias: &Bias, elem: ElemType) -> Option<()> {
    let inner = if site.has_attr("softmax_precision") { site.elem_attr("softmax_precision")? } else { elem };
    draft.add(format_args!("precise = Cast <to = {}> (biased)", inner.0));
    draft.add("shares = Softmax <axis = -1> (precise)");
    let may_be_blind = bias.numbers.is_some() || !bias.allowed.is_empty();
    if may_be_blind {
        draft.list("over_keys", &[-1]);
        draft.add("best = ReduceMax <keepdims = 1> (precise, over_keys)");
        draft.add("is_endless = IsInf <detect_positive = 0> (best)");
        draft.scalar("nothing", inner, "0.0");
        draft.add("seen = Where (is_endless, nothing, shares)");
    } else {
        draft.add("seen = Identity (shares)");
    }
    draft.add(format_args!("weights = Cast <to = {}> (seen)", elem.0));
    Some(())
}

/// The weighted values, in the layout of the queries.
fn result(draft: &mut Draft, site: &CallSite<'_>, heads: Heads) {
    draft.add("typed = CastLike (weights, values)");
    if heads.are_equal() {
        draft.add("found = MatMul (typed, values)");
    } else {
        draft.list("positions", &[-1]);
        draft.add("weight_shape = Concat <axis = 0> (batch, key_heads, group, query_count, key_count)");
        draft.add("grouped_weights = Reshape (typed, weight_shape)");
        draft.add("shared_values = Unsqueeze (values, group_axis)");
        draft.add("grouped = MatMul (grouped_weights, shared_values)");
        draft.extent("value_size", "values", 3);
        draft.add("found_shape = Concat <axis = 0> (batch, query_heads, query_count, value_size)");
        draft.add("found = Reshape (grouped, found_shape)");
    }
    let of_type = if site.elem(Q) == site.elem(V) { "Identity (found)" } else { "CastLike (found, Q)" };
    if heads.is_packed {
        draft.add(format_args!("of_type = {of_type}"));
        draft.add("by_position = Transpose <perm = [0, 2, 1, 3]> (of_type)");
        draft.list("packed_shape", &[0, 0, -1]);
        draft.add("Y = Reshape (by_position, packed_shape)");
    } else {
        draft.add(format_args!("Y = {of_type}"));
    }
}

/// `FlexAttention`: graphs of the node change scores and weights.
pub(super) fn flex_attention(site: &CallSite<'_>) -> Option<Draft> {
    let elem = site.elem(Q)?;
    let heads = Heads { queries: site.extent(Q, 1), keys: site.extent(K, 1), is_packed: false };
    let inner = match site.has_attr("softmax_precision") {
        true => site.elem_attr("softmax_precision")?,
        false if elem == ElemType::DOUBLE => ElemType::DOUBLE,
        false => ElemType::FLOAT,
    };
    let mut draft = Draft::new();
    for (name, of) in [("queries", "Q"), ("keys", "K")] {
        draft.add(format_args!("{name} = Cast <to = {}> ({of})", inner.0));
    }
    draft.add("values = Identity (V)");
    draft.extent("query_count", "queries", 2);
    draft.extent("key_count", "keys", 2);
    scores(&mut draft, site, heads, inner)?;
    graphs::apply(&mut draft, site, "score_mod", "raw_scores", "scores")?;
    draft.add("shares = Softmax <axis = -1> (scores)");
    graphs::apply(&mut draft, site, "prob_mod", "shares", "weights")?;
    result(&mut draft, site, heads);
    Some(draft)
}
