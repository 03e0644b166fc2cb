//! The examples of all operators with large inputs: whatever grows with its inputs must charge what it takes.

use crate::{BESIDE, Outcome, alone, run};
use conformance::convert::read_text;
use conformance::corpus::workspace;
use onnx_ir::{DimValue, Model, TypeKind};
use onnx_ops::opset::registry_of;
use onnxtxt::edit::{SetShape, set_shape};
use std::fs;

/// Elements of the largest input; the later numbers are for runs that do not end with more.
const ELEMENTS: [i64; 3] = [400_000, 20_000, 1_000];
/// The memory and the steps of such a run: an output may be far larger than its inputs.
const MAX_BYTES: usize = 256 << 20;
const FUEL: u64 = 2_000;
/// Operators whose example has no input that can grow, and why. Those whose results can be large are among the cases of `main.rs`.
const FIXED: &[(&str, &str)] = &[
    ("AffineGrid", SIZES),
    ("BlackmanWindow", SIZES),
    ("ConcatFromSequence", SEQUENCES),
    ("Constant", "no input"),
    ("ConstantOfShape", SIZES),
    ("HammingWindow", SIZES),
    ("HannWindow", SIZES),
    ("Loop", "the body declares sizes"),
    ("MaxUnpool", "the indices must be those of a pool"),
    ("MelWeightMatrix", SIZES),
    ("OptionalGetElement", SEQUENCES),
    ("OptionalHasElement", SEQUENCES),
    ("RandomNormal", SIZES),
    ("RandomUniform", SIZES),
    ("Range", SIZES),
    ("Scan", "the body declares sizes"),
    ("SequenceAt", SEQUENCES),
    ("SequenceEmpty", "no input"),
    ("SequenceErase", SEQUENCES),
    ("SequenceInsert", SEQUENCES),
    ("SequenceLength", SEQUENCES),
    ("SequenceMap", SEQUENCES),
    ("CastMap", "maps are not made up"),
    ("DictVectorizer", "maps are not made up"),
    ("Gradient", "not run"),
];
const SIZES: &str = "sizes of results are elements of inputs, or attributes";
const SEQUENCES: &str = "sequences are not made up";

/// The inputs of the main graph that are tensors, with their shapes.
fn shapes(model: &Model) -> Vec<(String, Vec<DimValue>)> {
    let body = model.main_body().expect("a graph");
    let graph = &body.graphs[body.root().expect("a graph")];
    let shape = |input: &onnx_ir::Port| match &model.types[input.ty?].kind {
        TypeKind::Tensor(tensor) => {
            let name = body.values[input.value?].name;
            let dims = tensor.shape.as_ref()?.iter().map(|dim| dim.value).collect();
            Some((model.names[name].to_owned(), dims))
        }
        _ => None,
    };
    graph.inputs.iter().filter_map(shape).collect()
}

/// Sets of dimensions that grow together: every dimension of one symbol or size, an axis of one input, an axis of all inputs.
fn choices(shapes: &[(String, Vec<DimValue>)]) -> Vec<Vec<(usize, usize)>> {
    let places = |keep: &dyn Fn(usize, usize, DimValue) -> bool| -> Vec<(usize, usize)> {
        let all = shapes.iter().enumerate();
        let all =
            all.flat_map(|(i, (_, dims))| dims.iter().enumerate().map(move |(axis, dim)| (i, axis, *dim)));
        all.filter(|&(i, axis, dim)| keep(i, axis, dim)).map(|(i, axis, _)| (i, axis)).collect()
    };
    let mut choices: Vec<Vec<(usize, usize)>> = Vec::new();
    for dim in shapes.iter().flat_map(|(_, dims)| dims) {
        choices.push(places(&|_, _, other| other == *dim));
    }
    for axis in 0..4 {
        choices.push(places(&|_, other, _| other == axis));
    }
    for place in places(&|_, _, _| true) {
        choices.push(vec![place]);
    }
    choices.sort();
    choices.dedup();
    choices.retain(|choice| !choice.is_empty());
    choices
}

/// The example with these dimensions so large that its largest input has about `elements` elements; all other symbols are 2.
fn grow(text: &str, choice: &[(usize, usize)], elements: i64) -> Option<Model> {
    let mut model = read_text(text).ok()?;
    let shapes = shapes(&model);
    let small = |dim: DimValue| match dim {
        DimValue::Value(size) => size,
        DimValue::Unknown | DimValue::Param(_) => 2,
    };
    // An input in which several dimensions grow has their product.
    let factor = |i: usize, dims: &[DimValue]| {
        let grown = choice.iter().filter(|place| place.0 == i).count();
        let others = dims.iter().enumerate().filter(|(axis, _)| !choice.contains(&(i, *axis)));
        let others: i64 = others.map(|(_, dim)| small(*dim).max(1)).product();
        (grown > 0).then(|| ((elements / others.max(1)) as f64).powf(1.0 / grown as f64) as i64)
    };
    let size = shapes.iter().enumerate().filter_map(|(i, (_, dims))| factor(i, dims)).min()?.max(2);
    let shapes = shapes.iter().enumerate().map(|(i, (name, dims))| {
        let dims = dims.iter().enumerate();
        let size =
            |(axis, dim): (usize, &DimValue)| if choice.contains(&(i, axis)) { size } else { small(*dim) };
        (name.clone(), dims.map(|dim| size(dim).to_string()).collect())
    });
    let options = SetShape { shapes: shapes.collect(), ..SetShape::default() };
    let registry = registry_of(&model);
    set_shape(&mut model, registry, &options).ok()?;
    Some(model)
}

/// The first of the sizes with which the example runs to its end.
fn largest(text: &str, choice: &[(usize, usize)]) -> Option<(Outcome, i64)> {
    ELEMENTS.iter().find_map(|&elements| {
        let outcome = run(&grow(text, choice, elements)?, MAX_BYTES, FUEL);
        outcome.is_done.then_some((outcome, elements))
    })
}

#[test]
fn examples_of_operators_take_what_they_are_charged_however_large() {
    let _alone = alone();
    let mut faults = Vec::new();
    let mut fixed = Vec::new();
    for folder in ["ai.onnx", "ai.onnx.ml", "ai.onnx.preview", "ai.onnx.preview.training"] {
        let files = fs::read_dir(workspace().join("crates/onnx-ops/docs").join(folder)).expect("examples");
        let mut files: Vec<_> = files.map(|file| file.expect("a file").path()).collect();
        files.sort();
        for file in files {
            let text = fs::read_to_string(&file).expect("text");
            let name = file.file_stem().expect("a name").to_string_lossy().into_owned();
            let Ok(model) = read_text(&text) else { panic!("{name} is not a model") };
            let mut runs = 0;
            for choice in choices(&shapes(&model)) {
                let Some((outcome, elements)) = largest(&text, &choice) else { continue };
                runs += usize::from(elements == ELEMENTS[0]);
                if outcome.taken > outcome.charged / 2 * 3 + BESIDE {
                    let Outcome { taken, charged, .. } = outcome;
                    faults.push(format!(
                        "{name}, {choice:?} of {elements}: takes {taken}, is charged {charged}"
                    ));
                }
            }
            if runs == 0 {
                fixed.push(name);
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    let expected: Vec<&str> = FIXED.iter().map(|(name, _)| *name).collect();
    assert_eq!(fixed, expected, "these do not run with {} elements", ELEMENTS[0]);
}
