//! `onnxtxt weights list`

use crate::edit::steps::open;
use crate::output;
use crate::output::numbers::{bytes, count, grouped};
use crate::output::table::Table;
use crate::session::{Session, Status};
use onnx_ir::{ElemType, Model, Payload, Tensor, Uses};
use onnxtxt::edit::{weight_name, weights};
use serde_json::json;
use std::path::PathBuf;

#[derive(clap::Args)]
pub(super) struct Args {
    /// The model; - is stdin
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Sort by bytes, the largest first, in place of the order of the model
    #[arg(long)]
    by_size: bool,
}

/// A row of the table.
struct Row {
    name: String,
    elem: String,
    shape: Vec<i64>,
    elements: u64,
    bytes: u64,
    /// The file that holds it; `None` of the model itself.
    file: Option<String>,
    reads: usize,
}

pub(super) fn run(args: &Args, session: &mut Session) -> anyhow::Result<Status> {
    let Some((input, loaded)) = open(&args.file, session)? else { return Ok(Status::Findings) };
    let mut rows = rows(&loaded.model);
    if args.by_size {
        rows.sort_by_key(|row| std::cmp::Reverse(row.bytes));
    }
    if session.wants_json() {
        let object = |row: &Row| {
            json!({
                "name": row.name, "type": row.elem, "shape": row.shape, "elements": row.elements,
                "bytes": row.bytes, "file": row.file, "reads": row.reads,
            })
        };
        output::json(&rows.iter().map(object).collect())?;
        return Ok(Status::Clean);
    }
    let mut table = Table::new(["<name", "<type", "<shape", "bytes", "reads", "<where"]);
    for row in &rows {
        let shape: Vec<String> = row.shape.iter().map(i64::to_string).collect();
        table.row([
            row.name.clone(),
            row.elem.clone(),
            format!("[{}]", shape.join(",")),
            grouped(row.bytes),
            row.reads.to_string(),
            row.file.clone().unwrap_or_else(|| "model".to_owned()),
        ]);
    }
    let total = rows.iter().fold(0u64, |sum, row| sum.saturating_add(row.bytes));
    let text = if table.is_empty() { String::new() } else { table.text() };
    output::to_people(&text)?;
    session.note(&format!("{}: {}, {}", input.name, count(rows.len(), "weight"), bytes(total)));
    Ok(Status::Clean)
}

fn rows(model: &Model) -> Vec<Row> {
    let Some(body) = model.main_body() else { return Vec::new() };
    let uses = Uses::of(body);
    let row = |weight: onnxtxt::edit::Weight| {
        let tensor = &body.tensors[weight.tensor];
        let elements = tensor.element_count().unwrap_or(0);
        Row {
            name: weight_name(model, weight).to_owned(),
            elem: tensor.elem.and_then(ElemType::name).unwrap_or("?").to_owned(),
            shape: tensor.dims.to_vec(),
            elements,
            bytes: size(tensor, elements),
            file: place(model, tensor),
            reads: uses.of_value(weight.value).len(),
        }
    };
    weights(model).into_iter().map(row).collect()
}

/// The bytes of the elements.
fn size(tensor: &Tensor, elements: u64) -> u64 {
    let strings = |payload: &Payload| match payload {
        Payload::Strings(strings) => strings.iter().map(|string| string.len() as u64).sum(),
        Payload::Entries { .. } => 0u64,
    };
    let packed = tensor.elem.and_then(|elem| elem.raw_size(elements));
    packed.unwrap_or_else(|| tensor.data.iter().map(strings).sum())
}

/// `weights.data@4096`
fn place(model: &Model, tensor: &Tensor) -> Option<String> {
    let entry = |key: &str| tensor.external(&model.names, key).map(|name| &model.names[name]);
    let location = tensor.is_external().then(|| entry("location").unwrap_or("?"))?;
    Some(entry("offset").map_or_else(|| location.to_owned(), |offset| format!("{location}@{offset}")))
}
