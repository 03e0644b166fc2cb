//! Transposed convolutions as convolutions.
//!
//! With a stride of `s` along an axis, the elements of the result at `p`, `s + p`, `2 * s + p`, … (a phase) use every `s`-th
//! element of the kernel, and adjacent ones use adjacent elements of the input. So each phase is a convolution with a stride of 1
//! and a reversed part of the kernel. Phases with equally many kernel elements are channels of one convolution, whose result is
//! reordered at the end:
//!
//! ```text
//! float[1,2,4] x, float[2,1,3] w, y = ConvTranspose <strides = [2]> (x, w)
//!   a[i0, i1, 0, i3] = w[i1, 0, 2 - 2*i3]                             the phase that sees two elements
//!   b[i0, i1, i2] = sum over i3 < 2, i4 < 2 of x[i0, i3, i2 + i4 - 1] * a[i1, i3, i4]
//!   c, d                                                              the one that sees one
//!   y[i0, i1, i2] = b[i0, 0, i2 / 2] if i2 % 2 < 1 else d[i0, 0, i2 / 2]
//! ```
//! If the kernel is a multiple of the stride, there is one such convolution.

use super::meaning::{Convolution, groups, with_bias};
use crate::definition::cx::long;
use crate::definition::window::{Window, longs};
use crate::definition::{Binary, Combine, Cx, Definition, Expr, Formula, Index};
use onnx_formula::count;
use onnx_formula::is_float;
use onnx_formula::wide;
use onnx_ir::ElemType;

/// The operands of the node.
const INPUT: usize = 0;
const WEIGHT: usize = 1;
const BIAS: usize = 2;
/// The most spatial axes, to limit the number of phases.
const MAX_AXES: usize = 3;
/// With stride and dilation, kernels are padded with zeros to at most this many times their size.
const MAX_FILLED: i64 = 16;
/// The most elements of phases outside the result.
const MAX_BESIDE: i64 = 64;

/// A transposed convolution of floats.
struct Transposed {
    elem: ElemType,
    batch: usize,
    groups: usize,
    /// Channels per group of the input and of the result.
    inputs: usize,
    outputs: usize,
    axes: Vec<Axis>,
    /// The channel of the bias.
    bias: Option<Index>,
    /// The number of operands.
    operands: usize,
}

/// A spatial axis.
#[derive(Clone, Copy, Debug)]
struct Axis {
    from: i64,
    to: i64,
    kernel: i64,
    stride: i64,
    dilation: i64,
    /// The cropping at the start.
    begin: i64,
}

/// Consecutive phases of an axis with equally many kernel elements.
#[derive(Clone, Copy, Debug)]
struct Phases {
    first: i64,
    count: i64,
    taps: i64,
}

impl Axis {
    /// The kernel size including dilation gaps. Without a stride, there is one phase, and the convolution has the dilation.
    fn filled(&self) -> i64 {
        if self.stride == 1 { self.kernel } else { (self.kernel - 1) * self.dilation + 1 }
    }

    /// The cropping at the start, in strides, and the remainder.
    fn cut(&self) -> (i64, i64) {
        (self.begin.div_euclid(self.stride), self.begin.rem_euclid(self.stride))
    }

    /// Elements per phase.
    fn places(&self) -> i64 {
        (self.to - 1 + self.cut().1) / self.stride + 1
    }

    fn phases(&self) -> Vec<Phases> {
        let (least, more) = (self.filled() / self.stride, self.filled() % self.stride);
        let long = Phases { first: 0, count: more, taps: least + 1 };
        let short = Phases { first: more, count: self.stride - more, taps: least };
        [long, short].into_iter().filter(|phases| phases.count > 0).collect()
    }

    /// Whether the interleaved phases are exactly the result.
    fn is_whole(&self) -> bool {
        self.cut().1 == 0 && self.places() * self.stride == self.to
    }
}

/// Each element of the result gathers the contributions of input elements.
pub(super) fn conv_transpose(cx: &Cx<'_>) -> Option<Definition> {
    let it = Transposed::of(cx)?;
    let formulas = match it.has_phases() {
        true => it.by_phases()?,
        false => vec![it.plain()?],
    };
    let last = formulas.len() - 1;
    cx.define(formulas, &[last])
}

