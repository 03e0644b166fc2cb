//! The high-level library for ONNX models: open them in any form, check, change, save and run them.
//!
//! ```
//! use onnxtxt::{CompileOptions, Level};
//!
//! let mut loaded = onnxtxt::parse(
//!     r#"<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { t = Abs(x) y = Sqrt(t) }"#,
//! );
//! assert!(loaded.check(Level::Types).is_empty());
//! loaded.infer();
//! assert!(loaded.text().contains("float[N] t"));
//! let executable = loaded.compile(&CompileOptions::default()).unwrap();
//! # let _ = executable;
//! ```
//!
//! A mistake is a [`Diagnostic`] with a place, never a panic, and there is a model as well:
//!
//! ```
//! let loaded = onnxtxt::parse("g (flaot[N] x) => (float[N] y) { y = Relu(x) }");
//! let shown = loaded.render(&loaded.diagnostics[0]);
//! assert!(shown.contains("unknown type `flaot`"));
//! ```
//!
//! | | |
//! | --- | --- |
//! | [`open`], [`parse`], [`decode`] | a model of a file, a text, bytes: [`Loaded`] |
//! | [`Loaded::check`], [`Loaded::infer`] | findings; types and shapes |
//! | [`check`](mod@check) | findings as `onnxtxt check` selects, bounds and fixes them |
//! | [`config`] | `onnxtxt.toml`, the settings of a folder |
//! | [`Loaded::render`] | a finding with the lines that it is about, also of a binary model |
//! | [`Loaded::save`], [`SaveOptions`] | a file in any form, replaced as a whole or not at all |
//! | [`Loaded::compile`] | an [`Executable`], unless errors make the meaning of the model unclear |
//! | [`train`] | trainings run and made: state, steps, initialization |
//! | [`edit`], [`diff`](mod@diff) | changes of models, and differences between them |
//! | [`draw`](mod@draw) | drawings as SVG, HTML, DOT and Mermaid |
//! | [`compare`] | results of two runs: whether they are close enough, and how they differ |
//! | [`describe`] | operators and codes of findings, as text and JSON |
//! | [`reduce`](mod@reduce) | the smallest model for which something still fails |
//! | [`ir::GraphBuilder`], [`Loaded::from`] | a model that a program makes |
//! | [`Model::walk_main`], [`ir::NodeRef`] | its nodes with those of nested graphs, their operands and attributes |
//! | [`ir::Cursor`] | passes: nodes inserted, removed, replaced |
//!
//! Each row is a feature of the crate (`ops`, `render`, `save`, `run`), all on by default except `config`; `forms` are JSON and textproto.
//! Without them, the crate reads models from text or protobuf and prints them, and little else is compiled.
//!
//! A model that a program builds is checked, printed and run like one that was read:
//!
//! ```
//! use onnxtxt::ir::{ElemType, GraphBuilder};
//! use onnxtxt::{Level, Loaded, Model};
//!
//! let mut model = Model::of_opset(21);
//! let mut b = GraphBuilder::main(&mut model, "g");
//! let n = b.symbol("N");
//! let ty = b.tensor_type(ElemType::FLOAT, [n]);
//! let x = b.input("x", ty);
//! let t = b.op("Abs", [x]);
//! let y = b.op("Sqrt", [t]);
//! b.output("y", y, ty);
//! b.finish();
//! let loaded = Loaded::from(model);
//! assert!(loaded.check(Level::Types).is_empty());
//! assert!(loaded.text().contains("abs = Abs(x)"));
//! ```
//!
//! The model itself is defined in `onnx_ir`, operators are defined in `onnx_ops`; they are re-exported as [`ir`] and [`ops`].

#![deny(missing_docs)]

#[cfg(feature = "ops")]
pub mod check;
#[cfg(feature = "run")]
pub mod compare;
mod complete;
#[cfg(feature = "run")]
mod computing;
#[cfg(feature = "config")]
pub mod config;
#[cfg(feature = "describe")]
pub mod describe;
#[cfg(feature = "diff")]
pub mod diff;
#[cfg(feature = "run")]
mod distribution;
#[cfg(feature = "draw")]
pub mod draw;
#[cfg(feature = "edit")]
pub mod edit;
mod error;
#[cfg(feature = "save")]
pub mod files;
mod formatted;
#[cfg(feature = "golden")]
pub mod golden;
mod layout;
mod loaded;
#[cfg(feature = "ops")]
mod meaning;
#[cfg(feature = "diff")]
pub mod merge;
mod part;
mod places;
#[cfg(feature = "run")]
mod ranges;
#[cfg(feature = "edit")]
pub mod reduce;
#[cfg(feature = "save")]
mod save;
mod source;
mod text;
#[cfg(feature = "train")]
pub mod train;

#[cfg(feature = "run")]
pub use distribution::Distribution;
pub use error::Error;
pub use loaded::Loaded;
#[cfg(feature = "ops")]
pub use meaning::{Purpose, broken_rules};
#[cfg(feature = "run")]
pub use onnx_exec::{CompileOptions, Executable};
pub use onnx_ir::diag::{Diagnostic, Level, Severity};
pub use onnx_ir::{self as ir, Model};
#[cfg(feature = "ops")]
pub use onnx_ops as ops;
pub use onnx_text::Profile;
pub use part::Part;
pub use places::has_entity;
#[cfg(feature = "run")]
pub use ranges::Ranges;
#[cfg(feature = "save")]
pub use save::{LARGE, SaveOptions, Saved, Weights};
pub use source::{File, Form, undecodable};
pub use text::Text;

use bytes::Bytes;
use std::path::Path;

/// Opens a model in any form: text, binary, JSON or textproto, detected from its content. Large files are mapped.
///
/// # Errors
///
/// The file cannot be read. Findings about its content are in [`Loaded::diagnostics`].
pub fn open(path: impl AsRef<Path>) -> Result<Loaded, Error> {
    Ok(File::open(path.as_ref())?.load())
}

/// Parses a model from text.
#[must_use]
pub fn parse(text: &str) -> Loaded {
    let mut file = File::new("<text>".to_owned(), None, Bytes::copy_from_slice(text.as_bytes()));
    file.form = Form::Text;
    file.load()
}

/// Decodes a model from bytes: in wire format, or in another form.
#[must_use]
pub fn decode(bytes: Bytes) -> Loaded {
    File::new("<bytes>".to_owned(), None, bytes).load()
}
