//! Tests of packed factors in a store: they are those that were packed, for each micro-kernel of the processor, and damaged entries
//! are packed anew.

use super::super::matrix::Matrix;
use super::super::micro::{Factor, forced};
use super::super::{Packed, Precision};
use super::{Taps, byte, floats, formula, result};
use crate::Nest;
use crate::pack_cache::{DIGEST, HEAD, PackedStore, description};
use crate::pool;
use crate::program::Operand;
use crate::recycle::{ALIGN, Shared};
use crate::sync::lock;
use crate::tensor::Tensor;
use bytes::Bytes;
use onnx_formula::Formula;
use onnx_ir::{ElemType, Field, Payload};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// A store in memory.
#[derive(Debug, Default)]
struct Store {
    entries: Mutex<BTreeMap<String, Bytes>>,
    /// The calls of `load` that had an entry, of `store`, and of `discard`.
    calls: Mutex<[usize; 3]>,
    /// Whether it stores nothing, like a full disk.
    is_full: bool,
}

/// Bytes at a multiple of a cache line.
fn aligned(content: &[u8]) -> Bytes {
    let mut shared = Shared::zeroed(content.len()).expect("memory");
    shared.bytes_mut().expect("one owner").copy_from_slice(content);
    Bytes::from_owner(shared)
}

impl PackedStore for Store {
    fn load(&self, name: &str) -> Option<Bytes> {
        let found = lock(&self.entries).get(name).cloned();
        lock(&self.calls)[0] += usize::from(found.is_some());
        found
    }

    fn store(&self, name: &str, content: &[&[u8]]) -> Option<Bytes> {
        lock(&self.calls)[1] += 1;
        let content = aligned(&content.concat());
        (!self.is_full).then(|| lock(&self.entries).entry(name.to_owned()).or_insert(content).clone())
    }

    fn discard(&self, name: &str) {
        lock(&self.calls)[2] += 1;
        lock(&self.entries).remove(name);
    }
}

impl Store {
    /// The calls since the last time.
    fn calls(&self) -> [usize; 3] {
        std::mem::take(&mut *lock(&self.calls))
    }
}

/// A product with a constant factor: its formula, the types of the operands, and whether they are constant.
struct Case {
    name: &'static str,
    formula: Formula,
    tensors: Vec<Tensor>,
    are_constant: Vec<bool>,
}

impl Case {
    /// The result, with constants packed with a store.
    fn result(&self, store: Option<&Arc<dyn PackedStore>>) -> Tensor {
        let types = |at: usize| {
            let tensor = self.tensors.get(at)?;
            Some(Operand { elem: tensor.elem(), dims: tensor.dims(), is_constant: self.are_constant[at] })
        };
        let mut nest = Nest::of(&self.formula, &types).expect("loops");
        let constants = self.tensors.iter().zip(&self.are_constant).map(|(it, is)| is.then_some(it));
        let constants: Vec<Option<&Tensor>> = constants.collect();
        nest.pack_constants(&constants, &mut Packed::new(store), Precision::Fast).expect("memory");
        // Other threads would choose another kernel than the one that is forced on this one.
        result(&nest, &self.formula, &self.tensors, 1)
    }
}

fn bytes(elem: ElemType, dims: &[usize], of: usize) -> Tensor {
    let bytes: Vec<u8> = (0..dims.iter().product()).map(|at| byte(at * of + of)).collect();
    Tensor::from_bytes(elem, dims, bytes.into()).expect("it has so many bytes")
}

fn case(name: &'static str, text: &str, tensors: Vec<Tensor>, are_constant: &[bool]) -> Case {
    Case { name, formula: formula(text), tensors, are_constant: are_constant.to_vec() }
}

