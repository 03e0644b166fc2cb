//! Products of bytes with each micro-kernel of the processor, held against formulas element by element.

use super::micro::{Factor, forced};
use crate::{CompileOptions, RunOptions, Tensor, Value, compile};
use onnx_ir::ElemType;
use onnx_ops::schema::Registry;
use std::fmt::Write;

/// Bytes of all values, at all places.
fn byte(at: usize) -> u8 {
    (at * 37 + at / 3 + at / 256) as u8
}

/// A header of an initializer of signed bytes, with all of them.
fn weights(dims: &[usize]) -> String {
    let mut text = format!("int8{dims:?} w = {{");
    for at in 0..dims.iter().product() {
        _ = write!(text, "{}{}", if at > 0 { ", " } else { "" }, byte(at * 5 + 1).cast_signed());
    }
    text + "}"
}

/// Runs a graph of bytes `a`, and `b` if it has no weights, with each kernel. What it yields is compared with what formulas say.
fn check(graph: &str, inputs: &[(ElemType, &[usize])]) {
    let text = format!("<ir_version: 10, opset_import: [\"\": 21]> g {graph}");
    let read = onnx_text::read_model(&text);
    assert!(read.diagnostics.is_empty(), "{graph:.200}: {:?}", read.diagnostics);
    for number in 0..u8::kernels().len() {
        forced(number, || {
            let options = CompileOptions { check_loops: true, ..CompileOptions::default() };
            let executable = compile(&read.value, Registry::builtin(), &options).expect("it can be run");
            let values = inputs.iter().map(|(elem, dims)| {
                let bytes: Vec<u8> = (0..dims.iter().product()).map(byte).collect();
                let value = Tensor::from_bytes(*elem, dims, bytes.into()).expect("it has so many bytes");
                Some(Value::from(value))
            });
            let options = RunOptions { threads: 1, ..RunOptions::default() };
            // Twice: constants are packed before the first run.
            for values in [values.clone().collect(), values.collect()] {
                if let Err(why) = executable.run(values, &options) {
                    panic!("kernel {number}, {graph:.200}: {}", why.message);
                }
            }
        });
    }
}

#[test]
fn matrix_products_of_bytes_are_the_same_with_each_kernel() {
    for [rows, steps, columns] in
        [[1, 70, 33], [5, 64, 40], [33, 3, 31], [40, 130, 70], [97, 516, 35], [70, 1030, 17]]
    {
        let (a, b) = (&[rows, steps][..], &[steps, columns][..]);
        let of = format!(
            "(uint8{a:?} a, int8{b:?} b) => (int32[{rows},{columns}] y) {{ y = MatMulInteger(a, b) }}"
        );
        check(&of, &[(ElemType::UINT8, a), (ElemType::INT8, b)]);
        let known = format!(
            "(uint8{a:?} a) => (int32[{rows},{columns}] y) <{}, uint8 z = {{3}}, int8 u = {{5}}>
             {{ y = MatMulInteger(a, w, z, u) }}",
            weights(b)
        );
        check(&known, &[(ElemType::UINT8, a)]);
        // The constant factor has the rows, and the other one lies across.
        let known = format!(
            "(int8[{columns},{steps}] a) => (int32[{rows},{columns}] y) <{}>
             {{ t = Transpose(a) y = MatMulInteger(w, t) }}",
            weights(a)
        );
        check(&known, &[(ElemType::INT8, &[columns, steps])]);
    }
}

#[test]
fn rows_of_bytes_across_are_the_same_with_each_kernel() {
    for [rows, steps, columns] in [[70, 37, 20], [33, 600, 40]] {
        let (a, b) = (&[steps, rows][..], &[steps, columns][..]);
        let of = format!(
            "(uint8{a:?} a, int8{b:?} b) => (int32[{rows},{columns}] y) {{ t = Transpose(a) y = MatMulInteger(t, b) }}"
        );
        check(&of, &[(ElemType::UINT8, a), (ElemType::INT8, b)]);
    }
}

#[test]
fn convolutions_of_bytes_are_the_same_with_each_kernel() {
    for [images, channels, side, out, taps, stride] in [
        [1, 64, 14, 40, 3, 1],
        [2, 3, 19, 33, 7, 2],
        [1, 24, 7, 36, 1, 1],
        [1, 20, 9, 16, 3, 2],
        [3, 5, 6, 33, 3, 1],
    ] {
        let (pad, w) = (taps / 2, [out, channels, taps, taps]);
        let of = format!(
            "(uint8[{images},{channels},{side},{side}] a) => (int32[a,b,c,d] y) <{}, uint8 z = {{7}}>
             {{ y = ConvInteger <pads = [{pad}, {pad}, {pad}, {pad}], strides = [{stride}, {stride}]> (a, w, z) }}",
            weights(&w)
        );
        check(&of, &[(ElemType::UINT8, &[images, channels, side, side])]);
    }
}
