//! The table of kernels: a row for each operator and the nodes of it that a kernel runs.

use crate::{Attributes, Given, Kernel, Nodes, Row};
use crate::{
    attention, columns, contributed, cumulative, deform, det, dropout, fourier, grid, image, mel, ml, ngrams,
    nms, normalize, optimize, pattern, random, recurrent, resize, roi, scatter, select, sequence, sort,
    structure, text, tokens, unpool,
};
use foldhash::HashMap;
use onnx_ir::{ElemType, normalize_domain};
use onnx_loops::MAX_PIECES;
use std::sync::LazyLock;

/// The kernel of an operator for some nodes.
pub fn find(domain: &str, op: &str, nodes: Nodes) -> Option<Kernel> {
    rows_of(domain, op).find(|row| row.nodes == nodes).map(|row| row.kernel)
}

/// The kernel that is chosen for a node before its inputs are known.
pub fn choose(attrs: &Attributes<'_>) -> Option<Kernel> {
    let mut rows = rows_of(normalize_domain(&attrs.schema.domain), &attrs.schema.name);
    rows.find(|row| is_chosen(row, attrs)).map(|row| row.kernel)
}

/// The kernel for a node with long inputs, if it supports the node.
pub fn find_long(attrs: &Attributes<'_>, inputs: &[Given<'_>]) -> Option<Kernel> {
    let mut rows = rows_of(normalize_domain(&attrs.schema.domain), &attrs.schema.name);
    let is_supported = |row: &&Row| row.nodes == Nodes::Long && (row.supports)(attrs, inputs);
    rows.find(is_supported).map(|row| row.kernel)
}

/// Whether the kernel is chosen for a node before its inputs are known.
fn is_chosen(row: &Row, attrs: &Attributes<'_>) -> bool {
    match row.nodes {
        Nodes::All => true,
        Nodes::Training => match attrs.schema.attr("training_mode") {
            Some(_) => attrs.flag("training_mode"),
            None => !attrs.flag("is_test") && attrs.node.outputs.iter().skip(1).any(Option::is_some),
        },
        Nodes::ManyInputs => attrs.node.inputs.len() > MAX_PIECES,
        Nodes::Strings => text::target(attrs) == Some(ElemType::STRING),
        Nodes::Unsupported | Nodes::Long => false,
    }
}

fn rows_of<'a>(domain: &'a str, op: &'a str) -> impl Iterator<Item = &'static Row> {
    static KERNELS: LazyLock<HashMap<(&str, &str), Vec<&Row>>> = LazyLock::new(|| {
        let mut all: HashMap<_, Vec<&Row>> = HashMap::default();
        for row in rows() {
            all.entry((row.domain, row.op)).or_default().push(row);
        }
        all
    });
    KERNELS.get(&(domain, op)).into_iter().flatten().copied()
}

/// All rows.
pub(crate) fn rows() -> impl Iterator<Item = &'static Row> {
    FAMILIES.iter().chain(contributed::FAMILIES).flat_map(|rows| rows.iter())
}

/// The kernels of each family.
const FAMILIES: &[&[Row]] = &[
    attention::ROWS,
    nms::ROWS,
    columns::ROWS,
    cumulative::ROWS,
    deform::ROWS,
    det::ROWS,
    dropout::ROWS,
    fourier::ROWS,
    grid::ROWS,
    image::ROWS,
    mel::ROWS,
    ml::ROWS,
    ngrams::ROWS,
    normalize::ROWS,
    optimize::ROWS,
    pattern::ROWS,
    random::ROWS,
    recurrent::ROWS,
    resize::ROWS,
    roi::ROWS,
    scatter::ROWS,
    select::ROWS,
    sequence::ROWS,
    sort::ROWS,
    structure::ROWS,
    text::ROWS,
    tokens::ROWS,
    unpool::ROWS,
];
