//! The table of kernels: a row for each operator and the nodes of it that a kernel runs.

use super::text;
use super::{Attributes, Call, Given};
use super::{
    attention, columns, contributed, cumulative, deform, det, dropout, fourier, grid, image, mel, ml, ngrams,
    nms, normalize, optimize, pattern, random, recurrent, resize, roi, scatter, select, sequence, sort,
    structure, tokens, unpool,
};
use crate::failure::Failure;
use crate::loops::MAX_PIECES;
use crate::value::Value;
use foldhash::HashMap;
use onnx_ir::{ElemType, normalize_domain};
use std::sync::LazyLock;

/// Computes the outputs of a node, in order. Outputs after the last used one may be missing.
pub(crate) type Kernel = fn(&mut Call<'_>) -> Result<Vec<Value>, Failure>;

/// Whether a kernel supports a node with these inputs.
type Supports = fn(&Attributes<'_>, &[Given<'_>]) -> bool;

/// A kernel. Its operator may have several, for different nodes.
#[derive(Clone, Copy)]
pub(super) struct Row {
    pub(super) domain: &'static str,
    pub(super) op: &'static str,
    pub(super) kernel: Kernel,
    pub(super) nodes: Nodes,
    supports: Supports,
}

/// The nodes of an operator that a kernel runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Nodes {
    /// All nodes: the operator has no formula.
    All,
    /// Training nodes: those with `training_mode`, or in versions without it, those with more than their first output.
    Training,
    /// Nodes with so many inputs that the loops of their formula would choose one of them for each element.
    ManyInputs,
    /// Nodes with string inputs, or that convert to strings.
    Strings,
    /// Nodes that the formula does not support: sequences, random numbers, other modes.
    Unsupported,
    /// Nodes with long inputs, for which the kernel is much faster than the function body.
    Long,
}

/// A kernel for all nodes of an operator.
pub(super) const fn row(domain: &'static str, op: &'static str, kernel: Kernel) -> Row {
    Row { domain, op, kernel, nodes: Nodes::All, supports: |_, _| true }
}

impl Row {
    /// Restricts a kernel to some nodes.
    pub(super) const fn only(self, nodes: Nodes) -> Row {
        Row { nodes, ..self }
    }

    /// Restricts a kernel to nodes that it supports.
    pub(super) const fn if_supported(self, supports: Supports) -> Row {
        Row { supports, ..self }
    }

    /// Whether the kernel is chosen for a node before its inputs are known.
    fn is_chosen(&self, attrs: &Attributes<'_>) -> bool {
        match self.nodes {
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
}

/// The kernel of an operator for some nodes.
pub(crate) fn find(domain: &str, op: &str, nodes: Nodes) -> Option<Kernel> {
    rows_of(domain, op).find(|row| row.nodes == nodes).map(|row| row.kernel)
}

/// The kernel that is chosen for a node before its inputs are known.
pub(crate) fn choose(attrs: &Attributes<'_>) -> Option<Kernel> {
    let mut rows = rows_of(normalize_domain(&attrs.schema.domain), &attrs.schema.name);
    rows.find(|row| row.is_chosen(attrs)).map(|row| row.kernel)
}

/// The kernel for a node with long inputs, if it supports the node.
pub(crate) fn find_long(attrs: &Attributes<'_>, inputs: &[Given<'_>]) -> Option<Kernel> {
    let mut rows = rows_of(normalize_domain(&attrs.schema.domain), &attrs.schema.name);
    let is_supported = |row: &&Row| row.nodes == Nodes::Long && (row.supports)(attrs, inputs);
    rows.find(is_supported).map(|row| row.kernel)
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
pub(super) fn rows() -> impl Iterator<Item = &'static Row> {
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
