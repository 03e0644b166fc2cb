//! One small change of a model, often one that breaks it.

use conformance::random::Random;
use onnx_ir::{
    Attr, BodyId, DeviceConfiguration, DimValue, Entry, GraphId, Model, Name, NodeDeviceConfiguration,
    NodeId, OpsetImport, Port, QuantizationAnnotation, ShardedAxis, ShardingSpec, SimpleSharding, Value,
    ValueDef, ValueId, pass,
};
use onnx_ops::infer::{InferOptions, apply, infer};
use onnx_ops::schema::Registry;

/// Changes one thing.
pub(crate) fn change(model: &mut Model, random: &mut Random) {
    let bodies: Vec<BodyId> = model.bodies.ids().filter(|&b| model.bodies[b].root().is_some()).collect();
    let body = bodies[random.below(bodies.len())];
    let graphs: Vec<GraphId> = model.bodies[body].graphs.ids().collect();
    let graph = graphs[random.below(graphs.len())];
    let nodes = model.bodies[body].graphs[graph].nodes.clone();
    let node = nodes.get(random.below(nodes.len())).copied();
    let mut at = At { model, random, body, graph };
    match (at.random.below(23), node) {
        (0 | 1, Some(node)) => at.rewire(node),
        (2, Some(node)) => at.leave_out(node),
        (3, Some(node)) => at.repeat(node),
        (4 | 5, Some(node)) => at.shard(node),
        (6, Some(node)) => at.refer(node),
        (7, Some(node)) => at.name_node(node),
        (8, Some(node)) => at.describe(node),
        (9, Some(node)) => at.graph_mut().nodes.retain(|&n| n != node),
        (20, Some(node)) => at.call(node),
        (21, Some(node)) => at.drop_attribute(node),
        (10, _) => at.rename(),
        (11, _) => at.give_back(),
        (12, _) => at.graph_mut().value_info.clear(),
        (13, _) => at.declare(),
        (14, _) => at.model.header.ir_version = Some(3 + at.below(11)),
        (15, _) => at.import(),
        (16 | 17, _) => at.outline(&nodes),
        (18, _) => at.annotate(),
        (19, _) => at.initializer_as_input(),
        _ => at.extra_input(),
    }
}

/// Where something is changed.
struct At<'c> {
    model: &'c mut Model,
    random: &'c mut Random,
    body: BodyId,
    graph: GraphId,
}

