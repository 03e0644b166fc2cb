//! Names of values in attributes: `xs`, `zs` and `y` of `ai.onnx.preview.training.Gradient`.
//!
//! These names refer to values of the graph of the node or of a graph around it: the values are used, and are renamed with the
//! attributes.

use super::rename::Map;
use crate::attr::{Attr, AttrValue};
use crate::body::{Body, Node};
use crate::names::{Name, Names};
use bytes::Bytes;

/// The nodes `Gradient` of models with these names. Most models have none, which the names alone tell.
#[derive(Clone, Copy, Debug)]
pub struct Gradients(Option<[Name; 2]>);

impl Gradients {
    /// Looks the operator up.
    pub fn of(names: &Names) -> Self {
        Gradients(names.find("Gradient").zip(names.find("ai.onnx.preview.training")).map(Into::into))
    }

    /// Whether there can be none.
    pub fn is_empty(self) -> bool {
        self.0.is_none()
    }

    /// Whether a node is one.
    pub fn contains(self, node: &Node) -> bool {
        self.0.is_some_and(|[op, domain]| node.op == Some(op) && node.domain == Some(domain))
    }
}

fn is_of_values(names: &Names, attr: &Attr) -> bool {
    attr.name.is_some_and(|name| matches!(&names[name], "xs" | "zs" | "y"))
}

/// The names of values in the attributes of a body.
pub(super) fn named(names: &Names, body: &Body) -> Vec<Name> {
    let mut found = Vec::new();
    let gradients = Gradients::of(names);
    if gradients.is_empty() {
        return found;
    }
    let mut add =
        |text: &Bytes| found.extend(std::str::from_utf8(text).ok().and_then(|text| names.find(text)));
    for node in body.nodes.values().filter(|node| gradients.contains(node)) {
        for attr in node.attrs.iter().filter(|attr| is_of_values(names, attr)) {
            match attr.value() {
                Some(AttrValue::String(text)) => add(text),
                Some(AttrValue::Strings(list)) => list.iter().for_each(&mut add),
                _ => {}
            }
        }
    }
    found
}

/// Gives the names in a body other names.
pub(super) fn rename(names: &Names, body: &mut Body, renamed: &Map) {
    let gradients = Gradients::of(names);
    if gradients.is_empty() {
        return;
    }
    let new = |text: &Bytes| {
        let name = names.find(std::str::from_utf8(text).ok()?)?;
        renamed.get(&name).map(|&new| Bytes::copy_from_slice(names[new].as_bytes()))
    };
    for node in body.nodes.values_mut().filter(|node| gradients.contains(node)) {
        for attr in node.attrs.iter_mut().filter(|attr| is_of_values(names, attr)) {
            for value in &mut attr.values {
                let other = match value {
                    AttrValue::String(text) => new(text).map(AttrValue::String),
                    AttrValue::Strings(list) if list.iter().any(|text| new(text).is_some()) => {
                        let all = list.iter().map(|text| new(text).unwrap_or_else(|| text.clone()));
                        Some(AttrValue::Strings(all.collect()))
                    }
                    _ => None,
                };
                if let Some(other) = other {
                    *value = other;
                }
            }
        }
    }
}
