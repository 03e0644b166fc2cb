//! Elementwise operators, and ranges.

use super::draft::{Draft, number};
use super::site::Site;
use onnx_ir::ElemType;

/// A cast to the type of the second input.
pub(super) fn cast_like(site: &Site<'_>) -> Option<Draft> {
    let elem = site.elem(1)?;
    let mut draft = Draft::new();
    let mut attrs = format!("to = {}", elem.0);
    for (name, ty, default) in [("saturate", "int", "1"), ("round_mode", "string", "\"up\"")] {
        if site.schema.attr(name).is_some() {
            draft.param(format!("{name}: {ty} = {default}"));
            attrs += &format!(", {name}: {ty} = @{name}");
        }
    }
    draft.add(format_args!("output = Cast <{attrs}> (input)"));
    Some(draft)
}

/// The minimum of the upper bound and the maximum of lower bound and input.
pub(super) fn clip(site: &Site<'_>) -> Option<Draft> {
    let mut draft = Draft::new();
    draft.add(match (site.has_input(1), site.has_input(2)) {
        (true, true) => "raised = Max (input, min)\n    output = Min (raised, max)",
        (true, false) => "output = Max (input, min)",
        (false, true) => "output = Min (input, max)",
        (false, false) => "output = Identity (input)",
    });
    Some(draft)
}

/// 1 where a random number is below the probability.
pub(super) fn bernoulli(site: &Site<'_>) -> Option<Draft> {
    let mut draft = Draft::new();
    let to = if site.has_attr("dtype") { site.elem_attr("dtype")? } else { site.elem(0)? };
    let seed = match site.has_attr("seed") {
        true => format!(", seed = {}", number(site.float("seed")?, ElemType::FLOAT)),
        false => String::new(),
    };
    draft.add(format_args!("random = RandomUniformLike <low = 0.0, high = 1.0{seed}> (input)"));
    draft.add("hit = Less (random, input)");
    draft.add(format_args!("output = Cast <to = {}> (hit)", to.0));
    Some(draft)
}

pub(super) fn gelu(site: &Site<'_>) -> Option<Draft> {
    let elem = site.elem(0)?;
    let mut draft = Draft::new();
    draft.scalar("half", elem, "0.5");
    draft.scalar("one", elem, "1.0");
    match &*site.string("approximate")? {
        "none" => {
            draft.scalar("scale", elem, "0.7071067811865476");
            draft.add("scaled = Mul (X, scale)");
            draft.add("curve = Erf (scaled)");
        }
        "tanh" => {
            draft.scalar("bend", elem, "0.044715");
            draft.scalar("scale", elem, "0.7978845608028654");
            draft.add("square = Mul (X, X)");
            draft.add("cube = Mul (square, X)");
            draft.add("bent = Mul (bend, cube)");
            draft.add("sum = Add (X, bent)");
            draft.add("scaled = Mul (scale, sum)");
            draft.add("curve = Tanh (scaled)");
        }
        _ => return None,
    }
    draft.add("raised = Add (one, curve)");
    draft.add("weight = Mul (half, raised)");
    draft.add("Y = Mul (X, weight)");
    Some(draft)
}

/// `start + i delta` for all `i` in range. Half floats are computed in `stash_type`, integers in 64 bits.
pub(super) fn range(site: &Site<'_>) -> Option<Draft> {
    let elem = (0..3).find_map(|i| site.elem(i))?;
    let inner = match elem {
        ElemType::FLOAT16 | ElemType::BFLOAT16 => site.elem_attr("stash_type")?,
        ElemType::FLOAT | ElemType::DOUBLE => elem,
        _ => ElemType::INT64,
    };
    let mut draft = Draft::new();
    for name in ["start", "limit", "delta"] {
        draft.add(format_args!("exact_{name} = Cast <to = {}> ({name})", ElemType::DOUBLE.0));
        if name != "limit" {
            draft.add(format_args!("inner_{name} = Cast <to = {}> ({name})", inner.0));
        }
    }
    draft.add("way = Sub (exact_limit, exact_start)");
    draft.add("steps = Div (way, exact_delta)");
    draft.add("whole = Ceil (steps)");
    draft.add("natural = Relu (whole)");
    draft.add(format_args!("count = Cast <to = {}> (natural)", ElemType::INT64.0));
    draft.list("list", &[-1]);
    draft.add("length = Reshape (count, list)");
    draft.add("ones = ConstantOfShape <value = int64[1] {1}> (length)");
    draft.add("places = NonZero (ones)");
    draft.add("index = Reshape (places, list)");
    draft.add(format_args!("i = Cast <to = {}> (index)", inner.0));
    draft.add("distance = Mul (i, inner_delta)");
    draft.add("sum = Add (inner_start, distance)");
    draft.add(format_args!("output = Cast <to = {}> (sum)", elem.0));
    Some(draft)
}
