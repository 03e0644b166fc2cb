//! Changes header fields and metadata of a model.

use super::Edited;
use onnx_ir::diag::{Diagnostic, Place, code};
use onnx_ir::pass::Report;
use onnx_ir::{Entry, Model, Name};

/// The fields to set; others stay unchanged.
#[derive(Clone, Debug, Default)]
pub struct Metadata {
    /// Keys of `metadata_props` with their values.
    pub set: Vec<(String, String)>,
    /// Keys that are removed.
    pub remove: Vec<String>,
    /// `producer_name`
    pub producer: Option<String>,
    /// `producer_version`
    pub producer_version: Option<String>,
    /// `domain`
    pub domain: Option<String>,
    /// `model_version`
    pub version: Option<i64>,
    /// `doc_string`; empty: none.
    pub doc: Option<String>,
}

/// Changes the header of a model.
///
/// # Errors
/// A key to be removed does not exist.
pub fn set_metadata(model: &mut Model, options: &Metadata) -> Edited {
    let mut found = Vec::new();
    let (mut removed, mut set) = (0, 0);
    for key in &options.remove {
        let before = model.header.metadata.len();
        let names = &model.names;
        model.header.metadata.retain(|entry| entry.key.is_none_or(|k| names[k] != **key));
        removed += before - model.header.metadata.len();
        if before == model.header.metadata.len() {
            let message = format!("the model has no metadata with the key `{key}`");
            found.push(Diagnostic::new(&code::METADATA_KEY, Place::Nowhere, message));
        }
    }
    if !found.is_empty() {
        return Err(found);
    }
    for (key, value) in &options.set {
        let (key, value) = (model.names.intern(key), model.names.intern(value));
        let entries = &mut model.header.metadata;
        match entries.iter_mut().find(|entry| entry.key == Some(key)) {
            Some(entry) => entry.value = Some(value),
            None => entries.push(Entry { key: Some(key), value: Some(value) }),
        }
        set += 1;
    }
    let Model { names, header, .. } = model;
    let mut put = |field: &mut Option<Name>, text: &Option<String>| {
        if let Some(text) = text {
            *field = (!text.is_empty()).then(|| names.intern(text));
            set += 1;
        }
    };
    put(&mut header.producer_name, &options.producer);
    put(&mut header.producer_version, &options.producer_version);
    put(&mut header.domain, &options.domain);
    put(&mut header.doc, &options.doc);
    if let Some(version) = options.version {
        header.model_version = Some(version);
        set += 1;
    }
    let mut report = Report::default();
    report.note(set, "field", "set");
    report.note(removed, "field", "removed");
    Ok(report)
}
