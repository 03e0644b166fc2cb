//! Merges lists with keyed entries: contents and order.

use super::three::{Merger, Three};
use serde_json::Value;
use std::collections::{HashMap, HashSet};

/// A key for each entry of the three versions of a list.
pub(super) type Keys = [Vec<String>; 3];

/// The keys of the lists at a path; `None` for lists that have none, or that have one twice.
pub(super) fn keyed(path: &str, lists: [&[Value]; 3]) -> Option<Keys> {
    let field = path.rsplit('.').next().unwrap_or(path);
    let text = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).unwrap_or("").to_owned();
    if field == "node" {
        return super::nodes::keys(lists);
    }
    let key: &dyn Fn(&Value) -> String = match field {
        "initializer" | "input" | "output" | "valueInfo" | "attribute" | "attributeProto"
        | "configuration" => &|value| text(value, "name"),
        "sparseInitializer" => &|value| value.get("values").map_or(String::new(), |v| text(v, "name")),
        "metadataProps" | "externalData" | "initializationBinding" | "updateBinding" => {
            &|value| text(value, "key")
        }
        "opsetImport" => &|value| text(value, "domain").replace("ai.onnx", ""),
        "quantizationAnnotation" => &|value| text(value, "tensorName"),
        "functions" => &|value| ["domain", "name", "overload"].map(|name| text(value, name)).join(":"),
        _ => return None,
    };
    let is_entry = |value: &Value| value.is_object();
    let mut keys = Keys::default();
    for (keys, list) in keys.iter_mut().zip(lists) {
        if !list.iter().all(is_entry) {
            return None;
        }
        *keys = list.iter().map(key).collect();
        let distinct: HashSet<_> = keys.iter().collect();
        if distinct.len() != keys.len() {
            return None;
        }
    }
    Some(keys)
}

impl Merger {
    /// Merges lists entry by entry. The order is that of the side that changed it; additions of the other side follow the same
    /// entry as there.
    pub(super) fn lists(&mut self, path: &str, lists: [&[Value]; 3], keys: Keys) -> Vec<Value> {
        let indexed = |side: usize| -> HashMap<&str, &Value> {
            keys[side].iter().map(String::as_str).zip(lists[side]).collect()
        };
        let maps = [indexed(0), indexed(1), indexed(2)];
        let mut out = Vec::new();
        for key in order(&keys) {
            let [base, ours, theirs]: Three<'_> = [0, 1, 2].map(|side: usize| maps[side].get(key).copied());
            let name = name_of(key, ours.or(theirs).or(base));
            if let Some(value) = self.merge(&format!("{path}[{name}]"), base, ours, theirs) {
                out.push(value);
            }
        }
        out
    }
}

/// The name of an entry for messages.
fn name_of(key: &str, entry: Option<&Value>) -> String {
    let op = entry.and_then(|entry| entry.get("opType")).and_then(Value::as_str);
    let Some(op) = op else { return key.to_owned() };
    let outputs = entry.and_then(|entry| entry.get("output")).and_then(Value::as_array);
    let outputs: Vec<&str> = outputs.map_or(Vec::new(), |all| all.iter().filter_map(Value::as_str).collect());
    format!("{} = {op}", outputs.join(", "))
}

/// The keys of all versions in the order of the result.
fn order(keys: &Keys) -> Vec<&str> {
    let [base, ours, theirs] = keys;
    let (first, second) = if base == ours { (theirs, ours) } else { (ours, theirs) };
    let known: HashSet<&str> = first.iter().map(String::as_str).collect();
    // The additions of the second side after each key of the first.
    let mut after: HashMap<Option<&str>, Vec<&str>> = HashMap::new();
    let mut last = None;
    for key in second.iter().map(String::as_str) {
        if known.contains(key) {
            last = Some(key);
        } else {
            after.entry(last).or_default().push(key);
        }
    }
    let mut out = after.remove(&None).unwrap_or_default();
    for key in first.iter().map(String::as_str) {
        out.push(key);
        out.extend(after.remove(&Some(key)).unwrap_or_default());
    }
    out
}
