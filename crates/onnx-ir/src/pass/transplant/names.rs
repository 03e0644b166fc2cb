//! Names, declarations and types of copies.

use super::{Map, Transplant};
use crate::body::{
    Graph, Node, NodeDeviceConfiguration, NodeExtra, Port, QuantizationAnnotation, ShardingSpec,
    SimpleSharding,
};
use crate::ids::{TypeId, ValueId};
use crate::names::Name;
use crate::tensor::Entry;
use crate::types::{Dim, DimValue, TensorType, Type, TypeKind};

impl Transplant<'_> {
    /// A string in the target's model.
    pub fn name(&mut self, name: Name) -> Name {
        let Some((names, _)) = self.source.other else { return name };
        let target = &mut *self.target.names;
        *self.names.entry(name).or_insert_with(|| target.intern_bytes(names.bytes(name)))
    }

    /// The source's id of a string of the target; `None` if it does not exist there.
    pub fn source_name(&self, name: Name) -> Option<Name> {
        match self.source.other {
            None => Some(name),
            Some((names, _)) => names.find(&self.target.names[name]),
        }
    }

    pub(super) fn maybe_name(&mut self, name: Option<Name>) -> Option<Name> {
        name.map(|n| self.name(n))
    }

    /// A name of a value, node or graph that was copied.
    pub(super) fn prefixed(&mut self, name: Name) -> Name {
        let Some(prefix) = self.style.prefix.as_deref().filter(|_| !name.is_empty()) else {
            return self.name(name);
        };
        if let Some(&known) = self.prefixed.get(&name) {
            return known;
        }
        let names = self.source.other.map_or(&*self.target.names, |(names, _)| names);
        let text = format!("{prefix}{}", &names[name]);
        let fresh = self.target.names.fresh(&text);
        self.prefixed.insert(name, fresh);
        fresh
    }

    /// A name of a value that a text of the source mentions; `None` if reads of the value are left out.
    fn mentioned(&mut self, name: Name) -> Option<Name> {
        match self.bound.get(&name) {
            Some(&bound) => bound,
            None => Some(self.prefixed(name)),
        }
    }

    pub(super) fn entries(&mut self, entries: &[Entry]) -> Vec<Entry> {
        entries
            .iter()
            .map(|e| Entry { key: self.maybe_name(e.key), value: self.maybe_name(e.value) })
            .collect()
    }

    /// Annotations of a graph, whose values have been copied.
    pub(super) fn annotations(&mut self, graph: &Graph) -> Vec<QuantizationAnnotation> {
        if graph.quantization.is_empty() {
            return Vec::new();
        }
        let own: Map<Name, ValueId> =
            graph.values(self.source()).map(|v| (self.source().values[v].name, v)).collect();
        (graph.quantization.iter())
            .map(|annotation| QuantizationAnnotation {
                tensor_name: annotation.tensor_name.and_then(|n| self.annotated(n, &own)),
                parameters: (annotation.parameters.iter())
                    .map(|e| Entry {
                        key: self.maybe_name(e.key),
                        value: e.value.and_then(|n| self.annotated(n, &own)),
                    })
                    .collect(),
            })
            .collect()
    }

    /// The name that a value of a graph has in the target; values around it may have the same name.
    fn annotated(&mut self, name: Name, own: &Map<Name, ValueId>) -> Option<Name> {
        match own.get(&name) {
            Some(&value) => self.value(value).map(|v| self.target.body.values[v].name),
            None => self.mentioned(name),
        }
    }

    /// Copies a declaration of a value, under the name that the value has in the target.
    pub fn port(&mut self, port: &Port) -> Port {
        let value = port.value.and_then(|v| self.value(v));
        let name = match (port.value, value) {
            (Some(_), Some(value)) => port.name.map(|_| self.target.body.values[value].name),
            (Some(_), None) => None,
            (None, _) => port.name.map(|n| self.prefixed(n)),
        };
        Port {
            name,
            value,
            ty: port.ty.map(|ty| self.ty(ty)),
            doc: self.maybe_name(port.doc),
            metadata: self.entries(&port.metadata),
        }
    }

    pub(super) fn node_extra(&mut self, extra: &NodeExtra, node: &Node) -> NodeExtra {
        let devices = (extra.devices.iter())
            .map(|device| NodeDeviceConfiguration {
                configuration: self.maybe_name(device.configuration),
                sharding: (device.sharding.iter()).filter_map(|spec| self.sharding(spec, node)).collect(),
                pipeline_stage: device.pipeline_stage,
            })
            .collect();
        NodeExtra { doc: self.maybe_name(extra.doc), metadata: self.entries(&extra.metadata), devices }
    }

    /// `None` for a sharding of an input that was left out.
    fn sharding(&mut self, spec: &ShardingSpec, node: &Node) -> Option<ShardingSpec> {
        let tensor_name = match spec.tensor_name {
            Some(name) => {
                let mut operands = node.inputs.iter().chain(&node.outputs).flatten();
                match operands.find(|&&v| self.source().values[v].name == name) {
                    Some(&value) => {
                        let value = self.value(value)?;
                        Some(self.target.body.values[value].name)
                    }
                    None => self.mentioned(name),
                }
            }
            None => None,
        };
        let mut axes = spec.axes.clone();
        for SimpleSharding { dim, .. } in axes.iter_mut().flat_map(|a| &mut a.parts) {
            *dim = self.dim(*dim);
        }
        Some(ShardingSpec { tensor_name, devices: spec.devices.clone(), groups: spec.groups.clone(), axes })
    }

    /// A type in the target's model.
    pub fn ty(&mut self, ty: TypeId) -> TypeId {
        let is_same = self.source.other.is_none() && !(self.style.symbols && self.style.prefix.is_some());
        if is_same {
            return ty;
        }
        // Nested types form a chain: translate the innermost first.
        let mut chain = Vec::new();
        let mut next = Some(ty);
        while let Some(ty) = next.filter(|ty| !self.types.contains_key(ty)) {
            chain.push(ty);
            next = match self.source_type(ty).kind {
                TypeKind::Sequence(inner) | TypeKind::Optional(inner) => inner,
                TypeKind::Map { value, .. } => value,
                TypeKind::Unset
                | TypeKind::Tensor(_)
                | TypeKind::SparseTensor(_)
                | TypeKind::Opaque { .. } => None,
            };
        }
        while let Some(ty) = chain.pop() {
            let copy = self.one_type(ty);
            let copy = self.target.types.intern(copy);
            self.types.insert(ty, copy);
        }
        self.types[&ty]
    }

    fn source_type(&self, ty: TypeId) -> &Type {
        let types = self.source.other.map_or(&*self.target.types, |(_, types)| types);
        &types[ty]
    }

    /// A type whose parts have been translated.
    fn one_type(&mut self, ty: TypeId) -> Type {
        let Type { kind, denotation } = self.source_type(ty).clone();
        let kind = match kind {
            TypeKind::Unset => TypeKind::Unset,
            TypeKind::Tensor(tensor) => TypeKind::Tensor(self.tensor_type(tensor)),
            TypeKind::SparseTensor(tensor) => TypeKind::SparseTensor(self.tensor_type(tensor)),
            TypeKind::Sequence(inner) => TypeKind::Sequence(inner.map(|t| self.types[&t])),
            TypeKind::Optional(inner) => TypeKind::Optional(inner.map(|t| self.types[&t])),
            TypeKind::Map { key, value } => TypeKind::Map { key, value: value.map(|t| self.types[&t]) },
            TypeKind::Opaque { domain, name } => {
                TypeKind::Opaque { domain: self.maybe_name(domain), name: self.maybe_name(name) }
            }
        };
        Type { kind, denotation: self.maybe_name(denotation) }
    }

    fn tensor_type(&mut self, tensor: TensorType) -> TensorType {
        let shape = tensor.shape.map(|dims| {
            let dims = dims.into_iter();
            dims.map(|d| Dim { value: self.dim(d.value), denotation: self.maybe_name(d.denotation) })
                .collect()
        });
        TensorType { elem: tensor.elem, shape }
    }

    fn dim(&mut self, dim: DimValue) -> DimValue {
        match dim {
            DimValue::Param(symbol) if self.style.symbols => DimValue::Param(self.prefixed(symbol)),
            DimValue::Param(symbol) => DimValue::Param(self.name(symbol)),
            DimValue::Unknown | DimValue::Value(_) => dim,
        }
    }
}
