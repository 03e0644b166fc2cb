//! A property of any bytes that are read as arrays. The fuzz target `npy` includes this file too.

use crate::npy;
use onnx_ir::ElemType;

/// Reads bytes as an array and as an archive of arrays, without panic, and checks that writing preserves what was read.
pub(crate) fn read_back(data: &[u8]) {
    for requested in [None, Some(ElemType::BFLOAT16), Some(ElemType::INT4), Some(ElemType::STRING)] {
        if let Ok(tensor) = npy::read(data, requested) {
            let mut written = Vec::new();
            npy::write(&tensor, &mut written).expect("a list can be written to");
            let again = npy::read(&written, Some(tensor.elem())).expect("our own array is read");
            assert_eq!((again.elem(), again.dims()), (tensor.elem(), tensor.dims()), "the type comes back");
            assert_eq!(again.bytes(), tensor.bytes(), "the elements come back");
            assert_eq!(again.string_slice().ok(), tensor.string_slice().ok(), "the strings come back");
        }
    }
    if let Ok(arrays) = npy::read_all(data, |_| npy::Wanted::As(None)) {
        let mut written = Vec::new();
        npy::write_all(&arrays.read, &mut written).expect("a list can be written to");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use conformance::fuzz::{Mutator, words};
    use onnx_exec::Tensor;

    #[test]
    fn arrays_of_changed_bytes_are_refused_or_come_back() {
        let tensors = [
            Tensor::of(&[2, 3], &[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap(),
            Tensor::scalar(7i64).unwrap(),
            Tensor::of_bools(&[3], [true, false, true]).unwrap(),
            Tensor::of_strings(&[2], vec!["\u{e9}".into(), "ab".into()]).unwrap(),
        ];
        let mut seeds: Vec<Vec<u8>> = Vec::new();
        for tensor in &tensors {
            let mut array = Vec::new();
            npy::write(tensor, &mut array).unwrap();
            seeds.push(array);
            let mut archive = Vec::new();
            npy::write_all(&[("a".to_owned(), tensor.clone())], &mut archive).unwrap();
            seeds.push(archive);
        }
        let dictionary = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/npy.dict");
        let dictionary = words(&std::fs::read_to_string(dictionary).unwrap());
        let mut mutator = Mutator::new(&seeds, dictionary, 3);
        seeds.iter().for_each(|seed| read_back(seed));
        for _ in 0..3000 {
            read_back(&mutator.input());
        }
    }
}
