//! Sparse tensors: P01–P04.

use super::context::{Findings, VerifyContext};
use super::tensors::{At, dense};
use crate::diag::{Diagnostic, code, counted};
use crate::show::tensor_text;
use crate::tensor::{Payload, SparseTensor, Tensor};
use crate::types::ElemType;

/// Reports mistakes in the external files of a sparse tensor's parts, otherwise its first mistake.
pub(super) fn check(cx: &VerifyContext<'_>, found: &mut Findings, at: At<'_>, sparse: &SparseTensor) {
    for part in sparse.values.into_iter().chain(sparse.indices) {
        let tensor = &at.body.tensors[part];
        if tensor.is_external() {
            dense(cx, found, at, tensor);
        }
    }
    parts(cx, found, at, sparse);
}

fn parts(cx: &VerifyContext<'_>, found: &mut Findings, at: At<'_>, sparse: &SparseTensor) {
    let values = sparse.values.map(|t| &at.body.tensors[t]);
    let subject =
        at.subject(cx, values.unwrap_or(&Tensor::default())).replacen("the tensor", "the sparse tensor", 1);
    let mut fail = |code, message: String| found.push(Diagnostic::new(code, at.place, message));
    let Some(values) = values else {
        return fail(&code::SPARSE_VALUES, format!("{subject} has no values"));
    };
    let &[stored] = &values.dims[..] else {
        let text = tensor_text(&cx.model.names, values);
        return fail(&code::SPARSE_VALUES, format!("values of {subject} are `{text}`, not a list"));
    };
    let size = sparse.dims.iter().try_fold(1u64, |n, &d| n.checked_mul(u64::try_from(d).ok()?));
    let bad = sparse.dims.iter().find(|&&d| d <= 0);
    let size = match (size, bad) {
        _ if sparse.dims.is_empty() => {
            return fail(&code::SPARSE_DIMS, format!("{subject} has no dimensions"));
        }
        (_, Some(d)) => return fail(&code::SPARSE_DIMS, format!("{subject} has dimension {d}")),
        (None, None) => {
            return fail(&code::SPARSE_DIMS, format!("{subject} has more elements than 64 bits can count"));
        }
        (Some(size), None) => size,
    };
    if !values.is_external() && !dense(cx, found, at, values) {
        return;
    }
    let mut fail = |code, message: String| found.push(Diagnostic::new(code, at.place, message));
    let rank = sparse.dims.len();
    let Some(indices) = sparse.indices.map(|t| &at.body.tensors[t]) else {
        if stored > 0 {
            let n = counted(stored.unsigned_abs(), "value");
            fail(&code::SPARSE_INDICES_FORM, format!("{subject} has {n}, but no indices"));
        }
        return;
    };
    let width = match indices.dims[..] {
        _ if indices.elem != Some(ElemType::INT64) => None,
        [n] if n == stored => Some(1),
        [n, r] if n == stored && usize::try_from(r) == Ok(rank) => Some(rank),
        _ => None,
    };
    let Some(width) = width else {
        let text = tensor_text(&cx.model.names, indices);
        let message = format!(
            "indices of {subject} are `{text}`, but {} of rank {rank} need `int64[{stored}]` or `int64[{stored},{rank}]`",
            counted(stored.unsigned_abs(), "value"),
        );
        return fail(&code::SPARSE_INDICES_FORM, message);
    };
    if !indices.is_external() && dense(cx, found, at, indices) && cx.options.payloads {
        let limits: &[i64] = &sparse.dims;
        let is_linear = indices.dims.len() == 1;
        let linear = [i64::try_from(size).unwrap_or(i64::MAX)];
        let limits = if is_linear { &linear[..] } else { limits };
        if let Some(message) = order(indices, width, limits, &subject) {
            found.push(Diagnostic::new(&code::SPARSE_INDICES, at.place, message));
        }
    }
}

/// The first index that is out of range or not above the one before. `limits` has one number for each column.
fn order(indices: &Tensor, width: usize, limits: &[i64], subject: &str) -> Option<String> {
    let bytes = indices.data.iter().find(|p| !p.is_empty()).and_then(|p| match p {
        Payload::Entries { bytes, .. } => Some(bytes),
        Payload::Strings(_) => None,
    })?;
    let entry = |c: &[u8]| c.iter().rev().fold(0u64, |n, &b| n << 8 | u64::from(b)) as i64;
    let mut before: Vec<i64> = Vec::new();
    let mut row: Vec<i64> = Vec::with_capacity(width);
    for (i, chunk) in bytes.chunks_exact(8 * width).enumerate() {
        row.clear();
        row.extend(chunk.chunks_exact(8).map(entry));
        if row.iter().zip(limits).any(|(n, limit)| !(0..*limit).contains(n)) {
            return Some(format!("index {i} of {subject} is {}, which is out of range", show(&row)));
        }
        if i > 0 && row <= before {
            return Some(format!(
                "index {i} of {subject} is {}, which is not greater than the one before, {}",
                show(&row),
                show(&before)
            ));
        }
        std::mem::swap(&mut row, &mut before);
    }
    None
}

