//! Shapes in derivatives: sums over broadcast axes, static and computed shapes, axes of reductions.

use super::cell::{Cell, numbers};
use crate::dims::Dim;
use crate::facts::Shape;
use onnx_ir::ElemType;

/// Since this version, `ReduceSum`, `Squeeze` and `Unsqueeze` have axes as an input.
const AXES_ARE_INPUTS: i64 = 13;

/// Since this version, so have the other reductions.
const ALL_AXES_ARE_INPUTS: i64 = 18;

/// How a shape was broadcast to another one.
enum Spread {
    /// Axes of the result to sum over.
    Axes(Vec<i64>),
    /// It depends on sizes that are known at run time only.
    Open,
}

fn spread(from: &Shape, to: &Shape) -> Spread {
    let Some(lead) = to.len().checked_sub(from.len()) else { return Spread::Open };
    let mut axes: Vec<i64> = (0..lead as i64).collect();
    for (axis, (a, b)) in (lead as i64..).zip(from.iter().zip(&to[lead..])) {
        match (a, b) {
            (Dim::Const(1), Dim::Const(1)) => {}
            (Dim::Const(1), _) => axes.push(axis),
            (Dim::Const(_), _) | (_, Dim::Const(1)) => {}
            (Dim::Unknown, _) | (_, Dim::Unknown) => return Spread::Open,
            (a, b) if a == b => {}
            _ => return Spread::Open,
        }
    }
    Spread::Axes(axes)
}

