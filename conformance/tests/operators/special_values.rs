//! Zeros, infinities, NaN, the smallest and the largest numbers and halves of them, through every elementwise operator, reduction and
//! interpolation, and those of `ai.onnx.ml`, in all float types, against the operators' definitions in higher precision
//! (`tests/python/special.py`). Each is computed by a vector loop, alone and between other nodes, node by node, and, where the
//! operator has a formula, by the plain evaluation of it.
#![allow(clippy::print_stderr, reason = "counts, for who wants to see them")]

use conformance::convert::read_text;
use conformance::corpus::in_parallel;
use conformance::formulas::evaluate;
use conformance::oracle::Oracle;
use onnx_exec::{CompileOptions, Executable, RunOptions, Tensor, compile};
use onnx_ir::diag::{Diagnostic, code};
use onnx_ir::{ElemType, Initializer, Model, ValueDef};
use onnx_ops::infer::{InferOptions, infer};
use onnx_ops::meaning::{Dense, Number};
use onnx_ops::opset::registry_of;
use onnx_ops::schema::Registry;
use serde_json::Value as Json;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// A node, its inputs, and what is expected of each element.
struct Case<'c> {
    json: &'c Json,
    elem: ElemType,
    tolerance: f64,
    /// Whether the result is rounded once.
    is_exact: bool,
    /// Whether zeros have the expected signs.
    signs: bool,
    inputs: Vec<(String, Tensor)>,
    /// Absolute errors that elements may have, if not none.
    slack: Vec<f64>,
    /// The alternatives for each element; none if the specification does not say it.
    expected: Vec<Vec<f64>>,
}

fn elem_of(json: &Json) -> ElemType {
    ElemType::from_name(json.as_str().expect("a type")).expect("a known type")
}

fn list(json: &Json) -> &[Json] {
    json.as_array().expect("a list")
}

fn dims(json: &Json) -> Vec<usize> {
    list(json).iter().map(|d| usize::try_from(d.as_u64().expect("a size")).expect("small")).collect()
}

fn tensor(json: &Json) -> Tensor {
    let (elem, dims) = (elem_of(&json["elem"]), dims(&json["dims"]));
    let bits: Vec<u64> = list(&json["bits"]).iter().map(|bits| bits.as_u64().expect("bits")).collect();
    let made = match elem.bits() {
        Some(64) => Tensor::of_raw(elem, &dims, &bits),
        Some(32) => Tensor::of_raw(elem, &dims, &bits.iter().map(|b| *b as u32).collect::<Vec<_>>()),
        Some(16) => Tensor::of_raw(elem, &dims, &bits.iter().map(|b| *b as u16).collect::<Vec<_>>()),
        _ => Tensor::of_raw(elem, &dims, &bits.iter().map(|b| *b as u8).collect::<Vec<_>>()),
    };
    made.expect("as many as the shape says")
}

