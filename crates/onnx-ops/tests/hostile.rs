//! Models that are made to break inference: it must end soon, without a panic, whatever it is given.
//!
//! Times are generous, for debug builds, and those of the processor, which do not depend on how busy the machine is; what must
//! not happen takes years.

use onnx_ir::{AttrType, Model};
use onnx_ops::infer::{InferOptions, Inference, infer};
use onnx_ops::schema::{AttrParam, Registry, Schema};
use std::fmt::Write as _;
use std::time::Duration;

const HEADER: &str = "<ir_version: 10, opset_import: [\"\": 21, \"f\": 1]>\n";

fn read(text: &str) -> Model {
    let lowered = onnx_text::read_model(text);
    let first = lowered.diagnostics.first().map(|d| &d.message);
    assert_eq!(first, None, "{}", &text[..text.len().min(2000)]);
    lowered.value
}

/// The processor time of this thread.
#[cfg(unix)]
fn processor_time() -> Duration {
    use nix::time::{ClockId, clock_gettime};
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).expect("a clock").into()
}

/// The time, where that of the processor is not available.
#[cfg(not(unix))]
fn processor_time() -> Duration {
    static START: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    START.get_or_init(std::time::Instant::now).elapsed()
}

/// Infers a model, which must end in time.
fn run(text: &str) -> (Model, Inference) {
    let model = read(text);
    let start = processor_time();
    let inference = infer(&model, Registry::builtin(), &InferOptions::default());
    let time = processor_time().saturating_sub(start);
    assert!(time < Duration::from_secs(5), "{time:?}");
    (model, inference)
}

/// The type of a value of the main graph.
fn ty(model: &Model, inference: &Inference, name: &str) -> String {
    let body = model.main.expect("the model has a main graph");
    let found = model.bodies[body].values.iter().find(|(_, v)| &model.names[v.name] == name);
    let (value, _) = found.expect("the value is there");
    inference.facts.get(body, value).ty.text(&inference.facts.dims)
}

fn codes(inference: &Inference) -> Vec<&'static str> {
    inference.diagnostics.iter().map(|d| d.code.id).collect()
}

/// Makes an axis longer, by an extent that is unknown.
const GROW: &str = "s = SequenceConstruct(x, x)\n y = ConcatFromSequence <axis = 0> (s)";

/// Loops in one another; `step` is what the innermost body does with `x`, which it carries, to get `y`.
fn nested_loops(depth: usize, step: &str) -> String {
    let mut text = format!("{HEADER}g (int64 n, bool c, float[2,N] x0) => (y0)\n{{\n");
    for i in 0..depth {
        let next = i + 1;
        let _ = writeln!(
            text,
            "y{i} = Loop <body = b{i} (int64 i{i}, bool k{i}, x{next}) => (l{i}, z{i}) {{ l{i} = Identity(k{i})"
        );
    }
    let _ = writeln!(text, "x = Identity(x{depth})\n {step}\n y{depth} = Identity(y)");
    for i in (0..depth).rev() {
        let next = i + 1;
        let _ = writeln!(text, "z{i} = Identity(y{next}) }}> (n, c, x{i})");
    }
    text + "}\n"
}

#[test]
fn loops_in_loops_are_walked_a_few_times() {
    let (model, stable) = run(&nested_loops(30, "y = Relu(x)"));
    assert_eq!(ty(&model, &stable, "y0"), "float[2,N]");
    let (model, growing) = run(&nested_loops(30, GROW));
    assert!(ty(&model, &growing, "y0").starts_with("float["));
    assert_eq!(codes(&growing), [""; 0]);
}

#[test]
fn what_grows_in_a_loop_is_known_but_for_the_axis_on_which_it_does() {
    let (model, inference) = run(&nested_loops(2, GROW));
    let ty = ty(&model, &inference, "y0");
    assert!(ty.ends_with(",N]") && !ty.starts_with("float[2,"), "{ty}");
}

#[test]
fn branches_in_branches_are_walked_once() {
    let mut text = format!("{HEADER}g (bool c, float[2,N] x) => (y0)\n{{\n");
    for i in 0..30 {
        let next = i + 1;
        let _ = writeln!(
            text,
            "y{i} = If(c) <else_branch = e{i} () => (p{i}) {{ p{i} = Abs(x) }}, then_branch = t{i} () => (y{next}) {{"
        );
    }
    text += "y30 = Relu(x)";
    text += &"}>".repeat(30);
    let (model, inference) = run(&(text + "}\n"));
    assert_eq!(ty(&model, &inference, "y0"), "float[2,N]");
}

