//! Three-way merges of models.
//!
//! Works on the messages of the format in their JSON form. Lists that are sets (initializers, attributes, metadata, imports,
//! functions) are merged by key, and nodes by the alignment of `diff`. A value that one side renamed has its new name on the
//! other side too. Different changes of the same thing are a [`Conflict`]; [`Merged`] has the model with our side of each
//! conflict, and with theirs.
//!
//! Changes that do not overlap may still break each other (one side removes what the other starts to use): the result must be
//! checked.

mod list;
mod nodes;
mod three;

use onnx_ir::Model;
use onnx_ir::diag::Diagnostic;
use onnx_proto::{FileKind, FormatError, json};
use serde_json::Value;
use std::fmt;
use three::{Merger, Prefer};

/// A difference between the changes of both sides.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Conflict {
    /// Its path: `graph.node[y = Conv].attribute[group].i`.
    pub path: String,
}

/// The outcome of a merge.
#[derive(Debug)]
pub struct Merged {
    /// The model, with our side of each conflict.
    pub ours: Model,
    /// The model, with their side of each conflict; `None` without conflicts, when it is the same.
    pub theirs: Option<Model>,
    /// The conflicts in the order of the model.
    pub conflicts: Vec<Conflict>,
}

/// The reasons why models cannot be merged.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A model is too large for the wire format.
    TooLarge(onnx_proto::TooLarge),
    /// A model cannot be converted.
    Format(FormatError),
    /// The JSON form of a model cannot be read.
    Json(serde_json::Error),
    /// The result cannot be read.
    Unreadable(Vec<Diagnostic>),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::TooLarge(error) => error.fmt(f),
            Error::Format(error) => f.write_str(&error.message),
            Error::Json(error) => error.fmt(f),
            Error::Unreadable(found) => {
                let first = found.first().map_or("", |diagnostic| &diagnostic.message);
                write!(f, "the result is not a model: {first}")
            }
        }
    }
}

impl std::error::Error for Error {}

/// Merges what `ours` and `theirs` changed in `base`.
///
/// # Errors
/// A model cannot be encoded, independent of conflicts.
pub fn merge(base: &Model, ours: &Model, theirs: &Model) -> Result<Merged, Error> {
    let trees = [tree(base)?, tree(ours)?, tree(theirs)?];
    let run = |prefer: Prefer| {
        let mut merger = Merger { prefer, conflicts: Vec::new() };
        let [base, ours, theirs] = &trees;
        let merged = merger.merge("", Some(base), Some(ours), Some(theirs));
        (merged.unwrap_or_else(|| ours.clone()), merger.conflicts)
    };
    let (tree, conflicts) = run(Prefer::Ours);
    let theirs = if conflicts.is_empty() { None } else { Some(model(run(Prefer::Theirs).0)?) };
    Ok(Merged { ours: model(tree)?, theirs, conflicts })
}

fn tree(model: &Model) -> Result<Value, Error> {
    let bytes = onnx_proto::write(model).map_err(Error::TooLarge)?;
    let text = json::to_json(&bytes, FileKind::Model).map_err(Error::Format)?;
    drop(bytes);
    serde_json::from_str(&text).map_err(Error::Json)
}

fn model(tree: Value) -> Result<Model, Error> {
    let text = serde_json::to_vec(&tree).map_err(Error::Json)?;
    drop(tree);
    let bytes = json::from_json(&text, FileKind::Model).map_err(Error::Format)?;
    let mut model = onnx_proto::read(bytes.into()).into_result().map_err(Error::Unreadable)?;
    onnx_ir::pass::topological_sort(&mut model);
    Ok(model)
}

#[cfg(test)]
mod tests;
