//! The formulas of nodes, operator by operator.

use super::number::{Binary, Number, Unary, is_float, is_number};
use super::{Combine, Dense, Expr, Formula, Index};
use onnx_ir::ElemType;

/// A node as its formula depends on it.
pub(crate) struct Cx<'a> {
    /// Elements and extents of the inputs; `None` is one that is left out.
    pub(crate) inputs: &'a [Option<&'a Dense>],
    /// The type of the result.
    pub(crate) elem: ElemType,
    /// See [`elem`](Self::elem).
    pub(crate) dims: &'a [usize],
    /// An attribute that is an integer, with the default of the schema.
    pub(crate) int: &'a dyn Fn(&str) -> Option<i64>,
    /// An attribute that is a list of integers.
    pub(crate) ints: &'a dyn Fn(&str) -> Option<Vec<i64>>,
    /// An attribute that is a tensor.
    pub(crate) tensor: &'a dyn Fn(&str) -> Option<Dense>,
}

type Build = fn(&Cx<'_>) -> Option<Formula>;

/// The formula of a node of ai.onnx, if the operator has one and the node is sound.
pub(crate) fn formula(op: &str, cx: &Cx<'_>) -> Option<Formula> {
    let build = ROWS.iter().find(|(name, _)| *name == op)?.1;
    is_number(cx.elem).then(|| build(cx)).flatten()
}

const ROWS: &[(&str, Build)] = &[
    ("Abs", |cx| unary(cx, Unary::Abs)),
    ("Add", |cx| binary(cx, Binary::Add)),
    ("And", |cx| binary(cx, Binary::And)),
    ("BitwiseNot", |cx| unary(cx, Unary::BitwiseNot)),
    ("Cast", cast),
    ("Ceil", |cx| unary(cx, Unary::Ceil)),
    ("Concat", concat),
    ("ConstantOfShape", constant_of_shape),
    ("Div", |cx| binary(cx, Binary::Div)),
    ("Equal", |cx| binary(cx, Binary::Equal)),
    ("Expand", |cx| Some(cx.formula(cx.broadcast(0)?))),
    ("Flatten", view),
    ("Floor", |cx| unary(cx, Unary::Floor)),
    ("Gather", gather),
    ("Greater", |cx| binary(cx, Binary::Greater)),
    ("GreaterOrEqual", |cx| binary(cx, Binary::GreaterOrEqual)),
    ("Identity", view),
    ("Less", |cx| binary(cx, Binary::Less)),
    ("LessOrEqual", |cx| binary(cx, Binary::LessOrEqual)),
    ("Max", |cx| several(cx, Binary::Max)),
    ("Min", |cx| several(cx, Binary::Min)),
    ("Mod", modulo),
    ("Mul", |cx| binary(cx, Binary::Mul)),
    ("Neg", |cx| unary(cx, Unary::Neg)),
    ("Not", |cx| unary(cx, Unary::Not)),
    ("Or", |cx| binary(cx, Binary::Or)),
    ("Range", range),
    ("Reciprocal", |cx| unary(cx, Unary::Reciprocal)),
    ("ReduceMax", |cx| reduce(cx, Combine::Max)),
    ("ReduceMin", |cx| reduce(cx, Combine::Min)),
    ("ReduceProd", |cx| reduce(cx, Combine::Product)),
    ("ReduceSum", |cx| reduce(cx, Combine::Sum)),
    ("Relu", |cx| unary(cx, Unary::Relu)),
    ("Reshape", view),
    ("Sign", |cx| unary(cx, Unary::Sign)),
    ("Slice", slice),
    ("Sqrt", |cx| unary(cx, Unary::Sqrt)),
    ("Squeeze", view),
    ("Sub", |cx| binary(cx, Binary::Sub)),
    ("Tile", tile),
    ("Transpose", transpose),
    ("Trilu", triangle),
    ("Unsqueeze", view),
    ("Where", choose),
    ("Xor", |cx| binary(cx, Binary::Xor)),
];

impl Cx<'_> {
    fn input(&self, i: usize) -> Option<&Dense> {
        *self.inputs.get(i)?
    }

    fn formula(&self, expr: Expr) -> Formula {
        Formula { elem: self.elem, dims: self.dims.to_vec(), over: None, expr }
    }

    /// The element of an input that a shape is broadcast to.
    fn broadcast(&self, i: usize) -> Option<Expr> {
        let dims = &self.input(i)?.dims;
        let shift = self.dims.len().checked_sub(dims.len())?;
        let index = |(at, d): (usize, &usize)| if *d == 1 { Index::at(0) } else { Index::of(at + shift) };
        Some(Expr::Load(i, dims.iter().enumerate().map(index).collect()))
    }

    /// An axis of a rank.
    fn axis(&self, rank: usize) -> Option<usize> {
        axis((self.int)("axis")?, rank)
    }
}

fn axis(axis: i64, rank: usize) -> Option<usize> {
    let axis = if axis < 0 { axis + i64::try_from(rank).ok()? } else { axis };
    usize::try_from(axis).ok().filter(|axis| *axis < rank)
}

