//! The costs of a model: parameters, operations, memory.

use crate::edit::{SetShape, set_shape};
use onnx_ir::diag::Diagnostic;
use onnx_ir::pass::{Inline, compact, inline};
use onnx_ir::{Model, NodeId, ValueId};
use onnx_ops::cost::{Cost, Costs, costs};
use onnx_ops::dims::{Dim, Dims};
use onnx_ops::infer::{Ty, dim_text, elem_text};
use onnx_ops::schema::Registry;
use serde_json::{Value as Json, json};
use std::collections::HashMap;

/// The size of symbols for sorting.
const SYMBOL: i64 = 64;

/// The costs of a model and of its nodes.
pub struct ModelCosts {
    /// The model that the nodes are of: functions are inlined, sizes are set.
    model: Model,
    costs: Costs,
    parameters: u64,
    parameter_bytes: u64,
    /// The elements of each initializer of the main graph.
    weights: HashMap<ValueId, u64>,
}

/// The sort key of nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum CostKey {
    /// Multiplications with an addition
    Macs,
    /// All operations on numbers
    Flops,
    /// Read and written
    Bytes,
    /// In the order of the graph
    #[default]
    Order,
}

impl ModelCosts {
    /// The costs of a model with these sizes and shapes of its inputs; `None` if it has no graph.
    ///
    /// ```
    /// use onnxtxt::describe::{CostKey, ModelCosts};
    /// use onnxtxt::edit::SetShape;
    /// use onnxtxt::ops::schema::Registry;
    ///
    /// let text = r#"<ir_version: 10, opset_import: ["": 21]> g (float[N,4] x, float[4,3] w) => (float[N,3] y) { y = MatMul(x, w) }"#;
    /// let model = onnxtxt::parse(text).model;
    /// let mut costs = ModelCosts::of(&model, Registry::builtin(), &SetShape::default()).unwrap().expect("it has a graph");
    /// assert_eq!(costs.json(CostKey::Order)["macs"], "N*12");
    /// ```
    ///
    /// # Errors
    ///
    /// The sizes do not fit the model.
    pub fn of(
        model: &Model,
        registry: &Registry,
        sizes: &SetShape,
    ) -> Result<Option<ModelCosts>, Vec<Diagnostic>> {
        let mut model = model.clone();
        if !sizes.sizes.is_empty() || !sizes.shapes.is_empty() {
            set_shape(&mut model, registry, sizes)?;
        }
        inline(&mut model, registry, Inline::default());
        compact(&mut model);
        let Some(costs) = costs(&model, registry) else { return Ok(None) };
        let (mut parameters, mut parameter_bytes) = (0u64, 0u64);
        let mut weights = HashMap::new();
        for (id, body) in model.bodies.iter() {
            for init in body.graphs.values().flat_map(|graph| &graph.initializers) {
                let tensor = &body.tensors[init.tensor];
                let elements = tensor.element_count().unwrap_or(0);
                parameters = parameters.saturating_add(elements);
                if id == costs.body {
                    weights.insert(init.value, elements);
                }
                let size = tensor.elem.and_then(|elem| elem.raw_size(elements)).unwrap_or(0);
                parameter_bytes = parameter_bytes.saturating_add(size);
            }
        }
        Ok(Some(ModelCosts { model, costs, parameters, parameter_bytes, weights }))
    }

    /// The costs as the operators have them.
    #[must_use]
    pub fn costs(&self) -> &Costs {
        &self.costs
    }

    /// The number of elements of all weights.
    #[must_use]
    pub fn parameters(&self) -> u64 {
        self.parameters
    }

    /// The bytes of all weights.
    #[must_use]
    pub fn parameter_bytes(&self) -> u64 {
        self.parameter_bytes
    }

    /// The dimensions that the costs are made of.
    #[must_use]
    pub fn dims(&self) -> &Dims {
        &self.costs.facts.dims
    }

    /// Bytes read and written.
    pub fn moved(&mut self, cost: Cost) -> Dim {
        self.costs.facts.dims.add(cost.read, cost.written)
    }

    /// Operations for each byte, if both are numbers.
    pub fn intensity(&mut self, cost: Cost) -> Option<f64> {
        let moved = self.moved(cost);
        let (Dim::Const(flops), Dim::Const(moved @ 1..)) = (cost.flops, moved) else { return None };
        #[allow(clippy::cast_precision_loss, reason = "a ratio")]
        Some(flops as f64 / moved as f64)
    }