impl At<'_> {
    fn below(&mut self, count: usize) -> i64 {
        i64::try_from(self.random.below(count)).unwrap_or(0)
    }

    fn graph_mut(&mut self) -> &mut onnx_ir::Graph {
        &mut self.model.bodies[self.body].graphs[self.graph]
    }

    fn node_mut(&mut self, node: NodeId) -> &mut onnx_ir::Node {
        &mut self.model.bodies[self.body].nodes[node]
    }

    fn some_value(&mut self) -> Option<ValueId> {
        let values: Vec<ValueId> = self.model.bodies[self.body].values.ids().collect();
        values.get(self.random.below(values.len())).copied()
    }

    /// Any name of a value, of this body or another.
    fn some_name(&mut self) -> Name {
        let all: Vec<Name> =
            self.model.bodies.values().flat_map(|b| b.values.values().map(|v| v.name)).collect();
        all.get(self.random.below(all.len())).copied().unwrap_or(Name::empty())
    }

    /// An input becomes another value.
    fn rewire(&mut self, node: NodeId) {
        let value = self.some_value();
        let count = self.node_mut(node).inputs.len();
        let i = self.random.below(count + 1);
        let inputs = &mut self.node_mut(node).inputs;
        match inputs.get_mut(i) {
            Some(input) => *input = value,
            None => inputs.push(value),
        }
    }

    /// An input or output is omitted, or the last ones.
    fn leave_out(&mut self, node: NodeId) {
        let (way, place) = (self.random.below(4), self.random.below(4));
        let node = self.node_mut(node);
        match way {
            0 => node.inputs.iter_mut().skip(place).take(1).for_each(|v| *v = None),
            1 => node.outputs.iter_mut().skip(place).take(1).for_each(|v| *v = None),
            2 => node.inputs.truncate(place),
            _ => node.outputs.truncate(place),
        }
    }

    /// A copy of a node, with results of its own.
    fn repeat(&mut self, node: NodeId) {
        let mut copy = self.node_mut(node).clone();
        if !copy.attrs.iter().flat_map(|a| &a.values).all(|v| v.graphs().is_empty()) {
            return;
        }
        for output in copy.outputs.iter_mut().flatten() {
            let mut value = self.model.bodies[self.body].values[*output];
            let name = format!("{}_again", &self.model.names[value.name]);
            value.name = self.model.names.intern(&name);
            *output = self.model.bodies[self.body].values.push(value);
        }
        let id = self.model.bodies[self.body].nodes.push(copy);
        self.graph_mut().nodes.push(id);
    }

    /// Devices share an operand of the node.
    fn shard(&mut self, node: NodeId) {
        let name = Some(self.model.names.intern("pair"));
        if self.model.configurations.is_empty() {
            self.model.configurations.push(DeviceConfiguration {
                name,
                num_devices: Some(2),
                devices: vec![],
            });
        }
        self.model.header.ir_version = self.model.header.ir_version.max(Some(11));
        let axis = self.below(5) - 2;
        let body = &self.model.bodies[self.body];
        let operands = body.nodes[node].inputs.iter().chain(&body.nodes[node].outputs).flatten();
        let names: Vec<Name> = operands.map(|&v| body.values[v].name).collect();
        let part = SimpleSharding { dim: DimValue::Unknown, shards: Some(2) };
        let spec = ShardingSpec {
            tensor_name: names.get(self.random.below(names.len())).copied(),
            devices: vec![0, 1],
            groups: Vec::new(),
            axes: vec![ShardedAxis { axis: Some(axis), parts: vec![part] }],
        };
        let devices = &mut self.node_mut(node).extra_mut().devices;
        match devices.first_mut() {
            Some(device) => device.sharding.push(spec),
            None => devices.push(NodeDeviceConfiguration {
                configuration: name,
                sharding: vec![spec],
                pipeline_stage: None,
            }),
        }
    }

    /// An attribute becomes a reference to a parameter of the function, with or without a default.
    fn refer(&mut self, node: NodeId) {
        let body = self.body;
        let Some((id, _)) = self.model.functions.iter().find(|(_, f)| f.body == body) else { return };
        let parameter = self.model.names.intern(["p", "axis", "alpha"][self.random.below(3)]);
        let (i, has_default) = (self.random.below(4), self.random.below(2) == 0);
        let Some(attr) = self.node_mut(node).attrs.get_mut(i) else { return };
        let default = Attr { name: Some(parameter), ..attr.clone() };
        attr.reference = Some(parameter);
        attr.values.clear();
        let function = &mut self.model.functions[id];
        let known = function.attribute_defaults.iter().any(|d| d.name == Some(parameter));
        match has_default {
            true if !known => function.attribute_defaults.push(default),
            false if !known && !function.attributes.contains(&parameter) => {
                function.attributes.push(parameter)
            }
            _ => {}
        }
    }

    /// The node becomes a call of a function.
    fn call(&mut self, node: NodeId) {
        let functions: Vec<_> =
            self.model.functions.values().map(|f| (f.name, f.domain, f.overload)).collect();
        let Some(&(op, domain, overload)) = functions.get(self.random.below(functions.len())) else { return };
        let (keeps, version) = (self.random.below(2) == 0, Some(1));
        let node = self.node_mut(node);
        (node.op, node.domain, node.overload) = (op, domain, overload);
        node.attrs.retain(|attr| keeps && attr.values.iter().all(|v| v.graphs().is_empty()));
        let body = self.body;
        let imports = match self.model.functions.values_mut().find(|f| f.body == body) {
            Some(function) => &mut function.opset_imports,
            None => &mut self.model.header.opset_imports,
        };
        if imports.iter().all(|import| import.domain != domain) {
            imports.push(OpsetImport { domain, version });
        }
    }

    fn drop_attribute(&mut self, node: NodeId) {
        let i = self.random.below(4);
        let attrs = &mut self.node_mut(node).attrs;
        if i < attrs.len() {
            attrs.remove(i);
        }
    }

    fn name_node(&mut self, node: NodeId) {
        let name = self.some_name();
        self.node_mut(node).name = Some(name);
    }

    /// Documentation and metadata.
    fn describe(&mut self, node: NodeId) {
        let name = Some(self.some_name());
        let extra = self.node_mut(node).extra_mut();
        extra.doc = name;
        extra.metadata = vec![Entry { key: name, value: name }];
    }

    /// A value gets the name of another, or one that passes may make.
    fn rename(&mut self) {
        let Some(value) = self.some_value() else { return };
        let name = self.some_name();
        let name = match self.random.below(3) {
            0 => name,
            1 => {
                let text = format!("f__{}", &self.model.names[name]);
                self.model.names.intern(&text)
            }
            _ => self.model.names.intern("a/b:0"),
        };
        let body = &mut self.model.bodies[self.body];
        body.values[value].name = name;
        for graph in body.graphs.values_mut() {
            let ports = graph.inputs.iter_mut().chain(&mut graph.outputs).chain(&mut graph.value_info);
            ports.filter(|p| p.value == Some(value)).for_each(|p| p.name = Some(name));
            for initializer in graph.initializers.iter().filter(|i| i.value == value) {
                body.tensors[initializer.tensor].name = Some(name);
            }
        }
    }

    /// An output of the graph becomes another value, or there is one more.
    fn give_back(&mut self) {
        let Some(value) = self.some_value() else { return };
        let name = self.model.bodies[self.body].values[value].name;
        let (i, keeps_type) = (self.random.below(3), self.random.below(2) == 0);
        let outputs = &mut self.graph_mut().outputs;
        match outputs.get_mut(i) {
            Some(port) => {
                let ty = port.ty.filter(|_| keeps_type);
                *port = Port { name: Some(name), value: Some(value), ty, ..Port::default() };
            }
            None => outputs.push(Port { name: Some(name), value: Some(value), ..Port::default() }),
        }
    }

    /// All types that are known are declared.
    fn declare(&mut self) {
        let mut facts = infer(self.model, Registry::builtin(), &InferOptions::default()).facts;
        apply(self.model, &mut facts);
    }

    /// The model or a function imports another version, or another domain.
    fn import(&mut self) {
        let version = Some(7 + self.below(20));
        let domain = Some(self.model.names.intern(["", "ai.onnx", "made.up"][self.random.below(3)]));
        let functions: Vec<_> = self.model.functions.ids().collect();
        let imports = match functions.get(self.random.below(functions.len() + 1)) {
            Some(&f) => &mut self.model.functions[f].opset_imports,
            None => &mut self.model.header.opset_imports,
        };
        match imports.iter_mut().find(|i| i.domain == domain) {
            Some(import) => import.version = version,
            None => imports.push(OpsetImport { domain, version }),
        }
    }

    /// Some nodes become a function.
    fn outline(&mut self, nodes: &[NodeId]) {
        let some: Vec<NodeId> = nodes.iter().copied().filter(|_| self.random.below(2) == 0).collect();
        let name = format!("f{}", self.random.below(4));
        let domain = ["made.up", "l", ""][self.random.below(3)];
        if pass::outline(self.model, self.body, &some, domain, &name).is_ok() {
            pass::compact(self.model);
        }
    }

    fn annotate(&mut self) {
        let (of, by) = (self.some_name(), self.some_name());
        let key = Some(self.model.names.intern("SCALE_TENSOR"));
        let parameters = vec![Entry { key, value: Some(by) }];
        self.graph_mut().quantization.push(QuantizationAnnotation { tensor_name: Some(of), parameters });
    }

    /// An initializer becomes the default of an input.
    fn initializer_as_input(&mut self) {
        let i = self.random.below(3);
        let Some(value) = self.graph_mut().initializers.get(i).map(|i| i.value) else { return };
        let name = self.model.bodies[self.body].values[value].name;
        let declared = self.graph_mut().value_info.iter().find(|p| p.value == Some(value)).and_then(|p| p.ty);
        let ty = declared.or(self.graph_mut().inputs.first().and_then(|p| p.ty));
        self.graph_mut().inputs.push(Port { name: Some(name), value: Some(value), ty, ..Port::default() });
    }

    /// An input that nothing reads.
    fn extra_input(&mut self) {
        let name = self.some_name();
        let ty = self.graph_mut().inputs.first().and_then(|p| p.ty);
        let text = format!("{}_more", &self.model.names[name]);
        let name = self.model.names.intern(&text);
        let def = ValueDef::Input(self.graph);
        let value = self.model.bodies[self.body].values.push(Value { name, def });
        self.graph_mut().inputs.push(Port { name: Some(name), value: Some(value), ty, ..Port::default() });
    }
}
