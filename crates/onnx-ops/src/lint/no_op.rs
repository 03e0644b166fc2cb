//! Nodes that return their input, which a lint reports and a pass removes.

use crate::dims::Dim;
use crate::facts::{Elem, Facts, Ints, Ty};
use onnx_ir::{
    Attrs, BodyId, ElemType, Model, Name, Node, NodeId, Uses, ValueDef, ValueId, normalize_domain,
};
use std::collections::HashSet;

/// Domain and name of the model's functions, which may have the names of operators.
pub(crate) fn local_functions(model: &Model) -> HashSet<(String, Name)> {
    let named = model.functions.values().filter_map(|f| Some((f.domain, f.name?)));
    named.map(|(domain, name)| (normalize_domain(model.text(domain)).to_owned(), name)).collect()
}

/// A node that may be a no-op.
pub(crate) struct Look<'a> {
    pub(crate) model: &'a Model,
    pub(crate) facts: &'a Facts,
    pub(crate) body: BodyId,
    pub(crate) node: NodeId,
    pub(crate) uses: &'a Uses,
    /// Functions of the model, which can shadow operators.
    pub(crate) local: &'a HashSet<(String, Name)>,
}

impl Look<'_> {
    fn n(&self) -> &Node {
        &self.model.bodies[self.body].nodes[self.node]
    }

    fn input(&self, i: usize) -> Option<ValueId> {
        self.n().inputs.get(i).copied().flatten()
    }

    fn attrs<'n>(&'n self, node: &'n Node) -> Attrs<'n> {
        Attrs::of(node, &self.model.names)
    }

    fn ty(&self, value: ValueId) -> &Ty {
        &self.facts.get(self.body, value).ty
    }

    /// Whether two values certainly have the same shape and element type.
    fn is_same_type(&self, a: ValueId, b: ValueId) -> bool {
        let (Ty::Tensor(a), Ty::Tensor(b)) = (self.ty(a), self.ty(b)) else { return false };
        a.elem.is_some()
            && a.elem == b.elem
            && a.shape.is_some()
            && a.shape == b.shape
            && a.shape.iter().flatten().all(|d| *d != Dim::Unknown)
    }

    /// The output that equals another value, and that value.
    pub(crate) fn passes_on(&self) -> Option<(ValueId, ValueId)> {
        let n = self.n();
        let (domain, op) = (normalize_domain(self.model.text(n.domain)), self.model.text(n.op));
        if !domain.is_empty() || n.op.is_none_or(|op| self.local.contains(&(String::new(), op))) {
            return None;
        }
        let (x, y) = (self.input(0)?, n.outputs.first().copied().flatten()?);
        // A second output that is read or named is not a copy.
        let name = |v: ValueId| self.model.bodies[self.body].values[v].name;
        let is_wanted = |v: ValueId| !self.uses.is_unused(v) || self.uses.is_annotated(name(v));
        if n.outputs.iter().skip(1).flatten().any(|v| is_wanted(*v)) {
            return None;
        }
        let same = |is: bool| is.then_some((y, x));
        match op {
            "Identity" => same(true),
            "Dropout" => same(self.is_inference()),
            "Concat" | "Sum" | "Max" | "Min" | "Mean" => same(n.inputs.len() == 1),
            "Cast" | "CastLike" => match self.is_same_type(x, y) || self.is_same_elem(x, y) {
                true => same(true),
                false => self.widened().map(|first| (y, first)),
            },
            "Transpose" => match self.perm(n).is_some_and(|perm| is_identity(&perm)) {
                true => same(true),
                false => self.turned_back().map(|first| (y, first)),
            },
            "Expand" => same(self.is_same_type(x, y)),
            "Reshape" | "Flatten" | "Squeeze" | "Unsqueeze" => match self.is_same_type(x, y) {
                true => same(true),
                false => self.shaped_back(y).map(|first| (y, first)),
            },
            "Tile" | "Slice" => same(self.is_same_type(x, y) && (op == "Tile" || self.is_forward())),
            "Pad" => same(self.is_same_type(x, y) && self.has_no_pads()),
            "Add" | "Mul" => {
                let b = self.input(1)?;
                let one = |x, other| self.is_same_type(x, y) && self.is_neutral(op, other);
                if one(x, b) { Some((y, x)) } else { one(b, x).then_some((y, b)) }
            }
            "Sub" | "Div" => same(self.is_same_type(x, y) && self.is_neutral(op, self.input(1)?)),
            _ => None,
        }
    }

    /// Whether one of the names is lost that trainings use, if a value is replaced by another: its own, or, if it is a graph output,
    /// whose name the other one takes over, that one.
    pub(crate) fn is_named(&self, trained: &HashSet<Name>, from: ValueId, to: ValueId) -> bool {
        let body = &self.model.bodies[self.body];
        let is_named = |value: ValueId| trained.contains(&body.values[value].name);
        let mut outputs = body.graphs.values().flat_map(|graph| &graph.outputs);
        is_named(from) || is_named(to) && outputs.any(|port| port.value == Some(from))
    }

    fn is_same_elem(&self, a: ValueId, b: ValueId) -> bool {
        matches!((self.ty(a), self.ty(b)), (Ty::Tensor(a), Ty::Tensor(b)) if a.elem.is_some() && a.elem == b.elem)
    }

    /// Whether a `Dropout` is in inference mode. Before version 7, an attribute set the mode, and training was the default.
    fn is_inference(&self) -> bool {
        let is_test = || matches!(self.attrs(self.n()).int("is_test"), Ok(Some(flag)) if flag != 0);
        if self.model.newest_import(self.body, "").is_some_and(|version| version >= 7) {
            self.is_off(2)
        } else {
            is_test()
        }
    }

    /// Whether an input that enables something is omitted, or known to be false.
    fn is_off(&self, i: usize) -> bool {
        self.input(i).is_none_or(|v| {
            let value = self.facts.get(self.body, v).value.as_ref();
            value.and_then(|v| v.ints()).is_some_and(|list| list[..] == [0])
        })
    }

    fn ints(&self, i: usize) -> Option<Ints> {
        self.facts.get(self.body, self.input(i)?).value.as_ref()?.ints()
    }

    /// Whether every step of a Slice is 1: if the shape stays the same, it then selects everything.
    fn is_forward(&self) -> bool {
        self.input(4).is_none() || self.ints(4).is_some_and(|steps| steps.iter().all(|step| *step == 1))
    }

    fn has_no_pads(&self) -> bool {
        let pads = match self.attrs(self.n()).ints("pads") {
            Ok(Some(list)) => Some(list.into()),
            Ok(None) | Err(_) => self.ints(1),
        };
        pads.is_some_and(|pads| pads.iter().all(|pad| *pad == 0))
    }

    /// Whether every element of a known operand is neutral.
    fn is_neutral(&self, op: &str, operand: ValueId) -> bool {
        let fact = self.facts.get(self.body, operand);
        let is_float = fact.ty.elem().is_some_and(|e| !e.is_integer());
        let is_it = |elem: &Elem| match (op, *elem) {
            ("Add", Elem::Float(x)) => x == 0.0 && x.is_sign_negative(),
            ("Add", Elem::Int(Dim::Const(0))) => !is_float,
            ("Sub", Elem::Float(x)) => x == 0.0 && x.is_sign_positive(),
            ("Sub", Elem::Int(Dim::Const(n))) => n == 0 && !is_float,
            ("Mul" | "Div", elem) => elem.number() == Some(1.0),
            _ => false,
        };
        fact.value.as_ref().is_some_and(|value| value.elems.iter().all(is_it))
    }

    /// The node that computes the first input, if it has one of these operators.
    fn before(&self, ops: &[&str]) -> Option<&Node> {
        let body = &self.model.bodies[self.body];
        let ValueDef::Output(node, 0) = body.values[self.input(0)?].def else { return None };
        let n = &body.nodes[node];
        let is_it =
            normalize_domain(self.model.text(n.domain)).is_empty() && ops.contains(&self.model.text(n.op));
        (is_it && n.op.is_some_and(|op| !self.local.contains(&(String::new(), op)))).then_some(n)
    }

    fn perm(&self, node: &Node) -> Option<Vec<i64>> {
        match self.attrs(node).ints("perm") {
            Ok(Some(perm)) => Some(perm.to_vec()),
            Err(_) => None,
            Ok(None) => {
                let rank = self.ty(node.inputs.first().copied().flatten()?).shape()?.len();
                Some((0..i64::try_from(rank).ok()?).rev().collect())
            }
        }
    }

    /// The original value, if two Transpose nodes are inverse.
    fn turned_back(&self) -> Option<ValueId> {
        let first = self.before(&["Transpose"])?;
        let (inner, outer) = (self.perm(first)?, self.perm(self.n())?);
        let both: Option<Vec<i64>> =
            outer.iter().map(|i| inner.get(usize::try_from(*i).ok()?).copied()).collect();
        let is_same = inner.len() == outer.len() && is_identity(&both?);
        first.inputs.first().copied().flatten().filter(|_| is_same)
    }

    /// The original value, if two consecutive changes of shape restore the shape.
    fn shaped_back(&self, y: ValueId) -> Option<ValueId> {
        let first = self.before(&["Reshape", "Flatten", "Squeeze", "Unsqueeze"])?;
        first.inputs.first().copied().flatten().filter(|x| self.is_same_type(*x, y))
    }

    /// The original value, if a lossless cast is undone.
    fn widened(&self) -> Option<ValueId> {
        let first = self.before(&["Cast", "CastLike"])?;
        let x = first.inputs.first().copied().flatten()?;
        let (from, wide) = (self.ty(x).elem()?, self.ty(self.input(0)?).elem()?);
        let back = self.ty(self.n().outputs.first().copied().flatten()?).elem()?;
        (from == back && is_lossless(from, wide)).then_some(x)
    }
}

/// Whether a type includes all numbers of another one.
pub(crate) fn is_lossless(from: ElemType, wide: ElemType) -> bool {
    use ElemType as E;
    let ranks: &[&[E]] = &[
        &[E::FLOAT16, E::FLOAT, E::DOUBLE],
        &[E::BFLOAT16, E::FLOAT, E::DOUBLE],
        &[E::INT8, E::INT16, E::INT32, E::INT64],
        &[E::UINT8, E::UINT16, E::UINT32, E::UINT64],
        &[E::UINT8, E::INT16, E::INT32, E::INT64],
        &[E::UINT16, E::INT32, E::INT64],
        &[E::UINT32, E::INT64],
        &[E::INT16, E::FLOAT],
        &[E::INT32, E::DOUBLE],
        &[E::BOOL, E::INT32],
        &[E::BOOL, E::INT64],
        &[E::BOOL, E::FLOAT],
    ];
    let at = |list: &[E], elem: E| list.iter().position(|e| *e == elem);
    ranks.iter().any(|list| at(list, from).is_some_and(|a| at(list, wide).is_some_and(|b| a < b)))
}

fn is_identity(perm: &[i64]) -> bool {
    perm.iter().copied().eq(0..perm.len() as i64)
}
