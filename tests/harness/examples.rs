//! The examples of the code table: the first of a code has a finding of it, the second has none.

use libtest_mimic::Trial;
use onnx_ir::VerifyOptions;
use onnx_ir::diag::{self, Code, Level};
use onnx_text::TextKind;

/// The prefix for an example that starts with a graph.
const HEADER: &str = "<ir_version: 10, opset_import: [\"\": 21]>\n";

/// The prefix for an example that is a function.
const CALL: &str = "<ir_version: 10, opset_import: [\"\": 21, \"l\": 1]>\n\
                    g (float[N] x) => (float[N] y) { y = l.f(x) }\n";

pub(crate) fn trials() -> Vec<Trial> {
    let with_examples = diag::ALL.iter().filter(|code| !code.examples().is_empty());
    with_examples
        .map(|&code| Trial::test(format!("explain/{}", code.id), move || run(code).map_err(Into::into)))
        .collect()
}

/// An example as a whole model.
pub(crate) fn model(example: String) -> String {
    match example.trim_start() {
        function if function.starts_with("<domain") => format!("{CALL}{example}"),
        headed if headed.starts_with(['<', '#']) => example,
        _ => format!("{HEADER}{example}"),
    }
}

fn run(code: &Code) -> Result<(), String> {
    for (index, example) in code.examples().into_iter().enumerate() {
        let is_value = onnx_text::sniff_text(&example) == TextKind::Value;
        let is_set = onnxtxt::golden::opsets::is_set(&example);
        let text = if is_value || is_set { example } else { model(example) };
        let options = VerifyOptions { level: Level::Strict, ..VerifyOptions::default() };
        let found = if is_value {
            onnx_text::check_value(&text, &options).diagnostics
        } else if is_set {
            onnxtxt::golden::opsets::found_in(&text)
        } else {
            onnxtxt::golden::judged(&text, &options).diagnostics
        };
        let is_found = found.iter().any(|diagnostic| diagnostic.code == code);
        let (expected, which) = if index % 2 == 0 { (true, "wrong") } else { (false, "right") };
        if is_found != expected {
            let found: Vec<_> = found.iter().map(|d| format!("{}: {}", d.code.id, d.message)).collect();
            return Err(format!("the {which} example of {} finds {found:#?}:\n{text}", code.id));
        }
    }
    Ok(())
}