/// Functions each of which calls the next one twice, in a way that `call` says.
fn function_bomb(depth: usize, call: impl Fn(usize) -> String, last: &str) -> String {
    let mut text = format!("{HEADER}g (bool c, float[2,N] x) => (y) {{ y = f.f0(c, x) }}\n");
    for i in 0..depth {
        let _ = writeln!(
            text,
            "<domain: \"f\", opset_import: [\"\": 21, \"f\": 1]>\nf{i} (c, x) => (y) {{ {} }}",
            call(i + 1)
        );
    }
    let _ = writeln!(text, "<domain: \"f\", opset_import: [\"\": 21]>\nf{depth} (c, x) => (y) {{ {last} }}");
    text
}

#[test]
fn equal_calls_are_walked_once() {
    let sum = |i| format!("a = f.f{i}(c, x)\n b = f.f{i}(c, a)\n y = Add(a, b)");
    let (model, inference) = run(&function_bomb(30, sum, "y = Relu(x)"));
    assert_eq!(ty(&model, &inference, "y"), "float[2,N]");
    let branches = |i| {
        format!(
            "y = If(c) <then_branch = t () => (p) {{ p = f.f{i}(c, x) }}, \
             else_branch = e () => (q) {{ q = f.f{i}(c, x) }}>"
        )
    };
    let (model, inference) = run(&function_bomb(30, branches, "y = Relu(x)"));
    assert_eq!(ty(&model, &inference, "y"), "float[2,N]");
    let loops = |i| {
        format!(
            "n = Constant <value_int = 3> ()\n y = Loop(n, c, x) <body = b (j, k, z) => (l, w) {{ l = Identity(k)\n v = f.f{i}(c, z)\n w = Concat <axis = 0> (v, v) }}>"
        )
    };
    run(&function_bomb(30, loops, "y = Relu(x)"));
}

#[test]
fn calls_that_are_all_different_are_given_up() {
    // The length of the result is another number in each call, so no call is like another.
    let sum = |i| format!("a = f.f{i}(c, x)\n b = f.f{i}(c, x)\n y = Add(a, b)");
    let (_, inference) = run(&function_bomb(30, sum, GROW));
    assert_eq!(codes(&inference), ["W1021"]);
}

#[test]
fn long_chains_are_walked_in_any_order() {
    const LEN: usize = 100_000;
    let lines: Vec<String> = (0..LEN).map(|i| format!("x{} = Relu(x{i})\n", i + 1)).collect();
    let graph = |body: String| format!("{HEADER}g (float[2,N] x0) => (x{LEN})\n{{\n{body}}}\n");
    for body in [lines.concat(), lines.iter().rev().map(String::as_str).collect()] {
        let (model, inference) = run(&graph(body));
        assert_eq!(ty(&model, &inference, &format!("x{LEN}")), "float[2,N]");
    }
}

#[test]
fn cycles_are_unknown_and_what_is_outside_is_not() {
    let (model, inference) = run(&format!(
        "{HEADER}g (float[2,N] x) => (y) {{ a = Add(b, x)\n b = Relu(a)\n c = Relu(c)\n d = Relu(b)\n y = Relu(x) }}\n"
    ));
    assert_eq!(ty(&model, &inference, "y"), "float[2,N]");
    assert!(!ty(&model, &inference, "d").contains('N'));
}

#[test]
fn extents_that_overflow_are_unknown() {
    let mut text = format!("{HEADER}g (float[N,9223372036854775807] x0, float[M] m) => (y)\n{{\n");
    for i in 0..80 {
        let _ = writeln!(text, "x{} = Concat <axis = {}> (x{i}, x{i})", i + 1, i % 2);
    }
    text += "f = Flatten(x80)\n p0 = Shape(x0)\n";
    for i in 0..80 {
        let _ = writeln!(text, "p{} = Mul(p{i}, p{i})", i + 1);
    }
    text += "y = Expand(m, p80)\n";
    run(&(text + "}\n"));
}

