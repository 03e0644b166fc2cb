//! Descriptions of the codes of findings.

use onnx_ir::diag::Code;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// The first line of the description of a code.
#[must_use]
pub fn code_title(code: &Code) -> &'static str {
    code.explain.trim().lines().next().unwrap_or_default().trim()
}

/// A code with a description of it.
#[must_use]
pub fn code_json(code: &Code, text: &str) -> Value {
    let mut object =
        json!({ "code": code.id, "name": code.name, "severity": code.severity.name(), "text": text });
    if let Some(rule) = code.rule {
        object["rule"] = rule.into();
    }
    if let Some(clear) = code.clear {
        object["clear"] = clear.into();
    }
    object
}

/// The meaning of a code, why it is wrong, and what to do. With `color`, for a terminal.
#[must_use]
pub fn code_text(code: &Code, color: bool) -> String {
    let paint = |style: &str, text: &str| {
        if color { format!("\x1b[{style}m{text}\x1b[0m") } else { text.to_owned() }
    };
    let rule = code.rule.map_or(String::new(), |rule| format!(", rule {rule}"));
    let title = format!("{}[{}] {}", code.severity.name(), code.id, code.name);
    let mut out = format!("{}{rule}\n\n", paint("1", &title));
    let mut is_code = false;
    let mut examples = 0;
    for line in code.explain.trim_end().lines() {
        let line = line.strip_prefix(' ').unwrap_or(line);
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
            if is_code {
                examples += 1;
                // The first example is wrong, the second right.
                _ = writeln!(out, "{}", if examples % 2 == 1 { "wrong:" } else { "right:" });
            }
        } else if is_code {
            _ = writeln!(out, "    {}", paint("36", line));
        } else {
            let spans: String = line
                .split('`')
                .enumerate()
                .map(|(index, part)| if index % 2 == 0 { part.to_owned() } else { paint("36", part) })
                .collect();
            _ = writeln!(out, "{spans}");
        }
    }
    if let Some(clear) = code.clear {
        _ = writeln!(
            out,
            "\nThe meaning is clear: {clear}. So models with this error are run, with a warning."
        );
    }
    out
}
