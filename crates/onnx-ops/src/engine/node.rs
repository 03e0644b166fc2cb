//! The interface between a node and its rule.
//!
//! A rule is a function from [`NodeCx`] to [`Infer`]. It reads types, shapes, known elements and attributes of the node
//! and sets facts of the outputs; `?` returns when too little is known, and what has been set is kept. Element types
//! that follow from the type variables of the schema are set before the rule runs. Indices of inputs and outputs are
//! positions in the node; everything about a missing one is unknown.
//!
//! Errors are reported with [`NodeCx::fail`], which makes the outputs unknown, so that consequences are not reported again.

mod body;
mod findings;
mod nested;

use super::alike::Operands;
use super::rule::axes::mask;
use super::trace::Looked;
use super::walk::Engine;
use crate::dims::{Dim, Dims, Overflow};
use crate::facts::merge;
use crate::facts::{Elem, Ints, SmallTensor};
use crate::facts::{Fact, FactSource, Outputs};
use crate::facts::{Given, ResolvedAttrs};
use crate::facts::{Shape, TensorTy, Ty};
use crate::schema::{Registry, Schema};
use bytes::Bytes;
use onnx_ir::diag::{Diagnostic, Entity, Place, code, counted};
use onnx_ir::list::Elements;
use onnx_ir::{AttrValue, ElemType, Node, NodeId, Tensor};
use smallvec::SmallVec;
use std::borrow::Cow;
use std::cell::Cell;
use std::sync::Arc;

/// The result of a rule; `None` means that it stopped early, which is not an error.
pub type Infer = Option<()>;

/// Tensors of a higher rank have an unknown shape: no runtime supports them, and each Gather of a chain would double
/// the rank.
const MAX_AXES: usize = 64;

/// A node with the facts of its inputs and outputs.
pub struct NodeCx<'e, 'm> {
    engine: &'e mut Engine<'m>,
    id: NodeId,
    node: &'m Node,
    schema: &'m Schema,
    outputs: Outputs,
    has_failed: bool,
    /// The inputs whose elements the rule has read.
    looked: Cell<Operands>,
}

/// Converts a position to the type in places.
pub(super) fn index(i: usize) -> u32 {
    u32::try_from(i).unwrap_or(u32::MAX)
}

/// The shape of a stored tensor.
pub(super) fn shape_of(dims: &[i64]) -> Option<Shape> {
    dims.iter().map(|&d| (d >= 0).then_some(Dim::Const(d))).collect()
}

/// The type of a stored tensor.
pub(super) fn type_of_tensor(tensor: &Tensor) -> Ty {
    let elem = tensor.elem.filter(|e| e.name().is_some());
    Ty::Tensor(TensorTy { elem, shape: shape_of(&tensor.dims) })
}

impl<'e, 'm> NodeCx<'e, 'm> {
    pub(super) fn new(engine: &'e mut Engine<'m>, id: NodeId, schema: &'m Schema, outputs: Outputs) -> Self {
        let node = &engine.body().nodes[id];
        NodeCx { engine, id, node, schema, outputs, has_failed: false, looked: Cell::default() }
    }

    /// Runs a rule and returns the facts of the outputs; `None` if it reported an error.
    pub(super) fn run(mut self, rule: fn(&mut NodeCx<'_, '_>) -> Infer) -> Option<Outputs> {
        self.dims().take_overflow();
        let _stopped_early: Infer = rule(&mut self);
        self.engine.looked = self.looked.get();
        self.check_extents();
        (!self.has_failed).then_some(self.outputs)
    }

