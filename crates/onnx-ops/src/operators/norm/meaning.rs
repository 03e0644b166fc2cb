//! Normalizations by mean and deviation.

use crate::definition::cx::long;
use crate::definition::{Combine, Cx, Definition, Expr, Formula, Index, Unary};
use crate::operators::pool::meaning::{root, to_power};
use crate::operators::reduce::meaning::Axes;
use onnx_formula::count;
use onnx_formula::wide;
use onnx_ir::ElemType;

/// An element of an input in at least single precision.
fn load(cx: &Cx<'_>, input: usize, at: Vec<Index>, to: ElemType) -> Option<Expr> {
    Some(Expr::Load(input, at).into_type(cx.input(input)?.elem, to))
}

/// Means and variances over some axes of the first input, which keep size 1.
struct Moments {
    float: ElemType,
    /// The shape of the means.
    dims: Vec<usize>,
    axes: Axes,
    n: f64,
    gone: Vec<bool>,
}

impl Moments {
    fn new(dims: &[usize], gone: impl Fn(usize) -> bool, float: ElemType) -> Option<Moments> {
        let axes = Axes::new(dims, &gone, true, dims.len());
        let n = count(&axes.over)? as f64;
        let gone: Vec<bool> = (0..dims.len()).map(gone).collect();
        let dims = gone.iter().zip(dims).map(|(gone, d)| if *gone { 1 } else { *d }).collect();
        Some(Moments { float, dims, axes, n, gone })
    }

    /// The position of the moments for an element of the input.
    fn at(&self) -> Vec<Index> {
        let index = |(i, gone): (usize, &bool)| if *gone { Index::at(0) } else { Index::of(i) };
        self.gone.iter().enumerate().map(index).collect()
    }

    fn mean_of(&self, expr: Expr, then: impl FnOnce(Expr) -> Expr) -> Formula {
        let dims = self.dims.clone();
        let formula = Formula { elem: self.float, dims, over: None, expr, then: None };
        let mean = Expr::Total / Expr::float(self.n);
        formula.over(self.axes.over.clone(), Combine::Sum, self.float).then(then(mean))
    }

    /// The means.
    fn mean(&self, cx: &Cx<'_>) -> Option<Formula> {
        Some(self.mean_of(load(cx, 0, self.axes.load.clone(), self.float)?, |mean| mean))
    }

    /// A function of the variances, for the formula of the means.
    fn variance(&self, cx: &Cx<'_>, mean: usize, then: impl FnOnce(Expr) -> Expr) -> Option<Formula> {
        let rest = load(cx, 0, self.axes.load.clone(), self.float)? - Expr::Load(cx.result(mean), self.at());
        Some(self.mean_of(rest.clone() * rest, then))
    }
}

fn inverse_deviation(variance: Expr, epsilon: f64) -> Expr {
    (variance + Expr::float(epsilon)).unary(Unary::Sqrt).unary(Unary::Reciprocal)
}

/// The position of a per-channel parameter; with several axes, all but the batch.
fn of_channel(cx: &Cx<'_>, input: usize) -> Option<Vec<Index>> {
    let rank = cx.out()?.dims.len();
    Some(match cx.input(input)?.dims {
        [_] if rank > 1 => vec![Index::of(1)],
        [_] => vec![Index::at(0)],
        dims => (0..dims.len()).map(|i| Index::of(i + 1)).collect(),
    })
}

/// `scale * (x - mean) / sqrt(variance + epsilon) + bias`, with given means and variances; or in training with those of the
/// batch, toward which the second and third output move.
pub(super) fn batch(cx: &Cx<'_>) -> Option<Definition> {
    let (dims, out) = (cx.input(0)?.dims, cx.out()?.elem);
    let float = wide(out);
    let epsilon = cx.attributes.float("epsilon")?;
    let is_training = match cx.since() {
        14.. => cx.attributes.is("training_mode"),
        7.. => cx.outputs.iter().skip(1).any(Option::is_some),
        _ => !cx.attributes.is("is_test"),
    };
    let is_spatial = cx.attributes.int("spatial").is_none_or(|n| n != 0);
    let given = |input: usize| load(cx, input, of_channel(cx, input)?, float);
    let x = cx.broadcast(0)?.into_type(out, float);
    let result = |mean: Expr, variance: Expr| {
        let deviation = (variance + Expr::float(epsilon)).unary(Unary::Sqrt);
        Some((given(1)? * (x.clone() - mean) / deviation + given(2)?).into_type(float, out))
    };
    if !is_training {
        return cx.element(result(given(3)?, given(4)?)?);
    }
    if !is_spatial {
        return None;
    }
    let moments = Moments::new(dims, |axis| axis != 1, float)?;
    let own = |formula: usize| Expr::Load(cx.result(formula), moments.at());
    let mut formulas = vec![moments.mean(cx)?, moments.variance(cx, 0, |variance| variance)?];
    formulas.push(cx.formula(result(own(0), own(1))?)?);
    // Versions with more than three outputs leave the others unspecified.
    let wanted = cx.outputs.iter().skip(1).filter(|output| output.is_some()).count();
    if wanted == 0 {
        return cx.define(formulas, &[2]);
    }
    let momentum = cx.attributes.float("momentum")?;
    for (formula, input) in [(0, 3), (1, 4)] {
        let output = cx
            .output(1 + formula)
            .or_else(|| cx.input(input).map(|i| crate::definition::Output { elem: i.elem, dims: i.dims }))?;
        let before = Expr::Load(input, vec![Index::of(0)]).into_type(cx.input(input)?.elem, float);
        let mut at = vec![Index::at(0); dims.len()];
        *at.get_mut(1)? = Index::of(0);
        let now = Expr::Load(cx.result(formula), at);
        let moved = before * Expr::float(momentum) + now * Expr::float(1.0 - momentum);
        let expr = moved.into_type(float, output.elem);
        formulas.push(Formula {
            elem: output.elem,
            dims: output.dims.to_vec(),
            over: None,
            expr,
            then: None,
        });
    }
    cx.define(formulas, &[2, 3, 4])
}

