//! Which models with errors are run: the code table against ONNX Runtime, with the example of each error and others.

use conformance::corpus;
use conformance::oracle::Oracle;
use onnx_exec::{CompileOptions, RunOptions, Tensor, Value, compile};
use onnx_ir::diag::{self, Diagnostic, Level, Severity};
use onnx_ir::{Dim, DimValue, ElemType, Model, TypeKind};
use onnx_ops::check::ensure_clear;
use onnx_ops::opset::registry_of;
use onnxtxt::train::{TrainOptions, Trainer};
use std::collections::BTreeMap;
use std::fmt::Write as _;

const HEADER: &str = "<ir_version: 10, opset_import: [\"\": 21]>\n";

/// More models with one error each.
const MORE: &[(&str, &str)] = &[
    ("E0201", "\"\" () => (float[2] y) { y = Constant <value_floats = [1.0, 2.0]> () }"),
    ("E0202", "g (float[N] x) => (float[N] y) { y = Relu(t) t = Abs(u) u = Neg(x) }"),
    (
        "E0202",
        "g (bool c, float[N] x) => (float[N] y) { y = If(c) <then_branch = a () => (p) { p = Relu(t) }, \
         else_branch = b () => (q) { q = Abs(x) }> t = Neg(x) }",
    ),
    ("E0207", "g (float[N] x) => (float[N] y) <float[1] \"\" = {1}> { y = Relu(x) }"),
    ("E0213", "g (float[N] x) => (float[N] y) { y = Add(x, y) }"),
    ("E0213", "g (float[N] x) => (float[N] y) { t = Add(x, u) u = Abs(t) y = Relu(x) }"),
    ("E0702", "g (float[N] x) => (float[] y) { y = Relu(x) }"),
    ("E0703", "g (float[N] x) => (elem_type(0)[N] y) { y = Relu(x) }"),
    ("E1013", "g (float[2,3] x) => (float[2,3] y) <int64[2,3] t> { t = Relu(x) y = Relu(t) }"),
    ("E1014", "g (float[2,3] x) => (float[2,4] y) { y = Relu(x) }"),
    ("E1014", "g (float[2,3] x) => (float[2,3] y) <float[7] t> { t = Relu(x) y = Relu(t) }"),
    (
        "E1014",
        "g (bool c, float[2,3] x) => (float[2,3] y) { y = If(c) <then_branch = a () => (float[7] p) { p = Relu(x) }, \
         else_branch = b () => (q) { q = Abs(x) }> }",
    ),
];

/// The codes whose models ONNX Runtime runs and we refuse, with the reason.
const REFUSED: &[(&str, &str)] = &[
    ("E0208", "readers take the first, the last or none of two initializers of one name"),
    (
        "E0225",
        "a function has a scope of its own: ONNX Runtime finds the value because it inlines the body first",
    ),
    (
        "E0332",
        "by position, the node passes its value to the input that has one; ONNX Runtime skips that input",
    ),
    ("E0404", "the attribute has no value: ONNX Runtime uses the default of the operator"),
    ("E0405", "a reader takes the value or the argument"),
    ("E0406", "the attribute has no value: ONNX Runtime uses the default of the operator"),
    ("E0503", "readers take the values of one field or of the other"),
    ("E0509", "300 as int8 is 44 for some readers and an error for others"),
    ("E0511", "the tensor may be incomplete"),
    ("E0523", "the same error stands for indices whose form has no meaning"),
    ("E0524", "the same error stands for indices that repeat or are out of range"),
    ("E0526", "readers take the values inside, or look for them at a place that they do not know"),
    ("E0801", "in the example nothing calls the function; a call of it is not resolved"),
    ("E0814", "the attribute has no value: ONNX Runtime uses the default of the operator"),
    (
        "E1019",
        "the version of the operator set is that of the function for some readers and that of the model for others",
    ),
];

/// The inputs of a model, of ones: what `runs.py` passes.
fn ones(model: &Model) -> Option<Vec<Option<Value>>> {
    let body = model.main_body()?;
    let graph = &body.graphs[body.root()?];
    let stored = |value| graph.initializers.iter().any(|init| Some(init.value) == value);
    let extent = |dim: &Dim| match dim.value {
        DimValue::Value(n @ 0..) => usize::try_from(n).ok(),
        DimValue::Value(_) | DimValue::Param(_) | DimValue::Unknown => Some(2),
    };
    let input = |port: &onnx_ir::Port| {
        if stored(port.value) {
            return Some(None);
        }
        let TypeKind::Tensor(ty) = &model.types[port.ty?].kind else { return None };
        let dims: Vec<usize> = ty.shape.iter().flatten().map(extent).collect::<Option<_>>()?;
        let count = dims.iter().product();
        let tensor = match ty.elem? {
            ElemType::BOOL => Tensor::zeros(ElemType::BOOL, &dims).and_then(|mut tensor| {
                tensor.bytes_mut()?.fill(1);
                Ok(tensor)
            }),
            elem => Tensor::of_floats(elem, &dims, &vec![1.0; count]),
        };
        Some(Some(tensor.ok()?.into()))
    };
    graph.inputs.iter().map(input).collect()
}

