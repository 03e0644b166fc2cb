//! Random inputs of the declared types, the same for the same seed.
//!
//! Floats are between 0 and 1, integers are 0 or 1, so that they are valid indices.

use anyhow::{Context as _, bail};
use onnx_exec::{Random, Tensor, Value};
use onnx_ir::{ElemType, Model, TypeId, TypeKind};

/// A random value of a type, with the given sizes of symbols or the given shape.
pub(super) fn value(
    model: &Model,
    ty: TypeId,
    shape: Option<&[usize]>,
    mut extents: impl FnMut(&[onnx_ir::Dim]) -> anyhow::Result<Vec<usize>>,
    random: &mut Random,
) -> anyhow::Result<Value> {
    match &model.types[ty].kind {
        TypeKind::Tensor(tensor) => {
            let Some(elem) = tensor.elem else { bail!("its element type is not declared") };
            let dims = match (shape, &tensor.shape) {
                (Some(shape), _) => shape.to_vec(),
                (None, Some(shape)) => extents(shape)?,
                (None, None) => bail!("its rank is not declared: add --shape NAME=1,2"),
            };
            Ok(tensor_of(elem, &dims, random)?.into())
        }
        TypeKind::Sequence(_) => Ok(Value::sequence(Vec::new())),
        TypeKind::Optional(_) => Ok(Value::Optional(None)),
        TypeKind::Unset | TypeKind::SparseTensor(_) | TypeKind::Map { .. } | TypeKind::Opaque { .. } => {
            bail!("random values of type {} are not supported", onnx_ir::type_text(model, ty))
        }
    }
}

fn tensor_of(elem: ElemType, dims: &[usize], random: &mut Random) -> anyhow::Result<Tensor> {
    use ElemType as E;
    let is_empty = dims.contains(&0);
    let count = dims.iter().try_fold(usize::from(!is_empty), |n, &d| n.checked_mul(d));
    let count = count.with_context(|| format!("a tensor of shape {dims:?} has too many elements"))?;
    Ok(match elem {
        E::FLOAT | E::DOUBLE | E::FLOAT16 | E::BFLOAT16 => {
            Tensor::from_floats(elem, dims, (0..count).map(|_| random.uniform()))?
        }
        E::STRING => Tensor::from_strings(dims, (0..count).map(|_| format!("s{}", random.bits() % 100)))?,
        E::INT64 | E::INT32 | E::INT16 | E::INT8 | E::UINT64 | E::UINT32 | E::UINT16 | E::UINT8 | E::BOOL => {
            Tensor::from_floats(elem, dims, (0..count).map(|_| (random.bits() % 2) as f64))?
        }
        // Types of few bits: 0 is a number in each.
        _ => Tensor::zeros(elem, dims)?,
    })
}
