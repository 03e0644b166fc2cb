//! Runs `#! run` and `#! expect`.

use super::context::Context;
use super::directives::{Directive, Expected};
use super::passes::{self, PassDirective};
use super::values::{Tolerance, difference, elem_of};
use super::{Case, Named};
use onnx_exec::arrays::from_arrays;
use onnx_exec::{CompileOptions, Executable, Observe, Random, RunOptions, Tensor, Value, compile};
use onnx_ir::diag::counted;
use onnx_ir::{Dim, DimValue, ElemType, Model, Port, TypeKind};
use onnx_ops::opset::registry_of;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};

/// Size of symbolic dimensions.
const SYMBOLIC: usize = 2;
/// The most elements of a random input.
const MAX_ELEMENTS: usize = 1 << 26;

/// Runs the model and compares its outputs with the expected ones.
pub(super) fn run(context: &Context<'_>) -> Result<(), String> {
    let model = context.model()?;
    let executable = executable(&model)?;
    let inputs = complete(&executable, &given(context, &model)?)?;
    let outputs = outputs(&executable, &inputs, None)?;
    let mut problems = String::new();
    let mut compare = |line: usize, name: &str, expected: &Value, tolerance: Tolerance| {
        let problem = compared(&outputs, name, expected, tolerance)?;
        let output = outputs.iter().find(|(output, _)| output == name);
        let is_accepted = output.is_some_and(|(name, value)| {
            !problem.is_empty()
                && context.case.host.accepts(context.case, line, (name, value), problem.trim_end())
        });
        if !is_accepted {
            problems += &problem;
        }
        Ok::<(), String>(())
    };
    for (line, directive) in context.directives {
        match directive {
            Directive::Expect(Expected::Value { name, value, tolerance }) => {
                compare(*line, name, value, *tolerance)?;
            }
            Directive::Expect(Expected::File { file, tolerance }) => {
                let known = outputs.iter().map(|(name, value)| (&**name, value));
                let values = context.case.host.values(file, &|name| elem_of(known.clone(), name))?;
                for (name, value) in assembled(executable.model(), executable.outputs(), values)? {
                    let only = outputs.first().filter(|_| name.is_empty() && outputs.len() == 1);
                    let name = only.map_or(name.as_str(), |(only, _)| only);
                    compare(*line, name, &value, *tolerance)?;
                }
            }
            _ => {}
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

/// Compares an output with the expected value.
fn compared(outputs: &Named, name: &str, expected: &Value, tolerance: Tolerance) -> Result<String, String> {
    let Some((_, actual)) = outputs.iter().find(|(output, _)| output == name) else {
        let names: Vec<&str> = outputs.iter().map(|(name, _)| name.as_str()).collect();
        return Ok(format!("the model has no output `{name}`; it has {}\n", names.join(", ")));
    };
    let difference = difference(actual, expected, tolerance).map_err(|why| why.to_string())?;
    Ok(difference.map(|how| format!("output `{name}`: {how}\n")).unwrap_or_default())
}

/// The inputs that the test provides, by name.
fn given(context: &Context<'_>, model: &Model) -> Result<Named, String> {
    let mut all = Named::new();
    for (_, directive) in context.directives {
        match directive {
            Directive::Input(name, value) => all.push((name.clone(), value.clone())),
            Directive::Inputs { name, file } => {
                let declared = |array: &str| declared_elem(model, name.as_deref().unwrap_or(array));
                let mut values = context.case.host.values(file, &declared)?;
                match (name, &mut values[..]) {
                    (Some(name), [(only, _)]) => name.clone_into(only),
                    (Some(_), _) => {
                        return Err(format!("`{file}` has {}, not one", counted(values.len(), "value")));
                    }
                    (None, [(only, _)]) if only.is_empty() => match &inputs_of(model)[..] {
                        [input] => input.clone_into(only),
                        _ => return Err(format!("say which input it is: `#! input NAME = {file}`")),
                    },
                    (None, _) => {}
                }
                all.extend(assembled(model, ports_of(model), values)?);
            }
            _ => {}
        }
    }
    Ok(all)
}

/// The inputs of a model.
fn ports_of(model: &Model) -> &[Port] {
    let graph = model.main_body().and_then(|body| Some(&body.graphs[body.root()?]));
    graph.map_or(&[], |graph| &graph.inputs)
}

/// The element type of an input, or of the only one if the name is empty; an array of a sequence has the name of the input and a number.
fn declared_elem(model: &Model, name: &str) -> Option<ElemType> {
    let ports = ports_of(model);
    let port = match (name, ports) {
        ("", [only]) => only,
        _ => {
            let of = |whole: &str| ports.iter().find(|port| model.text(port.name) == whole);
            of(name).or_else(|| of(name.split_once('.')?.0))?
        }
    };
    let mut ty = port.ty?;
    loop {
        match &model.types[ty].kind {
            TypeKind::Tensor(declared) => return declared.elem,
            TypeKind::Sequence(Some(inner)) | TypeKind::Optional(Some(inner)) => ty = *inner,
            _ => return None,
        }
    }
}

/// Their names.
fn inputs_of(model: &Model) -> Vec<String> {
    ports_of(model).iter().map(|port| model.text(port.name).to_owned()).collect()
}

/// Values of a file, with arrays that are parts of a sequence, a map or an optional value joined to it.
fn assembled(model: &Model, ports: &[Port], mut values: Named) -> Result<Named, String> {
    let mut all = Named::new();
    for port in ports {
        let name = model.text(port.name);
        if values.iter().any(|(known, _)| known == name) {
            continue;
        }
        let mut take = |requested: &str| {
            let at = values.iter().position(|(name, value)| name == requested && value.tensor().is_ok())?;
            match values.remove(at).1 {
                Value::Tensor(tensor) => Some(tensor),
                Value::Sequence(_) | Value::Map(_) | Value::Optional(_) => None,
            }
        };
        let value = from_arrays(model, port.ty, name, &mut take).map_err(|why| why.to_string())?;
        all.extend(value.map(|value| (name.to_owned(), value)));
    }
    all.extend(values);
    Ok(all)
}

/// Checks that the passes of the file do not change the outputs.
pub(super) fn same_after_passes(context: &Context<'_>) -> Result<(), String> {
    let steps: Vec<&PassDirective> = steps(context.directives);
    if steps.is_empty() {
        return Err("`#! expect same as before the pass` needs a directive `#! pass NAME`".to_owned());
    }
    let before = context.model()?;
    let given = given(context, &before)?;
    let mut problems = String::new();
    for step in steps {
        let mut after = before.clone();
        passes::apply(&mut after, step);
        problems += &compare(&before, &after, &given, Tolerance::default())
            .map_err(|why| format!("after the pass: {why}"))?;
    }
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

/// Checks that the model of a file has the same outputs.
pub(super) fn same_as_model(context: &Context<'_>, file: &str, tolerance: Tolerance) -> Result<(), String> {
    let model = context.model()?;
    let other = context.open(file)?.model;
    let problems = compare(&other, &model, &given(context, &model)?, tolerance)?;
    if problems.is_empty() { Ok(()) } else { Err(format!("compared with `{file}`:\n{problems}")) }
}

/// Checks that ONNX Runtime computes the same outputs.
pub(super) fn same_as_onnxruntime(context: &Context<'_>, tolerance: Tolerance) -> Result<(), String> {
    let model = context.model()?;
    let executable = executable(&model)?;
    let inputs = complete(&executable, &given(context, &model)?)?;
    let actual = outputs(&executable, &inputs, None)?;
    let expected = context.case.host.onnxruntime(&model, &inputs)?;
    let mut problems = String::new();
    for (name, _) in &actual {
        match expected.iter().find(|(other, _)| other == name) {
            Some((_, expected)) => problems += &compared(&actual, name, expected, tolerance)?,
            None => _ = writeln!(problems, "ONNX Runtime has no output `{name}`"),
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(format!("compared with ONNX Runtime:\n{problems}")) }
}

fn steps(directives: &[(usize, Directive)]) -> Vec<&PassDirective> {
    directives
        .iter()
        .filter_map(|(_, directive)| match directive {
            Directive::Pass(step) => Some(step),
            _ => None,
        })
        .collect()
}

/// The outputs that the passes of a test change: blessing such a test would accept a wrong result.
///
/// # Errors
///
/// The test cannot be read, or the model cannot be run.
pub fn changed_results(case: &Case) -> Result<Option<String>, String> {
    let directives = super::directives::parse(&case.text)?;
    let steps = steps(&directives);
    if steps.is_empty() {
        return Ok(None);
    }
    let context = Context { case, directives: &directives, line: 0 };
    let before = context.model()?;
    let given = given(&context, &before)?;
    for step in steps {
        let mut after = before.clone();
        if !passes::apply(&mut after, step).is_changed() {
            continue;
        }
        let problems = compare(&before, &after, &given, Tolerance::default())?;
        if !problems.is_empty() {
            return Ok(Some(problems));
        }
    }
    Ok(None)
}

/// The difference between the outputs of two models for the same inputs, with the first result of a node that differs.
fn compare(before: &Model, after: &Model, given: &Named, tolerance: Tolerance) -> Result<String, String> {
    let (before, after) = (executable(before)?, executable(after)?);
    let inputs = complete(&before, given)?;
    let expected = outputs(&before, &inputs, None)?;
    let actual = outputs(&after, &complete(&after, &inputs)?, None)?;
    let mut problems = String::new();
    if expected.len() != actual.len() {
        let actual = counted(actual.len(), "output");
        _ = writeln!(problems, "the model has {actual} instead of {}", expected.len());
    }
    for ((name, expected), (_, actual)) in expected.iter().zip(&actual) {
        if let Some(how) = difference(actual, expected, tolerance).map_err(|why| why.to_string())? {
            _ = writeln!(problems, "output `{name}` is not the same: {how}");
        }
    }
    if !problems.is_empty()
        && let Some(first) = diverging(&before, &after, &inputs, tolerance)?
    {
        _ = writeln!(problems, "{first}");
    }
    Ok(problems)
}

/// The first result, in the order of the first model, that both models have under the same name and that differs.
fn diverging(
    before: &Executable<'_>,
    after: &Executable<'_>,
    inputs: &Named,
    tolerance: Tolerance,
) -> Result<Option<String>, String> {
    let (expected, actual) = (Mutex::new(Named::new()), Mutex::new(Named::new()));
    let keep = |all: &Mutex<Named>, name: &str, value: &Value| {
        all.lock().unwrap_or_else(PoisonError::into_inner).push((name.to_owned(), value.clone()));
    };
    outputs(before, inputs, Some(&|name, value| keep(&expected, name, value)))?;
    outputs(after, &complete(after, inputs)?, Some(&|name, value| keep(&actual, name, value)))?;
    let [expected, actual] =
        [expected, actual].map(|all| all.into_inner().unwrap_or_else(PoisonError::into_inner));
    let actual: BTreeMap<String, Value> = actual.into_iter().collect();
    for (name, expected) in expected {
        let Some(actual) = actual.get(&name) else { continue };
        if let Some(how) = difference(actual, &expected, tolerance).map_err(|why| why.to_string())? {
            let op = operator_of(after.model(), &name).map(|op| format!(" of {op}")).unwrap_or_default();
            return Ok(Some(format!("the first result that differs is `{name}`{op}: it {how}")));
        }
    }
    Ok(None)
}

/// The operator that computes a value of the main graph.
fn operator_of<'m>(model: &'m Model, name: &str) -> Option<&'m str> {
    let body = model.main_body()?;
    let root = &body.graphs[body.root()?];
    let computes = |node: &&onnx_ir::NodeId| {
        body.nodes[**node]
            .outputs
            .iter()
            .flatten()
            .any(|&value| model.names[body.values[value].name] == *name)
    };
    root.nodes.iter().find(computes).map(|&node| model.text(body.nodes[node].op))
}

/// The given inputs, completed by random ones, which are always the same.
fn complete(executable: &Executable<'_>, given: &Named) -> Result<Named, String> {
    let name_of = |port: &Port| executable.model().text(port.name).to_owned();
    let names: Vec<String> = executable.inputs().iter().map(name_of).collect();
    if let Some((name, _)) = given.iter().find(|(name, _)| !names.contains(name)) {
        return Err(format!("the model has no input `{name}`; it has {}", names.join(", ")));
    }
    let mut random = Random::new(0);
    let mut all = Named::new();
    for (port, name) in executable.inputs().iter().zip(names) {
        let value = match given.iter().find(|(other, _)| *other == name) {
            Some((_, value)) => value.clone(),
            None if executable.has_default(port) => continue,
            None => drawn(executable, port, &mut random).map_err(|why| format!("input `{name}` {why}"))?,
        };
        all.push((name, value));
    }
    Ok(all)
}

fn executable(model: &Model) -> Result<Executable<'_>, String> {
    compile(model, registry_of(model), &CompileOptions::default())
        .map_err(|found| found.iter().map(|finding| finding.message.as_str()).collect::<Vec<_>>().join("\n"))
}

/// The outputs of a model by name, for inputs by name.
fn outputs(
    executable: &Executable<'_>,
    inputs: &Named,
    observe: Option<&Observe<'_>>,
) -> Result<Named, String> {
    let name_of = |port: &Port| executable.model().text(port.name);
    let input = |port: &Port| {
        let given = inputs.iter().find(|(name, _)| name == name_of(port));
        given.map(|(_, value)| value.clone())
    };
    let values = executable.inputs().iter().map(input).collect();
    let options = RunOptions { observe, ..RunOptions::default() };
    let values = executable.run(values, &options).map_err(|found| found.message.clone())?;
    let names = executable.outputs().iter().map(|port| name_of(port).to_owned());
    Ok(names.zip(values).collect())
}

/// The outputs of a model for random inputs, the same each time.
///
/// # Errors
///
/// Why it cannot be run: an unknown operator, an input without a shape.
pub fn random_results(model: &Model) -> Result<Named, String> {
    let executable = executable(model)?;
    let inputs = complete(&executable, &Named::new())?;
    outputs(&executable, &inputs, None)
}

/// The kernels by which a model is run, for random inputs.
///
/// # Errors
///
/// Why it cannot be run.
pub fn random_schedule(model: &Model) -> Result<String, String> {
    let executable = executable(model)?;
    let mut given = complete(&executable, &Named::new())?;
    let name_of = |port: &Port| executable.model().text(port.name);
    let mut input = |port: &Port| {
        let at = given.iter().position(|(name, _)| name == name_of(port))?;
        Some(given.swap_remove(at).1)
    };
    let inputs = executable.inputs().iter().map(&mut input).collect();
    let schedule =
        executable.schedule(inputs, &RunOptions::default()).map_err(|found| found.message.clone())?;
    Ok(schedule.text)
}

/// A random tensor for an input: normally distributed floats, small integers.
fn drawn(executable: &Executable<'_>, port: &Port, random: &mut Random) -> Result<Value, String> {
    let kind = port.ty.map(|ty| &executable.model().types[ty].kind);
    let Some(TypeKind::Tensor(ty)) = kind else {
        return Err("is not a tensor: give it with `#! input`".to_owned());
    };
    let extent = |dim: &Dim| match dim.value {
        DimValue::Value(n) => usize::try_from(n).map_err(|_| format!("has a dimension of {n}")),
        DimValue::Param(_) | DimValue::Unknown => Ok(SYMBOLIC),
    };
    let shape = ty.shape.as_ref().ok_or("has no shape: give it with `#! input`")?;
    let dims: Vec<usize> = shape.iter().map(extent).collect::<Result<_, _>>()?;
    let elem = ty.elem.ok_or("has no element type: give it with `#! input`")?;
    let count = dims.iter().try_fold(1usize, |count, &dim| count.checked_mul(dim));
    if count.is_none_or(|count| count > MAX_ELEMENTS) {
        return Err("is too large to be drawn at random".to_owned());
    }
    let is_float =
        matches!(elem, ElemType::FLOAT | ElemType::DOUBLE | ElemType::FLOAT16 | ElemType::BFLOAT16);
    let tensor = match elem {
        ElemType::STRING => Tensor::zeros(elem, &dims),
        ElemType::BOOL => {
            let bools = (0..count.unwrap_or(0)).map(|_| random.uniform() < 0.5);
            Tensor::of_bools(&dims, bools)
        }
        _ => {
            let numbers = (0..count.unwrap_or(0)).map(|_| match is_float {
                true => random.normal(),
                false => (random.uniform() * 3.0).floor(),
            });
            Tensor::from_floats(elem, &dims, numbers.collect::<Vec<_>>())
        }
    };
    tensor.map(Value::Tensor).map_err(|why| why.to_string())
}
