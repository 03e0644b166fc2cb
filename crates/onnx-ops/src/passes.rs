//! Operator properties for passes over the IR, from the signatures.

use crate::opset;
use crate::schema::{Lookup, Param, ParamKind, Registry, Schema, SchemaId};
use onnx_ir::AttrType;
use onnx_ir::pass::{OpRef, Operators};

/// For unknown operators, the most conservative answers.
impl Operators for Registry {
    /// Operators with graphs are as random as their graphs, which passes inspect.
    fn is_random(&self, op: OpRef<'_>) -> bool {
        schema(self, op).is_none_or(|schema| {
            let is_holder = schema.attrs.iter().any(|a| a.ty == AttrType::GRAPH);
            schema.random && !is_holder
        })
    }

    fn may_leave_out_input(&self, op: OpRef<'_>, i: usize) -> bool {
        schema(self, op).is_none_or(|schema| is_optional(&schema.inputs, i))
    }

    fn attribute(&self, op: OpRef<'_>, name: &str) -> Option<(AttrType, bool)> {
        let param = schema(self, op)?.attr(name)?;
        Some((param.ty, param.required))
    }

    fn may_leave_out_output(&self, op: OpRef<'_>, i: usize) -> bool {
        // The number of outputs of a BatchNormalization determines its mode, or must match it.
        let counts = op.domain.is_empty() && op.op == "BatchNormalization";
        !counts && schema(self, op).is_some_and(|schema| is_optional(&schema.outputs, i))
    }

    fn is_same(&self, op: OpRef<'_>, version: i64) -> bool {
        op.version == Some(version)
            || found(self, op)
                .is_some_and(|id| found(self, OpRef { version: Some(version), ..op }) == Some(id))
    }

    fn known_by(&self, op: OpRef<'_>) -> Option<&str> {
        let is_added = || opset::contributed("").is_some_and(|all| all.iter().any(|s| *s.name == *op.op));
        let is_known = found(Registry::builtin(), op).is_some();
        (op.domain.is_empty() && !is_known && is_added()).then_some(opset::CONTRIBUTED)
    }
}

fn found(registry: &Registry, op: OpRef<'_>) -> Option<SchemaId> {
    match registry.lookup(op.domain, op.op, op.version?) {
        Lookup::Found(id) => Some(id),
        Lookup::TooNew { .. } | Lookup::UnknownOperator | Lookup::UnknownDomain => None,
    }
}

fn schema<'r>(registry: &'r Registry, op: OpRef<'_>) -> Option<&'r Schema> {
    found(registry, op).map(|id| registry.get(id))
}

fn is_optional(params: &[Param], i: usize) -> bool {
    params.get(i).is_some_and(|param| match param.kind {
        ParamKind::Optional => true,
        ParamKind::Single | ParamKind::Variadic { .. } => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn op(op: &'static str, version: i64) -> OpRef<'static> {
        OpRef { domain: "", op, version: Some(version) }
    }

    #[test]
    fn signatures_answer() {
        let registry = Registry::builtin();
        assert!(registry.is_random(op("RandomNormal", 21)) && registry.is_random(op("NoSuchOperator", 21)));
        assert!(!registry.is_random(op("Relu", 21)) && !registry.is_random(op("If", 21)));
        assert!(registry.may_leave_out_input(op("Clip", 21), 1));
        assert!(!registry.may_leave_out_input(op("Clip", 21), 0));
        assert!(!registry.may_leave_out_input(op("Concat", 21), 0));
        assert_eq!(registry.attribute(op("Cast", 21), "to"), Some((AttrType::INT, true)));
        assert!(registry.may_leave_out_output(op("Dropout", 21), 1));
        assert!(!registry.may_leave_out_output(op("Split", 21), 1));
        assert!(registry.is_same(op("Relu", 14), 21) && !registry.is_same(op("Relu", 12), 21));
        assert!(!registry.is_same(op("NoSuchOperator", 12), 13));
    }
}
