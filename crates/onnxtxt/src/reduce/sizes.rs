//! Smaller extents: a number that is the size of an axis is replaced wherever it is one.
//!
//! ```text
//! before:  g (float[8,768] x) => (float[8,768] y) <float[768] w = {1, 2, …}> { y = Mul(x, w) }
//! after:   g (float[8,1] x) => (float[8,1] y) <float[1] w = {1}>             { y = Mul(x, w) }
//! ```

use crate::edit::main_graph;
use bytes::Bytes;
use onnx_ir::{
    AttrValue, Dim, DimValue, ElemType, Field, Model, Payload, Tensor, TensorType, Type, TypeId, TypeKind,
};
use onnx_ops::infer::{InferOptions, declared_type, infer};
use onnx_ops::opset::registry_of;
use std::collections::BTreeSet;

/// The sizes that are tried in place of one.
const TARGETS: usize = 3;
/// Where a size is replaced.
const PLACES: [Places; 4] = [
    Places { inputs: true, weights: true, numbers: true },
    Places { inputs: true, weights: true, numbers: false },
    Places { inputs: true, weights: false, numbers: false },
    Places { inputs: false, weights: true, numbers: false },
];
/// Tensors of more integers hold no shape.
const MAX_SHAPE: u64 = 16;
/// Larger tensors are not cut: the positions of their elements take memory.
const MAX_CUT: usize = 1 << 24;

#[derive(Clone, Copy)]
struct Places {
    /// Shapes of inputs.
    inputs: bool,
    /// Shapes of tensors.
    weights: bool,
    /// Integers in attributes and small tensors.
    numbers: bool,
}

/// The sizes of axes in inputs and tensors, the largest first.
fn sizes(model: &Model) -> Vec<i64> {
    let mut all: BTreeSet<i64> = BTreeSet::new();
    if let Some((id, root)) = main_graph(model) {
        for ty in model.bodies[id].graphs[root].inputs.iter().filter_map(|port| port.ty) {
            let TypeKind::Tensor(TensorType { shape: Some(shape), .. }) = &model.types[ty].kind else {
                continue;
            };
            all.extend(shape.iter().filter_map(|dim| match dim.value {
                DimValue::Value(n) => Some(n),
                DimValue::Unknown | DimValue::Param(_) => None,
            }));
        }
    }
    all.extend(
        model.bodies.values().flat_map(|body| body.tensors.values()).flat_map(|t| t.dims.iter().copied()),
    );
    all.into_iter().rev().filter(|&size| size > 1).collect()
}

/// The number of candidates.
pub(super) fn count(model: &Model) -> usize {
    sizes(model).len() * TARGETS * PLACES.len()
}

/// A candidate with a smaller size.
pub(super) fn smaller(model: &Model, at: usize) -> Option<Model> {
    let (old, at) = (*sizes(model).get(at / (TARGETS * PLACES.len()))?, at % (TARGETS * PLACES.len()));
    let new = [1, 2, old / 2][at / PLACES.len()];
    // Each target once.
    if new >= old || new == 0 || at / PLACES.len() == 2 && new <= 2 {
        return None;
    }
    let Places { inputs, weights, numbers } = PLACES[at % PLACES.len()];
    let (id, root) = main_graph(model)?;
    let mut model = model.clone();
    if inputs {
        for i in 0..model.bodies[id].graphs[root].inputs.len() {
            let ty = model.bodies[id].graphs[root].inputs[i].ty.map(|ty| resized(&mut model, ty, old, new));
            model.bodies[id].graphs[root].inputs[i].ty = ty;
        }
    }
    for body in model.bodies.values_mut() {
        if weights {
            body.tensors.values_mut().try_for_each(|tensor| shrink(tensor, old, new))?;
        }
        if numbers {
            body.tensors.values_mut().for_each(|tensor| renumber(tensor, old, new));
            for value in body.nodes.values_mut().flat_map(|node| &mut node.attrs).flat_map(|a| &mut a.values)
            {
                match value {
                    AttrValue::Int(n) if *n == old => *n = new,
                    AttrValue::Ints(list) if list.contains(&old) => {
                        let list: Vec<i64> = list.iter().map(|&n| if n == old { new } else { n }).collect();
                        *value = AttrValue::Ints(list.into());
                    }
                    _ => {}
                }
            }
        }
    }
    declare(&mut model);
    Some(model)
}

/// A tensor type with another size.
fn resized(model: &mut Model, ty: TypeId, old: i64, new: i64) -> TypeId {
    let Type { kind: TypeKind::Tensor(mut tensor), denotation } = model.types[ty].clone() else { return ty };
    for dim in tensor.shape.iter_mut().flatten().filter(|dim| dim.value == DimValue::Value(old)) {
        dim.value = DimValue::Value(new);
    }
    model.types.intern(Type { kind: TypeKind::Tensor(tensor), denotation })
}

