//! Attention and related operators.

use crate::dims::Dim;
use crate::engine::rule::axes::int_or;
use crate::engine::rule::fit::{Extent, at_least, broadcasts_to, choice, divides, flag, hold, same_shapes};
use crate::engine::{Infer, NodeCx};
use crate::facts::{Fact, TensorTy, Ty, dim_text};
use onnx_ir::ElemType;
use onnx_ir::diag::{Diagnostic, code};

/// Dimensions that query, key and value share.
struct Heads {
    batch: Extent,
    /// Heads of the query.
    queries: Extent,
    /// Heads of key and value, each of which serves the same number of query heads.
    keys: Extent,
    /// Length of the query.
    length: Extent,
    /// Length of key and value.
    kv_length: Extent,
    /// Elements of a head of query and key.
    size: Extent,
    /// Elements of a head of the value.
    value_size: Extent,
}

impl Heads {
    fn unknown() -> Heads {
        Heads {
            batch: Extent::unknown("batch size"),
            queries: Extent::unknown("number of query heads"),
            keys: Extent::unknown("number of key and value heads"),
            length: Extent::unknown("query length"),
            kv_length: Extent::unknown("key and value length"),
            size: Extent::unknown("head size"),
            value_size: Extent::unknown("value head size"),
        }
    }

    /// Inputs `B, heads, length, size`.
    fn of_rank_4(cx: &mut NodeCx<'_, '_>) -> Option<Heads> {
        let mut h = Heads::unknown();
        hold(cx, 0, &mut [&mut h.batch, &mut h.queries, &mut h.length, &mut h.size])?;
        hold(cx, 1, &mut [&mut h.batch, &mut h.keys, &mut h.kv_length, &mut h.size])?;
        hold(cx, 2, &mut [&mut h.batch, &mut h.keys, &mut h.kv_length, &mut h.value_size])?;
        if let (Dim::Const(q), Dim::Const(kv @ 1..)) = (h.queries.dim, h.keys.dim)
            && q % kv != 0
        {
            let message =
                format!("number of query heads {q} is not a multiple of the number of key heads {kv}");
            cx.fail_at_input(1, &code::SHAPE_PRECONDITION, message)?;
        }
        Some(h)
    }

    /// Inputs `B, length, heads * size`.
    fn of_rank_3(cx: &mut NodeCx<'_, '_>) -> Option<Heads> {
        at_least(cx, "q_num_heads", 1)?;
        at_least(cx, "kv_num_heads", 1)?;
        let (q, kv) = (cx.int("q_num_heads"), cx.int("kv_num_heads"));
        if let (Some(q), Some(kv)) = (q, kv)
            && q % kv != 0
        {
            let message = format!("`q_num_heads` {q} is not a multiple of `kv_num_heads` {kv}");
            cx.fail_at_attr("q_num_heads", message)?;
        }
        let [queries, keys] = [q, kv].map(|n| n.map_or(Dim::Unknown, Dim::Const));
        let mut h = Heads {
            queries: Extent::of_attr("number of query heads", "q_num_heads", queries),
            keys: Extent::of_attr("number of key and value heads", "kv_num_heads", keys),
            ..Heads::unknown()
        };
        let mut width = ["query", "key", "value"].map(|_| Extent::unknown("width"));
        hold(cx, 0, &mut [&mut h.batch, &mut h.length, &mut width[0]])?;
        hold(cx, 1, &mut [&mut h.batch, &mut h.kv_length, &mut width[1]])?;
        hold(cx, 2, &mut [&mut h.batch, &mut h.kv_length, &mut width[2]])?;
        let counts = [("q_num_heads", q), ("kv_num_heads", kv), ("kv_num_heads", kv)];
        for (input, (name, count)) in counts.into_iter().enumerate() {
            divides(cx, (name, count), (input, "element", width[input].dim))?;
            let each = cx.dims().div_exact(width[input].dim, count.map_or(Dim::Unknown, Dim::Const));
            let size = if input == 2 { &mut h.value_size } else { &mut h.size };
            size.agree(cx, input, each)?;
        }
        Some(h)
    }
}