pub(super) fn instance(cx: &Cx<'_>) -> Option<Definition> {
    let out = cx.out()?.elem;
    let float = wide(out);
    let epsilon = cx.attributes.float("epsilon")?;
    let moments = Moments::new(cx.input(0)?.dims, |axis| axis > 1, float)?;
    let own = |formula: usize| Expr::Load(cx.result(formula), moments.at());
    let given = |input: usize| load(cx, input, vec![Index::of(1)], float);
    let x = cx.broadcast(0)?.into_type(out, float);
    let result = given(1)? * (x - own(0)) * own(1) + given(2)?;
    let formulas = vec![
        moments.mean(cx)?,
        moments.variance(cx, 0, |variance| inverse_deviation(variance, epsilon))?,
        cx.formula(result.into_type(float, out))?,
    ];
    cx.define(formulas, &[2])
}

/// The type of `stash_type`.
fn stash(cx: &Cx<'_>) -> Option<ElemType> {
    let elem = ElemType(i32::try_from(cx.attributes.int("stash_type").unwrap_or(1)).ok()?);
    // Wider types are not narrowed.
    let is_double = cx.input(0)?.elem == ElemType::DOUBLE || elem == ElemType::DOUBLE;
    Some(if is_double { ElemType::DOUBLE } else { ElemType::FLOAT })
}

/// Over the last axes, from `axis` on, with means and inverse deviations as further results.
pub(super) fn layer(cx: &Cx<'_>) -> Option<Definition> {
    let (dims, out) = (cx.input(0)?.dims, cx.out()?.elem);
    let (float, first) = (stash(cx)?, cx.axis(dims.len())?);
    let epsilon = cx.attributes.float("epsilon")?;
    let moments = Moments::new(dims, |axis| axis >= first, float)?;
    let own = |formula: usize| Expr::Load(cx.result(formula), moments.at());
    let x = cx.broadcast(0)?.into_type(out, float);
    let mut result = (x - own(0)) * own(1) * cx.broadcast(1)?.into_type(cx.input(1)?.elem, float);
    if let Some(bias) = cx.input(2) {
        result = result + cx.broadcast(2)?.into_type(bias.elem, float);
    }
    let mut formulas = vec![
        moments.mean(cx)?,
        moments.variance(cx, 0, |variance| inverse_deviation(variance, epsilon))?,
        cx.formula(result.into_type(float, out))?,
    ];
    let mut of = vec![2];
    for (formula, output) in [(0, 1), (1, 2)] {
        let elem = cx.output(output).map_or(float, |output| output.elem);
        if elem == float {
            of.push(formula);
        } else {
            let at = (0..dims.len()).map(Index::of).collect();
            let expr = Expr::Load(cx.result(formula), at).cast(elem);
            of.push(formulas.len());
            formulas.push(Formula { elem, dims: moments.dims.clone(), over: None, expr, then: None });
        }
    }
    cx.define(formulas, &of)
}

