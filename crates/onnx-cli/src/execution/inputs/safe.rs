//! `.safetensors`: tensors in one file after a header, as other tools exchange weights.
//! Format: huggingface.co/docs/safetensors

use crate::npy::Arrays;
use anyhow::{Context as _, bail, ensure};
use bytes::Bytes;
use onnx_exec::Tensor;
use onnx_ir::ElemType;
use safetensors::tensor::{Dtype, SafeTensors, TensorView, serialize};
use std::collections::HashSet;
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

/// The key of the header that holds texts in place of a tensor.
const METADATA: &str = "__metadata__";

/// Whether a file is one, by its name.
pub(crate) fn is_safetensors(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("safetensors"))
}

/// The content of a file with these tensors.
pub(crate) fn write_all(arrays: &[(String, Tensor)]) -> anyhow::Result<Vec<u8>> {
    let mut views = Vec::with_capacity(arrays.len());
    let mut names = HashSet::new();
    for (name, tensor) in arrays {
        ensure!(
            name != METADATA,
            "a .safetensors file cannot hold a weight named `{METADATA}`: rename it, or write a .npz file"
        );
        ensure!(
            names.insert(name),
            "two weights are named `{name}`, and a .safetensors file can hold only one"
        );
        let Some((_, dtype)) = TYPES.iter().find(|(elem, _)| *elem == tensor.elem()) else {
            bail!(".safetensors files cannot hold `{name}` of type {}", tensor.elem().name().unwrap_or("?"))
        };
        let view = TensorView::new(*dtype, tensor.dims().to_vec(), tensor.bytes());
        views.push((name.as_str(), view.with_context(|| format!("weight `{name}`"))?));
    }
    let content = serialize(views, None).context("cannot write these weights")?;
    ensure!(
        SafeTensors::read_metadata(&content).is_ok(),
        "the names and shapes of these weights are too large for the header of a .safetensors file"
    );
    Ok(content)
}

/// The tensors of a file that are wanted.
pub(crate) fn read_all(bytes: &[u8], is_wanted: impl Fn(&str) -> bool) -> anyhow::Result<Arrays> {
    let file = SafeTensors::deserialize(bytes).context("this is not a .safetensors file")?;
    let (mut all, mut skipped) = (Vec::new(), Vec::new());
    for (name, view) in file.iter() {
        if !is_wanted(name) {
            skipped.push(name.to_owned());
            continue;
        }
        let Some((elem, _)) = TYPES.iter().find(|(_, dtype)| *dtype == view.dtype()) else {
            bail!("ONNX has no type for `{name}` of type {:?}", view.dtype())
        };
        let data = Bytes::copy_from_slice(view.data());
        let tensor =
            Tensor::from_bytes(*elem, view.shape(), data).with_context(|| format!("weight `{name}`"))?;
        all.push((name.to_owned(), tensor));
    }
    all.sort_by(|(a, _), (b, _)| a.cmp(b));
    skipped.sort();
    Ok(Arrays { read: all, skipped })
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
        let written = write_all(&all).unwrap();
        assert_eq!(read_all(&written, |_| true).unwrap().read, all);
        let some = read_all(&written, |name| name == "b").unwrap();
        assert_eq!((some.read, some.skipped), (vec![all[1].clone()], vec!["a".to_owned(), "c".to_owned()]));
    }

    /// Names with everything that text can hold are read as they were written, or refused.
    #[test]
    fn names_are_read_as_written_or_refused() {
        let one = Tensor::scalar(1u8).unwrap();
        let long = "n".repeat(1 << 17);
        for name in ["", " ", "a/b", "..", "\0", "\u{1b}[1m", "\"\\", "é🙂", "__metadata", "dtype", &long]
        {
            let all = [(name.to_owned(), one.clone())];
            assert_eq!(read_all(&write_all(&all).unwrap(), |_| true).unwrap().read, all, "{name:?}");
        }
        let refused = |names: &[&str]| {
            let all: Vec<_> = names.iter().map(|name| ((*name).to_owned(), one.clone())).collect();
            write_all(&all).unwrap_err().to_string()
        };
        assert!(refused(&["a", METADATA]).contains("named `__metadata__`"));
        assert!(refused(&["a", "b", "a"]).contains("two weights are named `a`"));
        // Readers accept headers of up to 100 MB.
        assert!(refused(&[&"n".repeat(100_000_000)]).contains("these weights"));
    }

    /// Sizes that overflow a model's, alone or multiplied.
    #[test]
    fn sizes_that_a_model_cannot_have_are_refused() {
        for shape in [
            "18446744073709551615",
            "18446744073709551615,0",
            "0,9223372036854775808",
            "4294967296,4294967296,0",
        ] {
            let header = format!(r#"{{"a":{{"dtype":"F32","shape":[{shape}],"data_offsets":[0,0]}}}}"#);
            let file = [&(header.len() as u64).to_le_bytes(), header.as_bytes()].concat();
            let stored = read_all(&file, |_| true).map(|all| all.read[0].1.to_stored());
            assert!(matches!(stored, Err(_) | Ok(Err(_))), "{shape}");
        }
    }

    #[test]
    fn broken_files_are_refused() {
        let good = write_all(&[("a".to_owned(), Tensor::of(&[2], &[1i64, 2]).unwrap())]).unwrap();
        for end in 0..good.len() {
            assert!(read_all(&good[..end], |_| true).is_err(), "{end}");
        }
        let strings = Tensor::of_strings(&[1], vec!["x".to_owned()]).unwrap();
        assert!(write_all(&[("s".to_owned(), strings)]).is_err());
    }
}