/// Rows, columns, matrices, a convolution by Winograd's algorithm, bytes with and without an order of groups.
fn cases() -> Vec<Case> {
    let float = "float[9,300] y[i0, i1] = sum over i2 < 260 of a[i0, i2] * b[i2, i1]";
    let rows = "float[300,9] y[i0, i1] = sum over i2 < 260 of a[i0, i2] * b[i2, i1]";
    let both = "float[3,5,200] y[i0, i1, i2] = sum over i3 < 130 of a[i0, i1, i3] * b[i0, i3, i2]";
    let of_bytes = |rows: usize| {
        format!("int32[{rows},600] y[i0, i1] = sum over i2 < 530 of int32(a[i0, i2]) * int32(b[i2, i1])")
    };
    let (u8, i8) = (ElemType::UINT8, ElemType::INT8);
    let weights = bytes(i8, &[530, 600], 3);
    let winograd = {
        let (formula, dims) = Taps([1, 48], [32, 32], [48, 3], [1, 1], 1, [1, 1]).formula();
        let tensors = vec![floats(&dims[0], 0), floats(&dims[1], 3)];
        Case { name: "taps", formula, tensors, are_constant: vec![false, true] }
    };
    vec![
        case("columns", float, vec![floats(&[9, 260], 0), floats(&[260, 300], 1)], &[false, true]),
        case("rows", rows, vec![floats(&[300, 260], 0), floats(&[260, 9], 1)], &[true, false]),
        case("matrices", both, vec![floats(&[3, 5, 130], 0), floats(&[3, 130, 200], 1)], &[false, true]),
        winograd,
        case("bytes", &of_bytes(2), vec![bytes(u8, &[2, 530], 1), weights.clone()], &[false, true]),
        case("many bytes", &of_bytes(40), vec![bytes(u8, &[40, 530], 1), weights], &[false, true]),
    ]
}

/// For each case and kernel of the processor.
fn each_case(mut with: impl FnMut(&Case, usize)) {
    let most = f32::kernels().len().max(u8::kernels().len());
    for case in cases() {
        for kernel in 0..most {
            forced(kernel, || with(&case, kernel));
        }
    }
}

#[test]
fn factors_of_a_store_are_those_that_were_packed() {
    each_case(|case, kernel| {
        let plain = case.result(None);
        let store = Arc::new(Store::default());
        let shared: Arc<dyn PackedStore> = Arc::clone(&store) as _;
        for calls in [[0, 1, 0], [1, 0, 0], [1, 0, 0]] {
            let found = case.result(Some(&shared));
            assert!(found.bytes() == plain.bytes(), "{} {kernel}", case.name);
            assert_eq!(store.calls(), calls, "{} {kernel}", case.name);
        }
        for content in lock(&store.entries).values() {
            assert!(description(content).is_some_and(|text| text.contains(" in tiles of ")));
        }
        let full: Arc<dyn PackedStore> = Arc::new(Store { is_full: true, ..Store::default() });
        assert!(case.result(Some(&full)).bytes() == plain.bytes(), "{} {kernel}", case.name);
    });
}

/// A matrix of columns and one of rows of a store, for each kernel: as they are packed without one.
fn matrices(numbers: &[f32], store: Option<&dyn PackedStore>) -> [Matrix; 2] {
    let columns = Matrix::of_columns(numbers, 260, store).expect("memory");
    [columns, Matrix::of_rows(numbers, 300, store).expect("memory")]
}

#[test]
fn matrices_of_a_store_are_those_that_were_packed() {
    let numbers: Vec<f32> = (0..260 * 300).map(|i| ((i * 7919) % 1009) as f32 / 500.0 - 1.0).collect();
    let rows: Vec<f32> = (0..5 * 260).map(|i| (i % 13) as f32 - 6.0).collect();
    let products = |matrices: &[Matrix; 2]| {
        matrices.each_ref().map(|matrix| {
            let mut out = vec![0.5; 5 * 300];
            matrix.add_products(&rows, &mut out).expect("memory");
            out
        })
    };
    for kernel in 0..f32::kernels().len() {
        forced(kernel, || {
            pool::with_threads(1, || {
                let plain = products(&matrices(&numbers, None));
                let store = Store::default();
                for calls in [[0, 2, 0], [2, 0, 0]] {
                    assert_eq!(products(&matrices(&numbers, Some(&store))), plain, "{kernel}");
                    assert_eq!(store.calls(), calls, "{kernel}");
                }
                // A matrix of other numbers, and a small one.
                let others: Vec<f32> = numbers.iter().map(|x| x + 1.0).collect();
                assert_ne!(products(&matrices(&others, Some(&store))), plain, "{kernel}");
                assert_eq!(store.calls(), [0, 2, 0], "{kernel}");
                Matrix::of_columns(&numbers[..260], 260, Some(&store)).expect("memory");
                assert_eq!(store.calls(), [0, 0, 0], "{kernel}");
                // Damaged entries are packed anew.
                for content in lock(&store.entries).values_mut() {
                    let mut damaged = content.to_vec();
                    damaged[HEAD + 4] ^= 1;
                    *content = aligned(&damaged);
                }
                assert_eq!(products(&matrices(&numbers, Some(&store))), plain, "{kernel}");
                assert_eq!(store.calls(), [2, 2, 2], "{kernel}");
            })
        });
    }
}

