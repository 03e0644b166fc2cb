//! Three-way merge of a value: takes the changed version, or both changes if they are in different parts.

use super::Conflict;
use super::list::keyed;
use super::nodes;
use serde_json::{Map, Value};

/// Which side of a conflict the result has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Prefer {
    Ours,
    Theirs,
}

/// The state of a merge.
pub(super) struct Merger {
    pub(super) prefer: Prefer,
    pub(super) conflicts: Vec<Conflict>,
}

/// The three versions of a part; `None` where it is absent.
pub(super) type Three<'v> = [Option<&'v Value>; 3];

impl Merger {
    /// Merges three versions of a part; `None` if it is removed or absent.
    pub(super) fn merge(
        &mut self,
        path: &str,
        base: Option<&Value>,
        ours: Option<&Value>,
        theirs: Option<&Value>,
    ) -> Option<Value> {
        if ours == theirs || base == theirs {
            return ours.cloned();
        }
        if base == ours {
            return theirs.cloned();
        }
        match (ours, theirs) {
            (Some(Value::Object(x)), Some(Value::Object(y))) => {
                let empty = Map::new();
                let base = base.and_then(Value::as_object).unwrap_or(&empty);
                Some(self.objects(path, base, x, y))
            }
            (Some(Value::Array(x)), Some(Value::Array(y))) => {
                let base = base.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
                let lists = [base, x, y];
                match keyed(path, lists) {
                    Some(keys) => Some(Value::Array(self.lists(path, lists, keys))),
                    None if !base.is_empty() && base.len() == x.len() && x.len() == y.len() => {
                        let items = base.iter().zip(x).zip(y).enumerate();
                        let items = items.filter_map(|(at, ((base, x), y))| {
                            self.merge(&format!("{path}[{at}]"), Some(base), Some(x), Some(y))
                        });
                        Some(Value::Array(items.collect()))
                    }
                    None => self.conflict(path, ours, theirs),
                }
            }
            _ => self.conflict(path, ours, theirs),
        }
    }

    pub(super) fn conflict(
        &mut self,
        path: &str,
        ours: Option<&Value>,
        theirs: Option<&Value>,
    ) -> Option<Value> {
        self.conflicts.push(Conflict { path: path.trim_start_matches('.').to_owned() });
        match self.prefer {
            Prefer::Ours => ours.cloned(),
            Prefer::Theirs => theirs.cloned(),
        }
    }

    fn objects(
        &mut self,
        path: &str,
        base: &Map<String, Value>,
        ours: &Map<String, Value>,
        theirs: &Map<String, Value>,
    ) -> Value {
        // Graphs and functions have nodes whose values may be renamed on either side.
        if [base, ours, theirs].iter().all(|object| object.get("node").is_some_and(Value::is_array)) {
            let [base, ours, theirs] = nodes::with_same_names(self, path, [base, ours, theirs]);
            return self.fields(path, &base, &ours, &theirs);
        }
        self.fields(path, base, ours, theirs)
    }

    fn fields(
        &mut self,
        path: &str,
        base: &Map<String, Value>,
        ours: &Map<String, Value>,
        theirs: &Map<String, Value>,
    ) -> Value {
        // An attribute has one value: a change of type is a change of value, not an additional field.
        let types = [ours, theirs].map(|object| object.get("type"));
        if path.ends_with(']') && path.contains(".attribute[") && types[0] != types[1] {
            let (ours, theirs) = (Value::Object(ours.clone()), Value::Object(theirs.clone()));
            return self.conflict(path, Some(&ours), Some(&theirs)).unwrap_or_default();
        }
        // The elements of a weight belong to its shape.
        let is_tensor = ours.contains_key("dataType") && theirs.contains_key("dataType");
        if is_tensor {
            let (ours, theirs) = (Value::Object(ours.clone()), Value::Object(theirs.clone()));
            return self.conflict(path, Some(&ours), Some(&theirs)).unwrap_or_default();
        }
        let mut out = Map::new();
        let names = ours.keys().chain(theirs.keys().filter(|name| !ours.contains_key(*name)));
        for name in names {
            let path = format!("{path}.{name}");
            let merged = self.merge(&path, base.get(name), ours.get(name), theirs.get(name));
            if let Some(value) = merged {
                out.insert(name.clone(), value);
            }
        }
        Value::Object(out)
    }
}