impl Transposed {
    fn of(cx: &Cx<'_>) -> Option<Transposed> {
        let (elem, out) = (cx.out()?.elem, cx.out()?.dims);
        let (input, weight, rank) = (cx.input(INPUT)?.dims, cx.input(WEIGHT)?.dims, out.len());
        let spatial = rank.checked_sub(2)?;
        if input.len() != rank || weight.len() != rank || !is_float(elem) {
            return None;
        }
        let groups = groups(cx)?;
        let (inputs, outputs) = (input[1] / groups, weight[1]);
        let channels = outputs.checked_mul(groups)?;
        if input[1] != inputs * groups || input[1] != weight[0] || out[1] != channels || out[0] != input[0] {
            return None;
        }
        let axes = axes(cx, spatial)?;
        let bias = match cx.input(BIAS).map(|bias| bias.dims) {
            None => None,
            Some([1]) => Some(Index::at(0)),
            Some([n]) if *n == channels => Some(Index::of(1)),
            Some(_) => return None,
        };
        let operands = cx.inputs.len();
        Some(Transposed { elem, batch: out[0], groups, inputs, outputs, axes, bias, operands })
    }

    fn dims(&self, spatial: impl Fn(&Axis) -> i64) -> Option<Vec<usize>> {
        let mut dims = vec![self.batch, self.groups.checked_mul(self.outputs)?];
        for axis in &self.axes {
            dims.push(usize::try_from(spatial(axis)).ok()?);
        }
        Some(dims)
    }

    /// Visits all kernel elements for each element of the result, and selects those whose distance from an input element is a
    /// multiple of the stride.
    fn plain(&self) -> Option<Formula> {
        let rank = self.axes.len() + 2;
        let outputs = long(self.outputs)?;
        let (group, within) = match (self.groups, outputs) {
            (1, _) => (Index::at(0), Index::of(1)),
            (_, 1) => (Index::of(1), Index::at(0)),
            _ => (Index::of(1).div(outputs), Index::of(1).rem(outputs)),
        };
        let channel = group.times(long(self.inputs)?).plus(Index::of(rank));
        let (mut x_at, mut w_at) = (vec![Index::of(0), channel.clone()], vec![channel, within]);
        let (mut conditions, mut over) = (Vec::new(), vec![self.inputs]);
        let index = |i: &Index| Expr::Index(i.clone());
        for (at, axis) in self.axes.iter().enumerate() {
            let terms = vec![(at + 2, 1), (rank + 1 + at, -axis.dilation)];
            let from = Index::Affine(axis.begin, terms);
            if axis.stride > 1 {
                conditions.push(index(&from.clone().rem(axis.stride)).equal(Expr::int(0)));
            }
            let position = from.div(axis.stride);
            conditions.push(index(&position).binary(Binary::GreaterOrEqual, Expr::int(0)));
            conditions.push(index(&position).less(Expr::int(axis.from)));
            x_at.push(position);
            w_at.push(Index::of(rank + 1 + at));
            over.push(usize::try_from(axis.kernel).ok()?);
        }
        let x = Expr::Load(INPUT, x_at).guarded(Expr::all(conditions), Expr::number(self.elem, 0));
        let (expr, dims) = (x * Expr::Load(WEIGHT, w_at), self.dims(|axis| axis.to)?);
        let formula = Formula { elem: self.elem, dims, over: None, expr, then: None };
        let formula = formula.over(over, Combine::Sum, wide(self.elem));
        Some(match &self.bias {
            Some(channel) => with_bias(formula, BIAS, channel.clone()),
            None => formula,
        })
    }

    /// Whether phases pay off; not for empty tensors.
    fn has_phases(&self) -> bool {
        let is_empty = [self.batch, self.groups, self.inputs, self.outputs].contains(&0)
            || self.axes.iter().any(|axis| axis.from < 1 || axis.to < 1 || axis.kernel < 1);
        let mut filled = Some(1i64);
        for axis in &self.axes {
            let most = axis.kernel.checked_mul(axis.dilation).filter(|_| axis.dilation > 0);
            // Rounded down, so that kernels of one element are free.
            filled = most
                .and_then(|_| filled?.checked_mul(axis.filled() / axis.kernel.max(1)))
                .filter(|n| *n <= MAX_FILLED);
        }
        // If the stride exceeds the result, most phases would be outside.
        let is_near = |axis: &Axis| axis.places() * axis.stride <= 2 * axis.to + MAX_BESIDE;
        !is_empty && self.axes.len() <= MAX_AXES && filled.is_some() && self.axes.iter().all(is_near)
    }