#[test]
fn stored_numbers_at_odd_addresses_are_shared_by_a_store() {
    let numbers: Vec<f32> = (0..1 << 17).map(|i| i as f32).collect();
    let bytes: &[u8] = bytemuck::cast_slice(&numbers);
    let at = |offset: usize, bytes: &[u8]| {
        let content = aligned(&[&vec![0; offset], bytes].concat()).slice(offset..);
        let mut stored = onnx_ir::Tensor { elem: Some(ElemType::FLOAT), ..onnx_ir::Tensor::default() };
        stored.dims.push((bytes.len() / 4) as i64);
        stored.data.push(Payload::Entries { field: Field::Raw, bytes: content });
        stored
    };
    let store = Store::default();
    let load = |offset: usize, bytes: &[u8]| {
        let tensor = Tensor::stored_in(&at(offset, bytes), Some(&store)).expect("sound");
        assert!(tensor.bytes() == bytes, "{offset}");
        (tensor.is_stored(), store.calls())
    };
    assert_eq!(load(4, bytes), (true, [0, 0, 0]));
    assert_eq!(load(1, bytes), (true, [0, 1, 0]));
    assert_eq!(load(3, bytes), (true, [1, 0, 0]));
    // Small ones are copied, as are all without a store, and with one that is full.
    assert_eq!(load(1, &bytes[..1 << 16]), (false, [0, 0, 0]));
    assert!(!Tensor::stored(&at(1, bytes)).expect("sound").is_stored());
    let full = Store { is_full: true, ..Store::default() };
    let copied = Tensor::stored_in(&at(1, bytes), Some(&full)).expect("sound");
    assert!(!copied.is_stored() && copied.bytes() == bytes);
}

/// Digests of packed numbers, by case and description. Kernels of other processors have other forms, which are not here.
///
/// If one differs, numbers are packed in another way: raise `FORMAT` of `pack_cache`, so that those of before are not read, and
/// renew the digests.
const PACKED: &[(&str, &str, &str)] = &[
    ("bytes", "8-bit 532 x 600 in tiles of 16", "3495efc43993d114"),
    ("bytes", "8-bit 532 x 600 in tiles of 8", "9d7d13c7c10b1852"),
    ("columns", "float32 260 x 300 in tiles of 16", "eae3dff02c49b95a"),
    ("columns", "float32 260 x 300 in tiles of 8", "deee3efa19e21e45"),
    ("many bytes", "8-bit 532 x 600 in tiles of 16", "c1dd9c2816868279"),
    ("many bytes", "8-bit 532 x 600 in tiles of 8", "9d7d13c7c10b1852"),
    ("matrices", "float32 3 x 130 x 200 in tiles of 16", "21adc1e7ba611bc8"),
    ("matrices", "float32 3 x 130 x 200 in tiles of 8", "f5f958ae90e8da70"),
    ("matrix", "float32 260 x 300 in tiles of 16", "156e67561be83eb0"),
    ("matrix", "float32 260 x 300 in tiles of 16", "a96341ddfda59be2"),
    ("matrix", "float32 260 x 300 in tiles of 8", "01e547523746b573"),
    ("matrix", "float32 260 x 300 in tiles of 8", "920c993ed7d97790"),
    ("rows", "float32 260 x 300 in tiles of 4", "6410cda3d1e17b4b"),
    ("rows", "float32 260 x 300 in tiles of 6", "e5dbf320a36b59eb"),
];