    /// Reports an extent of a result that does not fit into 64 bits. Elements may be as large as they want.
    fn check_extents(&mut self) {
        let Some(Overflow { a, sign, b }) = self.dims().take_overflow() else { return };
        let is_known = |fact: &Fact| match &fact.ty {
            Ty::Tensor(tensor) => tensor.shape.as_ref().is_some_and(|shape| !shape.contains(&Dim::Unknown)),
            Ty::Unknown | Ty::Sparse(_) | Ty::Sequence(_) | Ty::Optional(_) | Ty::Map(..) | Ty::Opaque(_) => {
                false
            }
        };
        if self.has_failed || self.outputs.iter().all(is_known) {
            return;
        }
        let message = format!("`{}` computes an extent of {a}{sign}{b}, which overflows 64 bits", self.op());
        self.fail(Diagnostic::new(&code::SHAPE_PRECONDITION, self.at_op(), message));
    }

    /// Records in the trace, if there is one, what the rule reads.
    fn note(&self, note: impl FnOnce(&mut Looked)) {
        if let Some(trace) = &self.engine.trace {
            trace.note(self.engine.frame.body, self.id, note);
        }
    }

    fn note_attr<T>(&self, name: &str, value: Option<T>, text: impl FnOnce(&T) -> String) -> Option<T> {
        if let Some(value) = &value {
            self.note(|looked| _ = looked.attributes.insert(name.to_owned(), text(value)));
        }
        value
    }

    // ---- inputs ----