fn long(n: usize) -> Option<i64> {
    i64::try_from(n).ok()
}

fn unary(cx: &Cx<'_>, op: Unary) -> Option<Formula> {
    Some(cx.formula(Expr::Unary(op, Box::new(cx.broadcast(0)?))))
}

fn binary(cx: &Cx<'_>, op: Binary) -> Option<Formula> {
    let is_one_type = cx.input(0)?.elem == cx.input(1)?.elem;
    let (a, b) = (cx.broadcast(0)?, cx.broadcast(1)?);
    is_one_type.then(|| cx.formula(Expr::Binary(op, Box::new(a), Box::new(b))))
}

/// The remainder with the sign of the divisor; that of C is left to floats.
fn modulo(cx: &Cx<'_>) -> Option<Formula> {
    ((cx.int)("fmod")? == 0 && !is_float(cx.elem)).then(|| binary(cx, Binary::Mod)).flatten()
}

fn several(cx: &Cx<'_>, op: Binary) -> Option<Formula> {
    let mut all = (0..cx.inputs.len()).map(|i| cx.broadcast(i));
    let first = all.next()??;
    let expr = all.try_fold(first, |a, b| Some(Expr::Binary(op, Box::new(a), Box::new(b?))))?;
    Some(cx.formula(expr))
}

fn cast(cx: &Cx<'_>) -> Option<Formula> {
    Some(cx.formula(Expr::Cast(cx.elem, Box::new(cx.broadcast(0)?))))
}

fn choose(cx: &Cx<'_>) -> Option<Formula> {
    let parts = [cx.broadcast(0)?, cx.broadcast(1)?, cx.broadcast(2)?];
    Some(cx.formula(Expr::Select(Box::new(parts))))
}

/// The same elements in the same order under another shape.
fn view(cx: &Cx<'_>) -> Option<Formula> {
    let from = &cx.input(0)?.dims;
    let mut terms = Vec::new();
    let mut stride = 1i64;
    for (i, d) in cx.dims.iter().enumerate().rev() {
        terms.push((i, stride));
        stride = stride.checked_mul(long(*d)?)?;
    }
    let position = Index::Affine(0, terms);
    let mut load = Vec::new();
    let mut stride = 1i64;
    for d in from.iter().rev() {
        let d = long(*d)?.max(1);
        load.push(Index::Rem(Box::new(Index::Div(Box::new(position.clone()), stride)), d));
        stride = stride.checked_mul(d)?;
    }
    load.reverse();
    Some(cx.formula(Expr::Load(0, load)))
}

fn transpose(cx: &Cx<'_>) -> Option<Formula> {
    let rank = cx.input(0)?.dims.len();
    let perm = match (cx.ints)("perm") {
        Some(perm) => perm.into_iter().map(|p| axis(p, rank)).collect::<Option<Vec<_>>>()?,
        None => (0..rank).rev().collect(),
    };
    // Axis `i` of the input is where `perm` has it.
    let load = (0..rank).map(|i| Some(Index::of(perm.iter().position(|p| *p == i)?)));
    Some(cx.formula(Expr::Load(0, load.collect::<Option<_>>()?)))
}

/// The first input that an index along the axis falls into.
fn concat(cx: &Cx<'_>) -> Option<Formula> {
    let along = cx.axis(cx.dims.len())?;
    let mut end = long(cx.dims[along])?;
    let mut expr: Option<Expr> = None;
    for i in (0..cx.inputs.len()).rev() {
        let from = cx.input(i)?;
        let start = end.checked_sub(long(*from.dims.get(along)?)?)?;
        let index = |at| if at == along { Index::Affine(-start, vec![(at, 1)]) } else { Index::of(at) };
        let load = Expr::Load(i, (0..from.dims.len()).map(index).collect());
        expr = Some(match expr {
            None => load,
            Some(rest) => {
                let limit = Box::new(Expr::Number(Number::Int(end.into())));
                let is_before = Expr::Binary(Binary::Less, Box::new(Expr::Index(Index::of(along))), limit);
                Expr::Select(Box::new([is_before, load, rest]))
            }
        });
        end = start;
    }
    Some(cx.formula(expr?))
}

fn slice(cx: &Cx<'_>) -> Option<Formula> {
    let dims = &cx.input(0)?.dims;
    let list = |i: usize, name: &str| match cx.input(i) {
        Some(list) => list.ints(),
        None => (cx.ints)(name),
    };
    let starts = list(1, "starts")?;
    let axes = match list(3, "axes") {
        Some(axes) => axes.into_iter().map(|a| axis(a, dims.len())).collect::<Option<Vec<_>>>()?,
        None => (0..starts.len()).collect(),
    };
    let steps = list(4, "steps").unwrap_or_else(|| vec![1; starts.len()]);
    let mut load: Vec<Index> = (0..dims.len()).map(Index::of).collect();
    for ((&start, &along), &step) in starts.iter().zip(&axes).zip(&steps) {
        let d = long(*dims.get(along)?)?;
        let start = if start < 0 { start.saturating_add(d) } else { start };
        let start = if step < 0 { start.clamp(0, (d - 1).max(0)) } else { start.clamp(0, d) };
        load[along] = Index::Affine(start, vec![(along, step)]);
    }
    Some(cx.formula(Expr::Load(0, load)))
}

