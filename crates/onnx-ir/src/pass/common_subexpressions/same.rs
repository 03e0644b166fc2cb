//! Whether two nodes compute the same: by a hash first, then by comparison.

use super::Map;
use crate::attr::{Attr, AttrValue};
use crate::body::{Body, Graph, Node, Port};
use crate::entity::EntityId;
use crate::ids::{GraphId, NodeId, TensorId, ValueId};
use crate::names::Name;
use crate::pass::calls::Imports;
use crate::tensor::{Payload, SparseTensor, Tensor};
use crate::types::{ElemType, Field};
use bytes::Bytes;
use foldhash::fast::RandomState;
use std::hash::{BuildHasher as _, Hash, Hasher};

/// Deeper nested graphs are not compared: no valid model has them.
const DEEPEST: usize = 40;

/// Compares nodes of one body.
pub(super) struct Comparer {
    hasher: RandomState,
    imports: Imports,
}

/// Positions of the values of a nested graph, independent of names.
type Numbers = Map<ValueId, usize>;

impl Comparer {
    pub(super) fn new(imports: &Imports) -> Self {
        Comparer { hasher: RandomState::default(), imports: imports.clone() }
    }

    /// Equal for nodes that are the same; `None` for one that cannot be compared.
    pub(super) fn hash(&self, body: &Body, node: NodeId) -> Option<u64> {
        let mut state = self.hasher.build_hasher();
        self.hash_node(body, &body.nodes[node], &mut Numbers::default(), 0, &mut state)?;
        Some(state.finish())
    }

    fn hash_node(
        &self,
        body: &Body,
        node: &Node,
        numbers: &mut Numbers,
        depth: usize,
        state: &mut impl Hasher,
    ) -> Option<()> {
        let domain = self.imports.domain(node.domain);
        (domain, node.op, overload(node), node.inputs.len(), node.outputs.len()).hash(state);
        for input in &node.inputs {
            input.map(|v| numbers.get(&v).ok_or(v.index())).hash(state);
        }
        for attr in sorted(&node.attrs) {
            (attr.name, attr.ty.map(|t| t.0), attr.reference, attr.values.len()).hash(state);
            for value in &attr.values {
                self.hash_value(body, value, numbers, depth, state)?;
            }
        }
        Some(())
    }

    fn hash_value(
        &self,
        body: &Body,
        value: &AttrValue,
        numbers: &mut Numbers,
        depth: usize,
        state: &mut impl Hasher,
    ) -> Option<()> {
        value.ty().0.hash(state);
        match value {
            AttrValue::Float(x) => x.to_bits().hash(state),
            AttrValue::Int(x) => x.hash(state),
            AttrValue::String(x) => x.hash(state),
            AttrValue::Floats(list) => list.elements().for_each(|x| x.to_bits().hash(state)),
            AttrValue::Ints(list) => list.elements().for_each(|x| x.hash(state)),
            AttrValue::Strings(list) => list.elements().for_each(|x| x.hash(state)),
            AttrValue::Type(ty) => ty.hash(state),
            AttrValue::Types(list) => list.hash(state),
            AttrValue::Tensor(tensor) => hash_tensor(&body.tensors[*tensor], state),
            AttrValue::Tensors(list) => list.iter().for_each(|&t| hash_tensor(&body.tensors[t], state)),
            AttrValue::SparseTensor(sparse) => sparse.dims.hash(state),
            AttrValue::SparseTensors(list) => list.iter().for_each(|s| s.dims.hash(state)),
            AttrValue::Graph(_) | AttrValue::Graphs(_) => {
                for &graph in value.graphs() {
                    self.hash_graph(body, graph, numbers, depth + 1, state)?;
                }
            }
        }
        Some(())
    }

    fn hash_graph(
        &self,
        body: &Body,
        graph: GraphId,
        numbers: &mut Numbers,
        depth: usize,
        state: &mut impl Hasher,
    ) -> Option<()> {
        let g = plain(&body.graphs[graph]).filter(|_| depth <= DEEPEST)?;
        (g.inputs.len(), g.outputs.len(), g.initializers.len(), g.nodes.len()).hash(state);
        let mut number = |value: ValueId| _ = numbers.insert(value, numbers.len());
        g.inputs.iter().filter_map(|p| p.value).for_each(&mut number);
        for initializer in &g.initializers {
            number(initializer.value);
            hash_tensor(&body.tensors[initializer.tensor], state);
        }
        for &node in &g.nodes {
            let node = &body.nodes[node];
            self.hash_node(body, node, numbers, depth, state)?;
            for output in node.outputs.iter().flatten() {
                numbers.insert(*output, numbers.len());
            }
        }
        for output in &g.outputs {
            output.value.map(|v| numbers.get(&v).ok_or(v.index())).hash(state);
        }
        Some(())
    }