    /// A convolution per kind of phases, and the reordering of their results.
    fn by_phases(&self) -> Option<Vec<Formula>> {
        let mut formulas = Vec::new();
        let sums = self.sums_of(&mut Vec::new(), &mut formulas)?;
        if self.axes.iter().all(|axis| axis.stride == 1) {
            return Some(formulas);
        }
        let is_whole = self.axes.iter().all(Axis::is_whole);
        let formula = |dims, expr| Formula { elem: self.elem, dims, over: None, expr, then: None };
        formulas.push(formula(self.dims(|axis| axis.places() * axis.stride)?, sums));
        if !is_whole {
            let inside = |(at, axis): (usize, &Axis)| Index::of(at + 2).plus(Index::at(axis.cut().1));
            let at = [Index::of(0), Index::of(1)].into_iter().chain(self.axes.iter().enumerate().map(inside));
            let whole = Expr::Load(self.operands + formulas.len() - 1, at.collect());
            formulas.push(formula(self.dims(|axis| axis.to)?, whole));
        }
        Some(formulas)
    }

    /// The element of the interleaved phases, with fixed kinds of phases for the first axes.
    fn sums_of(&self, kinds: &mut Vec<Phases>, formulas: &mut Vec<Formula>) -> Option<Expr> {
        let Some(axis) = self.axes.get(kinds.len()) else { return self.convolution(kinds, formulas) };
        let phase = Expr::Index(Index::of(kinds.len() + 2).rem(axis.stride));
        let mut chosen: Option<Expr> = None;
        let all = axis.phases();
        for (at, kind) in all.iter().enumerate() {
            kinds.push(*kind);
            let mine = self.sums_of(kinds, formulas)?;
            kinds.pop();
            chosen = Some(match chosen {
                None => mine,
                Some(before) => before.if_else(phase.clone().less(Expr::int(all[at].first)), mine),
            });
        }
        chosen
    }

    /// The convolution for some phases; returns the element of the result.
    fn convolution(&self, kinds: &[Phases], formulas: &mut Vec<Formula>) -> Option<Expr> {
        if kinds.iter().any(|kind| kind.taps == 0) {
            let zero = Expr::number(self.elem, 0);
            return Some(self.bias.clone().map_or(zero, |channel| Expr::Load(BIAS, vec![channel])));
        }
        let (phases, outputs) = (count_of(kinds)?, long(self.outputs)?);
        // The channels of the convolution: group, phase, channel in the group.
        let of_group = phases.checked_mul(outputs)?;
        let channels = usize::try_from(of_group).ok()?;
        let group = if self.groups == 1 { Index::at(0) } else { Index::of(0).div(of_group) };
        let within =
            if of_group == outputs && self.groups == 1 { Index::of(0) } else { Index::of(0).rem(outputs) };
        let weights = self.part_of_weights(kinds, [group.clone(), within.clone()], outputs)?;
        let weight = self.operands + formulas.len();
        formulas.push(weights);
        let mut bias = self.bias.clone().map(|channel| (BIAS, channel));
        if phases > 1 && self.bias == Some(Index::of(1)) {
            let expr = Expr::Load(BIAS, vec![group.times(outputs).plus(within)]);
            let dims = vec![self.groups.checked_mul(channels)?];
            bias = Some((self.operands + formulas.len(), Index::of(1)));
            formulas.push(Formula { elem: self.elem, dims, over: None, expr, then: None });
        }
        let axes = || self.axes.iter().zip(kinds);
        // The position of the first input element for the first element of the result.
        let begin = |(axis, kind): (&Axis, &Phases)| match axis.stride {
            1 => (kind.taps - 1) * axis.dilation - axis.begin,
            _ => kind.taps - 1 - axis.cut().0,
        };
        let window = Window::stepwise(
            axes().map(|(_, kind)| kind.taps).collect(),
            axes().map(|(axis, _)| if axis.stride == 1 { axis.dilation } else { 1 }).collect(),
            axes().map(begin).collect(),
            axes().map(|(axis, _)| axis.from).collect(),
            axes().map(|(axis, _)| axis.places()).collect(),
        );
        let mut dims = self.dims(|axis| axis.places())?;
        dims[1] = self.groups.checked_mul(channels)?;
        let it = Convolution::grouped([INPUT, weight], window, [self.groups, self.inputs, channels])?;
        let sums = it.sums(self.elem, dims)?;
        let result = self.operands + formulas.len();
        formulas.push(match bias {
            Some((bias, channel)) => with_bias(sums, bias, channel),
            None => sums,
        });
        self.in_order(kinds, result)
    }

