//! Costs as a table.

use crate::output::numbers::{bytes, count, grouped};
use crate::output::table::Table;
use onnx_ir::diag::counted;
use onnx_ops::dims::Dim;
use onnx_ops::infer::dim_text;
use onnxtxt::describe::{CostKey, ModelCosts};
use std::fmt::Write as _;

/// The totals, and a row for each of the most expensive nodes.
pub(super) fn text(costs: &mut ModelCosts, by: CostKey, most: usize) -> String {
    // The totals of the model.
    let total = costs.costs().total;
    let moved = costs.moved(total);
    let mut out = String::new();
    let mut row = |title: &str, text: String| _ = writeln!(out, "  {title:<12}{text}");
    row("parameters", format!("{} ({})", grouped(costs.parameters()), bytes(costs.parameter_bytes())));
    row("MACs", shown(costs, total.macs));
    row("FLOPs", shown(costs, total.flops));
    let at = costs.costs().peak_at.map(|node| format!(", at `{}`", costs.name(node))).unwrap_or_default();
    row("peak", format!("{} of inputs and results{at}", shown_bytes(costs, costs.costs().peak)));
    row("activations", format!("{} of all results", shown_bytes(costs, total.written)));
    let each = costs.intensity(total).map(|x| format!(", {x:.1} FLOPs per byte")).unwrap_or_default();
    row("traffic", format!("{} read and written{each}", shown_bytes(costs, moved)));
    let unknown = costs.unknown();
    if let Some(first) = unknown.first() {
        let first = format!("`{}` ({})", costs.name(*first), costs.op(*first));
        let text = format!("the operations of {} are not known: {first}", count(unknown.len(), "node"));
        row("left out", if unknown.len() > 1 { text + " and others" } else { text });
    }
    // A row for each of the most expensive nodes.
    let order = costs.order(by);
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
        let (node, cost) = costs.costs().nodes[*i];
        let moved = costs.moved(cost);
        let share = match (cost.flops, total.flops) {
            #[allow(clippy::cast_precision_loss, reason = "a share")]
            (Dim::Const(a), Dim::Const(b @ 1..)) => format!("{:.1}%", a as f64 * 100.0 / b as f64),
            _ => String::new(),
        };
        let intensity = costs.intensity(cost).map(|x| format!("{x:.2}")).unwrap_or_default();
        table.row([
            costs.op(node).to_owned(),
            costs.name(node),
            costs.result(node),
            grouped(costs.parameters_of(node)),
            shown(costs, cost.macs),
            shown(costs, cost.flops),
            share,
            shown(costs, cost.written),
            shown(costs, moved),
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

fn shown(costs: &ModelCosts, dim: Dim) -> String {
    match dim {
        Dim::Const(n) => u64::try_from(n).map_or_else(|_| n.to_string(), grouped),
        Dim::Unknown | Dim::Expr(_) => dim_text(costs.dims(), dim),
    }
}

fn shown_bytes(costs: &ModelCosts, dim: Dim) -> String {
    match dim {
        Dim::Const(n) => u64::try_from(n).map_or_else(|_| n.to_string(), bytes),
        Dim::Unknown | Dim::Expr(_) => counted(dim_text(costs.dims(), dim), "byte"),
    }
}
