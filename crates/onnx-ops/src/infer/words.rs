//! The words that a string attribute may be.
//!
//! Only the rule of an operator knows them, so it is asked: a node with a word that no operator has is inferred, and the finding
//! lists the valid ones.

use super::{InferOptions, infer};
use crate::schema::{Registry, Schema};
use onnx_ir::AttrType;
use onnx_ir::diag::code;
use std::fmt::Write as _;

/// The valid values of a string attribute, in the order in which its rule has them; empty if the rule accepts any.
///
/// ```
/// use onnx_ops::infer::attribute_words;
/// use onnx_ops::schema::Registry;
///
/// let registry = Registry::builtin();
/// let conv = registry.get(*registry.versions("", "Conv").last().unwrap());
/// assert_eq!(attribute_words(registry, conv, "auto_pad"), ["NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"]);
/// ```
#[must_use]
pub fn attribute_words(registry: &Registry, schema: &Schema, attr: &str) -> Vec<String> {
    if schema.attr(attr).is_none_or(|attr| attr.ty != AttrType::STRING) {
        return Vec::new();
    }
    let words = |ty: &&str| {
        let model = onnx_text::read_model(&probe(schema, attr, ty)).value;
        let found = infer(&model, registry, &InferOptions::default()).diagnostics;
        let finding = found.iter().find(|found| found.code == &code::ATTR_VALUE);
        let list = finding.and_then(|found| found.primary.text.strip_prefix("expected one of "));
        let words = list.into_iter().flat_map(|list| list.split(", "));
        words.map(|word| word.trim_matches('`').to_owned()).filter(|word| !word.is_empty()).collect()
    };
    TYPES.iter().map(words).find(|words: &Vec<String>| !words.is_empty()).unwrap_or_default()
}

/// Types of the operands, one after the other: some rules look at words only when they know the rank.
const TYPES: [&str; 5] = ["", "float[1,1,4]", "float[1,1,4,4]", "float[2,2]", "float[2]"];

/// A model with a node of the operator, whose attribute is a word that no operator has.
fn probe(schema: &Schema, attr: &str, ty: &str) -> String {
    let operands: Vec<String> = (0..schema.input_range().0).map(|i| format!("x{i}")).collect();
    let inputs: Vec<String> = operands.iter().map(|name| format!("{ty} {name}")).collect();
    let (operands, inputs) = (operands.join(", "), inputs.join(", "));
    let mut attrs = format!("{attr} = \"?\"");
    for other in schema.attrs.iter().filter(|other| other.required && other.name != attr) {
        let value = match other.ty {
            AttrType::INT => "1",
            AttrType::FLOAT => "1.0",
            AttrType::STRING => "\"\"",
            AttrType::INTS => "[1]",
            AttrType::FLOATS => "[1.0]",
            AttrType::STRINGS => "[\"\"]",
            _ => continue,
        };
        _ = write!(attrs, ", {} = {value}", other.name);
    }
    let (domain, name) = (&schema.domain, &schema.name);
    let dot = if domain.is_empty() { "" } else { "." };
    let version = schema.since;
    format!(
        "<ir_version: 10, opset_import: [\"{domain}\": {version}]>\n\
         g ({inputs}) => (y) {{ y = {domain}{dot}{name} <{attrs}> ({operands}) }}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each row: an operator, an attribute, and some of its words; none of one that may be anything.
    #[test]
    fn rules_know_the_words() {
        let registry = Registry::builtin();
        for (domain, op, attr, words) in [
            ("", "MaxPool", "auto_pad", ["VALID", "SAME_LOWER"].as_slice()),
            ("", "DepthToSpace", "mode", &["DCR", "CRD"]),
            ("", "BitShift", "direction", &["LEFT", "RIGHT"]),
            ("ai.onnx.ml", "Normalizer", "norm", &["MAX", "L1", "L2"]),
            ("", "Constant", "value_string", &[]),
            ("", "Elu", "alpha", &[]),
            ("", "Elu", "nothing", &[]),
        ] {
            let schema = registry.get(*registry.versions(domain, op).last().unwrap());
            let found = attribute_words(registry, schema, attr);
            assert!(words.iter().all(|word| found.iter().any(|it| it == word)), "{op}: {found:?}");
            assert_eq!(words.is_empty(), found.is_empty(), "{op}: {found:?}");
        }
    }
}
