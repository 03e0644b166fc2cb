//! The node that an adapter converts, with queries and edits.
//!
//! Inserted nodes are valid in the target version of the step. An adapter that fails may have changed the node: then the whole
//! conversion is discarded.

use crate::dims::Dim;
use crate::facts::{Facts, SmallTensor, Ty};
use onnx_formula::Number;
use onnx_ir::{
    Attr, AttrType, AttrValue, Attrs, Body, BodyId, ElemType, GraphId, Initializer, Model, Name, Node,
    NodeId, Payload, Tensor, TensorId, Value, ValueDef, ValueId, normalize_domain,
};
use smallvec::SmallVec;

/// A description of the change for the plan; `None` if the node is unchanged.
pub(crate) type Note = Option<String>;
/// Converts one node by one version, or returns the reason why it cannot.
pub(crate) type Adapter = fn(&mut ConvertSite<'_>) -> Result<Note, String>;

/// A description of a change.
pub(crate) fn note(text: &str) -> Result<Note, String> {
    Ok(Some(text.to_owned()))
}

/// A number as a float, if it is one.
pub(crate) fn single(x: f64, name: &str) -> Result<f32, String> {
    let short = x as f32;
    if f64::from(short) == x || x.is_nan() { Ok(short) } else { Err(format!("`{name}` is not a float: {x}")) }
}

/// A node that is being converted.
pub(crate) struct ConvertSite<'a> {
    pub(crate) model: &'a mut Model,
    pub(crate) facts: &'a Facts,
    pub(crate) body: BodyId,
    pub(crate) graph: GraphId,
    pub(crate) node: NodeId,
    /// The version of ai.onnx that inserted nodes have.
    pub(crate) version: i64,
    /// Nodes inserted before and after it.
    pub(crate) before: Vec<NodeId>,
    pub(crate) after: Vec<NodeId>,
    /// Whether the node has been removed.
    pub(crate) is_gone: bool,
}