fn gather(cx: &Cx<'_>) -> Option<Formula> {
    let (data, indices) = (cx.input(0)?, cx.input(1)?);
    let along = cx.axis(data.dims.len())?;
    let count = indices.dims.len();
    let picked = Expr::Load(1, (0..count).map(|i| Index::of(along + i)).collect());
    let extent = Expr::Number(Number::Int(long(data.dims[along])?.into()));
    let zero = Expr::Number(Number::Int(0));
    let is_negative = Expr::Binary(Binary::Less, Box::new(picked.clone()), Box::new(zero));
    let from_end = Expr::Binary(Binary::Add, Box::new(picked.clone()), Box::new(extent));
    let element = Index::Element(Box::new(Expr::Select(Box::new([is_negative, from_end, picked]))));
    let index = |i: usize| match i.cmp(&along) {
        std::cmp::Ordering::Less => Index::of(i),
        std::cmp::Ordering::Equal => element.clone(),
        std::cmp::Ordering::Greater => Index::of(i + count - 1),
    };
    Some(cx.formula(Expr::Load(0, (0..data.dims.len()).map(index).collect())))
}

fn tile(cx: &Cx<'_>) -> Option<Formula> {
    let dims = &cx.input(0)?.dims;
    let index = |(i, d): (usize, &usize)| Some(Index::Rem(Box::new(Index::of(i)), long(*d)?.max(1)));
    let load = dims.iter().enumerate().map(index).collect::<Option<_>>()?;
    Some(cx.formula(Expr::Load(0, load)))
}

fn constant_of_shape(cx: &Cx<'_>) -> Option<Formula> {
    let number = match (cx.tensor)("value") {
        Some(value) if value.elem == cx.elem => value.numbers.first().copied()?,
        Some(_) => return None,
        None => Number::Float(0.0),
    };
    Some(cx.formula(Expr::Number(number)))
}

/// `start + i * delta`, of integers.
fn range(cx: &Cx<'_>) -> Option<Formula> {
    let scalar = |i| Some(Box::new(Expr::Load(i, vec![Index::at(0); cx.input(i)?.dims.len()])));
    if is_float(cx.elem) {
        return None;
    }
    let steps = Expr::Binary(Binary::Mul, Box::new(Expr::Index(Index::of(0))), scalar(2)?);
    Some(cx.formula(Expr::Binary(Binary::Add, scalar(0)?, Box::new(steps))))
}

/// What is above a diagonal, or below it.
fn triangle(cx: &Cx<'_>) -> Option<Formula> {
    let rank = cx.dims.len().checked_sub(2)?;
    let k = match cx.inputs.get(1).copied().flatten() {
        Some(k) => *k.ints()?.first()?,
        None => 0,
    };
    let op = if (cx.int)("upper")? != 0 { Binary::GreaterOrEqual } else { Binary::LessOrEqual };
    let column = Expr::Index(Index::of(rank + 1));
    let edge = Expr::Index(Index::Affine(k, vec![(rank, 1)]));
    let is_in = Expr::Binary(op, Box::new(column), Box::new(edge));
    let zero = Expr::Number(if is_float(cx.elem) { Number::Float(0.0) } else { Number::Int(0) });
    Some(cx.formula(Expr::Select(Box::new([is_in, cx.broadcast(0)?, zero]))))
}

/// Sums and products of floats depend on the order, and are left out.
fn reduce(cx: &Cx<'_>, combine: Combine) -> Option<Formula> {
    let dims = &cx.input(0)?.dims;
    if is_float(cx.elem) && matches!(combine, Combine::Sum | Combine::Product) {
        return None;
    }
    let axes = match cx.input(1) {
        Some(axes) => axes.ints(),
        None => (cx.ints)("axes"),
    };
    let axes = axes.unwrap_or_default();
    if axes.is_empty() && (cx.int)("noop_with_empty_axes").unwrap_or(0) != 0 {
        return None;
    }
    let axes = axes.into_iter().map(|a| axis(a, dims.len())).collect::<Option<Vec<_>>>()?;
    let is_gone = |i: &usize| axes.is_empty() || axes.contains(i);
    let keeps = (cx.int)("keepdims")? != 0;
    let over: Vec<usize> = (0..dims.len()).filter(is_gone).map(|i| dims[i]).collect();
    let (mut kept, mut gone) = (0, cx.dims.len());
    let mut load = Vec::new();
    for i in 0..dims.len() {
        if is_gone(&i) {
            load.push(Index::of(gone));
            gone += 1;
            kept += usize::from(keeps);
        } else {
            load.push(Index::of(kept));
            kept += 1;
        }
    }
    Some(Formula { over: Some((over, combine)), ..cx.formula(Expr::Load(0, load)) })
}
