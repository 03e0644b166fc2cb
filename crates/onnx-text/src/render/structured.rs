//! Findings as JSON: one object a line, or one SARIF 2.1.0 document for a run.

use super::{SourceText, Spot};
use crate::visible::visible;
use onnx_ir::diag::{Code, Diagnostic, Fix, Label, Severity, Span};
use serde_json::{Value, json};

/// A finding as a JSON object on one line.
///
/// `start` and `end` are bytes of the file, or of the printed text if `printed` is true; `place` has only `byte` for a place in a
/// binary file. Missing properties (rule, place, help) are omitted.
#[must_use]
pub fn json(diagnostic: &Diagnostic, source: &SourceText<'_>) -> String {
    let code = diagnostic.code;
    let labels: Vec<Value> = std::iter::once(&diagnostic.primary)
        .chain(&diagnostic.related)
        .filter(|label| !label.text.is_empty())
        .map(|label| json!({ "text": label.text, "place": place(label, source) }))
        .collect();
    let fixes: Vec<Value> = diagnostic
        .fixes
        .iter()
        .filter(|fix| !fix.edits.is_empty())
        .map(|fix| {
            let edits = fix
                .edits
                .iter()
                .map(|edit| json!({ "start": edit.span.start, "end": edit.span.end, "text": edit.text }));
            json!({ "title": fix.title, "safe": fix.safe, "edits": edits.collect::<Vec<_>>() })
        })
        .collect();
    let mut finding = json!({
        "code": code.id,
        "name": code.name,
        "rule": code.rule,
        "severity": diagnostic.severity.name(),
        "message": diagnostic.message,
        "file": source.name(),
        "printed": source.kind == super::SourceKind::Binary,
        "place": place(&diagnostic.primary, source),
        "labels": labels,
        "help": diagnostic.help,
        "fixes": fixes,
    });
    without_nulls(&mut finding);
    visible(&finding.to_string()).into_owned()
}

/// Leaves out the keys that have nothing.
fn without_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, field| !field.is_null());
            fields.values_mut().for_each(without_nulls);
        }
        Value::Array(list) => list.iter_mut().for_each(without_nulls),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn place(label: &Label, source: &SourceText<'_>) -> Value {
    match source.spot(label.place) {
        Spot::Text(span) => {
            let (start, end) = (source.position(span.start), source.position(span.end));
            json!({
                "start": span.start, "end": span.end,
                "line": start.line, "column": start.column,
                "end_line": end.line, "end_column": end.column,
            })
        }
        Spot::Byte(byte) => json!({ "byte": byte }),
        Spot::Nowhere => Value::Null,
    }
}

/// A SARIF 2.1.0 log of one run, to which findings are added.
#[derive(Default)]
pub struct Sarif {
    results: Vec<Value>,
}

impl Sarif {
    /// Adds a finding.
    pub fn add(&mut self, diagnostic: &Diagnostic, source: &SourceText<'_>) {
        let mut location = json!({
            "physicalLocation": { "artifactLocation": { "uri": uri(source.name()) } },
        });
        if let Some(span) = source.span(diagnostic.primary.place) {
            location["physicalLocation"]["region"] = region(span, source);
        } else if let Spot::Byte(byte) = source.spot(diagnostic.primary.place) {
            location["physicalLocation"]["region"] = json!({ "byteOffset": byte });
        }
        let related: Vec<Value> = diagnostic
            .related
            .iter()
            .filter_map(|label| {
                let region = region(source.span(label.place)?, source);
                Some(json!({
                    "message": { "text": label.text },
                    "physicalLocation": { "artifactLocation": { "uri": uri(source.name()) }, "region": region },
                }))
            })
            .collect();
        let mut text = diagnostic.message.clone();
        if let Some(help) = &diagnostic.help {
            text += &format!("; {help}");
        }
        let mut result = json!({
            "ruleId": diagnostic.code.id,
            "level": diagnostic.severity.name(),
            "message": { "text": text },
            "locations": [location],
            "relatedLocations": related,
        });
        let fixes: Vec<Value> =
            diagnostic.fixes.iter().filter(|f| !f.edits.is_empty()).map(|f| sarif_fix(f, source)).collect();
        if !fixes.is_empty() {
            result["fixes"] = fixes.into();
        }
        self.results.push(result);
    }