/// The results that the library computes for a model, if it runs it.
fn ours(text: &str) -> Option<Vec<Vec<f64>>> {
    let mut loaded = onnxtxt::parse(text);
    let inputs = ones(&loaded.model)?;
    let executable = loaded.compile(&CompileOptions::default()).ok()?;
    let results = executable.run(inputs, &RunOptions::default()).ok()?;
    results.iter().map(|value| Some(value.tensor().ok()?.floats().ok()?.to_vec())).collect()
}

/// The findings with which a door refuses a model.
fn refused<T>(done: Result<T, Vec<Diagnostic>>) -> Vec<String> {
    let found = done.err().unwrap_or_default();
    found.iter().map(|finding| format!("{}: {}", finding.code.id, finding.message)).collect()
}

/// The models of the table: their names, codes and texts.
fn models() -> Vec<(String, &'static str, String)> {
    let codes = diag::ALL.iter().filter(|code| {
        code.severity == Severity::Error && code.level > Level::Syntax && ("E02".."E11").contains(&code.id)
    });
    let examples = codes.filter_map(|code| Some((code.id, code.examples().into_iter().next()?)));
    let more = MORE.iter().map(|(code, text)| (*code, (*text).to_owned()));
    let named = examples.filter(|(code, _)| *code != "E0711").chain(more).enumerate();
    named
        .map(|(i, (code, text))| {
            let is_headed = text.starts_with(['<', '#']);
            let text = if is_headed { text } else { format!("{HEADER}{text}") };
            (format!("{code}-{i}"), code, text)
        })
        .collect()
}

#[test]
fn models_with_errors_run_where_onnx_runtime_runs_them() {
    let Some(oracle) = Oracle::find("models with errors") else { return };
    let folder = std::env::temp_dir().join(format!("onnxtxt-errors-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for models");
    let models = models();
    for (name, code, text) in &models {
        let model = onnx_text::read_model(text).value;
        let options = onnx_ir::VerifyOptions { level: Level::Types, ..onnx_ir::VerifyOptions::default() };
        let found = onnx_ops::check::check(&model, registry_of(&model), &options);
        assert!(found.iter().any(|finding| finding.code.id == *code), "{name} has no {code}:\n{text}");
        let bytes = onnx_proto::write(&model).expect("it can be encoded");
        std::fs::write(folder.join(format!("{name}.onnx")), bytes).expect("it can be written");
    }
    let theirs = oracle.run("tests/python/runs.py", &[folder.as_os_str()]);
    std::fs::remove_dir_all(&folder).expect("the folder can be removed");
    let Some(theirs) = theirs.as_object() else {
        corpus::left_out("models with errors: no Python with the `onnxruntime` package");
        return;
    };
    let (mut problems, mut used) = (String::new(), BTreeMap::new());
    for (name, code, text) in &models {
        let ours = ours(text);
        let theirs: Option<Vec<Vec<f64>>> =
            serde_json::from_value(theirs[name].clone()).expect("lists of numbers");
        let reason = REFUSED.iter().find(|(refused, _)| refused == code);
        match (&ours, &theirs) {
            (Some(ours), Some(theirs)) if ours == theirs => {}
            (None, None) => {}
            (None, Some(_)) if reason.is_some() => {
                used.insert(*code, ());
            }
            _ => {
                _ = writeln!(problems, "{name}: we compute {ours:?}, ONNX Runtime {theirs:?}\n{text}\n");
            }
        }
    }
    for (code, _) in REFUSED.iter().filter(|(code, _)| !used.contains_key(code)) {
        _ = writeln!(problems, "{code} is listed as refused, but ONNX Runtime does not run it either");
    }
    assert!(models.len() > 80 && problems.is_empty(), "{} models\n{problems}", models.len());
}

/// Every way to prepare a model reports equal findings, and none about its meaning if the caller asks not to check.
#[test]
fn every_door_refuses_unclear_models_with_the_same_findings() {
    let training = HEADER.replace(
        ">\n",
        ", training_info: {algorithm: step () => (float one) { one = Constant <value_float = 1.0> () }}>\n",
    );
    let (mut refusals, mut trainings) = (0, 0);
    for (name, _, text) in models() {
        let mut loaded = onnxtxt::parse(&text);
        if loaded.diagnostics.iter().any(Diagnostic::is_error) {
            continue;
        }
        // Only the main graph is compiled.
        let mut model = loaded.model.clone();
        model.training.clear();
        let registry = registry_of(&model);
        let expected = refused(ensure_clear(&model, registry));
        if expected.is_empty() {
            continue;
        }
        refusals += 1;
        let checked = CompileOptions::default();
        let unchecked = CompileOptions { unchecked: true, ..CompileOptions::default() };
        assert_eq!(refused(compile(&model, registry, &checked)), expected, "{name}");
        assert_eq!(refused(loaded.compile(&checked)), expected, "{name}");
        assert_ne!(refused(compile(&model, registry, &unchecked)), expected, "{name}");
        let Some(graph) = text.strip_prefix(HEADER) else { continue };
        trainings += 1;
        let model = onnx_text::read_model(&format!("{training}{graph}")).value;
        let options = TrainOptions::default();
        assert_eq!(refused(Trainer::new(&model, registry, &options)), expected, "{name}");
        let options = TrainOptions { compile: unchecked, ..TrainOptions::default() };
        assert_ne!(refused(Trainer::new(&model, registry, &options)), expected, "{name}");
    }
    assert!(refusals > 40 && trainings > 20, "{refusals} models and {trainings} trainings are refused");
}