    /// Whether two nodes compute the same.
    pub(super) fn are_same(&self, body: &Body, a: NodeId, b: NodeId) -> bool {
        let mut pairing = Pairing { comparer: self, body, values: Map::default() };
        pairing.nodes(&body.nodes[a], &body.nodes[b])
    }
}

/// Two nodes that are walked through together. Both have been hashed, so that graphs do not nest too deep.
struct Pairing<'b> {
    comparer: &'b Comparer,
    body: &'b Body,
    /// The correspondence of values of nested graphs.
    values: Map<ValueId, ValueId>,
}

impl Pairing<'_> {
    fn nodes(&mut self, a: &Node, b: &Node) -> bool {
        let imports = &self.comparer.imports;
        (imports.domain(a.domain), a.op, overload(a)) == (imports.domain(b.domain), b.op, overload(b))
            && a.inputs.len() == b.inputs.len()
            && a.inputs.iter().zip(&b.inputs).all(|(&a, &b)| self.value(a, b))
            && a.attrs.len() == b.attrs.len()
            && sorted(&a.attrs).zip(sorted(&b.attrs)).all(|(a, b)| self.attrs(a, b))
    }

    fn value(&self, a: Option<ValueId>, b: Option<ValueId>) -> bool {
        match (a, b) {
            (Some(a), Some(b)) => *self.values.get(&a).unwrap_or(&a) == b,
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        }
    }

    fn attrs(&mut self, a: &Attr, b: &Attr) -> bool {
        (a.name, a.ty, a.reference, a.values.len()) == (b.name, b.ty, b.reference, b.values.len())
            && a.values.iter().zip(&b.values).all(|(a, b)| self.attr_values(a, b))
    }

    fn attr_values(&mut self, a: &AttrValue, b: &AttrValue) -> bool {
        let bits = |x: f32| x.to_bits();
        match (a, b) {
            (AttrValue::Float(a), AttrValue::Float(b)) => bits(*a) == bits(*b),
            (AttrValue::Floats(a), AttrValue::Floats(b)) => a.elements().map(bits).eq(b.elements().map(bits)),
            (AttrValue::Tensor(a), AttrValue::Tensor(b)) => self.tensors(*a, *b),
            (AttrValue::Tensors(a), AttrValue::Tensors(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(&a, &b)| self.tensors(a, b))
            }
            (AttrValue::SparseTensor(a), AttrValue::SparseTensor(b)) => self.sparse(a, b),
            (AttrValue::SparseTensors(a), AttrValue::SparseTensors(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| self.sparse(a, b))
            }
            (AttrValue::Graph(_) | AttrValue::Graphs(_), AttrValue::Graph(_) | AttrValue::Graphs(_)) => {
                let (a, b) = (a.graphs(), b.graphs());
                a.len() == b.len() && a.iter().zip(b).all(|(&a, &b)| self.graphs(a, b))
            }
            // The remaining values contain no NaN and no ids.
            (a, b) => a == b,
        }
    }

    fn tensors(&self, a: TensorId, b: TensorId) -> bool {
        hold_the_same(&self.body.tensors[a], &self.body.tensors[b])
    }

    fn sparse(&self, a: &SparseTensor, b: &SparseTensor) -> bool {
        let same = |a: Option<TensorId>, b: Option<TensorId>| match (a, b) {
            (Some(a), Some(b)) => self.tensors(a, b),
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        };
        a.dims == b.dims && same(a.values, b.values) && same(a.indices, b.indices)
    }

    fn graphs(&mut self, a: GraphId, b: GraphId) -> bool {
        let body = self.body;
        let (a, b) = (&body.graphs[a], &body.graphs[b]);
        let lens = |g: &Graph| (g.inputs.len(), g.outputs.len(), g.initializers.len(), g.nodes.len());
        if lens(a) != lens(b) {
            return false;
        }
        let types = |a: &Port, b: &Port| a.ty == b.ty;
        if !(a.inputs.iter().zip(&b.inputs).all(|(a, b)| types(a, b) && self.pair(a.value, b.value))
            && a.outputs.iter().zip(&b.outputs).all(|(a, b)| types(a, b)))
        {
            return false;
        }
        for (a, b) in a.initializers.iter().zip(&b.initializers) {
            if !(self.tensors(a.tensor, b.tensor) && self.pair(Some(a.value), Some(b.value))) {
                return false;
            }
        }
        for (&a, &b) in a.nodes.iter().zip(&b.nodes) {
            let (a, b) = (&body.nodes[a], &body.nodes[b]);
            let is_same = self.nodes(a, b)
                && a.outputs.len() == b.outputs.len()
                && a.outputs.iter().zip(&b.outputs).all(|(&a, &b)| self.pair(a, b));
            if !is_same {
                return false;
            }
        }
        a.outputs.iter().zip(&b.outputs).all(|(a, b)| self.value(a.value, b.value))
    }

    /// Two values that two graphs define at the same place; whether both are there or none is.
    fn pair(&mut self, a: Option<ValueId>, b: Option<ValueId>) -> bool {
        if let (Some(a), Some(b)) = (a, b) {
            self.values.insert(a, b);
        }
        a.is_some() == b.is_some()
    }
}