    /// The whole document, under the version of the program.
    #[must_use]
    pub fn finish(self, version: &str) -> String {
        let rules: Vec<Value> = onnx_ir::diag::ALL.iter().map(|code| rule(code)).collect();
        let log = json!({
            "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
            "version": "2.1.0",
            "runs": [{
                "tool": { "driver": { "name": "onnxtxt", "version": version, "rules": rules } },
                "columnKind": "unicodeCodePoints",
                "results": self.results,
            }],
        });
        visible(&format!("{log:#}\n")).into_owned()
    }
}

/// A replacement deletes a region and puts a text there.
fn sarif_fix(fix: &Fix, source: &SourceText<'_>) -> Value {
    let replacements: Vec<Value> = fix
        .edits
        .iter()
        .map(|edit| {
            let mut deleted = region(edit.span, source);
            deleted["byteOffset"] = edit.span.start.into();
            deleted["byteLength"] = edit.span.len().into();
            json!({ "deletedRegion": deleted, "insertedContent": { "text": edit.text } })
        })
        .collect();
    json!({
        "description": { "text": fix.title },
        "artifactChanges": [{
            "artifactLocation": { "uri": uri(source.name()) },
            "replacements": replacements,
        }],
        "properties": { "safe": fix.safe },
    })
}

fn rule(code: &Code) -> Value {
    let (title, text) = code.explain.trim().split_once("\n\n").unwrap_or((code.explain.trim(), ""));
    let level = match code.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    json!({
        "id": code.id,
        "name": code.name,
        "shortDescription": { "text": title.trim() },
        "fullDescription": { "text": text.trim() },
        "defaultConfiguration": { "level": level },
    })
}

fn region(span: Span, source: &SourceText<'_>) -> Value {
    let (start, end) = (source.position(span.start), source.position(span.end));
    json!({
        "startLine": start.line, "startColumn": start.column,
        "endLine": end.line, "endColumn": end.column,
    })
}

/// The path as a relative reference, with URI escapes.
fn uri(path: &str) -> String {
    let mut out = String::new();
    for byte in path.replace('\\', "/").bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                out.push(char::from(byte));
            }
            _ => out += &format!("%{byte:02X}"),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::SourceKind;
    use super::*;
    use onnx_ir::diag::{Edit, code};

    fn finding() -> Diagnostic {
        Diagnostic::new(&code::VALUE_UNDEFINED, Span::new(3, 4), "no \"q\"")
            .related(Span::new(0, 1), "there")
            .fix("write `x`", vec![Edit { span: Span::new(3, 4), text: "x".to_owned() }], true)
    }

    #[test]
    fn json_is_one_line_with_everything() {
        let line = json(&finding(), &SourceText::new("m", "a\nöq", SourceKind::Text));
        let value: Value = serde_json::from_str(&line).unwrap();
        assert!(!line.contains('\n'));
        assert_eq!((&value["code"], &value["place"]["line"]), (&json!("E0203"), &json!(2)));
        assert_eq!(value["fixes"][0]["edits"][0], json!({ "start": 3, "end": 4, "text": "x" }));
        assert_eq!(value["labels"][0]["place"]["column"], json!(1));
    }

    #[test]
    fn sarif_names_the_rule_and_the_region() {
        let mut log = Sarif::default();
        log.add(&finding(), &SourceText::new("a b.onnxtxt", "a\nöq", SourceKind::Text));
        let value: Value = serde_json::from_str(&log.finish("1.0")).unwrap();
        let result = &value["runs"][0]["results"][0];
        let place = &result["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], json!("a%20b.onnxtxt"));
        assert_eq!(place["region"]["startLine"], json!(2));
        let rules = value["runs"][0]["tool"]["driver"]["rules"].as_array().unwrap();
        assert!(rules.iter().any(|rule| rule["id"] == result["ruleId"]));
        let fix = &result["fixes"][0]["artifactChanges"][0];
        assert_eq!(fix["artifactLocation"]["uri"], json!("a%20b.onnxtxt"));
        let replacement = &fix["replacements"][0];
        assert_eq!(replacement["deletedRegion"]["byteOffset"], json!(3));
        assert_eq!(replacement["insertedContent"]["text"], json!("x"));
    }
}
