//! The jobs that are measured.

mod check;
mod exec;
mod form;
mod program;
mod text;
mod wire;

use crate::corpus::Kind;
use crate::pair::{Bench, Row};
use anyhow::{Result, ensure};
use bytes::Bytes;
use onnx_ir::Model;
use onnx_text::{FormatOptions, Profile, RaiseOptions, format, raise};

/// One job.
pub(crate) struct Case {
    /// The name for selecting it: subject, then job.
    pub(crate) name: &'static str,
    /// In words.
    pub(crate) what: &'static str,
    pub(crate) run: fn(&mut Bench) -> Result<Row>,
}

const fn case(name: &'static str, what: &'static str, run: fn(&mut Bench) -> Result<Row>) -> Case {
    Case { name, what, run }
}

/// All of them, in the order of the table.
pub(crate) const CASES: &[Case] = &[
    case("nodes/parse", "100k nodes: text to IR", text::nodes_parse),
    case("nodes/parse-bytes", "100k nodes: text to bytes", text::nodes_parse_bytes),
    case("nodes/print", "100k nodes: IR to text", text::nodes_print),
    case("nodes/print-bytes", "100k nodes: bytes to text", text::nodes_print_bytes),
    case("nodes/format", "100k nodes: text to formatted text", text::nodes_format),
    case("real/parse", "real networks without weights: text to IR", |b| text::real_parse(b, Kind::Networks)),
    case("real/print", "real networks without weights: IR to text", |b| text::real_print(b, Kind::Networks)),
    case("trees/parse", "real ensembles of trees: text to IR", |b| text::real_parse(b, Kind::Trees)),
    case("trees/print", "real ensembles of trees: IR to text", |b| text::real_print(b, Kind::Trees)),
    case("float/parse", "2M float: text to IR", |b| text::tensor_parse(b, "float")),
    case("float/print", "2M float: IR to text", |b| text::tensor_print(b, "float")),
    case("int64/parse", "2M int64: text to IR", |b| text::tensor_parse(b, "int64")),
    case("int64/print", "2M int64: IR to text", |b| text::tensor_print(b, "int64")),
    case("int8/parse", "2M int8: text to IR", |b| text::tensor_parse(b, "int8")),
    case("int8/print", "2M int8: IR to text", |b| text::tensor_print(b, "int8")),
    case("nodes/read", "100k nodes: bytes to IR", wire::nodes_read),
    case("nodes/write", "100k nodes: IR to bytes", wire::nodes_write),
    case("large/read", "largest real model: file to IR, mapped", wire::large_read),
    case("large/write", "largest real model: IR to bytes", wire::large_write),
    case("nodes/check", "100k nodes: bytes, checked with types and shapes", check::nodes),
    case("real/check", "real models of less than 4 MB: bytes, checked with types and shapes", check::real),
    case("real/check_loaded", "the same files: loaded as programs do it, and checked", check::real_loaded),
    case("large/check", "largest real model: file, checked with types and shapes", check::large),
    case("json/write", "10 MB model: bytes to JSON", form::json_write),
    case("json/read", "10 MB model: JSON to bytes", form::json_read),
    case("textproto/write", "10 MB model: bytes to textproto", form::textproto_write),
    case("textproto/read", "10 MB model: textproto to bytes", form::textproto_read),
    case("program/version", "program: --version; import onnx", program::version),
    case("program/info", "program: info; onnx.load", program::info),
    case("program/elide", "program: print --elide 4; onnx.load", program::elide),
    case("exec/matmul", "1024 x 1024 matrices: run; ONNX Runtime", exec::matmul),
    case("exec/gemv", "a row and a 4096 x 4096 matrix: run; ONNX Runtime", exec::gemv),
    case("exec/conv3x3", "convolution, 64 channels of 56 x 56: run; ONNX Runtime", exec::conv3x3),
    case("exec/conv1x1", "convolution of points, 256 channels of 56 x 56: run; ONNX Runtime", exec::conv1x1),
    case("exec/depthwise", "convolution by channel, 128 of 56 x 56: run; ONNX Runtime", exec::depthwise),
    case("exec/softmax", "4096 rows of 1024: run; ONNX Runtime", exec::softmax),
    case("exec/functions", "Erf, Exp, Tanh, Sigmoid of 1M floats: run; ONNX Runtime", exec::functions),
    case("exec/transpose", "4M floats, the second axis last: run; ONNX Runtime", exec::transpose),
    case("exec/pool", "greatest of 3 x 3, 64 channels of 112 x 112: run; ONNX Runtime", exec::pool),
    case("exec/inputs", "1000 checks of four inputs, alone", exec::inputs),
    case("exec/sum", "sums of columns of 2048 x 2048: run; ONNX Runtime", exec::sum),
    case("program/check", "program: check of 100k nodes; parse and check", program::check),
];

/// Nodes of the large generated model.
const NODES: usize = 100_000;

/// The model of a text, which has no mistakes.
fn model_of(text: &str) -> Result<Model> {
    let read = onnx_text::read_model(text);
    ensure!(read.diagnostics.is_empty(), "a text of the bench has mistakes: {:?}", read.diagnostics);
    Ok(read.value)
}

/// A model as text.
fn text_of(model: &Model) -> String {
    laid_out(model, &RaiseOptions::default())
}

/// A model as text that the reference reads.
pub(crate) fn reference_text(model: &Model) -> String {
    laid_out(model, &RaiseOptions { profile: Profile::Reference, ..RaiseOptions::default() })
}

fn laid_out(model: &Model, options: &RaiseOptions) -> String {
    let raised = raise(model, options);
    format(&raised.source, &raised.syntax, &FormatOptions::default())
}

/// The encoded model of a text.
fn bytes_of(text: &str) -> Result<Bytes> {
    Ok(onnx_proto::write(&model_of(text)?)?.into())
}