/// A graph that only its inputs, initializers and nodes determine.
fn plain(graph: &Graph) -> Option<&Graph> {
    (graph.sparse_initializers.is_empty() && graph.quantization.is_empty()).then_some(graph)
}

fn overload(node: &Node) -> Name {
    node.overload.unwrap_or(Name::empty())
}

/// Attributes by name: their order means nothing.
fn sorted(attrs: &[Attr]) -> impl Iterator<Item = &Attr> {
    let mut order: Vec<&Attr> = attrs.iter().collect();
    order.sort_by_key(|a| a.name);
    order.into_iter()
}

/// The contents of a tensor, independent of its storage.
#[derive(PartialEq, Eq, Hash)]
enum Content<'t> {
    /// The elements as `raw_data` has them.
    Raw(&'t [u8]),
    /// Entries of another field.
    Entries(Field, &'t [u8]),
    Strings(&'t [Bytes]),
}

fn content(tensor: &Tensor) -> Option<Content<'_>> {
    let [payload] = tensor.data.as_slice() else { return None };
    if tensor.extra().location.is_some() || tensor.extra().segment.is_some() {
        return None;
    }
    Some(match payload {
        Payload::Strings(strings) => Content::Strings(strings),
        Payload::Entries { field, bytes } => {
            let is_raw = match (field, tensor.elem) {
                (Field::Raw, _) => true,
                // Entries of these types are elements, or halves of complex ones.
                (Field::Float, Some(ElemType::FLOAT | ElemType::COMPLEX64))
                | (Field::Double, Some(ElemType::DOUBLE | ElemType::COMPLEX128))
                | (Field::Int32, Some(ElemType::INT32))
                | (Field::Int64, Some(ElemType::INT64))
                | (Field::Uint64, Some(ElemType::UINT64)) => true,
                (
                    Field::Float
                    | Field::Double
                    | Field::Int32
                    | Field::Int64
                    | Field::Uint64
                    | Field::String,
                    _,
                ) => false,
            };
            if is_raw { Content::Raw(bytes) } else { Content::Entries(*field, bytes) }
        }
    })
}

/// Whether two tensors have the same type, shape and elements. Names and documentation do not count.
pub(super) fn hold_the_same(a: &Tensor, b: &Tensor) -> bool {
    if (a.elem, &a.dims) != (b.elem, &b.dims) {
        return false;
    }
    match (content(a), content(b)) {
        (Some(a), Some(b)) => a == b,
        (None, None) => {
            let place = |t: &Tensor| (t.extra().location, t.extra().segment);
            place(a) == place(b) && a.extra().external == b.extra().external && a.data == b.data
        }
        (Some(_), None) | (None, Some(_)) => false,
    }
}

/// Equal hashes for tensors with equal contents.
pub(super) fn hash_tensor(tensor: &Tensor, state: &mut impl Hasher) {
    (tensor.elem, &tensor.dims).hash(state);
    match content(tensor) {
        Some(content) => content.hash(state),
        None => tensor.extra().external.hash(state),
    }
}

/// The number of bytes at both ends of a tensor that [`hash_ends`] reads.
const ENDS: usize = 64;

/// Like [`hash_tensor`], of a few elements only: most tensors differ there, and the rest of them need not be read.
pub(super) fn hash_ends(tensor: &Tensor, state: &mut impl Hasher) {
    (tensor.elem, &tensor.dims).hash(state);
    match content(tensor) {
        Some(Content::Raw(bytes) | Content::Entries(_, bytes)) => {
            let end = bytes.len().min(ENDS);
            (&bytes[..end], &bytes[bytes.len() - end..]).hash(state);
        }
        Some(Content::Strings(strings)) => strings.first().hash(state),
        None => tensor.extra().external.hash(state),
    }
}