    /// Positions of the nodes, the most expensive first.
    pub fn order(&mut self, by: CostKey) -> Vec<usize> {
        let nodes = self.costs.nodes.clone();
        let mut keys: Vec<(i64, usize)> = Vec::with_capacity(nodes.len());
        for (i, (_, cost)) in nodes.iter().enumerate() {
            let key = match by {
                CostKey::Macs => cost.macs,
                CostKey::Flops => cost.flops,
                CostKey::Bytes => self.moved(*cost),
                CostKey::Order => Dim::Const(0),
            };
            keys.push((self.dims().eval(key, |_| Some(SYMBOL)).unwrap_or(-1), i));
        }
        keys.sort_by_key(|(key, i)| (std::cmp::Reverse(*key), *i));
        keys.into_iter().map(|(_, i)| i).collect()
    }

    /// A node by its name, or by what it computes.
    #[must_use]
    pub fn name(&self, node: NodeId) -> String {
        let body = &self.model.bodies[self.costs.body];
        let n = &body.nodes[node];
        let result = || n.outputs.iter().flatten().next().map(|v| &self.model.names[body.values[*v].name]);
        let name = n.name.map(|name| &self.model.names[name]).filter(|name| !name.is_empty());
        name.or_else(result).unwrap_or_default().to_owned()
    }

    /// The operator of a node.
    #[must_use]
    pub fn op(&self, node: NodeId) -> &str {
        self.model.text(self.model.bodies[self.costs.body].nodes[node].op)
    }

    /// The elements of the initializers that a node reads.
    #[must_use]
    pub fn parameters_of(&self, node: NodeId) -> u64 {
        let mut read: Vec<ValueId> =
            self.model.bodies[self.costs.body].nodes[node].inputs.iter().flatten().copied().collect();
        read.sort_unstable();
        read.dedup();
        read.iter().filter_map(|value| self.weights.get(value)).fold(0, |sum, n| sum.saturating_add(*n))
    }

    /// The type of the first result.
    #[must_use]
    pub fn result(&self, node: NodeId) -> String {
        let body = &self.model.bodies[self.costs.body];
        let Some(value) = body.nodes[node].outputs.iter().flatten().next() else { return String::new() };
        let Ty::Tensor(tensor) = &self.costs.facts.get(self.costs.body, *value).ty else {
            return "?".to_owned();
        };
        let elem = tensor.elem.map_or_else(|| "?".into(), elem_text);
        match &tensor.shape {
            None => format!("{elem}[…]"),
            Some(shape) => {
                let dims: Vec<String> = shape.iter().map(|dim| dim_text(self.dims(), *dim)).collect();
                format!("{elem}[{}]", dims.join(","))
            }
        }
    }

    /// Nodes of which the operations are not known.
    #[must_use]
    pub fn unknown(&self) -> Vec<NodeId> {
        let is_unknown = |(_, cost): &&(NodeId, Cost)| cost.flops == Dim::Unknown;
        self.costs.nodes.iter().filter(is_unknown).map(|(node, _)| *node).collect()
    }

    /// A number, an expression as text, or null.
    fn number(&self, dim: Dim) -> Json {
        match dim {
            Dim::Const(n) => n.into(),
            Dim::Expr(_) => dim_text(self.dims(), dim).into(),
            Dim::Unknown => Json::Null,
        }
    }

    /// All costs as JSON: numbers, expressions with symbols such as `N*64` as text, or null where a shape is not known.
    pub fn json(&mut self, by: CostKey) -> Json {
        let total = self.costs.total;
        let order = self.order(by);
        let mut nodes = Vec::with_capacity(order.len());
        for i in order {
            let (node, cost) = self.costs.nodes[i];
            let intensity = self.intensity(cost);
            nodes.push(json!({
                "name": self.name(node), "op": self.op(node), "result": self.result(node),
                "parameters": self.parameters_of(node),
                "macs": self.number(cost.macs), "flops": self.number(cost.flops),
                "read_bytes": self.number(cost.read), "written_bytes": self.number(cost.written),
                "intensity": intensity,
            }));
        }
        let intensity = self.intensity(total);
        let unknown: Vec<String> = self.unknown().into_iter().map(|node| self.name(node)).collect();
        json!({
            "parameters": self.parameters, "parameter_bytes": self.parameter_bytes,
            "macs": self.number(total.macs), "flops": self.number(total.flops),
            "read_bytes": self.number(total.read), "written_bytes": self.number(total.written),
            "activation_bytes": self.number(total.written),
            "peak_activation_bytes": self.number(self.costs.peak),
            "peak_at": self.costs.peak_at.map(|node| self.name(node)),
            "intensity": intensity, "unknown": unknown, "nodes": nodes,
        })
    }
}
