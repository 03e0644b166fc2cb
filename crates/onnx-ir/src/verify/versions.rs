//! Features that the stated IR version does not have: V03–V06.
//!
//! The mistake is the IR version, so each type or field is reported once, at its first use.

use super::context::{Findings, VerifyContext, index};
use super::{tensors, types};
use crate::body::{Graph, Node};
use crate::diag::{Code, Diagnostic, Entity, code};
use crate::ids::TypeId;
use crate::types::{ElemType, TypeKind};
use crate::walk::WalkEvent;
use std::collections::BTreeSet;

/// The IR version that introduced an element type: onnx.proto, Version.
fn elem_since(elem: ElemType) -> i64 {
    use ElemType as E;
    match elem {
        E::BFLOAT16 => 4,
        E::FLOAT8E4M3FN | E::FLOAT8E4M3FNUZ | E::FLOAT8E5M2 | E::FLOAT8E5M2FNUZ => 9,
        E::INT4 | E::UINT4 => 10,
        E::FLOAT4E2M1 => 11,
        E::FLOAT8E8M0 => 12,
        E::INT2 | E::UINT2 => 13,
        E::FLOAT6E2M3 | E::FLOAT6E3M2 => 14,
        _ => 1,
    }
}

struct Versions<'s, 'm> {
    cx: &'s VerifyContext<'m>,
    found: &'s mut Findings,
    /// Whether ai.onnx.ml is imported, which had sequences, maps and opaque types before.
    ml: bool,
    reported: BTreeSet<&'static str>,
    elems: BTreeSet<ElemType>,
    types: Vec<bool>,
}

pub(super) fn check(cx: &VerifyContext<'_>, found: &mut Findings) {
    if cx.ir_version >= 14 && cx.model.header.ir_version != Some(14) {
        return; // unstated or unknown
    }
    let ml = cx.model.header.opset_imports.iter().any(|i| cx.model.text(i.domain) == "ai.onnx.ml");
    let types = vec![false; cx.model.types.len()];
    let mut v = Versions { cx, found, ml, reported: BTreeSet::new(), elems: BTreeSet::new(), types };
    v.functions();
    for view in &cx.bodies {
        for step in view.layout.special() {
            match step {
                WalkEvent::EnterGraph(graph) => v.graph(view, graph),
                WalkEvent::EnterNode(node) => v.node(view, node),
                WalkEvent::LeaveNode(_) | WalkEvent::LeaveGraph(_) => {}
            }
        }
    }
    tensors::visit(cx, |at, stored| {
        for tensor in stored.tensors() {
            let tensor = &at.body.tensors[tensor];
            if let Some(elem) = tensor.elem {
                v.elem(elem, at.place);
            }
            if !tensor.extra().metadata.is_empty() {
                v.field(10, "`metadata_props` of tensors", at.place);
            }
        }
    });
    if !cx.model.training.is_empty() {
        v.field(7, "`training_info`", Entity::Training(0));
    }
    if !cx.model.configurations.is_empty() {
        v.field(11, "`configuration`", Entity::Configuration(0));
    }
}

impl Versions<'_, '_> {
    fn newer(&mut self, code: &'static Code, since: i64, what: &'static str, place: Entity) {
        if self.cx.ir_version < since && self.reported.insert(what) {
            self.push(code, since, what, place);
        }
    }

    fn push(&mut self, code: &'static Code, since: i64, what: &str, place: Entity) {
        let message =
            format!("IR version {since} is required for {what}, but the model has {}", self.cx.ir_version);
        self.found.push(
            Diagnostic::new(code, place, message)
                .related(Entity::IrVersion, "the IR version")
                .help(format!("set `ir_version` to {since} or later")),
        );
    }

    fn field(&mut self, since: i64, field: &'static str, place: Entity) {
        self.newer(&code::FIELDS_VS_IR, since, field, place);
    }

    fn elem(&mut self, elem: ElemType, place: Entity) {
        let since = elem_since(elem);
        if self.cx.ir_version < since && self.elems.insert(elem) {
            let what = format!("`{}`", elem.name().unwrap_or("unknown"));
            self.push(&code::DATA_TYPE_VS_IR, since, &what, place);
        }
    }