impl Cell<'_> {
    /// The gradient of a broadcast operand: the sum over the broadcast axes.
    pub(crate) fn unbroadcast(&mut self, i: usize, gradient: &str) -> String {
        let shape = self.result_shape(0).cloned();
        self.unbroadcast_from(i, gradient, shape.as_ref())
    }

    /// Like [`unbroadcast`](Self::unbroadcast), for a gradient of another shape.
    pub(crate) fn unbroadcast_from(&mut self, i: usize, gradient: &str, shape: Option<&Shape>) -> String {
        let spread = match (self.shape(i), shape) {
            (Some(from), Some(to)) => spread(from, to),
            _ => Spread::Open,
        };
        let axes = match spread {
            Spread::Axes(axes) if axes.is_empty() => return gradient.to_owned(),
            Spread::Axes(axes) => axes,
            Spread::Open => return self.unbroadcast_open(&format!("x{i}"), gradient),
        };
        let lead = shape.map_or(0, |to| to.len()) - self.shape(i).map_or(0, |from| from.len());
        if axes.len() == lead {
            return self.sum(gradient, &axes, false);
        }
        let sum = self.sum(gradient, &axes, true);
        let lead: Vec<i64> = (0..lead as i64).collect();
        if lead.is_empty() { sum } else { self.squeeze(&sum, &lead) }
    }

    /// For shapes that are known at run time only: sums over axes whose sizes differ from those of an operand.
    pub(crate) fn unbroadcast_open(&mut self, operand: &str, gradient: &str) -> String {
        let from = self.op("Shape", &[operand]);
        let to = self.op("Shape", &[gradient]);
        let (from_rank, to_rank) = (self.op("Shape", &[&from]), self.op("Shape", &[&to]));
        let lead = self.op("Sub", &[&to_rank, &from_rank]);
        let ones = self.op_with("ConstantOfShape", "value = int64[1] {1}", &[&lead]);
        let padded = self.op_with("Concat", "axis = 0", &[&ones, &from]);
        let is_equal = self.op("Equal", &[&padded, &to]);
        let differs = self.op("Not", &[&is_equal]);
        let column = self.op("NonZero", &[&differs]);
        let axes = self.squeeze(&column, &[0]);
        let attrs = "keepdims = 1, noop_with_empty_axes = 1";
        let sum = self.op_with("ReduceSum", attrs, &[gradient, &axes]);
        self.op("Reshape", &[&sum, &from])
    }

    /// Sums over axes.
    pub(crate) fn sum(&mut self, of: &str, axes: &[i64], keeps: bool) -> String {
        self.reduce("ReduceSum", of, axes, keeps)
    }

    /// A reduction over axes.
    pub(crate) fn reduce(&mut self, op: &str, of: &str, axes: &[i64], keeps: bool) -> String {
        let since = if op == "ReduceSum" { AXES_ARE_INPUTS } else { ALL_AXES_ARE_INPUTS };
        let keepdims = i64::from(keeps);
        if self.version() >= since {
            let axes = self.list(axes);
            return self.op_with(op, &format!("keepdims = {keepdims}"), &[of, &axes]);
        }
        self.op_with(op, &format!("axes = [{}], keepdims = {keepdims}", listed(axes)), &[of])
    }

    /// Removes axes of size 1.
    pub(crate) fn squeeze(&mut self, of: &str, axes: &[i64]) -> String {
        self.with_axes("Squeeze", of, axes)
    }

    /// Inserts axes of size 1.
    pub(crate) fn unsqueeze(&mut self, of: &str, axes: &[i64]) -> String {
        self.with_axes("Unsqueeze", of, axes)
    }

    fn with_axes(&mut self, op: &str, of: &str, axes: &[i64]) -> String {
        if self.version() >= AXES_ARE_INPUTS {
            let axes = self.list(axes);
            return self.op(op, &[of, &axes]);
        }
        self.op_with(op, &format!("axes = [{}]", listed(axes)), &[of])
    }

    /// The shape of an operand as a list.
    pub(crate) fn shape_of(&mut self, i: usize) -> String {
        match self.extents(i) {
            Some(extents) => self.list(&extents),
            None => self.op("Shape", &[&format!("x{i}")]),
        }
    }

    /// The shape of a result as a list.
    pub(crate) fn shape_of_result(&mut self, j: usize) -> String {
        match self.result_shape(j).and_then(numbers) {
            Some(extents) => self.list(&extents),
            None => self.op("Shape", &[&format!("y{j}")]),
        }
    }

    /// The size of an axis of an operand, as a list of one element.
    pub(crate) fn extent(&mut self, i: usize, axis: i64) -> String {
        let known = usize::try_from(axis).ok().and_then(|at| self.shape(i)?.get(at).copied());
        match known {
            Some(Dim::Const(n)) => self.list(&[n]),
            _ => {
                let (shape, at) = (self.op("Shape", &[&format!("x{i}")]), self.list(&[axis]));
                self.op("Gather", &[&shape, &at])
            }
        }
    }

    /// The size of an axis of a tensor of the derivative, as a list of one element.
    pub(crate) fn extent_of(&mut self, of: &str, axis: i64) -> String {
        let (shape, at) = (self.op("Shape", &[of]), self.list(&[axis]));
        self.op("Gather", &[&shape, &at])
    }

    /// The number of elements of an operand, as a list of one element.
    pub(crate) fn size(&mut self, i: usize) -> String {
        match self.extents(i).and_then(|all| all.iter().try_fold(1i64, |a, b| a.checked_mul(*b))) {
            Some(count) => self.list(&[count]),
            None => {
                let (size, one) = (self.op("Size", &[&format!("x{i}")]), self.list(&[1]));
                self.op("Reshape", &[&size, &one])
            }
        }
    }

    /// Reshapes a tensor to a constant shape.
    pub(crate) fn reshape(&mut self, of: &str, shape: &[i64]) -> String {
        let shape = self.list(shape);
        self.op("Reshape", &[of, &shape])
    }

    /// A gradient in the shape of an operand.
    pub(crate) fn reshape_like(&mut self, gradient: &str, i: usize) -> String {
        let shape = self.shape_of(i);
        self.op("Reshape", &[gradient, &shape])
    }

    /// Another order of axes.
    pub(crate) fn permute(&mut self, of: &str, perm: &[i64]) -> String {
        if perm.iter().zip(0..).all(|(a, b)| *a == b) {
            return of.to_owned();
        }
        self.op_with("Transpose", &format!("perm = [{}]", listed(perm)), &[of])
    }

    /// The last two axes exchanged.
    pub(crate) fn transpose_last(&mut self, of: &str, rank: i64) -> String {
        let mut perm: Vec<i64> = (0..rank).collect();
        let last = perm.len();
        if last >= 2 {
            perm.swap(last - 1, last - 2);
        }
        self.permute(of, &perm)
    }

    /// Zeros or ones in a shape, given as a list.
    pub(crate) fn filled(&mut self, shape: &str, value: i64, elem: ElemType) -> String {
        self.op_with("ConstantOfShape", &format!("value = {}", filling(value, elem)), &[shape])
    }

    /// Zeros in the shape of an operand.
    pub(crate) fn zeros(&mut self, i: usize) -> Result<String, String> {
        let (shape, elem) = (self.shape_of(i), self.elem(i)?);
        Ok(self.filled(&shape, 0, elem))
    }

    /// The axes of a reduction, from an attribute or a constant operand. `None` if they are unknown; an empty list, also as the
    /// default, means all axes.
    pub(crate) fn axes_of(&self, operand: usize) -> Option<Vec<i64>> {
        if self.has(operand) {
            return self.known(operand);
        }
        Some(self.site.ints("axes").unwrap_or_default())
    }
}

/// Integers as text.
pub(crate) fn listed(values: &[i64]) -> String {
    let text: Vec<String> = values.iter().map(i64::to_string).collect();
    text.join(", ")
}

/// A tensor of one element. Text has only bit patterns for elements of short floats.
pub(crate) fn filling(value: i64, elem: ElemType) -> String {
    let text = match (elem, value) {
        (ElemType::FLOAT16, 1) => "15360".to_owned(),
        (ElemType::BFLOAT16, 1) => "16256".to_owned(),
        _ => value.to_string(),
    };
    format!("{}[1] {{{text}}}", elem.name().unwrap_or("float"))
}