/// Unexpected values of an attribute.
fn values(attr: &AttrParam) -> Vec<String> {
    let name = &attr.name;
    let list = |values: &[&str]| values.iter().map(|v| format!("{name} = {v}")).collect();
    let typed = |ty: &str, values: &[&str]| values.iter().map(|v| format!("{name}: {ty} = {v}")).collect();
    match attr.ty {
        AttrType::INT => list(&["0", "1", "-1", "2", "7", "9223372036854775807", "-9223372036854775808"]),
        AttrType::FLOAT => list(&["0.0", "-1.5", "1e30"]),
        AttrType::STRING => list(&["\"\"", "\"NOTSET\"", "\"SAME_UPPER\"", "\"ab,bc->ac\"", "\"...->...\""]),
        AttrType::INTS => typed(
            "ints",
            &["[]", "[0]", "[1]", "[-1,1]", "[9223372036854775807,-9223372036854775808]", "[0,0,0,0,0,0]"],
        ),
        AttrType::FLOATS => typed("floats", &["[]", "[0.0]", "[1e30,-1.0]"]),
        AttrType::STRINGS => typed("strings", &["[]", "[\"\"]", "[\"a\",\"LEAF\"]"]),
        AttrType::TENSOR => list(&["float {1.0}", "int64[2] {1, -1}", "uint8[0] {}", "string[1] {\"a\"}"]),
        AttrType::GRAPH => list(&["b () => () {}", "b (i, j, k) => (i, p) { p = Relu(k) }"]),
        AttrType::TYPE_PROTO => list(&["float[N]", "seq(float)"]),
        _ => Vec::new(),
    }
}

/// Inputs of every kind: no type, then shapes that are small, empty, huge, of unknown rank and symbolic.
const INPUTS: &[&str] = &[
    "",
    "float",
    "float[]",
    "float[0]",
    "float[2,3]",
    "float[N,M,3,9223372036854775807]",
    "float[9223372036854775807,9223372036854775807,?,N,\"N*4\",M]",
    "int64[2]",
    "int64",
    "bool",
    "string[1,N]",
    "seq(float[N])",
    "optional(float[2])",
    "map(int64, float)",
    "uint8[3,?]",
];

/// Nodes of an operator with all kinds of inputs, and attributes one at a time.
fn nodes(schema: &Schema, text: &mut String, next: &mut usize) {
    let (least, most) = schema.input_range();
    let most = most.unwrap_or(least + 3).min(least.max(8));
    let (fewest, outputs) = schema.output_range();
    let outputs = outputs.unwrap_or(fewest.max(3)).min(6);
    let required: Vec<String> =
        schema.attrs.iter().filter(|a| a.required).filter_map(|a| values(a).pop()).collect();
    let mut choices: Vec<Vec<String>> = vec![required.clone()];
    for attr in schema.attrs.iter() {
        let others = schema.attrs.iter().filter(|a| a.required && a.name != attr.name);
        let others: Vec<String> = others.filter_map(|a| values(a).into_iter().next()).collect();
        choices.extend(values(attr).into_iter().map(|v| others.iter().cloned().chain([v]).collect()));
    }
    for (i, attrs) in choices.iter().enumerate() {
        for kind in 0..INPUTS.len() {
            // One attribute at a time with some inputs, and no attribute with all.
            if i > 0 && (kind + i) % 3 != 0 {
                continue;
            }
            let count = least + (kind + i) % (most + 1 - least).max(1);
            let inputs = (0..count).map(|j| match kind % 2 {
                0 => format!("i{kind}"),
                _ => format!("i{}", (kind + j) % INPUTS.len()),
            });
            let results = (0..outputs.max(1)).map(|j| format!("o{next}_{j}"));
            let _ = writeln!(
                text,
                "{} = {}{} <{}> ({})",
                results.collect::<Vec<_>>().join(", "),
                if schema.domain.is_empty() { String::new() } else { format!("{}.", schema.domain) },
                schema.name,
                attrs.join(", "),
                inputs.collect::<Vec<_>>().join(", ")
            );
            *next += 1;
        }
    }
}

#[test]
fn every_operator_stands_what_nobody_expects() {
    let registry = onnx_ops::opset::whole_registry();
    for domain in registry.domains() {
        for version in 1..=registry.newest_version(domain).unwrap_or(0) {
            let (mut text, mut next) = (String::new(), 0);
            for op in registry.operators(domain) {
                for &id in registry.versions(domain, op) {
                    if registry.get(id).since == version {
                        nodes(registry.get(id), &mut text, &mut next);
                    }
                }
            }
            if next == 0 {
                continue;
            }
            let inputs: Vec<String> = INPUTS.iter().enumerate().map(|(i, ty)| format!("{ty} i{i}")).collect();
            // Nested graphs use operators of the default domain.
            let default = if domain.is_empty() { String::new() } else { "\"\": 21, ".to_owned() };
            let model = format!(
                "<ir_version: 10, opset_import: [{default}\"{domain}\": {version}]>\ng ({}) => ()\n{{\n{text}}}\n",
                inputs.join(", ")
            );
            let start = processor_time();
            infer(&read(&model), registry, &InferOptions::default());
            let time = processor_time().saturating_sub(start);
            assert!(time < Duration::from_secs(20), "{domain} {version}: {next} nodes took {time:?}");
        }
    }
}