/// The element types of the softmax computation.
const PRECISIONS: [ElemType; 4] = [ElemType::FLOAT, ElemType::FLOAT16, ElemType::DOUBLE, ElemType::BFLOAT16];

/// Checks that `softmax_precision`, where it is known, is a type of floating-point numbers.
fn softmax_precision(cx: &mut NodeCx<'_, '_>) -> Infer {
    match cx.int("softmax_precision") {
        Some(number) if !PRECISIONS.iter().any(|elem| i64::from(elem.0) == number) => {
            let message = format!("`softmax_precision` must be 1, 10, 11 or 16, but is {number}");
            cx.fail_at_attr("softmax_precision", message)
        }
        Some(_) | None => Some(()),
    }
}

/// `Q, K, V, attn_mask, past_key, past_value, nonpad_kv_seqlen` to the output, the present keys and values, and the
/// products of queries and keys.
pub(super) fn attention(cx: &mut NodeCx<'_, '_>) -> Infer {
    flag(cx, "is_causal")?;
    at_least(cx, "left_window_size", -1)?;
    at_least(cx, "right_window_size", -1)?;
    if cx.since() >= 25 {
        softmax_precision(cx)?;
    }
    if let Some(mode) = cx.int("qk_matmul_output_mode")
        && !(0..=3).contains(&mode)
    {
        return cx.fail_at_attr(
            "qk_matmul_output_mode",
            format!("`qk_matmul_output_mode` must be 0 to 3, but is {mode}"),
        );
    }
    if cx.has_input(4) != cx.has_input(5) {
        let message = "`past_key` and `past_value` must be given together";
        let place = if cx.has_input(4) { cx.at_input(4) } else { cx.at_input(5) };
        return cx.fail(Diagnostic::new(&code::ARITY, place, message));
    }
    let has_cache = (4..6).any(|i| cx.has_input(i)) || (1..3).any(|i| cx.has_output(i));
    if cx.since() >= 25 && cx.has_input(6) && has_cache {
        let message = "`nonpad_kv_seqlen` cannot be combined with past or present keys and values";
        return cx.fail(Diagnostic::new(&code::ARITY, cx.at_input(6), message));
    }
    if cx.since() >= 25 && cx.has_output(1) != cx.has_output(2) {
        let message = "`present_key` and `present_value` must be requested together";
        let place = if cx.has_output(1) { cx.at_output(1) } else { cx.at_output(2) };
        return cx.fail(Diagnostic::new(&code::ARITY, place, message));
    }
    let rank = rank_of_all(cx)?;
    let of_packed = ["q_num_heads", "kv_num_heads"].into_iter().find(|name| cx.has_attr(name));
    if let Some(name) = of_packed.filter(|_| cx.since() >= 25 && rank == 4) {
        return cx.fail_at_attr(name, format!("`{name}` is only for inputs of rank 3"));
    }
    let heads = if rank == 4 { Heads::of_rank_4(cx)? } else { packed(cx)? };
    let Heads { mut batch, queries, mut keys, length, kv_length, mut size, mut value_size } = heads;
    let mut past = Extent::fixed("past length", 0);
    if cx.has_input(4) {
        past = Extent::unknown("past length");
        hold(cx, 4, &mut [&mut batch, &mut keys, &mut past, &mut size])?;
        hold(cx, 5, &mut [&mut batch, &mut keys, &mut past, &mut value_size])?;
    }
    let total = cx.dims().add(past.dim, kv_length.dim);
    hold(cx, 6, &mut [&mut batch])?;
    mask(cx, &[batch.dim, queries.dim, length.dim, total])?;
    if rank == 4 {
        cx.set_shape(0, [batch.dim, queries.dim, length.dim, value_size.dim]);
    } else {
        let width = cx.dims().mul(queries.dim, value_size.dim);
        cx.set_shape(0, [batch.dim, length.dim, width]);
    }
    cx.set_shape(1, [batch.dim, keys.dim, total, size.dim]);
    cx.set_shape(2, [batch.dim, keys.dim, total, value_size.dim]);
    cx.set_shape(3, [batch.dim, queries.dim, length.dim, total]);
    Some(())
}

