//! Symbols of inputs that can have only one size: those that inference replaces by numbers.
//!
//! ```text
//! g (float[N,H] x) => (float[N,K] y) <float[3,4] w = {…}> { y = MatMul(x, w) }      H is 3
//! ```

use crate::infer::{Facts, Ty};
use foldhash::HashSet;
use onnx_ir::diag::{Diagnostic, Entity, code};
use onnx_ir::{Dim, DimValue, Model, Name, Port, TypeKind};

/// A symbol of an input of a model that can have only one size.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FixedSymbol {
    /// The first input whose type has it.
    pub place: Entity,
    /// The name of that input.
    pub value: Name,
    /// The axis.
    pub axis: usize,
    /// The declared symbol.
    pub symbol: Name,
    /// Its size.
    pub number: i64,
}

impl FixedSymbol {
    pub(super) fn finding(&self, model: &Model) -> Diagnostic {
        let (symbol, value, number) = (&model.names[self.symbol], &model.names[self.value], self.number);
        let message = format!("dimension `{symbol}` of `{value}` can only be {number}");
        Diagnostic::new(&code::SYMBOL_FIXED, self.place, message)
            .label(format!("axis {} is declared as `{symbol}` and inferred as {number}", self.axis))
            .help(format!("write {number}"))
    }
}

/// The symbols of inputs of the main graph that inference has found to be numbers, each at its first place. A symbol of outputs
/// is only a name for a result, and an input that is broadcast has another size as well.
#[must_use]
pub fn fixed_symbols(model: &Model, facts: &mut Facts) -> Vec<FixedSymbol> {
    let Some((body, root)) = model.main.and_then(|b| Some((b, model.bodies[b].root()?))) else {
        return Vec::new();
    };
    let graph = &model.bodies[body].graphs[root];
    let shape_of = |port: &Port| match &model.types[port.ty?].kind {
        TypeKind::Tensor(tensor) | TypeKind::SparseTensor(tensor) => tensor.shape.as_deref(),
        _ => None,
    };
    let dims = graph.inputs.iter().filter_map(shape_of).flatten();
    let mut open: HashSet<Name> = dims.filter_map(symbol_of).collect();
    let mut fixed = Vec::new();
    let mut look = |port: &Port, place: Entity| {
        let (Some(declared), Some(value), Some(name)) = (shape_of(port), port.value, port.name) else {
            return;
        };
        if !declared.iter().any(|dim| symbol_of(dim).is_some_and(|symbol| open.contains(&symbol))) {
            return;
        }
        let ty = facts.resolved(body, value).ty;
        let (Ty::Tensor(inferred) | Ty::Sparse(inferred)) = &ty else { return };
        let Some(inferred) = inferred.shape.as_ref().filter(|shape| shape.len() == declared.len()) else {
            return;
        };
        for (axis, (dim, inferred)) in declared.iter().zip(inferred).enumerate() {
            let (Some(symbol), Some(number)) = (symbol_of(dim), facts.dims.as_const(*inferred)) else {
                continue;
            };
            if open.remove(&symbol) {
                fixed.push(FixedSymbol { place, value: name, axis, symbol, number });
            }
        }
    };
    for (i, port) in (0..).zip(&graph.inputs) {
        look(port, Entity::Input(body, root, i));
    }
    fixed
}

fn symbol_of(dim: &Dim) -> Option<Name> {
    match dim.value {
        DimValue::Param(symbol) => Some(symbol),
        DimValue::Unknown | DimValue::Value(_) => None,
    }
}
