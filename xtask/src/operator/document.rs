//! Adds a signature with a function body to the operator-set document of a domain.

use super::Edit;
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::Path;

/// The document of a domain with an operator, in the order of the names; a new document if the domain has none.
pub(super) fn insert(opsets: &Path, domain: &str, name: &str) -> Result<Edit> {
    let path = opsets.join(format!("{domain}.onnxtxt"));
    let text = if path.exists() {
        fs::read_to_string(&path).with_context(|| path.display().to_string())?
    } else {
        format!(
            "#@ onnxtxt 1\noperator_set <\n    ir_version: 10,\n    domain: \"{domain}\",\n    opset_version: 1,\n    \
             doc_string: \"Operators of {domain}.\"\n>\n"
        )
    };
    let mut at = text.len();
    let mut entry = text.len();
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        if line.starts_with("## ") && (offset == 0 || text[..offset].ends_with("\n\n")) {
            entry = offset;
        }
        if let Some(rest) = line.strip_prefix("operator ") {
            let other = rest.split([' ', '(', '<']).next().unwrap_or("");
            ensure!(other != name, "`{domain}` has `{name}`: {}", path.display());
            if other > name && at == text.len() {
                at = entry;
            }
        }
        offset += line.len();
    }
    let new = format!(
        "## Describe {name} in a sentence.\n<since_version: 1, opset_import: [\"\": 18]>\noperator {name} (T X) => (T Y)\n\
         where T: {{double, float, float16}}\n{{\n    Y = Identity(X)\n}}\n"
    );
    let content = if at == text.len() {
        format!("{}\n\n{new}", text.trim_end())
    } else {
        format!("{}{new}\n{}", &text[..at], &text[at..])
    };
    Ok(Edit { path, content, next: "state its signature, and the body that defines it".into() })
}