/// The rank of query, key and value, which is 3 or 4.
fn rank_of_all(cx: &mut NodeCx<'_, '_>) -> Option<usize> {
    let known: Vec<usize> = (0..3).filter(|&i| cx.rank(i).is_some()).collect();
    let first = *known.first()?;
    let rank = cx.shape_of_ranks(first, 3, Some(4))?.len();
    for i in known {
        cx.shape_of_rank(i, rank)?;
    }
    Some(rank)
}

/// Inputs of rank 3 require the numbers of heads.
fn packed(cx: &mut NodeCx<'_, '_>) -> Option<Heads> {
    for name in ["q_num_heads", "kv_num_heads"] {
        if !cx.has_attr(name) {
            let message = format!("`{}` with inputs of rank 3 requires the attribute `{name}`", cx.op());
            cx.fail(Diagnostic::new(&code::ATTR_REQUIRED, cx.at_op(), message))?;
        }
    }
    Heads::of_rank_3(cx)
}

/// Checks that the mask broadcasts to the products. Its last axis may be shorter: the rest is masked.
fn mask(cx: &mut NodeCx<'_, '_>, products: &[Dim; 4]) -> Infer {
    let Some(own) = cx.shape(3) else { return Some(()) };
    let mut target = *products;
    if let Some(&last) = own.last()
        && let (Some(has), Some(most)) = (cx.dims().as_const(last), cx.dims().as_const(products[3]))
        && has <= most
    {
        target[3] = last;
    } else if cx.dims().as_const(products[3]).is_none() {
        target[3] = own.last().copied().unwrap_or(Dim::Unknown);
    }
    broadcasts_to(cx, 3, (0, &target))
}

/// `query, key, value, past_state, decay, beta`, packed, to a packed output and the state.
pub(super) fn linear(cx: &mut NodeCx<'_, '_>) -> Infer {
    choice(cx, "update_rule", &["delta", "gated", "gated_delta", "linear"])?;
    at_least(cx, "chunk_size", 1)?;
    let rule = cx.string("update_rule").map(std::borrow::Cow::into_owned);
    for (input, name, rules) in
        [(4, "decay", ["gated", "gated_delta"]), (5, "beta", ["delta", "gated_delta"])]
    {
        if let Some(rule) = rule.as_deref().filter(|rule| rules.contains(rule))
            && !cx.has_input(input)
        {
            let message = format!("`update_rule = {rule}` requires the input `{name}`");
            return cx.fail_at_attr("update_rule", message);
        }
    }
    if let (None, Some(elem)) = (cx.output(1).elem(), cx.elem(0))
        && !cx.has_input(3)
    {
        cx.set_elem(1, elem);
    }
    let Heads { mut batch, queries, mut keys, mut length, kv_length, mut size, mut value_size } =
        Heads::of_rank_3(cx)?;
    let message = |a: &str, b: &str| format!("query and key have different lengths: {a} and {b}");
    length.agree_or(cx, 1, kv_length.dim, message)?;
    hold(cx, 3, &mut [&mut batch, &mut keys, &mut size, &mut value_size])?;
    let all = cx.dims().mul(keys.dim, size.dim);
    let widths = [(4, "decay", [keys.dim, all]), (5, "beta", [keys.dim, Dim::Const(1)])];
    for (input, name, allowed) in widths {
        let mut width = Extent::unknown("width");
        hold(cx, input, &mut [&mut batch, &mut length, &mut width])?;
        let is_wrong = allowed.iter().all(|&d| cx.dims().known_equal(d, width.dim) == Some(false));
        if is_wrong {
            let [a, b, has] = [allowed[0], allowed[1], width.dim].map(|d| dim_text(cx.dims(), d));
            let message = format!("`{name}` must have width {a} or {b}, but has {has}");
            return cx.fail_at_input(input, &code::SHAPE_PRECONDITION, message);
        }
    }
    let width = cx.dims().mul(queries.dim, value_size.dim);
    cx.set_shape(0, [batch.dim, length.dim, width]);
    cx.set_shape(1, [batch.dim, keys.dim, size.dim, value_size.dim]);
    Some(())
}

