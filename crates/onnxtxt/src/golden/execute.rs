//! `#! run` and `#! expect`: what a model computes.

use super::Case;
use super::directives::{Directive, Expected};
use super::passes::{self, Step};
use super::run::sound;
use super::values::{Tolerance, difference};
use onnx_exec::{CompileOptions, Executable, Random, RunOptions, Tensor, Value, compile};
use onnx_ir::{Dim, DimValue, ElemType, Model, Port, TypeKind};
use onnx_ops::opset::registry_of;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Size of symbolic dimensions.
const SYMBOLIC: usize = 2;
/// Elements that an input drawn at random has at most: a test is small.
const MAX_ELEMENTS: usize = 1 << 26;

/// Runs the model and compares its outputs with those that are expected.
pub(super) fn run(case: &Case, directives: &[Directive]) -> Result<(), String> {
    let model = sound(&case.text)?.model;
    let inputs: BTreeMap<&str, &Value> = directives
        .iter()
        .filter_map(|directive| match directive {
            Directive::Input(name, value) => Some((name.as_str(), value)),
            _ => None,
        })
        .collect();
    let outputs = outputs(&model, &inputs)?;
    let mut problems = String::new();
    for directive in directives {
        let Directive::Expect(Expected::Value { name, value, tolerance }) = directive else { continue };
        let Some((_, actual)) = outputs.iter().find(|(output, _)| output == name) else {
            let names: Vec<&str> = outputs.iter().map(|(name, _)| name.as_str()).collect();
            _ = writeln!(problems, "the model has no output `{name}`; it has {}", names.join(", "));
            continue;
        };
        if let Some(how) = difference(actual, value, *tolerance).map_err(|why| why.to_string())? {
            _ = writeln!(problems, "output `{name}`: {how}");
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

/// The passes of the file do not change what the model computes.
pub(super) fn same_after_passes(case: &Case, directives: &[Directive]) -> Result<(), String> {
    let steps: Vec<&Step> = directives
        .iter()
        .filter_map(|directive| match directive {
            Directive::Pass(step) => Some(step),
            _ => None,
        })
        .collect();
    if steps.is_empty() {
        return Err("`#! expect same as before the pass` needs a directive `#! pass NAME`".to_owned());
    }
    let before = sound(&case.text)?.model;
    let mut problems = String::new();
    for step in steps {
        let mut after = before.clone();
        passes::apply(&mut after, step);
        problems += &compare(&before, &after)?;
    }
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

/// Which outputs the passes of a test change, for random inputs: blessing such a test would accept a wrong result.
///
/// # Errors
///
/// The test cannot be read, or the model cannot be run, so that nothing is known.
pub fn changed_results(case: &Case) -> Result<Option<String>, String> {
    let directives = super::directives::parse(&case.text)?;
    if !directives.iter().any(|directive| matches!(directive, Directive::Pass(_))) {
        return Ok(None);
    }
    let before = sound(&case.text)?.model;
    for directive in &directives {
        let Directive::Pass(step) = directive else { continue };
        let mut after = before.clone();
        if !passes::apply(&mut after, step).is_changed() {
            continue;
        }
        let problems = compare(&before, &after)?;
        if !problems.is_empty() {
            return Ok(Some(problems));
        }
    }
    Ok(None)
}

/// How the outputs of two models differ for the same random inputs.
fn compare(before: &Model, after: &Model) -> Result<String, String> {
    let expected = outputs(before, &BTreeMap::new())?;
    let actual = outputs(after, &BTreeMap::new()).map_err(|why| format!("after the pass: {why}"))?;
    let mut problems = String::new();
    if expected.len() != actual.len() {
        _ = writeln!(problems, "the model has {} outputs, but had {}", actual.len(), expected.len());
    }
    for ((name, expected), (_, actual)) in expected.iter().zip(&actual) {
        if let Some(how) =
            difference(actual, expected, Tolerance::default()).map_err(|why| why.to_string())?
        {
            _ = writeln!(problems, "output `{name}` is not the same as before: {how}");
        }
    }
    Ok(problems)
}

/// The outputs of a model by name. Inputs that are not given are drawn at random, always the same ones.
fn outputs(model: &Model, given: &BTreeMap<&str, &Value>) -> Result<Vec<(String, Value)>, String> {
    let executable = compile(model, registry_of(model), &CompileOptions::default()).map_err(|found| {
        found.iter().map(|finding| finding.message.as_str()).collect::<Vec<_>>().join("\n")
    })?;
    let name_of = |port: &Port| executable_name(&executable, port);
    let names: Vec<String> = executable.inputs().iter().map(name_of).collect();
    if let Some(name) = given.keys().find(|name| !names.iter().any(|input| input == *name)) {
        return Err(format!("the model has no input `{name}`; it has {}", names.join(", ")));
    }
    let mut random = Random::new(0);
    let mut inputs = Vec::new();
    for (port, name) in executable.inputs().iter().zip(&names) {
        inputs.push(match given.get(name.as_str()) {
            Some(value) => Some((*value).clone()),
            None if executable.has_default(port) => None,
            None => {
                Some(drawn(&executable, port, &mut random).map_err(|why| format!("input `{name}` {why}"))?)
            }
        });
    }
    let names: Vec<String> = executable.outputs().iter().map(name_of).collect();
    let values = executable.run(inputs, &RunOptions::default()).map_err(|found| found.message.clone())?;
    Ok(names.into_iter().zip(values).collect())
}

fn executable_name(executable: &Executable<'_>, port: &Port) -> String {
    let model = executable.model();
    let name = model.main_body().zip(port.value).map(|(body, value)| &model.names[body.values[value].name]);
    name.map(ToString::to_string).unwrap_or_default()
}

/// A random tensor of the type of an input: normally distributed floats, small integers.
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