    /// The weights of some phases for a convolution: its channels, input channels, kernel.
    fn part_of_weights(
        &self,
        kinds: &[Phases],
        [group, within]: [Index; 2],
        outputs: i64,
    ) -> Option<Formula> {
        let channel = group.times(long(self.inputs)?).plus(Index::of(1));
        let (mut at, mut conditions) = (vec![channel, within], Vec::new());
        let phases = usize::try_from(count_of(kinds)?).ok()?;
        let mut dims = vec![count(&[self.groups, phases, self.outputs])?, self.inputs];
        for (a, (axis, kind)) in self.axes.iter().zip(kinds).enumerate() {
            let behind = count_of(&kinds[a + 1..])?.checked_mul(outputs)?;
            let phase = match kind.count {
                1 => Index::at(0),
                n => Index::of(0).div(behind).rem(n),
            };
            let last = kind.first + axis.stride * (kind.taps - 1);
            let place = phase.plus(Index::Affine(last, vec![(a + 2, -axis.stride)]));
            if axis.stride > 1 && axis.dilation > 1 {
                conditions.push(Expr::Index(place.clone().rem(axis.dilation)).equal(Expr::int(0)));
                at.push(place.div(axis.dilation));
            } else {
                at.push(place);
            }
            dims.push(usize::try_from(kind.taps).ok()?);
        }
        let expr = Expr::Load(WEIGHT, at).guarded(Expr::all(conditions), Expr::number(self.elem, 0));
        Some(Formula { elem: self.elem, dims, over: None, expr, then: None })
    }

    /// The position of the result of a convolution in the whole.
    fn in_order(&self, kinds: &[Phases], result: usize) -> Option<Expr> {
        let outputs = long(self.outputs)?;
        let phases = count_of(kinds)?;
        // A channel comes after all phases of the groups before it.
        let mut channel = match (self.groups, outputs) {
            (1, _) => vec![(Index::of(1), 1)],
            (_, 1) => vec![(Index::of(1), phases)],
            _ => {
                let group = Index::of(1).div(outputs);
                vec![(group, phases.checked_mul(outputs)?), (Index::of(1).rem(outputs), 1)]
            }
        };
        let mut at = vec![Index::of(0)];
        for (a, (axis, kind)) in self.axes.iter().zip(kinds).enumerate() {
            let behind = count_of(&kinds[a + 1..])?.checked_mul(outputs)?;
            if kind.count > 1 {
                channel.push((Index::of(a + 2).rem(axis.stride), behind));
                if kind.first > 0 {
                    channel.push((Index::at(-kind.first), behind));
                }
            }
            at.push(Index::of(a + 2).div(axis.stride));
        }
        let channel = match &channel[..] {
            [(index, by)] => index.clone().times(*by),
            _ => Index::Sum(channel),
        };
        at.insert(1, channel);
        Some(Expr::Load(result, at))
    }
}

/// The number of phases of these kinds over all axes.
fn count_of(kinds: &[Phases]) -> Option<i64> {
    kinds.iter().try_fold(1i64, |n, kind| n.checked_mul(kind.count))
}

