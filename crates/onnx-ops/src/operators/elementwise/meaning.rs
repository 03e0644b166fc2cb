//! Elementwise arithmetic, logic and comparisons.

use crate::definition::cx::axis;
use crate::definition::{Binary, Cx, Definition, Expr, Formula, Index, Number, Unary};
use onnx_formula::float::format;
use onnx_formula::is_float;
use onnx_ir::ElemType;

pub(crate) fn unary(cx: &Cx<'_>, op: Unary) -> Option<Definition> {
    cx.element(cx.broadcast(0)?.unary(op))
}

pub(crate) fn binary(cx: &Cx<'_>, op: Binary) -> Option<Definition> {
    let is_one_type = cx.input(0)?.elem == cx.input(1)?.elem;
    let expr = cx.broadcast(0)?.binary(op, second(cx)?);
    is_one_type.then(|| cx.element(expr))?
}

/// The second operand. Before version 7 of the operators, its shape is a part of the first one's, from `axis` on or at the end;
/// and only with `broadcast`.
fn second(cx: &Cx<'_>) -> Option<Expr> {
    let from = cx.attributes.int("axis").filter(|_| cx.attributes.is("broadcast"));
    let Some(from) = from else { return cx.broadcast(1) };
    let (dims, rank) = (cx.input(1)?.dims, cx.out()?.dims.len());
    let from = if dims.is_empty() { 0 } else { axis(from, rank)? };
    let index = |(at, d): (usize, &usize)| if *d == 1 { Index::at(0) } else { Index::of(at + from) };
    Some(Expr::Load(1, dims.iter().enumerate().map(index).collect()))
}

pub(crate) fn modulo(cx: &Cx<'_>) -> Option<Definition> {
    let is_c = cx.attributes.is("fmod");
    binary(cx, if is_c { Binary::Remainder } else { Binary::Mod })
}

/// Computed in a type for both sides, with the type of the first one as the result.
pub(crate) fn power(cx: &Cx<'_>) -> Option<Definition> {
    let (base, exponent) = (cx.input(0)?.elem, cx.input(1)?.elem);
    let is_double = base == ElemType::DOUBLE || exponent == ElemType::DOUBLE;
    let common = match (is_float(base), is_float(exponent)) {
        (false, false) => ElemType::INT64,
        (true, _) if !is_double => ElemType::FLOAT,
        (true | false, true | false) => ElemType::DOUBLE,
    };
    let power =
        cx.broadcast(0)?.into_type(base, common).binary(Binary::Pow, second(cx)?.into_type(exponent, common));
    cx.element(power.into_type(common, cx.out()?.elem))
}

pub(crate) fn shift(cx: &Cx<'_>) -> Option<Definition> {
    match &*cx.attributes.string("direction")? {
        "LEFT" => binary(cx, Binary::ShiftLeft),
        "RIGHT" => binary(cx, Binary::ShiftRight),
        _ => None,
    }
}

/// The most inputs that one formula combines. More are combined in groups, by formulas of their own, so that no loop reads
/// thousands of tensors at a time. As a power of 2 it makes groups of the parts of the balanced tree that one formula would be.
const MAX_COMBINED: usize = 64;

/// Combines any number of inputs by one operation.
pub(crate) fn several(cx: &Cx<'_>, op: Binary) -> Option<Definition> {
    combined(cx, op, |all| all)
}

pub(crate) fn mean(cx: &Cx<'_>) -> Option<Definition> {
    combined(cx, Binary::Add, |sum| sum / Expr::float(cx.inputs.len() as f64))
}

fn combined(cx: &Cx<'_>, op: Binary, finish: impl FnOnce(Expr) -> Expr) -> Option<Definition> {
    let out = cx.out()?;
    let one = |i| cx.input(i).filter(|input| input.elem == out.elem).and_then(|_| cx.broadcast(i));
    let mut all: Vec<Expr> = (0..cx.inputs.len()).map(one).collect::<Option<_>>()?;
    let mut formulas = Vec::new();
    while all.len() > MAX_COMBINED {
        let groups = std::mem::take(&mut all);
        for group in groups.chunks(MAX_COMBINED) {
            let indices = (0..out.dims.len()).map(Index::of).collect();
            all.push(Expr::Load(cx.result(formulas.len()), indices));
            formulas.push(cx.formula(Expr::fold(group.to_vec(), op)?)?);
        }
    }
    formulas.push(cx.formula(finish(Expr::fold(all, op)?))?);
    let last = formulas.len() - 1;
    cx.define(formulas, &[last])
}

pub(crate) fn choose(cx: &Cx<'_>) -> Option<Definition> {
    cx.element(cx.broadcast(1)?.if_else(cx.broadcast(0)?, cx.broadcast(2)?))
}

/// The limits are scalars; before version 11 they are attributes. Omitted limits are the greatest finite numbers, so infinities
/// are clipped.
pub(crate) fn clip(cx: &Cx<'_>) -> Option<Definition> {
    let elem = cx.out()?.elem;
    let limit = |i: usize, name: &str| {
        if cx.has_input(i) {
            return cx.scalar(i).map(Some);
        }
        // The defaults of the attributes are the greatest single floats.
        let given = cx.attributes.float(name).map(|x| Number::Float(x).wrap(elem));
        let greatest = format(elem).map(|format| if i == 1 { -format.max() } else { format.max() });
        Some(given.or(greatest.map(Number::Float)).map(Expr::Number))
    };
    let mut expr = cx.broadcast(0)?;
    if let Some(least) = limit(1, "min")? {
        expr = expr.max(least);
    }
    if let Some(most) = limit(2, "max")? {
        expr = expr.min(most);
    }
    cx.element(expr)
}

pub(crate) fn is_infinite(cx: &Cx<'_>) -> Option<Definition> {
    let infinite = |sign: f64| Some(cx.broadcast(0)?.equal(Expr::float(f64::INFINITY * sign)));
    cx.element(match (cx.attributes.is("detect_negative"), cx.attributes.is("detect_positive")) {
        (true, true) => infinite(-1.0)?.binary(Binary::Or, infinite(1.0)?),
        (true, false) => infinite(-1.0)?,
        (false, true) => infinite(1.0)?,
        (false, false) => Expr::int(0),
    })
}

/// The identity in inference; training draws random numbers and is not a formula. The mask is true everywhere.
pub(crate) fn dropout(cx: &Cx<'_>) -> Option<Definition> {
    let known = |i: usize| match cx.input(i) {
        Some(input) => input.value?.numbers.first().map(|n| Some(*n)),
        None => Some(None),
    };
    // Before version 7, an attribute distinguished test mode from training.
    let is_training = match cx.since() {
        ..7 => !cx.attributes.is("is_test"),
        _ => known(2)?.is_some_and(Number::is_true),
    };
    let ratio =
        || Some(known(1)?.map_or_else(|| cx.attributes.float("ratio").unwrap_or(0.5), Number::as_float));
    if is_training && ratio()? != 0.0 {
        return None;
    }
    let mut formulas = vec![cx.formula(cx.broadcast(0)?)?];
    if let Some(mask) = cx.output(1) {
        let (elem, dims) = (mask.elem, mask.dims.to_vec());
        formulas.push(Formula { elem, dims, over: None, expr: Expr::number(elem, 1), then: None });
    }
    cx.define(formulas, &[0, 1])
}