impl ConvertSite<'_> {
    pub(crate) fn body(&self) -> &Body {
        &self.model.bodies[self.body]
    }

    pub(crate) fn n(&self) -> &Node {
        &self.body().nodes[self.node]
    }

    pub(crate) fn n_mut(&mut self) -> &mut Node {
        &mut self.model.bodies[self.body].nodes[self.node]
    }

    /// An input; `None` if it is omitted.
    pub(crate) fn input(&self, i: usize) -> Option<ValueId> {
        self.n().inputs.get(i).copied().flatten()
    }

    /// An output; `None` if it is omitted.
    pub(crate) fn output(&self, i: usize) -> Option<ValueId> {
        self.n().outputs.get(i).copied().flatten()
    }

    pub(crate) fn ty(&self, value: ValueId) -> &Ty {
        &self.facts.get(self.body, value).ty
    }

    /// The element type of an input.
    pub(crate) fn elem(&self, i: usize) -> Result<ElemType, String> {
        let elem = self.input(i).and_then(|v| self.ty(v).elem());
        elem.ok_or_else(|| format!("the element type of input {i} is unknown"))
    }

    /// The rank of an input.
    pub(crate) fn rank(&self, i: usize) -> Result<i64, String> {
        let rank = self.input(i).and_then(|v| Some(self.ty(v).shape()?.len()));
        rank.and_then(|r| i64::try_from(r).ok()).ok_or_else(|| format!("the rank of input {i} is unknown"))
    }

    /// The size of an axis of an input, if it is a number.
    pub(crate) fn extent(&self, i: usize, axis: i64) -> Option<i64> {
        let shape = self.ty(self.input(i)?).shape()?;
        let axis = if axis < 0 { axis.checked_add_unsigned(shape.len() as u64)? } else { axis };
        match shape.get(usize::try_from(axis).ok()?)? {
            Dim::Const(n) => Some(*n),
            Dim::Unknown | Dim::Expr(_) => None,
        }
    }

    fn known(&self, i: usize) -> Option<&SmallTensor> {
        self.facts.get(self.body, self.input(i)?).value.as_deref()
    }

    /// The elements of an input that is a list of integers, `None` if it is omitted.
    pub(crate) fn ints_of(&self, i: usize, name: &str) -> Result<Option<Vec<i64>>, String> {
        if self.input(i).is_none() {
            return Ok(None);
        }
        let known = self.known(i).and_then(SmallTensor::ints);
        known.map(|list| Some(list.into_vec())).ok_or_else(|| format!("`{name}` is not constant"))
    }

    /// The elements of an input that is a list of numbers, `None` if it is omitted.
    pub(crate) fn numbers_of(&self, i: usize, name: &str) -> Result<Option<Vec<f64>>, String> {
        if self.input(i).is_none() {
            return Ok(None);
        }
        let known = self.known(i).and_then(SmallTensor::numbers);
        known.map(Some).ok_or_else(|| format!("`{name}` is not constant"))
    }

    /// The attributes of the node.
    pub(crate) fn attrs(&self) -> Attrs<'_> {
        Attrs::of(self.n(), &self.model.names)
    }

    /// Removes an attribute; returns whether it existed.
    pub(crate) fn drop_attr(&mut self, name: &str) -> bool {
        self.model.names.find(name).is_some_and(|name| self.n_mut().remove_attr(name))
    }

    /// Sets an attribute.
    pub(crate) fn set(&mut self, name: &str, value: impl Into<AttrValue>) {
        let name = self.model.names.intern(name);
        self.n_mut().set_attr(name, value);
    }

    /// Renames an attribute.
    pub(crate) fn rename_attr(&mut self, from: &str, to: &str) {
        let (Some(from), to) = (self.model.names.find(from), self.model.names.intern(to)) else { return };
        for attr in self.n_mut().attrs.iter_mut().filter(|a| a.name == Some(from)) {
            attr.name = Some(to);
        }
    }

    /// Changes the operator, in the same domain.
    pub(crate) fn rename_op(&mut self, op: &str) {
        let op = self.model.names.intern(op);
        self.n_mut().op = Some(op);
    }

    /// Sets an input; missing inputs before it are omitted.
    pub(crate) fn set_input(&mut self, i: usize, value: Option<ValueId>) {
        let inputs = &mut self.n_mut().inputs;
        if inputs.len() <= i {
            inputs.resize(i + 1, None);
        }
        inputs[i] = value;
        while inputs.last().is_some_and(Option::is_none) {
            inputs.pop();
        }
    }

    /// An unused name, derived from the node's first result.
    pub(crate) fn fresh_name(&mut self, stem: &str) -> Name {
        let output = self.n().outputs.iter().flatten().next();
        let of = output.map_or("", |v| &self.model.names[self.body().values[*v].name]);
        let stem = if of.is_empty() { stem.to_owned() } else { format!("{of}_{stem}") };
        self.model.names.fresh(&stem)
    }

    fn fresh_value(&mut self, stem: &str, def: ValueDef) -> ValueId {
        let name = self.fresh_name(stem);
        self.model.bodies[self.body].values.push(Value { name, def })
    }

    /// Creates a node of ai.onnx.
    fn make(&mut self, op: &str, inputs: &[Option<ValueId>], attrs: Vec<(&str, AttrValue)>) -> NodeId {
        let op = self.model.names.intern(op);
        let attrs = attrs.into_iter().map(|(n, v)| Attr::new(self.model.names.intern(n), v)).collect();
        let inputs: SmallVec<[_; 4]> = SmallVec::from_slice(inputs);
        // The default domain has two spellings: that of the node is kept.
        let domain = self.n().domain.filter(|&d| normalize_domain(&self.model.names[d]).is_empty());
        let (origin, body) = (self.body().origins[self.node], &mut self.model.bodies[self.body]);
        let id = body.nodes.push(Node { op: Some(op), domain, inputs, attrs, ..Node::default() });
        body.origins[id] = origin;
        id
    }

    /// Inserts a node of ai.onnx before this one, and returns its only output.
    pub(crate) fn insert(
        &mut self,
        stem: &str,
        op: &str,
        inputs: &[ValueId],
        attrs: Vec<(&str, AttrValue)>,
    ) -> ValueId {
        let inputs: Vec<_> = inputs.iter().copied().map(Some).collect();
        let id = self.make(op, &inputs, attrs);
        let value = self.fresh_value(stem, ValueDef::Output(id, 0));
        self.model.bodies[self.body].nodes[id].outputs.push(Some(value));
        self.before.push(id);
        value
    }

    /// Inserts a node after this one that takes over an output. Input 0 of the new node is the original output.
    pub(crate) fn follow(
        &mut self,
        i: usize,
        (stem, op): (&str, &str),
        more: &[ValueId],
        attrs: Vec<(&str, AttrValue)>,
    ) {
        let Some(old) = self.output(i) else { return };
        let at = u32::try_from(i).unwrap_or(u32::MAX);
        let fresh = self.fresh_value(stem, ValueDef::Output(self.node, at));
        self.n_mut().outputs[i] = Some(fresh);
        let inputs: Vec<_> = std::iter::once(fresh).chain(more.iter().copied()).map(Some).collect();
        let id = self.make(op, &inputs, attrs);
        let body = &mut self.model.bodies[self.body];
        body.values[old].def = ValueDef::Output(id, 0);
        body.nodes[id].outputs.push(Some(old));
        self.after.insert(0, id);
    }

    fn constant(&mut self, stem: &str, elem: ElemType, dims: &[i64], payload: Option<Payload>) -> ValueId {
        let mut tensor = Tensor { elem: Some(elem), dims: SmallVec::from_slice(dims), ..Tensor::default() };
        tensor.data.extend(payload);
        let tensor = self.model.bodies[self.body].tensors.push(tensor);
        self.insert(stem, "Constant", &[], vec![("value", AttrValue::Tensor(tensor))])
    }

    /// Replaces a node that yields a constant tensor by an initializer.
    pub(crate) fn become_initializer(&mut self, tensor: TensorId) -> Result<(), String> {
        let Some(value) = self.output(0) else { return Err("the node has no output".to_owned()) };
        if self.model.functions.values().any(|f| f.body == self.body) {
            return Err("a function cannot have initializers".to_owned());
        }
        if self.model.header.ir_version.is_none_or(|v| v < 4) {
            return Err("before IR version 4, initializers are inputs".to_owned());
        }
        let (graph, body) = (self.graph, &mut self.model.bodies[self.body]);
        body.tensors[tensor].name = Some(body.values[value].name);
        body.values[value].def = ValueDef::Initializer(graph);
        body.graphs[graph].initializers.push(Initializer { value, tensor });
        self.is_gone = true;
        Ok(())
    }

    /// A constant list of integers.
    pub(crate) fn int_list(&mut self, stem: &str, list: Vec<i64>) -> ValueId {
        let dims = [i64::try_from(list.len()).unwrap_or(i64::MAX)];
        let payload = (!list.is_empty()).then(|| Payload::int64s(list));
        self.constant(stem, ElemType::INT64, &dims, payload)
    }

    /// A constant integer scalar.
    pub(crate) fn int_scalar(&mut self, stem: &str, value: i64) -> ValueId {
        self.constant(stem, ElemType::INT64, &[], Some(Payload::int64s(vec![value])))
    }

    /// A constant list of floats.
    pub(crate) fn float_list(&mut self, stem: &str, list: Vec<f32>) -> ValueId {
        let dims = [i64::try_from(list.len()).unwrap_or(i64::MAX)];
        let payload = (!list.is_empty()).then(|| Payload::floats(list));
        self.constant(stem, ElemType::FLOAT, &dims, payload)
    }

    /// A constant scalar of an element type.
    pub(crate) fn scalar(&mut self, stem: &str, elem: ElemType, x: f32) -> Result<ValueId, String> {
        let payload = match elem {
            ElemType::FLOAT => Payload::floats(vec![x]),
            ElemType::DOUBLE => Payload::doubles(vec![x.into()]),
            ElemType::FLOAT16 | ElemType::BFLOAT16 => {
                let bits = Number::Float(x.into()).to_bits(elem);
                Payload::int32s(bits.and_then(|bits| i32::try_from(bits).ok()).into_iter().collect())
            }
            _ => return Err(format!("{x} is out of range for {}", crate::facts::elem_text(elem))),
        };
        Ok(self.constant(stem, elem, &[], Some(payload)))
    }

    /// Converts an attribute with a list of integers to an input. If it is missing, or empty with the same meaning, the input is
    /// omitted.
    pub(crate) fn ints_to_input(&mut self, name: &str, i: usize, empty: Empty) -> Result<Note, String> {
        let Some(attr) = self.attrs().find(name) else { return Ok(None) };
        let value = if let Some(parameter) = attr.reference {
            if self.version < 12 {
                return Err(format!(
                    "`{name}` is a parameter of the function, and this version of `Constant` cannot refer to it"
                ));
            }
            if self.is_left_out(parameter) {
                return Err(format!("`{name}` is a parameter of the function that a call omits"));
            }
            let value = self.insert(name, "Constant", &[], Vec::new());
            let ValueDef::Output(constant, _) = self.body().values[value].def else { return Ok(None) };
            let to = self.model.names.intern("value_ints");
            let attr = Attr::parameter(to, AttrType::INTS, parameter);
            self.model.bodies[self.body].nodes[constant].attrs.push(attr);
            Some(value)
        } else {
            let list = self.attrs().ints(name)?.unwrap_or_default().to_vec();
            (!list.is_empty() || empty == Empty::Counts).then(|| self.int_list(name, list))
        };
        self.drop_attr(name);
        self.set_input(i, value);
        Ok(Some(format!("`{name}` becomes an input")))
    }

    /// Whether a call of the enclosing function can omit a parameter, so that the attribute has no value.
    fn is_left_out(&self, parameter: Name) -> bool {
        let Some(function) = self.model.functions.values().find(|f| f.body == self.body) else {
            return false;
        };
        if function.attribute_defaults.iter().any(|a| a.name == Some(parameter)) {
            return false;
        }
        let domain = |name: Option<Name>| normalize_domain(self.model.text(name));
        let calls = self.model.bodies.values().flat_map(|body| body.nodes.values()).filter(|n| {
            n.op == function.name
                && self.model.text(n.overload) == self.model.text(function.overload)
                && domain(n.domain) == domain(function.domain)
        });
        calls.into_iter().any(|call| call.attr(parameter).is_none())
    }

    /// Converts a constant input with a list of integers to an attribute.
    pub(crate) fn input_to_ints(&mut self, i: usize, name: &str, empty: Empty) -> Result<Note, String> {
        let Some(list) = self.ints_of(i, name)? else { return Ok(None) };
        self.set_input(i, None);
        if !list.is_empty() || empty == Empty::Counts {
            self.set(name, AttrValue::Ints(list.into()));
        }
        Ok(Some(format!("`{name}` becomes an attribute")))
    }
}

/// The meaning of an empty list.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Empty {
    /// An empty list means what a missing one does.
    IsNone,
    /// A meaning of its own.
    Counts,
}
