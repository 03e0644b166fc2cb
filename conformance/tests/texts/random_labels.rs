//! No text that is plain ONNX text means something else because of expressions (`grammar/sugar.md`): the files of the suite, and random
//! texts in which a node's name in brackets follows every statement and every expression, on its line.

use conformance::convert::write_wire;
use conformance::random::Random;
use onnx_text::ast::Node;
use onnx_text::parse_model;
use std::path::Path;

const TEXTS: usize = 2_000;

const HEAD: &str = "<ir_version: 10, opset_import: [\"\": 21]>\ng (float[N] x, float[N] w, float[N] float) => (float[N] y)\n{\n";

/// Statements without their results, and whether each is plain.
const CALLS: [(&str, bool); 12] = [
    ("Abs(x)", true),
    ("Add(x, w)", true),
    ("LeakyRelu <alpha = 0.5> (x)", true),
    ("LeakyRelu (x) <alpha = 0.5>", true),
    ("LeakyRelu<alpha=0.5>(x)", true),
    ("Abs(float)", true),
    ("Clip(x, , w)", true),
    ("Add(x, w) + 1", false),
    ("x * 2", false),
    ("x < w", false),
    ("Abs(x)[0]", false),
    ("-x", false),
];
const LABELS: [&str; 4] = ["n", "node_1", "\"2\"", "float"];

struct Statement {
    label: Option<&'static str>,
    ty: &'static str,
    result: String,
    call: &'static str,
    is_plain: bool,
}

impl Statement {
    fn draw(random: &mut Random, i: usize) -> Statement {
        let (call, is_plain) = CALLS[random.below(CALLS.len())];
        let label = (random.below(3) > 0).then(|| LABELS[random.below(LABELS.len())]);
        let ty = if random.below(4) == 0 { "float[M] " } else { "" };
        Statement { label, ty, result: format!("r{i}"), call, is_plain: is_plain && ty.is_empty() }
    }

    fn text(&self) -> String {
        let label = self.label.map(|label| format!("[{label}] ")).unwrap_or_default();
        format!("{label}{}{} = {}", self.ty, self.result, self.call)
    }
}

/// The text between two statements. A bracket right after a name is a subscript, and one after the `)` of a call is not.
fn gap(before: &Statement, after: &Statement, random: &mut Random) -> &'static str {
    let may_touch = after.label.is_some() && before.call.ends_with([')', '>']);
    [" ", "  ", "\n", "\t", if may_touch { "" } else { " " }][random.below(5)]
}

fn model(text: &str) -> Vec<u8> {
    let read = onnxtxt::parse(text);
    assert!(read.diagnostics.is_empty(), "{:?}\n{text}", read.diagnostics);
    write_wire(&read.model).expect("it is small")
}

#[test]
fn a_name_after_an_expression_is_that_of_the_next_node() {
    let mut random = Random::new(35);
    for _ in 0..TEXTS {
        let statements: Vec<Statement> =
            (0..1 + random.below(6)).map(|i| Statement::draw(&mut random, i)).collect();
        let mut joined = HEAD.to_owned();
        for (i, statement) in statements.iter().enumerate() {
            if let Some(before) = i.checked_sub(1).map(|before| &statements[before]) {
                joined += gap(before, statement, &mut random);
            }
            joined += &statement.text();
        }
        let lines: Vec<String> = statements.iter().map(Statement::text).collect();
        let [joined, apart] =
            [joined, format!("{HEAD}{}", lines.join("\n"))].map(|text| text + "\ny = Abs(x)\n}\n");
        let tree = parse_model(&joined).value.tree;
        let found: Vec<&Node> = tree.statements().collect();
        assert_eq!(found.len(), statements.len() + 1, "{joined}");
        for (node, statement) in found.iter().zip(&statements) {
            let text = |span: onnx_ir::diag::Span| &joined[span.range()];
            assert_eq!(node.name.map(text), statement.label, "{joined}");
            assert_eq!(text(node.outputs[0]), statement.result, "{joined}");
            assert_eq!(node.sugar.is_none(), statement.is_plain, "{}\n{joined}", statement.text());
        }
        assert!(model(&joined) == model(&apart), "{joined}");
    }
}

#[test]
fn plain_files_of_the_suite_have_no_expressions() {
    let suite = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/suite");
    let mut plain = 0;
    for path in onnxtxt::files::below(&suite, &["onnxtxt"]).expect("the suite") {
        if path.starts_with(suite.join("sugar")) {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("a text");
        let Ok(syntax) = parse_model(&text).into_result() else { continue };
        plain += 1;
        for node in syntax.tree.statements() {
            assert!(node.sugar.is_none(), "{}: {}", path.display(), &text[node.span.range()]);
        }
    }
    assert!(plain > 500, "{plain}");
}