/// Cuts the axes of a tensor. `None`: its elements cannot be cut.
fn shrink(tensor: &mut Tensor, old: i64, new: i64) -> Option<()> {
    if !tensor.dims.contains(&old) {
        return Some(());
    }
    let count = usize::try_from(tensor.element_count()?).ok().filter(|count| *count <= MAX_CUT)?;
    let before: Vec<usize> = tensor.dims.iter().map(|&d| usize::try_from(d).ok()).collect::<Option<_>>()?;
    let cut = |d: i64| if d == old { new } else { d };
    let after: Vec<usize> =
        tensor.dims.iter().map(|&d| usize::try_from(cut(d)).ok()).collect::<Option<_>>()?;
    let kept = positions(&before, &after);
    for payload in &mut tensor.data {
        match payload {
            Payload::Strings(strings) => {
                *strings = kept.iter().map(|&i| strings.get(i).cloned()).collect::<Option<_>>()?;
            }
            Payload::Entries { bytes, .. } => {
                let size = bytes.len().checked_div(count)?;
                if size * count != bytes.len() || size == 0 {
                    return None;
                }
                let element = |i: usize| bytes.get(i * size..(i + 1) * size);
                let chosen = kept.iter().map(|&i| element(i)).collect::<Option<Vec<_>>>()?;
                *bytes = Bytes::from(chosen.concat());
            }
        }
    }
    tensor.dims.iter_mut().for_each(|d| *d = cut(*d));
    Some(())
}

/// The positions of the elements of the first block of a tensor.
fn positions(before: &[usize], after: &[usize]) -> Vec<usize> {
    let mut all = vec![0];
    for (&old, &new) in before.iter().zip(after) {
        all = all.iter().flat_map(|&at| (0..new).map(move |i| at * old + i)).collect();
    }
    all
}

/// Replaces integers that are equal to the size, in a tensor that may be a shape.
fn renumber(tensor: &mut Tensor, old: i64, new: i64) {
    if tensor.elem != Some(ElemType::INT64) || tensor.element_count().is_none_or(|count| count > MAX_SHAPE) {
        return;
    }
    for payload in &mut tensor.data {
        let Payload::Entries { field: Field::Raw | Field::Int64, bytes } = payload else { continue };
        let number = |chunk: &[u8]| {
            if chunk == old.to_le_bytes() { new.to_le_bytes().to_vec() } else { chunk.to_vec() }
        };
        *bytes = bytes.chunks(8).flat_map(number).collect();
    }
}

/// Declares what follows from the types of inputs, and only of outputs.
pub(super) fn declare(model: &mut Model) {
    let Some((id, root)) = main_graph(model) else { return };
    let graphs: Vec<_> =
        model.bodies.iter().flat_map(|(id, b)| b.graphs.ids().map(move |g| (id, g))).collect();
    for (id, graph) in graphs {
        model.bodies[id].graphs[graph].value_info.clear();
    }
    for i in 0..model.bodies[id].graphs[root].outputs.len() {
        let ty = model.bodies[id].graphs[root].outputs[i].ty.map(|ty| without_numbers(model, ty));
        model.bodies[id].graphs[root].outputs[i].ty = ty;
    }
    let mut facts = infer(model, registry_of(&model.clone()), &InferOptions::default()).facts;
    for i in 0..model.bodies[id].graphs[root].outputs.len() {
        let port = &model.bodies[id].graphs[root].outputs[i];
        let (Some(value), ty) = (port.value, port.ty) else { continue };
        let ty = declared_type(model, &mut facts, id, value, ty);
        model.bodies[id].graphs[root].outputs[i].ty = ty;
    }
}

/// The type with numbers in its shape made unknown.
fn without_numbers(model: &mut Model, ty: TypeId) -> TypeId {
    let Type { kind: TypeKind::Tensor(mut tensor), denotation } = model.types[ty].clone() else { return ty };
    for dim in tensor.shape.iter_mut().flatten().filter(|dim| matches!(dim.value, DimValue::Value(_))) {
        *dim = Dim { value: DimValue::Unknown, ..*dim };
    }
    model.types.intern(Type { kind: TypeKind::Tensor(tensor), denotation })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_block_of_a_tensor_stays() {
        assert_eq!(positions(&[2, 3], &[2, 2]), [0, 1, 3, 4]);
        assert_eq!(positions(&[], &[]), [0]);
        let mut tensor = Tensor::new([3, 2], vec![1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0]);
        shrink(&mut tensor, 3, 1).unwrap();
        assert_eq!(tensor.view::<f32>().unwrap().as_ref(), [1.0, 2.0]);
    }
}
