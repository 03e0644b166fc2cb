//! Prints parts of signatures.

use super::{Default, ElemSet, TypeSet};
use onnx_ir::{ElemType, elem_text};

/// Element types that are often allowed together, with a common name for lists of types.
const RUNS: &[(&str, ElemSet)] = &[
    ("uint8..uint64", ElemSet(1 << 2 | 1 << 4 | 1 << 12 | 1 << 13)),
    ("int8..int64", ElemSet(1 << 3 | 1 << 5 | 1 << 6 | 1 << 7)),
    ("complex64..128", ElemSet(1 << 14 | 1 << 15)),
    ("float8 (all but e8m0)", ElemSet(0xf << 17)),
];

impl ElemSet {
    /// The names of the types, with common names where possible.
    fn names(self) -> Vec<String> {
        let mut rest = self.0;
        let mut names = Vec::new();
        for elem in self.iter() {
            if rest & bit(elem) == 0 {
                continue; // was in a run
            }
            let run = RUNS.iter().find(|(_, run)| run.contains(elem) && self.0 & run.0 == run.0);
            rest &= !run.map_or(bit(elem), |(_, run)| run.0);
            names.push(run.map_or_else(|| elem_text(Some(elem)), |(name, _)| (*name).to_owned()));
        }
        names
    }
}

fn bit(elem: ElemType) -> u32 {
    1u32.checked_shl(elem.0.cast_unsigned()).unwrap_or(0)
}

impl TypeSet {
    /// `float, int8..int64, seq(float)`
    #[must_use]
    pub fn text(&self) -> String {
        let mut parts: Vec<String> = self.tensors.names();
        let mut add = |elems: ElemSet, before: &str, after: &str| {
            if elems != ElemSet::NONE {
                parts.push(format!("{before}{}{after}", elems.names().join(", ")));
            }
        };
        add(self.sparse_tensors, "sparse_tensor(", ")");
        add(self.sequences, "seq(", ")");
        add(self.optionals, "optional(", ")");
        add(self.optional_sequences, "optional(seq(", "))");
        parts.extend(self.others.iter().map(|other| other.to_string()));
        parts.join(", ")
    }

    /// The types that are not in another set.
    #[must_use]
    pub fn without(&self, other: &TypeSet) -> TypeSet {
        let minus = |a: ElemSet, b: ElemSet| ElemSet(a.0 & !b.0);
        TypeSet {
            tensors: minus(self.tensors, other.tensors),
            sparse_tensors: minus(self.sparse_tensors, other.sparse_tensors),
            sequences: minus(self.sequences, other.sequences),
            optionals: minus(self.optionals, other.optionals),
            optional_sequences: minus(self.optional_sequences, other.optional_sequences),
            others: self.others.iter().filter(|ty| !other.others.contains(ty)).cloned().collect(),
        }
    }
}

impl Default {
    /// As ONNX text writes it.
    #[must_use]
    pub fn text(&self) -> String {
        fn list<T>(items: &[T], text: impl Fn(&T) -> String) -> String {
            format!("[{}]", items.iter().map(text).collect::<Vec<_>>().join(", "))
        }
        let quoted = |text: &str| format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
        match self {
            Default::Float(x) => format!("{x:?}"),
            Default::Int(i) => i.to_string(),
            Default::String(text) => quoted(text),
            Default::Floats(all) => list(all, |x| format!("{x:?}")),
            Default::Ints(all) => list(all, i64::to_string),
            Default::Strings(all) => list(all, |text| quoted(text)),
            Default::Other(text) => text.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::Registry;

    #[test]
    fn types_that_come_together_are_one_word() {
        let registry = Registry::builtin();
        let types = |name: &str, at: usize| {
            let id = registry.versions("", name)[at];
            registry.get(id).inputs[0].types.text()
        };
        assert_eq!(types("Relu", 0), "float, float16, double");
        assert_eq!(types("Abs", 1), "float, uint8..uint64, int8..int64, float16, double");
        assert_eq!(types("Bernoulli", 0), "float, float16, double");
        assert_eq!(types("SequenceLength", 0).split('(').next(), Some("seq"));
    }

    #[test]
    fn every_type_of_a_set_is_named() {
        let all = ElemSet(0x1fff_fffe);
        assert_eq!(all.names().len(), 28 - 3 - 3 - 1 - 3);
        assert_eq!(ElemSet(1 << 3 | 1 << 5).names(), ["int8", "int16"]);
    }

    #[test]
    fn defaults_are_spelled_as_in_text() {
        assert_eq!(Default::Float(1.0).text(), "1.0");
        assert_eq!(Default::String("a\"b".into()).text(), r#""a\"b""#);
        assert_eq!(Default::Ints(vec![1, -1].into()).text(), "[1, -1]");
    }
}