    fn ty(&mut self, ty: TypeId, place: Entity) {
        for ty in types::chain(&self.cx.model.types, ty) {
            if std::mem::replace(&mut self.types[crate::EntityId::index(ty)], true) {
                return; // this type and its components were checked before
            }
            let ty = &self.cx.model.types[ty];
            let since = match &ty.kind {
                TypeKind::Sequence(_) if !self.ml => Some((6, "sequence type")),
                TypeKind::Map { .. } if !self.ml => Some((6, "map type")),
                TypeKind::Optional(_) => Some((8, "optional type")),
                TypeKind::SparseTensor(_) => Some((8, "sparse tensor type")),
                TypeKind::Opaque { .. } if !self.ml => Some((14, "opaque type")),
                TypeKind::Sequence(_)
                | TypeKind::Map { .. }
                | TypeKind::Opaque { .. }
                | TypeKind::Tensor(_)
                | TypeKind::Unset => None,
            };
            if let Some((since, what)) = since {
                self.newer(&code::TYPE_KIND_VS_IR, since, what, place);
            }
            if let Some(elem) = types::tensor_of(ty).and_then(|t| t.elem) {
                self.elem(elem, place);
            }
        }
    }

    fn functions(&mut self) {
        let first = self.cx.model.functions.iter().next();
        let Some((first, _)) = first else { return };
        let place = Entity::Function(first);
        if self.cx.ir_version < 8 {
            return self.newer(&code::FUNCTIONS_VS_IR, 8, "functions", place);
        }
        for (f, function) in self.cx.model.functions.iter() {
            if !function.attribute_defaults.is_empty() {
                let place = Entity::FunctionAttributeDefault(f, 0);
                self.newer(&code::FUNCTIONS_VS_IR, 9, "`attribute_proto` of functions", place);
            }
            if function.overload.is_some_and(|o| !o.is_empty()) {
                self.newer(&code::FUNCTIONS_VS_IR, 10, "`overload`", Entity::Function(f));
            }
            if !function.metadata.is_empty() {
                self.field(10, "`metadata_props` of functions", Entity::Function(f));
            }
            let body = &self.cx.model.bodies[function.body];
            if let Some(root) = body.root()
                && !body.graphs[root].value_info.is_empty()
            {
                let place = Entity::ValueInfo(function.body, root, 0);
                self.newer(&code::FUNCTIONS_VS_IR, 10, "`value_info` of functions", place);
            }
        }
    }

    fn graph(&mut self, view: &super::context::View<'_>, id: crate::GraphId) {
        let graph: &Graph = &view.body.graphs[id];
        let inputs = graph.inputs.iter().enumerate().map(|(i, p)| (p, Entity::Input(view.id, id, index(i))));
        let outputs =
            graph.outputs.iter().enumerate().map(|(i, p)| (p, Entity::Output(view.id, id, index(i))));
        let infos =
            graph.value_info.iter().enumerate().map(|(i, p)| (p, Entity::ValueInfo(view.id, id, index(i))));
        for (port, place) in inputs.chain(outputs).chain(infos) {
            if let Some(ty) = port.ty {
                self.ty(ty, place);
            }
            if !port.metadata.is_empty() {
                self.field(10, "`metadata_props` of values", place);
            }
        }
        if !graph.metadata.is_empty() {
            self.field(10, "`metadata_props` of graphs", Entity::Graph(view.id, id));
        }
        if !graph.sparse_initializers.is_empty() {
            self.field(6, "`sparse_initializer`", Entity::SparseInitializer(view.id, id, 0));
        }
        if !graph.quantization.is_empty() {
            self.field(5, "`quantization_annotation`", Entity::QuantizationAnnotation(view.id, id, 0));
        }
    }