/// The spatial axes.
fn axes(cx: &Cx<'_>, spatial: usize) -> Option<Vec<Axis>> {
    let list = |name: &str, default: i64| match cx.attributes.ints(name) {
        Some(list) if !list.is_empty() => {
            (list.len() == spatial && list.iter().all(|i| i.unsigned_abs() < 1 << 32)).then_some(list)
        }
        Some(_) | None => Some(vec![default; spatial]),
    };
    let (strides, dilations) = (list("strides", 1)?, list("dilations", 1)?);
    if strides.iter().any(|s| *s < 1) {
        return None;
    }
    let from = longs(cx.input(INPUT)?.dims.get(2..)?)?;
    let kernel = longs(cx.input(WEIGHT)?.dims.get(2..)?)?;
    let to = longs(cx.out()?.dims.get(2..)?)?;
    let mode = cx.attributes.string("auto_pad").unwrap_or_default();
    let is_same = matches!(&*mode, "SAME_UPPER" | "SAME_LOWER");
    let begin = match cx.attributes.ints("pads") {
        Some(pads) if !is_same => pads.get(..spatial)?.to_vec(),
        _ if mode == "VALID" => vec![0; spatial],
        _ => {
            let added = list("output_padding", 0)?;
            let begin = |i: usize| {
                let reach = strides[i].checked_mul(from[i] - 1)?.checked_add(added[i])?;
                let whole = reach.checked_add((kernel[i] - 1).checked_mul(dilations[i])? + 1)?;
                let cut = (whole - to[i]).max(0);
                Some(if mode == "SAME_UPPER" { cut / 2 } else { cut - cut / 2 })
            };
            (0..spatial).map(begin).collect::<Option<_>>()?
        }
    };
    if begin.iter().any(|n| n.unsigned_abs() >= 1 << 40) {
        return None;
    }
    let axis = |i: usize| Axis {
        from: from[i],
        to: to[i],
        kernel: kernel[i],
        stride: strides[i],
        dilation: dilations[i],
        begin: begin[i],
    };
    Some((0..spatial).map(axis).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::{Dense, Elements, Mode, Number};

    fn dense(dims: Vec<usize>) -> Dense {
        let numbers =
            (0..dims.iter().product()).map(|i: usize| Number::Float(((i * 7 + i / 3) % 11) as f64 - 5.0));
        Dense { elem: ElemType::FLOAT, numbers: numbers.collect(), dims }
    }

    /// The result of the last formula.
    fn result(it: &Transposed, formulas: &[Formula]) -> Dense {
        let extents = |of: fn(&Axis) -> i64| it.axes.iter().map(of).map(|n| n as usize).collect::<Vec<_>>();
        let x = [vec![it.batch, it.groups * it.inputs], extents(|axis| axis.from)].concat();
        let w = [vec![it.groups * it.inputs, it.outputs], extents(|axis| axis.kernel)].concat();
        let inputs = [dense(x), dense(w), dense(vec![it.groups * it.outputs])];
        let mut results: Vec<Dense> = Vec::new();
        for formula in formulas {
            let all: Vec<Option<&dyn Elements>> =
                inputs.iter().chain(&results).map(|dense| Some(dense as &dyn Elements)).collect();
            results.push(formula.evaluate(&all, Mode::Reference, usize::MAX).expect("it is defined"));
        }
        results.pop().expect("a formula")
    }

    #[test]
    fn convolutions_of_phases_are_what_the_plain_formula_is() {
        let mut kinds = 0;
        for case in 0..400usize {
            let draw = |n: usize, of: usize| ((case * 2_654_435_761) >> (n * 3)) % of;
            let axis = |at: usize| {
                let number = |n: usize, of: usize| draw(n + 3 * at, of) as i64;
                let (from, kernel, stride) = (1 + number(1, 4), 1 + number(2, 5), 1 + number(3, 4));
                let (dilation, begin) = (1 + number(4, 3), number(5, 5) - 1);
                let to = (from - 1) * stride + (kernel - 1) * dilation + 1 - begin - number(6, 3);
                Axis { from, to: to.max(1), kernel, stride, dilation, begin }
            };
            let it = Transposed {
                elem: ElemType::FLOAT,
                batch: 1 + draw(0, 2),
                groups: 1 + draw(1, 3),
                inputs: 1 + draw(2, 2),
                outputs: 1 + draw(3, 3),
                axes: (0..1 + draw(4, 2)).map(axis).collect(),
                bias: (draw(5, 2) == 1).then(|| Index::of(1)),
                operands: 3,
            };
            if !it.has_phases() {
                continue;
            }
            let formulas = it.by_phases().expect("it is sound");
            kinds += formulas.len();
            let plain = it.plain().expect("it is sound");
            assert_eq!(result(&it, &formulas), result(&it, &[plain]), "{:?} {formulas:?}", it.axes);
        }
        assert!(kinds > 1000, "{kinds}");
    }

    #[test]
    fn kernels_of_whole_strides_are_one_convolution() {
        let axis = Axis { from: 8, to: 16, kernel: 2, stride: 2, dilation: 1, begin: 0 };
        let of = |axes: Vec<Axis>| {
            let elem = ElemType::FLOAT;
            Transposed { elem, batch: 1, groups: 1, inputs: 4, outputs: 3, axes, bias: None, operands: 2 }
        };
        assert_eq!(of(vec![axis, axis]).by_phases().map(|all| all.len()), Some(3), "weights, sums, order");
        let wide = Axis { kernel: 4, begin: 1, ..axis };
        assert_eq!(of(vec![wide, wide]).by_phases().map(|all| all.len()), Some(4), "and the part of them");
        let plain = Axis { stride: 1, to: 9, ..axis };
        assert_eq!(of(vec![plain, plain]).by_phases().map(|all| all.len()), Some(2), "weights and sums");
    }
}