#[test]
fn a_format_has_one_way_of_packing() {
    let mut found = Vec::new();
    each_case(|case, _| {
        // Winograd's transformation rounds as the processor does.
        if case.name == "taps" {
            return;
        }
        let store = Arc::new(Store::default());
        let shared: Arc<dyn PackedStore> = Arc::clone(&store) as _;
        case.result(Some(&shared));
        for content in lock(&store.entries).values() {
            let digest: String =
                content[DIGEST..DIGEST + 8].iter().map(|byte| format!("{byte:02x}")).collect();
            found.push((case.name, description(content).expect("a description"), digest));
        }
    });
    let numbers: Vec<f32> = (0..260 * 300).map(|i| i as f32).collect();
    for kernel in 0..f32::kernels().len() {
        let store = Store::default();
        forced(kernel, || matrices(&numbers, Some(&store)));
        for content in lock(&store.entries).values() {
            let digest: String =
                content[DIGEST..DIGEST + 8].iter().map(|byte| format!("{byte:02x}")).collect();
            found.push(("matrix", description(content).expect("a description"), digest));
        }
    }
    found.sort();
    found.dedup();
    let is_known = |(name, about, _): &(&str, String, String)| {
        PACKED.iter().any(|(of, form, _)| of == name && form == about)
    };
    let known: Vec<_> = found.iter().filter(|it| is_known(it)).collect();
    assert!(!known.is_empty(), "{found:#?}");
    for it in known {
        assert!(PACKED.contains(&(it.0, it.1.as_str(), it.2.as_str())), "{it:?} in {found:#?}");
    }
}

#[test]
fn damaged_entries_are_packed_anew() {
    let all = cases();
    let store = Arc::new(Store::default());
    let shared: Arc<dyn PackedStore> = Arc::clone(&store) as _;
    for case in &all {
        case.result(Some(&shared));
    }
    assert_eq!(lock(&store.entries).len(), all.len(), "one entry for each case");
    let (case, plain) = (&all[5], all[5].result(None));
    let before: Vec<String> = lock(&store.entries).keys().cloned().collect();
    // The entry of this case is the one that is used.
    let name = before.iter().find(|name| {
        let kept = lock(&store.entries).remove(*name).expect("an entry");
        store.calls();
        case.result(Some(&shared));
        let is_it = store.calls() == [0, 1, 0];
        lock(&store.entries).insert((*name).clone(), kept);
        is_it
    });
    let name = name.expect("an entry of the case").clone();
    // Which entry is the first depends on the names.
    let other = before.iter().find(|other| **other != name).expect("another entry");
    let other = lock(&store.entries)[other].clone();
    let sound = lock(&store.entries)[&name].clone();
    let last = sound.len() - 1;
    let flipped = |at: usize| {
        let mut content = sound.to_vec();
        content[at] ^= 1;
        content
    };
    let mut damaged: Vec<(String, Vec<u8>)> = vec![
        ("an entry of other numbers".into(), other.to_vec()),
        ("zeros".into(), vec![0; sound.len()]),
        ("longer".into(), [&sound[..], &[0; 64]].concat()),
    ];
    // At each boundary of the head and of the lists, and beside it.
    for at in [0, 16, 48, 80, 88, 96, 104, 112, HEAD - 32, HEAD, HEAD + ALIGN, last / 2, last] {
        damaged.push((format!("cut at {at}"), sound[..at].to_vec()));
        damaged.push((format!("flipped at {at}"), flipped(at)));
        if let Some(at) = at.checked_sub(1) {
            damaged.push((format!("cut at {at}"), sound[..at].to_vec()));
            damaged.push((format!("flipped at {at}"), flipped(at)));
        }
    }
    for (what, content) in damaged {
        lock(&store.entries).insert(name.clone(), aligned(&content));
        store.calls();
        assert!(case.result(Some(&shared)).bytes() == plain.bytes(), "{what}");
        assert_eq!(store.calls(), [1, 1, 1], "{what}");
        assert!(lock(&store.entries)[&name] == sound, "{what}");
    }
    // Numbers at an address that words cannot have.
    let odd = [&[0][..], &sound].concat();
    lock(&store.entries).insert(name.clone(), aligned(&odd).slice(1..));
    assert!(case.result(Some(&shared)).bytes() == plain.bytes());
    assert_eq!(store.calls(), [1, 1, 1]);
}
