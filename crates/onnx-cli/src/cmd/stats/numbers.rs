//! How the numbers of weights and results are distributed.

use super::Args;
use crate::execution::prepared::Prepared;
use crate::output::numbers::grouped;
use crate::output::table::Table;
use crate::session::Session;
use onnx_exec::{RunOptions, Tensor, Value};
use onnx_ir::Model;
use onnx_ir::diag::Diagnostic;
use onnxtxt::Distribution;
use serde_json::{Value as Json, json};
use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};

/// A tensor with its name and its numbers.
pub(super) struct Row {
    name: String,
    ty: String,
    /// `None` of strings.
    numbers: Option<Distribution>,
}

impl Row {
    pub(super) fn json(&self) -> Json {
        let mut object = json!({ "name": self.name, "type": self.ty });
        if let (Some(Json::Object(numbers)), Json::Object(row)) =
            (self.numbers.as_ref().map(Distribution::json), &mut object)
        {
            row.extend(numbers);
        }
        object
    }
}

/// The initializers of all graphs.
pub(super) fn of_weights(model: &Model) -> Vec<Row> {
    let mut rows = Vec::new();
    for body in model.bodies.values() {
        for init in body.graphs.values().flat_map(|graph| &graph.initializers) {
            let Ok(tensor) = Tensor::stored(&body.tensors[init.tensor]) else { continue };
            let name = model.names[body.values[init.value].name].to_owned();
            rows.push(Row { name, ty: tensor.type_text(), numbers: Distribution::of(&tensor) });
        }
    }
    rows
}

/// The results of all nodes of the main graph, for the given inputs.
pub(super) fn of_results(
    args: &Args,
    prepared: &Prepared,
    session: &mut Session,
) -> anyhow::Result<Result<Vec<Row>, Vec<Diagnostic>>> {
    let options = args.limits.options(args.inputs.seed, &prepared.loaded.model);
    let (executable, inputs) = prepared.with_inputs(&args.limits, &args.inputs, &options, session)?;
    let rows = Mutex::new(Vec::new());
    let observe = |name: &str, value: &Value| {
        let Ok(tensor) = value.tensor() else { return };
        let ty = tensor.type_text();
        let row = Row { name: name.to_owned(), ty, numbers: Distribution::of_value(value) };
        rows.lock().unwrap_or_else(PoisonError::into_inner).push(row);
    };
    match executable.run(inputs, &RunOptions { observe: Some(&observe), ..options.clone() }) {
        Ok(_) => Ok(Ok(rows.into_inner().unwrap_or_else(PoisonError::into_inner))),
        Err(finding) => Ok(Err(vec![*finding])),
    }
}

pub(super) fn text(title: &str, rows: &[Row], most: usize) -> String {
    let heads = ["<", "<"].into_iter().chain(Distribution::HEADS);
    let mut table = Table::new(heads);
    for row in rows.iter().take(most) {
        let numbers = row.numbers.as_ref().map(Distribution::cells).unwrap_or_default();
        table.row([row.name.clone(), row.ty.clone()].into_iter().chain(numbers));
    }
    let mut out = format!("\n  {title}\n");
    if !table.is_empty() {
        out += &table.text();
    }
    if rows.len() > most {
        _ = writeln!(out, "  … {} more: --top 0", grouped((rows.len() - most) as u64));
    }
    out
}