    fn node(&mut self, view: &super::context::View<'_>, id: crate::NodeId) {
        let node: &Node = &view.body.nodes[id];
        if node.domain.is_some_and(|d| !d.is_empty()) {
            self.field(3, "`domain` of nodes", Entity::NodeOp(view.id, id));
        }
        if !node.extra().metadata.is_empty() {
            self.field(10, "`metadata_props` of nodes", Entity::Node(view.id, id));
        }
        if !node.extra().devices.is_empty() {
            self.field(11, "`device_configurations`", Entity::Node(view.id, id));
        }
        for (i, attr) in node.attrs.iter().enumerate() {
            let place = Entity::Attr(view.id, id, index(i));
            for ty in types::of_attribute(attr) {
                self.ty(ty, place);
            }
            if tensors::stored(attr).any(|s| s.is_sparse()) {
                self.field(6, "`sparse_tensor` of attributes", place);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;
    use crate::attr::AttrValue;
    use crate::body::QuantizationAnnotation;
    use crate::model::DeviceConfiguration;
    use crate::tensor::{Entry, SparseTensor, Tensor};
    use crate::{Model, TrainingInfo};

    fn old(mut model: Model, ir: i64, opset: i64) -> Vec<String> {
        model.header.ir_version = Some(ir);
        model.header.opset_imports[0].version = Some(opset);
        findings(&model)
    }

    #[test]
    fn element_types_are_reported_once_each() {
        let model = |elem| {
            draft(|d| {
                let ty = d.b.types.tensor(elem, []);
                d.graph("g", &["x"], &["y"], |d| {
                    d.holder("Identity", &["x"], &["y"], |d| d.attr("t", AttrValue::Type(ty)));
                    d.holder("Identity", &["x"], &["z"], |d| d.attr("t", AttrValue::Type(ty)));
                });
            })
        };
        let expected = ["E0333 IR version 10 is required for `int4`, but the model has 9"];
        assert_eq!(old(model(ElemType::INT4), 9, 19), expected);
        assert_eq!(old(model(ElemType::INT4), 10, 21), [""; 0]);
        assert_eq!(old(model(ElemType::BFLOAT16), 3, 8).len(), 1);
    }

    #[test]
    fn kinds_of_types_depend_on_the_domain_too() {
        let model = |kind: fn(TypeId) -> TypeKind| {
            draft(|d| {
                let float = d.b.types.tensor(ElemType::FLOAT, []);
                let ty = d.b.types.intern(kind(float).into());
                d.graph("g", &["x"], &["y"], |d| {
                    d.holder("Identity", &["x"], &["y"], |d| d.attr("t", AttrValue::Type(ty)));
                });
            })
        };
        let optional = |t| TypeKind::Optional(Some(t));
        assert_eq!(
            old(model(optional), 7, 12),
            ["W0334 IR version 8 is required for optional type, but the model has 7"]
        );
        let sequence = |t| TypeKind::Sequence(Some(t));
        assert_eq!(
            old(model(sequence), 5, 10),
            ["W0334 IR version 6 is required for sequence type, but the model has 5"]
        );
        let mut with_ml = model(sequence);
        with_ml.header.opset_imports[1].domain = Some(with_ml.names.intern("ai.onnx.ml"));
        assert_eq!(old(with_ml, 5, 10), [""; 0]);
    }

    #[test]
    fn functions_and_their_parts() {
        let mut model = draft(|d| d.graph("g", &["x"], &["y"], |d| d.node("l.f", &["x"], &["y"])));
        let f =
            function(&mut model, "f", |d| d.graph("f", &["a"], &["b"], |d| d.node("Abs", &["a"], &["b"])));
        let opset = |model: &mut Model, v| model.functions[f].opset_imports[0].version = Some(v);
        opset(&mut model, 12);
        assert_eq!(
            old(model.clone(), 7, 12),
            ["W0335 IR version 8 is required for functions, but the model has 7"]
        );
        let name = model.names.intern("alpha");
        model.functions[f].attribute_defaults.push(crate::Attr::new(name, AttrValue::Float(1.0)));
        assert_eq!(
            old(model, 8, 12),
            ["W0335 IR version 9 is required for `attribute_proto` of functions, but the model has 8"]
        );
    }

    #[test]
    fn fields_are_reported_once_each() {
        let mut model = relu();
        let entry = Entry { key: Some(model.names.intern("org.k")), value: None };
        let name = model.names.intern("c");
        let x = model.names.intern("x");
        model.training.push(TrainingInfo::default());
        model.configurations.push(DeviceConfiguration {
            name: Some(name),
            num_devices: Some(1),
            devices: vec![],
        });
        let body = main(&mut model);
        only(&mut body.nodes).extra_mut().metadata.push(entry);
        only(&mut body.graphs).metadata.push(entry);
        only(&mut body.graphs)
            .quantization
            .push(QuantizationAnnotation { tensor_name: Some(x), parameters: vec![] });
        let expected = [
            "W0336 IR version 10 is required for `metadata_props` of graphs, but the model has 4",
            "W0336 IR version 5 is required for `quantization_annotation`, but the model has 4",
            "W0336 IR version 10 is required for `metadata_props` of nodes, but the model has 4",
            "W0336 IR version 11 is required for `configuration`, but the model has 4",
            "W0336 IR version 7 is required for `training_info`, but the model has 4",
        ];
        assert_eq!(old(model, 4, 9), expected);
    }

    #[test]
    fn sparse_attributes_came_with_6() {
        let model = draft(|d| {
            d.graph("g", &["x"], &["y"], |d| {
                let values = d.b.tensor(Tensor {
                    dims: smallvec::smallvec![0],
                    elem: Some(ElemType::FLOAT),
                    ..Tensor::default()
                });
                d.holder("Identity", &["x"], &["y"], |d| {
                    let sparse =
                        SparseTensor { values: Some(values), indices: None, dims: smallvec::smallvec![2] };
                    d.attr("s", AttrValue::SparseTensor(Box::new(sparse)));
                });
            });
        });
        let expected =
            ["W0336 IR version 6 is required for `sparse_tensor` of attributes, but the model has 5"];
        assert_eq!(old(model, 5, 10), expected);
    }
}
