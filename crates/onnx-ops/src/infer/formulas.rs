//! Declared formulas that differ from inferred dimensions.
//!
//! ```text
//! g (float[H] x) => (float["H*4"] y) { y = Concat <axis = 0> (x, x, x) }      H*3 is inferred: equal only if H is 0
//! ```
//!
//! Two different numbers are a contradiction, which `declared` reports. A single symbol cannot be wrong: exporters invent names. A
//! formula declares how a dimension depends on others, which can be compared with the inferred one.

use crate::dims::{Dim, Dims};
use crate::facts::Facts;
use crate::facts::{TensorTy, Ty};
use onnx_ir::diag::Entity;
use onnx_ir::{BodyId, DimValue, Model, Port, TypeId, TypeKind, ValueId};

/// A dimension that is declared by a formula and inferred differently.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Difference {
    pub(crate) declared: Dim,
    pub(crate) computed: Dim,
}

impl Difference {
    /// The equation `H*4 = H*3`, for messages: the declaration is right if it holds.
    pub(crate) fn text(self, dims: &Dims) -> String {
        format!("{} = {}", dims.text(self.declared), dims.text(self.computed))
    }
}

/// The first declared formula of a type that is not equal to the inferred dimension for all values of its symbols.
pub(crate) fn difference(dims: &mut Dims, computed: &Ty, declared: &Ty) -> Option<Difference> {
    match (computed, declared) {
        (Ty::Tensor(a), Ty::Tensor(b)) | (Ty::Sparse(a), Ty::Sparse(b)) => of_tensors(dims, a, b),
        (Ty::Sequence(a), Ty::Sequence(b))
        | (Ty::Optional(a), Ty::Optional(b))
        | (Ty::Map(_, a), Ty::Map(_, b)) => difference(dims, a, b),
        _ => None,
    }
}

fn of_tensors(dims: &mut Dims, computed: &TensorTy, declared: &TensorTy) -> Option<Difference> {
    let (computed, declared) = (computed.shape.as_ref()?, declared.shape.as_ref()?);
    let is_same_rank = computed.len() == declared.len();
    computed.iter().zip(declared).filter(|_| is_same_rank).find_map(|(&computed, &declared)| {
        let is_judged = dims.is_formula(declared)
            && (matches!(computed, Dim::Const(_)) || dims.is_of_named_symbols(computed));
        let differs = is_judged && dims.known_equal(computed, declared) != Some(true);
        differs.then_some(Difference { declared, computed })
    })
}

/// A declaration with a formula that differs from the inferred one.
pub(crate) struct Differs {
    /// The declaration.
    pub(crate) place: Entity,
    pub(crate) value: ValueId,
    /// The types and the dimensions, as text.
    pub(crate) declared: String,
    pub(crate) computed: String,
    pub(crate) only_where: String,
}

/// All such declarations of a body, in the order of its graphs.
pub(crate) fn formulas_that_differ(model: &Model, facts: &Facts, body: BodyId) -> Vec<Differs> {
    let mut found = Vec::new();
    // Most models have no formula and need no copy of the dimensions.
    let mut dims: Option<Dims> = None;
    for (g, graph) in model.bodies[body].graphs.iter() {
        let outputs = (0..).zip(&graph.outputs).map(|(i, port)| (Entity::Output(body, g, i), port));
        let infos = (0..).zip(&graph.value_info).map(|(i, port)| (Entity::ValueInfo(body, g, i), port));
        for (place, port) in outputs.chain(infos) {
            let &Port { value: Some(value), ty: Some(ty), .. } = port else { continue };
            if !has_text(model, ty) {
                continue;
            }
            let dims = dims.get_or_insert_with(|| facts.dims.clone());
            let declared = Ty::declared(model, dims, ty);
            let computed = &facts.get(body, value).ty;
            let Some(difference) = difference(dims, computed, &declared) else { continue };
            found.push(Differs {
                place,
                value,
                declared: declared.text(dims),
                computed: computed.text(dims),
                only_where: difference.text(dims),
            });
        }
    }
    found
}

/// Whether a dimension of a type may be a formula.
fn has_text(model: &Model, ty: TypeId) -> bool {
    match &model.types[ty].kind {
        TypeKind::Tensor(t) | TypeKind::SparseTensor(t) => t.shape.iter().flatten().any(|dim| {
            let DimValue::Param(name) = dim.value else { return false };
            !model.names[name].bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        }),
        TypeKind::Sequence(inner) | TypeKind::Optional(inner) | TypeKind::Map { value: inner, .. } => {
            inner.is_some_and(|inner| has_text(model, inner))
        }
        TypeKind::Opaque { .. } | TypeKind::Unset => false,
    }
}