/// Over groups of channels and all following axes. Scales and biases are per channel, before version 21 per group.
pub(super) fn group(cx: &Cx<'_>) -> Option<Definition> {
    let (dims, out) = (cx.input(0)?.dims, cx.out()?.elem);
    let float = stash(cx)?;
    let groups = usize::try_from(cx.attributes.int("num_groups")?).ok().filter(|n| *n > 0)?;
    let [batch, channels, spatial @ ..] = dims else { return None };
    let each = channels / groups;
    if channels % groups != 0 || each == 0 {
        return None;
    }
    let mut over = vec![each];
    over.extend(spatial);
    // After the batch and the group: the channel in the group and the position.
    let mut at = vec![Index::of(0), Index::Affine(0, vec![(1, long(each)?), (2, 1)])];
    at.extend((0..spatial.len()).map(|axis| Index::of(axis + 3)));
    let x = load(cx, 0, at, float)?;
    let n = count(&over)? as f64;
    let mean_of = |expr: Expr, then: &dyn Fn(Expr) -> Expr| {
        let formula = Formula { elem: float, dims: vec![*batch, groups], over: None, expr, then: None };
        formula.over(over.clone(), Combine::Sum, float).then(then(Expr::Total / Expr::float(n)))
    };
    let own = |formula: usize, group: Index| Expr::Load(cx.result(formula), vec![Index::of(0), group]);
    let rest = x.clone() - own(0, Index::of(1));
    let epsilon = cx.attributes.float("epsilon")?;
    let of_group = long(each)?;
    let group = || Index::of(1).div(of_group);
    let given = |input: usize| {
        let is_of_group = cx.since() < 21;
        load(cx, input, vec![if is_of_group { group() } else { Index::of(1) }], float)
    };
    let x_here = cx.broadcast(0)?.into_type(out, float);
    let result = (x_here - own(0, group())) * own(1, group()) * given(1)? + given(2)?;
    let formulas = vec![
        mean_of(x, &|mean| mean),
        mean_of(rest.clone() * rest, &|variance| inverse_deviation(variance, epsilon)),
        cx.formula(result.into_type(float, out))?,
    ];
    cx.define(formulas, &[2])
}

/// By the root mean square, over the last axes.
pub(super) fn root_mean_square(cx: &Cx<'_>) -> Option<Definition> {
    let (dims, out) = (cx.input(0)?.dims, cx.out()?.elem);
    let (float, first) = (stash(cx)?, cx.axis(dims.len())?);
    let epsilon = cx.attributes.float("epsilon")?;
    let moments = Moments::new(dims, |axis| axis >= first, float)?;
    let x = load(cx, 0, moments.axes.load.clone(), float)?;
    let inverse = moments.mean_of(x.clone() * x, |mean| inverse_deviation(mean, epsilon));
    let own = Expr::Load(cx.result(0), moments.at());
    // The quotient is rounded to the input's type before scaling.
    let quotient = (cx.broadcast(0)?.into_type(cx.input(0)?.elem, float) * own).cast(cx.input(0)?.elem);
    let scaled =
        quotient.into_type(cx.input(0)?.elem, float) * cx.broadcast(1)?.into_type(cx.input(1)?.elem, float);
    cx.define(vec![inverse, cx.formula(scaled.into_type(float, out))?], &[1])
}

/// By the norm along an axis; 0 where the norm is 0.
pub(super) fn lp(cx: &Cx<'_>) -> Option<Definition> {
    let (dims, elem) = (cx.input(0)?.dims, cx.out()?.elem);
    let along = cx.axis(dims.len())?;
    let p = cx.attributes.int("p")? as f64;
    let float = wide(elem);
    let moments = Moments::new(dims, |axis| axis == along, float)?;
    let x = load(cx, 0, moments.axes.load.clone(), float)?;
    let norm =
        Formula { elem: float, dims: moments.dims.clone(), over: None, expr: to_power(x, p), then: None };
    let norm = norm.over(moments.axes.over.clone(), Combine::Sum, float).then(root(p));
    let own = || Expr::Load(cx.result(0), moments.at());
    let quotient = cx.broadcast(0)?.into_type(elem, float) / own();
    let quotient = Expr::float(0.0).if_else(own().equal(Expr::float(0.0)), quotient);
    cx.define(vec![norm, cx.formula(quotient.into_type(float, elem))?], &[1])
}

/// By a power of the sum of squares over adjacent channels.
pub(super) fn local_response(cx: &Cx<'_>) -> Option<Definition> {
    let (dims, elem) = (cx.input(0)?.dims, cx.out()?.elem);
    let size = cx.attributes.int("size").filter(|n| *n > 0)?;
    let [alpha, beta, bias] = ["alpha", "beta", "bias"].map(|name| cx.attributes.float(name));
    let before = (size - 1) / 2;
    let channel = Index::Affine(-before, vec![(1, 1), (dims.len(), 1)]);
    let inside = Expr::Index(channel.clone()).binary(crate::definition::Binary::GreaterOrEqual, Expr::int(0));
    let inside = inside.and(Expr::Index(channel.clone()).less(Expr::int(long(*dims.get(1)?)?)));
    let mut at: Vec<Index> = (0..dims.len()).map(Index::of).collect();
    at[1] = channel;
    let float = wide(elem);
    let x = load(cx, 0, at, float)?.if_else(inside, Expr::float(0.0));
    let formula = cx.formula(x.clone() * x)?.over(vec![usize::try_from(size).ok()?], Combine::Sum, float);
    let divisor = Expr::float(bias?) + Expr::float(alpha? / size as f64) * Expr::Total;
    let power = divisor.binary(crate::definition::Binary::Pow, Expr::float(beta?));
    let result = cx.broadcast(0)?.into_type(elem, float) / power;
    cx.one(formula.then(result.into_type(float, elem)))
}
