//! `.safetensors`: tensors in one file behind a header, as other tools exchange weights.
//! Format: huggingface.co/docs/safetensors

use anyhow::{Context as _, bail};
use bytes::Bytes;
use onnx_exec::Tensor;
use onnx_ir::ElemType;
use safetensors::tensor::{Dtype, SafeTensors, TensorView, serialize};
use std::path::Path;

const TYPES: &[(ElemType, Dtype)] = &[
    (ElemType::BOOL, Dtype::BOOL),
    (ElemType::UINT8, Dtype::U8),
    (ElemType::INT8, Dtype::I8),
    (ElemType::FLOAT8E5M2, Dtype::F8_E5M2),
    (ElemType::FLOAT8E4M3FN, Dtype::F8_E4M3),
    (ElemType::INT16, Dtype::I16),
    (ElemType::UINT16, Dtype::U16),
    (ElemType::FLOAT16, Dtype::F16),
    (ElemType::BFLOAT16, Dtype::BF16),
    (ElemType::INT32, Dtype::I32),
    (ElemType::UINT32, Dtype::U32),
    (ElemType::FLOAT, Dtype::F32),
    (ElemType::COMPLEX64, Dtype::C64),
    (ElemType::DOUBLE, Dtype::F64),
    (ElemType::INT64, Dtype::I64),
    (ElemType::UINT64, Dtype::U64),
];

/// Whether a file is one, by its name.
pub(crate) fn is_safetensors(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("safetensors"))
}

/// The content of a file with these tensors.
pub(crate) fn write_all(arrays: &[(String, Tensor)]) -> anyhow::Result<Vec<u8>> {
    let mut views = Vec::with_capacity(arrays.len());
    for (name, tensor) in arrays {
        let Some((_, dtype)) = TYPES.iter().find(|(elem, _)| *elem == tensor.elem()) else {
            bail!(".safetensors files cannot hold `{name}` of type {}", tensor.elem().name().unwrap_or("?"))
        };
        let view = TensorView::new(*dtype, tensor.dims().to_vec(), tensor.bytes());
        views.push((name.as_str(), view.with_context(|| format!("weight `{name}`"))?));
    }
    serialize(views, None).context("cannot write these weights")
}

/// The tensors of a file.
pub(crate) fn read_all(bytes: &[u8]) -> anyhow::Result<Vec<(String, Tensor)>> {
    let file = SafeTensors::deserialize(bytes).context("this is not a .safetensors file")?;
    let mut all = Vec::new();
    for (name, view) in file.iter() {
        let Some((elem, _)) = TYPES.iter().find(|(_, dtype)| *dtype == view.dtype()) else {
            bail!("ONNX has no type for `{name}` of type {:?}", view.dtype())
        };
        let data = Bytes::copy_from_slice(view.data());
        let tensor =
            Tensor::from_bytes(*elem, view.shape(), data).with_context(|| format!("weight `{name}`"))?;
        all.push((name.to_owned(), tensor));
    }
    all.sort_by(|(a, _), (b, _)| a.cmp(b));
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let all = vec![
            ("a".to_owned(), Tensor::of(&[2], &[1.0f32, -2.0]).unwrap()),
            ("b".to_owned(), Tensor::of_bools(&[1, 2], [true, false]).unwrap()),
            ("c".to_owned(), Tensor::of_floats(ElemType::BFLOAT16, &[], &[0.5]).unwrap()),
        ];
        assert_eq!(read_all(&write_all(&all).unwrap()).unwrap(), all);
    }

    #[test]
    fn broken_files_are_refused() {
        let good = write_all(&[("a".to_owned(), Tensor::of(&[2], &[1i64, 2]).unwrap())]).unwrap();
        for end in 0..good.len() {
            assert!(read_all(&good[..end]).is_err(), "{end}");
        }
        let strings = Tensor::of_strings(&[1], vec!["x".to_owned()]).unwrap();
        assert!(write_all(&[("s".to_owned(), strings)]).is_err());
    }
}