impl<'c> Case<'c> {
    fn of(json: &'c Json) -> Case<'c> {
        let names = ["x", "z"];
        let inputs = list(&json["inputs"]).iter().enumerate().map(|(i, input)| {
            let name = input["name"].as_str().unwrap_or(names[i.min(1)]);
            (name.to_owned(), tensor(input))
        });
        let alternatives = |json: &Json| {
            let all = json.as_array().map(Vec::as_slice).unwrap_or_default();
            // One that is not known makes the element free.
            let known: Option<Vec<f64>> =
                all.iter().map(|one| one.as_str().map(|text| text.parse().expect("a number"))).collect();
            known.unwrap_or_default()
        };
        Case {
            json,
            elem: elem_of(&json["elem"]),
            tolerance: json["tolerance"].as_f64().expect("a number"),
            is_exact: json["exact"] == true,
            signs: json["signs"] == true,
            slack: json["slack"].as_array().into_iter().flatten().filter_map(Json::as_f64).collect(),
            inputs: inputs.collect(),
            expected: list(&json["expected"]).iter().map(alternatives).collect(),
        }
    }

    fn node(&self) -> &str {
        self.json["node"].as_str().expect("a node")
    }

    /// The model: with operands that are inputs, and between two pairs of `Neg`, which change nothing, if it is to be fused.
    fn model(&self, is_fused: bool) -> Model {
        let mut text = format!(
            "<ir_version: 11, opset_import: [\"\": {}, \"ai.onnx.ml\": {}]>\ng (",
            self.json["version"],
            self.json["ml"].as_i64().unwrap_or(4)
        );
        let mut node = self.node().to_owned();
        let mut before = String::new();
        for (i, (name, tensor)) in self.inputs.iter().enumerate() {
            let (comma, ty) = (if i == 0 { "" } else { ", " }, tensor.type_text());
            let is_between = is_fused && name == "x";
            let own = if is_between { "x_0" } else { name.as_str() };
            let _ = write!(text, "{comma}{ty} {own}");
            if is_between {
                before += "x_1 = Neg(x_0)  x = Neg(x_1)  ";
            }
        }
        use ElemType as E;
        let is_float = matches!(self.elem, E::FLOAT | E::DOUBLE | E::FLOAT16 | E::BFLOAT16);
        let mut after = "";
        if is_fused && is_float {
            node = match node.strip_prefix("y, ") {
                Some(others) => format!("y_0, {others}"),
                None => node.replacen("y =", "y_0 =", 1),
            };
            after = "  y_1 = Neg(y_0)  y = Neg(y_1)";
        }
        let _ = write!(text, ") => (y) {{ {before}{node}{after} }}");
        read_text(&text).unwrap_or_else(|why| panic!("{text}: {why}"))
    }

    /// The model with initializers in place of its inputs.
    fn constant(&self) -> Model {
        let mut model = self.model(false);
        let main = model.main.expect("it has a graph");
        let body = &mut model.bodies[main];
        let root = body.root().expect("it has a graph");
        for (port, (_, input)) in std::mem::take(&mut body.graphs[root].inputs).into_iter().zip(&self.inputs)
        {
            let value = port.value.expect("which is a value");
            let numbers = match input.ints() {
                Ok(ints) => ints.iter().map(|n| Number::Int((*n).into())).collect(),
                Err(_) => input.floats().expect("numbers").iter().map(|x| Number::Float(*x)).collect(),
            };
            let dense = Dense { elem: input.elem(), dims: input.dims().to_vec(), numbers };
            let mut tensor = dense.tensor().expect("it is small");
            tensor.name = port.name;
            let tensor = body.tensors.push(tensor);
            body.values[value].def = ValueDef::Initializer(root);
            body.graphs[root].initializers.push(Initializer { value, tensor });
        }
        model
    }

    /// The first elements that are not as expected.
    fn wrong(&self, how: &str, numbers: &[f64]) -> Option<String> {
        assert_eq!(numbers.len(), self.expected.len(), "{} of {}", self.node(), self.inputs[0].1.type_text());
        let all = numbers.iter().zip(&self.expected).enumerate();
        let wrong: Vec<_> = all.filter(|(i, (y, expected))| !self.is_right(*i, **y, expected)).collect();
        let mut said = String::new();
        for (i, (y, expected)) in wrong.iter().take(3) {
            let per = numbers.len() / self.inputs[0].1.dims()[0].max(1);
            let width = self.inputs[0].1.len() / self.inputs[0].1.dims()[0].max(1);
            let of: Vec<f64> = match self.inputs.get(1).filter(|(name, _)| name == "z") {
                Some((_, z)) => {
                    [&self.inputs[0].1, z].iter().map(|t| t.floats().expect("floats")[*i]).collect()
                }
                None => {
                    let row = i / per.max(1);
                    self.inputs[0].1.floats().expect("floats")[row * width..][..width].to_vec()
                }
            };
            let _ = write!(said, "\n    {of:?} gives {y:?}, not {expected:?} (element {i})");
        }
        let (node, ty) = (self.node(), self.inputs[0].1.elem().name().unwrap_or("?"));
        (!wrong.is_empty()).then(|| format!("{node} of {ty}, {how}: {} elements{said}", wrong.len()))
    }

    fn is_right(&self, i: usize, y: f64, expected: &[f64]) -> bool {
        // Functions of several steps may lose numbers below the normal ones.
        let (largest, smallest) = match self.elem {
            ElemType::FLOAT => (f64::from(f32::MAX), f64::from(f32::MIN_POSITIVE)),
            ElemType::DOUBLE => (f64::MAX, f64::MIN_POSITIVE),
            ElemType::FLOAT16 => (65504.0, 2f64.powi(-14)),
            ElemType::BFLOAT16 => (f64::from(f32::from_bits(0x7f7f_0000)), f64::from(f32::MIN_POSITIVE)),
            _ => return expected.is_empty() || expected.contains(&y),
        };
        let lost = if self.is_exact { smallest * self.tolerance } else { smallest };
        let slack = lost + self.slack.get(i).unwrap_or(&0.0);
        let is_near = |x: f64| {
            let is_sign_right = !self.signs || x != 0.0 || y.is_sign_negative() == x.is_sign_negative();
            if x.is_nan() || y.is_nan() {
                return x.is_nan() && y.is_nan();
            }
            if y.is_infinite() {
                return x.abs() >= largest * (1.0 - self.tolerance) && x.signum() == y.signum();
            }
            let within = |x: f64| (y - x).abs() <= self.tolerance * x.abs() + slack;
            (x == y || within(x) || x.abs() > largest && x.is_finite() && within(largest.copysign(x)))
                && is_sign_right
        };
        expected.is_empty() || expected.iter().any(|x| is_near(*x))
    }
}

fn run(executable: &Executable<'_>, case: &Case<'_>) -> Vec<f64> {
    let inputs = case.inputs.iter().map(|(_, tensor)| Some(tensor.clone().into())).collect();
    let results = executable.run(inputs, &RunOptions::default());
    let results = results.unwrap_or_else(|why| panic!("{}: {}", case.node(), why.message));
    let y = results[0].tensor().expect("a tensor");
    match y.ints() {
        Ok(ints) => ints.iter().map(|n| *n as f64).collect(),
        Err(_) => y.floats().expect("floats").to_vec(),
    }
}

/// The results that are not as expected, and the number of results.
fn judged(json: &Json) -> (Vec<String>, usize) {
    let case = Case::of(json);
    let found = infer(&case.model(false), Registry::builtin(), &InferOptions::default()).diagnostics;
    let is_type = |found: &Diagnostic| found.code.id == code::TYPE_NOT_ALLOWED.id;
    if case.inputs[0].1.elem() != ElemType::FLOAT && found.iter().any(is_type) {
        // Some operators do not accept all float types.
        return (Vec::new(), 0);
    }
    let (mut wrong, mut count) = (Vec::new(), 0);
    let plain = CompileOptions { node_by_node: true, ..CompileOptions::default() };
    let ways = [
        ("alone", false, CompileOptions::default()),
        ("between nodes", true, CompileOptions::default()),
        ("node by node", false, plain),
    ];
    for (how, is_fused, options) in ways {
        let model = case.model(is_fused);
        let executable = compile(&model, registry_of(&model), &options)
            .unwrap_or_else(|why| panic!("{}: {why:?}", case.node()));
        let numbers = run(&executable, &case);
        count += numbers.len();
        wrong.extend(case.wrong(how, &numbers));
    }
    if let Some(results) = evaluate(&case.constant()) {
        let results = results.unwrap_or_else(|why| panic!("{}: {why}", case.node()));
        let dense = results[0].as_ref().expect("a result");
        let numbers: Vec<f64> = dense.numbers.iter().map(|number| number.as_float()).collect();
        count += numbers.len();
        wrong.extend(case.wrong("by its formula", &numbers));
    }
    (wrong, count)
}

#[test]
fn special_values_are_what_definitions_say() {
    let Some(oracle) = Oracle::find("special values") else { return };
    let answer = oracle.run("tests/python/special.py", &[]);
    let cases = list(&answer);
    let judged = in_parallel(cases, judged);
    let operators: BTreeSet<&str> = cases.iter().filter_map(|case| case["op"].as_str()).collect();
    let count: usize = judged.iter().map(|(_, count)| count).sum();
    let wrong: Vec<&String> = judged.iter().flat_map(|(wrong, _)| wrong).collect();
    eprintln!("special values: {} operators, {} cases, {count} results", operators.len(), cases.len());
    let shown: String = wrong.iter().map(|wrong| format!("\n{wrong}")).collect();
    assert!(wrong.is_empty(), "{} of {} cases:{shown}", wrong.len(), cases.len());
    assert!(operators.len() >= 80 && count > 100_000, "{} {count}", operators.len());
}