fn show(row: &[i64]) -> String {
    match row {
        [n] => n.to_string(),
        row => format!("({})", row.iter().map(i64::to_string).collect::<Vec<_>>().join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;
    use smallvec::{SmallVec, smallvec};

    fn sparse(
        dims: &[i64],
        values: (&[i64], usize),
        indices: Option<(ElemType, &[i64], Vec<i64>)>,
    ) -> Vec<String> {
        let model = draft(|d| {
            d.graph("g", &["x"], &["y"], |d| {
                d.node("Relu", &["x"], &["y"]);
                let name = Some(d.b.name("w"));
                let values = d.b.tensor(Tensor {
                    name,
                    dims: SmallVec::from_slice(values.0),
                    elem: Some(ElemType::FLOAT),
                    data: smallvec![Payload::floats(vec![1.0; values.1])],
                    extra: None,
                });
                let indices = indices.map(|(elem, dims, entries)| {
                    d.b.tensor(Tensor {
                        dims: SmallVec::from_slice(dims),
                        elem: Some(elem),
                        data: smallvec![Payload::int64s(entries)],
                        ..Tensor::default()
                    })
                });
                let dims = SmallVec::from_slice(dims);
                d.b.sparse_initializer(SparseTensor { values: Some(values), indices, dims });
            });
        });
        findings(&model)
    }

    const I64: ElemType = ElemType::INT64;

    #[test]
    fn indices_ascend_within_the_shape() {
        assert_eq!(sparse(&[4], (&[2], 2), Some((I64, &[2], vec![0, 3]))), [""; 0]);
        assert_eq!(sparse(&[2, 2], (&[2], 2), Some((I64, &[2, 2], vec![0, 1, 1, 0]))), [""; 0]);
        assert_eq!(sparse(&[2, 2], (&[2], 2), Some((I64, &[2], vec![0, 3]))), [""; 0]);
        assert_eq!(sparse(&[4], (&[0], 0), None), [""; 0]);
        let expected = ["E0524 index 1 of `w` is 4, which is out of range"];
        assert_eq!(sparse(&[4], (&[2], 2), Some((I64, &[2], vec![0, 4]))), expected);
        let expected = ["E0524 index 0 of `w` is (0, 2), which is out of range"];
        assert_eq!(sparse(&[2, 2], (&[1], 1), Some((I64, &[1, 2], vec![0, 2]))), expected);
        let expected = ["E0524 index 1 of `w` is 1, which is not greater than the one before, 2"];
        assert_eq!(sparse(&[4], (&[2], 2), Some((I64, &[2], vec![2, 1]))), expected);
        let expected = ["E0524 index 1 of `w` is 1, which is not greater than the one before, 1"];
        assert_eq!(sparse(&[4], (&[2], 2), Some((I64, &[2], vec![1, 1]))), expected);
    }

    #[test]
    fn indices_have_one_of_two_forms() {
        let expected =
            ["E0523 indices of `w` are `int32[1]`, but 1 value of rank 1 need `int64[1]` or `int64[1,1]`"];
        assert_eq!(sparse(&[4], (&[1], 1), Some((ElemType::INT32, &[1], vec![0]))), expected);
        assert_eq!(sparse(&[4], (&[1], 1), Some((I64, &[2], vec![0, 1]))).len(), 1);
        assert_eq!(sparse(&[2, 2], (&[1], 1), Some((I64, &[1, 1], vec![0]))).len(), 1);
        assert_eq!(sparse(&[4], (&[1], 1), None), ["E0523 `w` has 1 value, but no indices"]);
    }

    #[test]
    fn shape_and_values_are_sound() {
        let index = || Some((I64, &[1i64][..], vec![0]));
        assert_eq!(sparse(&[], (&[1], 1), index()), ["E0522 `w` has no dimensions"]);
        assert_eq!(sparse(&[0], (&[1], 1), index()), ["E0522 `w` has dimension 0"]);
        let expected = ["E0522 `w` has more elements than 64 bits can count"];
        assert_eq!(sparse(&[1 << 32, (1 << 32) + 1], (&[1], 1), index()), expected);
        let expected = ["E0521 values of `w` are `float[1,1]`, not a list"];
        assert_eq!(sparse(&[4], (&[1, 1], 1), index()), expected);
    }
}
