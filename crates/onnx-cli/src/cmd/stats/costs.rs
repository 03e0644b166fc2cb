//! Costs as a table and as JSON.

use super::By;
use crate::output::numbers::{bytes, count, grouped};
use crate::output::table::Table;
use onnx_ir::{Model, NodeId, ValueId};
use onnx_ops::cost::{Cost, Costs};
use onnx_ops::dims::{Dim, Dims};
use onnx_ops::infer::{Ty, dim_text, elem_text};
use serde_json::{Value as Json, json};
use std::collections::HashMap;
use std::fmt::Write as _;

/// The size of symbols for sorting.
const SYMBOL: i64 = 64;

/// The costs of a model.
pub(super) struct CostTable<'m> {
    model: &'m Model,
    costs: Costs,
    by: By,
    parameters: u64,
    parameter_bytes: u64,
    /// The elements of each initializer of the main graph.
    weights: HashMap<ValueId, u64>,
}

impl<'m> CostTable<'m> {
    pub(super) fn new(model: &'m Model, costs: Costs, by: By) -> CostTable<'m> {
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
        CostTable { model, costs, by, parameters, parameter_bytes, weights }
    }

    fn dims(&self) -> &Dims {
        &self.costs.facts.dims
    }

    /// Bytes read and written.
    fn moved(&mut self, cost: Cost) -> Dim {
        self.costs.facts.dims.add(cost.read, cost.written)
    }

    /// Operations for each byte, if both are numbers.
    fn intensity(&mut self, cost: Cost) -> Option<f64> {
        let moved = self.moved(cost);
        let (Dim::Const(flops), Dim::Const(moved @ 1..)) = (cost.flops, moved) else { return None };
        #[allow(clippy::cast_precision_loss, reason = "a ratio")]
        Some(flops as f64 / moved as f64)
    }

    /// Positions of the nodes, the most expensive first.
    fn order(&mut self) -> Vec<usize> {
        let nodes = self.costs.nodes.clone();
        let mut keys: Vec<(i64, usize)> = Vec::with_capacity(nodes.len());
        for (i, (_, cost)) in nodes.iter().enumerate() {
            let key = match self.by {
                By::Macs => cost.macs,
                By::Flops => cost.flops,
                By::Bytes => self.moved(*cost),
                By::Order => Dim::Const(0),
            };
            keys.push((self.dims().eval(key, |_| Some(SYMBOL)).unwrap_or(-1), i));
        }
        keys.sort_by_key(|(key, i)| (std::cmp::Reverse(*key), *i));
        keys.into_iter().map(|(_, i)| i).collect()
    }

    /// A node by its name, or by what it computes.
    fn name(&self, node: NodeId) -> String {
        let body = &self.model.bodies[self.costs.body];
        let n = &body.nodes[node];
        let result = || n.outputs.iter().flatten().next().map(|v| &self.model.names[body.values[*v].name]);
        let name = n.name.map(|name| &self.model.names[name]).filter(|name| !name.is_empty());
        name.or_else(result).unwrap_or_default().to_owned()
    }

    fn op(&self, node: NodeId) -> &str {
        self.model.text(self.model.bodies[self.costs.body].nodes[node].op)
    }

    /// The elements of the initializers that a node reads.
    fn parameters(&self, node: NodeId) -> u64 {
        let mut read: Vec<ValueId> =
            self.model.bodies[self.costs.body].nodes[node].inputs.iter().flatten().copied().collect();
        read.sort_unstable();
        read.dedup();
        read.iter().filter_map(|value| self.weights.get(value)).fold(0, |sum, n| sum.saturating_add(*n))
    }

    /// The type of the first result.
    fn result(&self, node: NodeId) -> String {
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
    fn unknown(&self) -> Vec<NodeId> {
        let is_unknown = |(_, cost): &&(NodeId, Cost)| cost.flops == Dim::Unknown;
        self.costs.nodes.iter().filter(is_unknown).map(|(node, _)| *node).collect()
    }

    fn shown(&self, dim: Dim) -> String {
        match dim {
            Dim::Const(n) => u64::try_from(n).map_or_else(|_| n.to_string(), grouped),
            Dim::Unknown | Dim::Expr(_) => dim_text(self.dims(), dim),
        }
    }

    fn shown_bytes(&self, dim: Dim) -> String {
        match dim {
            Dim::Const(n) => u64::try_from(n).map_or_else(|_| n.to_string(), bytes),
            Dim::Unknown | Dim::Expr(_) => format!("{} bytes", dim_text(self.dims(), dim)),
        }
    }

    pub(super) fn text(&mut self, most: usize) -> String {
        // The totals of the model.
        let total = self.costs.total;
        let moved = self.moved(total);
        let mut out = String::new();
        let mut row = |title: &str, text: String| _ = writeln!(out, "  {title:<12}{text}");
        row("parameters", format!("{} ({})", grouped(self.parameters), bytes(self.parameter_bytes)));
        row("MACs", self.shown(total.macs));
        row("FLOPs", self.shown(total.flops));
        let at = self.costs.peak_at.map(|node| format!(", at `{}`", self.name(node))).unwrap_or_default();
        row("peak", format!("{} of inputs and results{at}", self.shown_bytes(self.costs.peak)));
        row("activations", format!("{} of all results", self.shown_bytes(total.written)));
        let each = self.intensity(total).map(|x| format!(", {x:.1} FLOPs per byte")).unwrap_or_default();
        row("traffic", format!("{} read and written{each}", self.shown_bytes(moved)));
        let unknown = self.unknown();
        if let Some(first) = unknown.first() {
            let first = format!("`{}` ({})", self.name(*first), self.op(*first));
            let text = format!("the operations of {} are not known: {first}", count(unknown.len(), "node"));
            row("left out", if unknown.len() > 1 { text + " and others" } else { text });
        }
        // A row for each of the most expensive nodes.
        let order = self.order();
        let mut table = Table::new([
            "<op",
            "<node",
            "<result",
            "params",
            "MACs",
            "FLOPs",
            "share",
            "written",
            "bytes",
            "FLOPs/byte",
        ]);
        for i in order.iter().take(most) {
            let (node, cost) = self.costs.nodes[*i];
            let moved = self.moved(cost);
            let share = match (cost.flops, total.flops) {
                #[allow(clippy::cast_precision_loss, reason = "a share")]
                (Dim::Const(a), Dim::Const(b @ 1..)) => format!("{:.1}%", a as f64 * 100.0 / b as f64),
                _ => String::new(),
            };
            let intensity = self.intensity(cost).map(|x| format!("{x:.2}")).unwrap_or_default();
            table.row([
                self.op(node).to_owned(),
                self.name(node),
                self.result(node),
                grouped(self.parameters(node)),
                self.shown(cost.macs),
                self.shown(cost.flops),
                share,
                self.shown(cost.written),
                self.shown(moved),
                intensity,
            ]);
        }
        // The table, and the number of nodes that it leaves out.
        if !table.is_empty() {
            out += "\n";
            out += &table.text();
        }
        if order.len() > most {
            _ = writeln!(out, "  … {} more: --top 0", grouped((order.len() - most) as u64));
        }
        out
    }

    /// A number, an expression as text, or null.
    fn number(&self, dim: Dim) -> Json {
        match dim {
            Dim::Const(n) => n.into(),
            Dim::Expr(_) => dim_text(self.dims(), dim).into(),
            Dim::Unknown => Json::Null,
        }
    }

    pub(super) fn json(&mut self) -> Json {
        let total = self.costs.total;
        let order = self.order();
        let mut nodes = Vec::with_capacity(order.len());
        for i in order {
            let (node, cost) = self.costs.nodes[i];
            let intensity = self.intensity(cost);
            nodes.push(json!({
                "name": self.name(node), "op": self.op(node), "result": self.result(node),
                "parameters": self.parameters(node),
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
