//! ONNX's own tests with symbols for the extents of their inputs: what is inferred of each result is what is computed, once
//! the symbols are numbers again.
#![allow(clippy::print_stderr, reason = "a count, for who wants to see it")]

use conformance::convert::read_wire;
use conformance::corpus::{CorpusModel, in_parallel, models};
use conformance::inferred::contradiction;
use conformance::trial::{data, inputs};
use onnx_exec::{CompileOptions, RunOptions, compile};
use onnx_ir::{Dim, DimValue, Model, TensorType, Type, TypeId, TypeKind};
use onnx_ops::opset::registry_of;
use onnx_proto::file;

/// Larger models take long node by node.
const LARGEST: u64 = 1 << 20;

/// Known wrong declarations of models.
const REVIEWED: &[(&str, &str)] =
    &[("test_loop16_seq_none", "the body declares a sequence of scalars, and collects tensors of rank 1")];

#[test]
fn what_is_inferred_of_symbols_is_what_is_computed() {
    let is_small = |model: &CorpusModel| model.name.starts_with("backend/") && model.size <= LARGEST;
    let models: Vec<_> = models().into_iter().filter(is_small).collect();
    let wrong: Vec<String> = in_parallel(&models, contradicted).into_iter().flatten().collect();
    eprintln!("symbolic extents: {} of {} backend tests agree", models.len() - wrong.len(), models.len());
    assert!(wrong.is_empty(), "{} models:\n{}", wrong.len(), wrong.join("\n"));
}

fn contradicted(from: &CorpusModel) -> Option<String> {
    let mut model = read_wire(file::open(&from.path).ok()?).ok()?;
    let given = inputs(&compile(&model, registry_of(&model), &CompileOptions::default()).ok()?, &data(from));
    generalize(&mut model);
    let how = contradiction(&model, &given, &RunOptions::default())?;
    let is_reviewed = REVIEWED.iter().any(|(name, _)| from.name.contains(name));
    (!is_reviewed).then(|| format!("{}: {how}", from.name))
}

/// Symbols for the extents of inputs, and nothing declared of what nodes compute but its element type.
fn generalize(model: &mut Model) {
    let Some(main) = model.main else { return };
    let Some(root) = model.bodies[main].root() else { return };
    let inputs = model.bodies[main].graphs[root].inputs.clone();
    for (i, port) in inputs.iter().enumerate() {
        let name = model.text(port.name).to_owned();
        let extent =
            |model: &mut Model, axis: usize| DimValue::Param(model.names.intern(&format!("{name}_{axis}")));
        model.bodies[main].graphs[root].inputs[i].ty = port.ty.map(|ty| with_extents(model, ty, &extent));
    }
    model.bodies[main].graphs[root].value_info.clear();
    let outputs = model.bodies[main].graphs[root].outputs.clone();
    for (i, port) in outputs.iter().enumerate() {
        model.bodies[main].graphs[root].outputs[i].ty =
            port.ty.map(|ty| with_extents(model, ty, &|_, _| DimValue::Unknown));
    }
}

fn with_extents(model: &mut Model, ty: TypeId, extent: &dyn Fn(&mut Model, usize) -> DimValue) -> TypeId {
    let Type { kind, denotation } = model.types[ty].clone();
    let TypeKind::Tensor(TensorType { elem, shape: Some(shape) }) = kind else { return ty };
    let shape = (0..shape.len()).map(|axis| Dim::from(extent(model, axis))).collect();
    model.types.intern(Type { kind: TypeKind::Tensor(TensorType { elem, shape: Some(shape) }), denotation })
}