    /// The schema of the node.
    pub fn schema(&self) -> &'m Schema {
        self.schema
    }

    /// The registry of known operators.
    pub(crate) fn registry(&self) -> &'m Registry {
        self.engine.registry
    }

    /// The version of the schema.
    pub fn since(&self) -> u32 {
        self.schema.since
    }

    /// The imported version of a domain.
    pub(crate) fn version_of(&self, domain: &str) -> Option<i64> {
        self.engine.version_of(domain)
    }

    /// Number of inputs of the node, including omitted ones.
    pub fn input_count(&self) -> usize {
        self.node.inputs.len()
    }

    /// Number of outputs of the node, including omitted ones.
    pub fn output_count(&self) -> usize {
        self.node.outputs.len()
    }

    /// Whether an input is present.
    pub fn has_input(&self, i: usize) -> bool {
        self.node.inputs.get(i).is_some_and(Option::is_some) && self.known(i).source != FactSource::LeftOut
    }

    /// Whether an output is used.
    pub fn has_output(&self, i: usize) -> bool {
        self.node.outputs.get(i).is_some_and(Option::is_some)
    }

    fn known(&self, i: usize) -> &Fact {
        self.engine.operand(self.node.inputs.get(i).copied().flatten())
    }

    /// The fact of an input, including elements.
    pub fn fact(&self, i: usize) -> &Fact {
        self.looked.set(self.looked.get().with(i));
        self.known(i)
    }

    /// The type of an input.
    pub fn ty(&self, i: usize) -> &Ty {
        &self.known(i).ty
    }

    /// The element type of an input tensor.
    pub fn elem(&self, i: usize) -> Option<ElemType> {
        self.ty(i).elem()
    }

    /// The rank of an input tensor.
    pub fn rank(&self, i: usize) -> Option<usize> {
        self.note(|looked| _ = looked.shapes.insert(i));
        self.ty(i).shape().map(SmallVec::len)
    }

    /// The shape of an input tensor, with dimensions in their simplest known form.
    pub fn shape(&mut self, i: usize) -> Option<Shape> {
        self.note(|looked| _ = looked.shapes.insert(i));
        let mut shape = Shape::from_slice(self.ty(i).shape().filter(|s| s.len() <= MAX_AXES)?);
        for dim in &mut shape {
            if matches!(dim, Dim::Expr(_)) {
                *dim = self.engine.dims.resolve(*dim);
            }
        }
        Some(shape)
    }

    /// The shape of an input whose rank must be `rank`; reports other ranks.
    pub fn shape_of_rank(&mut self, i: usize, rank: usize) -> Option<Shape> {
        self.shape_of_ranks(i, rank, Some(rank))
    }

    /// The shape of an input whose rank must be between `least` and `most`; reports other ranks.
    pub fn shape_of_ranks(&mut self, i: usize, least: usize, most: Option<usize>) -> Option<Shape> {
        let shape = self.shape(i)?;
        let rank = shape.len();
        if rank >= least && most.is_none_or(|most| rank <= most) {
            return Some(shape);
        }
        let wanted = match most {
            Some(most) if most == least => format!("rank {least}"),
            Some(most) => format!("rank {least} to {most}"),
            None => format!("rank {least} or more"),
        };
        let name = self.param_name(i);
        let message = format!("{name} of `{}` must have {wanted}, but has rank {rank}", self.op());
        self.fail_at_input(i, &code::SHAPE_PRECONDITION, message)?;
        None
    }

    /// Whether some elements of an input are known.
    pub fn has_value(&self, i: usize) -> bool {
        self.known(i).value.is_some()
    }

    /// The known elements of an input.
    pub fn value(&self, i: usize) -> Option<Arc<SmallTensor>> {
        let value = self.fact(i).value.clone()?;
        self.note(|looked| _ = looked.elements.insert(i));
        Some(value)
    }

    /// The elements of an input, if all are known integers.
    pub fn ints_of(&self, i: usize) -> Option<Ints> {
        self.value(i)?.ints()
    }

    /// The elements of an input of rank 0 or 1 as dimensions; unknown ones are [`Dim::Unknown`], which is also the case if only
    /// their number is known.
    pub fn extents_of(&mut self, i: usize) -> Option<Shape> {
        if let Some(value) = self.value(i) {
            return Some(value.as_dims().map(|d| self.engine.dims.resolve(d)).collect());
        }
        match self.shape(i)?[..] {
            [Dim::Const(n)] if (0..=256).contains(&n) => {
                Some(SmallVec::from_elem(Dim::Unknown, usize::try_from(n).ok()?))
            }
            _ => None,
        }
    }

    // ---- attributes ----

    /// The attributes, wherever their values come from.
    pub(crate) fn attrs(&self) -> ResolvedAttrs<'_> {
        ResolvedAttrs::new(self.engine.scope(), self.node, self.schema)
    }

    fn given(&self, name: &str) -> Option<Given<'_>> {
        self.attrs().given(name)
    }

    /// Number of attributes of the node.
    pub(crate) fn attr_count(&self) -> usize {
        self.node.attrs.len()
    }

    /// Whether the node has the attribute, or a reference that may provide it.
    pub fn has_attr(&self, name: &str) -> bool {
        self.given(name).is_some()
    }

    /// An integer attribute or its default; `None` if there is neither, or the caller decides.
    pub fn int(&self, name: &str) -> Option<i64> {
        self.note_attr(name, self.attrs().int(name), i64::to_string)
    }

    /// A float attribute, or its default.
    pub fn float(&self, name: &str) -> Option<f32> {
        self.note_attr(name, self.attrs().float(name), f32::to_string)
    }

    /// A string attribute, or its default.
    pub fn string(&self, name: &str) -> Option<Cow<'_, str>> {
        self.note_attr(name, self.attrs().string(name), |s| format!("{s:?}"))
    }

    /// A list of integers or its default; an explicit empty list is returned as such.
    pub fn ints(&self, name: &str) -> Option<Ints> {
        self.note_attr(name, self.attrs().ints(name), |list| format!("{list:?}")).map(Ints::from_slice)
    }

    /// Iterates over the integers of [`ints`](Self::ints), for lists that may be long.
    pub fn each_int(&self, name: &str) -> Option<Elements<'_, i64>> {
        self.note_attr(name, self.attrs().each_int(name), |list| {
            format!("{:?}", list.clone().collect::<Vec<_>>())
        })
    }

    /// A list of floats, or its default.
    pub fn floats(&self, name: &str) -> Option<Vec<f32>> {
        self.note_attr(name, self.attrs().floats(name), |list| format!("{list:?}")).map(<[f32]>::to_vec)
    }

    /// A list of strings, or its default.
    #[must_use]
    pub fn strings(&self, name: &str) -> Option<Vec<String>> {
        self.note_attr(name, self.attrs().strings(name), |list| format!("{list:?}"))
    }

    /// Iterates over the strings of a list on the node, as they are stored.
    pub fn each_string(&self, name: &str) -> Option<Elements<'_, Bytes>> {
        self.note_attr(name, self.attrs().each_string(name), |list| {
            format!("{:?}", list.clone().map(String::from_utf8_lossy).collect::<Vec<_>>())
        })
    }

    /// Length of a list of numbers or strings.
    pub fn list_len(&self, name: &str) -> Option<usize> {
        self.note_attr(name, self.attrs().len(name), |len| counted(len, "element"))
    }

    /// A tensor attribute.
    pub fn tensor(&self, name: &str) -> Option<&Tensor> {
        self.attrs().tensor(name)
    }

    /// A sparse tensor attribute: the element type and the dense shape.
    pub fn sparse_tensor(&self, name: &str) -> Option<TensorTy> {
        match self.given(name)? {
            Given::Value(AttrValue::SparseTensor(sparse), body) => {
                let values = sparse.values.and_then(|t| body.tensors.get(t));
                Some(TensorTy { elem: values.and_then(|t| t.elem), shape: shape_of(&sparse.dims) })
            }
            Given::Value(..) | Given::Bound(_) | Given::Unknown => None,
        }
    }

    /// An attribute that is a type.
    pub fn type_attr(&mut self, name: &str) -> Option<Ty> {
        let id = match self.given(name)?.value()? {
            AttrValue::Type(id) => *id,
            _ => return None,
        };
        Some(self.engine.declared_type(id))
    }

    /// An attribute that names an element type by its number.
    pub fn elem_attr(&self, name: &str) -> Option<ElemType> {
        let text = |elem: &ElemType| elem.name().unwrap_or_default().to_owned();
        self.note_attr(name, self.attrs().elem(name), text)
    }

    // ---- dimensions ----

    /// The arithmetic of dimensions.
    pub fn dims(&mut self) -> &mut Dims {
        &mut self.engine.dims
    }

    /// A dimension that depends on data: an anonymous symbol, named after an output.
    pub fn fresh(&mut self, output: usize) -> Dim {
        let value = self.node.outputs.get(output).copied().flatten();
        let name = value.map_or("d", |v| &self.engine.model.names[self.engine.body().values[v].name]);
        self.engine.fresh += 1;
        self.engine.dims.fresh(name)
    }

    /// Several anonymous dimensions.
    pub fn fresh_shape(&mut self, output: usize, rank: usize) -> Shape {
        (0..rank).map(|_| self.fresh(output)).collect()
    }

    /// The position of an axis that may be negative; reports one that is out of range at `place`.
    pub fn axis(&mut self, axis: i64, rank: usize, place: Place) -> Option<usize> {
        let len = i64::try_from(rank).ok()?;
        if (-len..len).contains(&axis) {
            return usize::try_from(if axis < 0 { axis + len } else { axis }).ok();
        }
        let code = match place {
            Place::Entity(Entity::NodeInput(..)) => &code::CONSTANT_INPUT,
            _ => &code::ATTR_VALUE,
        };
        let message = if rank == 0 {
            format!("axis {axis} is out of range for a scalar")
        } else {
            format!("axis {axis} is out of range [{}, {}]", -len, len - 1)
        };
        self.fail(Diagnostic::new(code, place, message).label(format!("the rank is {rank}")))?;
        None
    }

    /// The positions of several axes, which must be distinct.
    pub fn axes(&mut self, axes: &[i64], rank: usize, place: Place) -> Option<SmallVec<[usize; 4]>> {
        let mut found = SmallVec::new();
        let mut seen = mask(&[], rank);
        for &axis in axes {
            let at = self.axis(axis, rank, place)?;
            if std::mem::replace(&mut seen[at], true) {
                let code = match place {
                    Place::Entity(Entity::NodeInput(..)) => &code::CONSTANT_INPUT,
                    _ => &code::ATTR_VALUE,
                };
                self.fail(Diagnostic::new(code, place, format!("axis {axis} is given twice")))?;
            }
            found.push(at);
        }
        Some(found)
    }

    /// The common shape that inputs broadcast to (Broadcasting.md); reports incompatible ones with both places.
    pub fn broadcast(&mut self, inputs: &[usize]) -> Option<Shape> {
        self.note(|looked| looked.is_broadcast = true);
        let shapes: Vec<(usize, Shape)> =
            inputs.iter().map(|&i| Some((i, self.shape(i)?))).collect::<Option<_>>()?;
        let rank = shapes.iter().map(|(_, s)| s.len()).max()?;
        let mut result = Shape::new();
        for axis in 0..rank {
            let mut dim: Option<(usize, Dim)> = None;
            for (i, shape) in &shapes {
                let Some(at) = (axis + shape.len()).checked_sub(rank) else { continue };
                let next = shape[at];
                let Some((first, known)) = dim else {
                    dim = Some((*i, next));
                    continue;
                };
                match self.engine.dims.broadcast(known, next) {
                    Ok(both) => dim = Some((if both == known { first } else { *i }, both)),
                    Err(()) => return self.broadcast_conflict((first, known), (*i, next)).map(|()| result),
                }
            }
            result.push(dim.map_or(Dim::Unknown, |(_, d)| d));
        }
        Some(result)
    }

    fn broadcast_conflict(&mut self, first: (usize, Dim), second: (usize, Dim)) -> Infer {
        let text = |cx: &Self, d| crate::facts::dim_text(&cx.engine.dims, d);
        let (a, b) = (text(self, first.1), text(self, second.1));
        let types = [first.0, second.0].map(|i| self.ty(i).text(&self.engine.dims));
        let diagnostic = Diagnostic::new(
            &code::SHAPE_PRECONDITION,
            self.at_input(second.0),
            format!("cannot broadcast {b} against {a}"),
        )
        .label(format!("this is {}", types[1]))
        .related(self.at_input(first.0), format!("this is {}", types[0]));
        let diagnostic = self.with_origin(diagnostic, first.0, &a);
        let diagnostic = self.with_origin(diagnostic, second.0, &b);
        self.fail(diagnostic)
    }

    /// Adds the place where an input gets a dimension.
    fn with_origin(&self, diagnostic: Diagnostic, input: usize, extent: &str) -> Diagnostic {
        let Some(value) = self.node.inputs.get(input).copied().flatten() else { return diagnostic };
        match self.engine.origin(value) {
            Some((place, what)) => diagnostic.related(place, format!("{what} has size {extent}")),
            None => diagnostic,
        }
    }

    /// Requires two dimensions to be equal and returns the more precise one; otherwise reports `message` at an input, with the
    /// other one as the cause.
    pub fn equate(
        &mut self,
        (i, a): (usize, Dim),
        (j, b): (usize, Dim),
        message: impl FnOnce(&str, &str) -> String,
    ) -> Option<Dim> {
        if let Ok(dim) = self.engine.dims.equate(a, b) {
            return Some(dim);
        }
        let [a, b] = [a, b].map(|d| {
            let d = self.engine.dims.resolve(d);
            crate::facts::dim_text(&self.engine.dims, d)
        });
        let types = [i, j].map(|i| self.ty(i).text(&self.engine.dims));
        let diagnostic = Diagnostic::new(&code::SHAPE_PRECONDITION, self.at_input(j), message(&a, &b))
            .label(format!("this is {}", types[1]))
            .related(self.at_input(i), format!("this is {}", types[0]));
        self.fail(diagnostic)?;
        None
    }

    // ---- outputs ----

    /// The type of an output set so far.
    pub fn output(&self, i: usize) -> &Ty {
        self.outputs.get(i).map_or(&self.engine.nothing.ty, |f| &f.ty)
    }

    /// Sets the type of an output.
    pub fn set_ty(&mut self, i: usize, ty: Ty) {
        if let Some(fact) = self.outputs.get_mut(i) {
            fact.ty = ty;
            fact.source = FactSource::Inferred;
        }
    }

    /// Sets the shape of an output and keeps its element type.
    pub fn set_shape(&mut self, i: usize, shape: impl IntoIterator<Item = Dim>) {
        if let Some(fact) = self.outputs.get_mut(i) {
            let shape: Shape = shape.into_iter().take(MAX_AXES + 1).collect();
            let tensor = |elem| TensorTy { elem, shape: Some(shape).filter(|s| s.len() <= MAX_AXES) };
            fact.ty = match &fact.ty {
                Ty::Sparse(t) => Ty::Sparse(tensor(t.elem)),
                ty => Ty::Tensor(tensor(ty.elem())),
            };
            fact.source = FactSource::Inferred;
        }
    }

    /// Sets only the rank of an output.
    pub fn set_rank(&mut self, i: usize, rank: usize) {
        self.set_shape(i, std::iter::repeat_n(Dim::Unknown, rank));
    }

    /// Sets the element type of an output and keeps its shape.
    pub fn set_elem(&mut self, i: usize, elem: ElemType) {
        if let Some(fact) = self.outputs.get_mut(i) {
            let tensor = |shape: Option<&Shape>| TensorTy { elem: Some(elem), shape: shape.cloned() };
            fact.ty = match &fact.ty {
                Ty::Sparse(t) => Ty::Sparse(tensor(t.shape.as_ref())),
                ty => Ty::Tensor(tensor(ty.shape())),
            };
            fact.source = FactSource::Inferred;
        }
    }

    /// Sets the elements of an output, whose shape must be set.
    pub fn set_value(&mut self, i: usize, value: SmallTensor) {
        if let Some(fact) = self.outputs.get_mut(i)
            && value.elems.len() <= SmallTensor::MAX_ELEMENTS
        {
            fact.value = Some(Arc::new(value));
        }
    }

    /// Sets the type of an output from its elements, and the elements.
    pub fn set_known(&mut self, i: usize, value: SmallTensor) {
        let dims = value.dims.iter().map(|&d| i64::try_from(d).map_or(Dim::Unknown, Dim::Const));
        self.set_shape(i, dims.collect::<Shape>());
        self.set_value(i, value);
    }

    /// Sets the shape of an output to that of an input.
    pub fn copy_shape(&mut self, input: usize, output: usize) -> Infer {
        let shape = self.shape(input)?;
        self.set_shape(output, shape);
        Some(())
    }

    /// The join of two types: what holds for a value of either type; differing dimensions become anonymous.
    pub fn join(&mut self, a: &Ty, b: &Ty, output: usize) -> Ty {
        let value = self.node.outputs.get(output).copied().flatten();
        let name = value.map_or("d", |v| &self.engine.model.names[self.engine.body().values[v].name]);
        let Engine { dims, fresh, .. } = &mut *self.engine;
        merge::join(dims, a, b, &mut |dims| {
            *fresh += 1;
            dims.fresh(name)
        })
    }

    /// The meet of two types of one value; `None` if they contradict each other.
    pub fn meet(&mut self, a: &Ty, b: &Ty) -> Option<Ty> {
        let (ty, conflict) = merge::meet(&mut self.engine.dims, a, b);
        conflict.is_none().then_some(ty)
    }

    /// The elements with every dimension in its simplest known form.
    pub fn resolved(&mut self, value: &SmallTensor) -> SmallTensor {
        let elems = value.elems.iter().map(|e| match e {
            Elem::Int(d) => Elem::Int(self.engine.dims.resolve(*d)),
            Elem::Quotient(d, by) => Elem::Quotient(self.engine.dims.resolve(*d), *by),
            Elem::Unknown | Elem::Float(_) => *e,
        });
        SmallTensor { dims: value.dims.clone(), elems: elems.collect() }
    }
}