/// Attention with graphs that modify the scores and the probabilities, which have the type of the softmax.
pub(super) fn flex(cx: &mut NodeCx<'_, '_>) -> Infer {
    softmax_precision(cx)?;
    let Heads { batch, queries, length, kv_length, value_size, .. } = Heads::of_rank_4(cx)?;
    cx.set_shape(0, [batch.dim, queries.dim, length.dim, value_size.dim]);
    let elem = match cx.elem(0) {
        _ if cx.has_attr("softmax_precision") => cx.elem_attr("softmax_precision"),
        Some(ElemType::DOUBLE) => Some(ElemType::DOUBLE),
        Some(_) => Some(ElemType::FLOAT),
        None => None,
    };
    let shape = [batch.dim, queries.dim, length.dim, kv_length.dim].into_iter().collect();
    let ty = Ty::Tensor(TensorTy { elem, shape: Some(shape) });
    for name in ["score_mod", "prob_mod"] {
        modifier(cx, name, &ty)?;
    }
    Some(())
}

/// Checks a graph from one tensor to a tensor of the same type and shape.
fn modifier(cx: &mut NodeCx<'_, '_>, name: &str, ty: &Ty) -> Infer {
    let Some(graph) = cx.graph(name) else { return Some(()) };
    let (inputs, outputs) = cx.graph_signature(graph);
    if (inputs, outputs) != (1, 1) {
        let message = format!("`{name}` must have 1 input and 1 output, but has {inputs} and {outputs}");
        return cx.fail(Diagnostic::new(&code::SUBGRAPH_SIGNATURE, cx.at_graph(graph), message));
    }
    let result = cx.run_graph(graph, &[Fact::of(ty.clone())]);
    let Some(found) = result.first().map(|fact| fact.ty.clone()) else { return Some(()) };
    if cx.meet(ty, &found).is_none() {
        let [takes, gives] = [ty, &found].map(|ty| ty.text(cx.dims()));
        let message = format!("`{name}` must return {takes}, but returns {gives}");
        return cx.fail(Diagnostic::new(&code::SUBGRAPH_SIGNATURE, cx.at_graph(graph), message));
    }
    Some(())
}

/// `X, cos_cache, sin_cache, position_ids`: the output has the shape of the input.
pub(super) fn rotary(cx: &mut NodeCx<'_, '_>) -> Infer {
    flag(cx, "interleaved")?;
    at_least(cx, "rotary_embedding_dim", 0)?;
    let shape = cx.shape_of_ranks(0, 3, Some(4))?;
    let count = cx.int("num_heads");
    let (length, size) = if shape.len() == 4 {
        (shape[2], shape[3])
    } else {
        if !cx.has_attr("num_heads") {
            let message = format!("`{}` with an input of rank 3 requires the attribute `num_heads`", cx.op());
            return cx.fail(Diagnostic::new(&code::ATTR_REQUIRED, cx.at_op(), message));
        }
        at_least(cx, "num_heads", 1)?;
        divides(cx, ("num_heads", count), (0, "element", shape[2]))?;
        (shape[1], cx.dims().div_exact(shape[2], count.map_or(Dim::Unknown, Dim::Const)))
    };
    let mut batch = Extent::of_input("batch size", 0, shape[0]);
    let mut length = Extent::of_input("length", 0, length);
    let what = "number of rotated pairs";
    let rotated = match int_or(cx, "rotary_embedding_dim", 0) {
        Some(0) => Extent::of_input(what, 0, size),
        Some(n) => Extent::of_attr(what, "rotary_embedding_dim", Dim::Const(n)),
        None => Extent::unknown(what),
    };
    let half = cx.dims().floor_div(rotated.dim, Dim::Const(2));
    let mut half = rotated.derive(what, half);
    let mut positions = Extent::unknown("number of positions");
    for cache in [1, 2] {
        if cx.has_input(3) {
            hold(cx, cache, &mut [&mut positions, &mut half])?;
        } else {
            hold(cx, cache, &mut [&mut batch, &mut length, &mut half])?;
        }
    }
    hold(cx, 3, &mut [&mut batch, &mut length])?;
    cx.set_shape(0, shape);
    Some(())
}

/// Gate, value and output have the same shape.
pub(super) fn swiglu(cx: &mut NodeCx<'_, '_>) -> Infer {
    let shape = same_shapes(cx, &[0, 1])?;
    cx.set_shape(0, shape);
    Some(())
}
