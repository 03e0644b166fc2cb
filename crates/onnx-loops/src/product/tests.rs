//! Products of bytes with each micro-kernel of the processor, compared with their formulas element by element.

use super::micro::{Factor, forced};
use super::{Packed, Precision};
use crate::lanes::view::View;
use crate::program::Operand;
use crate::tensor::Tensor;
use crate::{Nest, Workers, agree};
use onnx_formula::{Elements, Mode, Reader};
use onnx_ir::ElemType;

/// Bytes of all values, at all places.
fn byte(at: usize) -> u8 {
    (at * 37 + at / 3 + at / 256) as u8
}

/// An operand: its element type, its shape, and whether it is constant.
type Factors<'f> = (ElemType, &'f [usize], bool);

/// Computes a product of bytes `a` and `b`, with zero points `c` and `d` if it has any, with each kernel.
fn check(text: &str, factors: &[Factors<'_>]) {
    let mut reader = Reader::new(text).expect("tokens");
    let mut number = |name: &str| Some(usize::from(name.as_bytes()[0] - b'a'));
    let (_, formula) = reader.formula(&mut number).unwrap_or_else(|why| panic!("{text}: {why:?}"));
    let tensors: Vec<Tensor> = (factors.iter().enumerate())
        .map(|(n, (elem, dims, _))| {
            let bytes: Vec<u8> = (0..dims.iter().product()).map(|at| byte(at * (4 * n + 1) + n)).collect();
            Tensor::from_bytes(*elem, dims, bytes.into()).expect("it has so many bytes")
        })
        .collect();
    let loads: Vec<Option<&dyn Elements>> = tensors.iter().map(|it| Some(it as &dyn Elements)).collect();
    let dense = formula.evaluate(&loads, Mode::Reference, usize::MAX).expect("numbers");
    let numbers: Vec<i32> = dense.numbers.iter().map(|n| n.as_float() as i32).collect();
    let expected = Tensor::of(&formula.dims, &numbers).expect("small");
    let types = |at: usize| {
        let (elem, dims, is_constant) = *factors.get(at)?;
        Some(Operand { elem, dims, is_constant })
    };
    let constants: Vec<Option<&Tensor>> =
        factors.iter().zip(&tensors).map(|((.., is_constant), it)| is_constant.then_some(it)).collect();
    let views: Vec<Option<View<'_>>> = tensors.iter().map(|it| Some(View::of(it))).collect();
    for kernel in 0..u8::kernels().len() {
        forced(kernel, || {
            let mut nest = Nest::of(&formula, &types).expect("loops");
            assert!(nest.is_product_of_bytes(), "{text}: {nest:?}");
            nest.pack_constants(&constants, &mut Packed::default(), Precision::Exact).expect("memory");
            let mut result = Tensor::zeros(formula.elem, &formula.dims).expect("small");
            let out = result.bytes_mut().expect("memory");
            nest.run_all(&views, out, &Workers::default()).expect("it runs");
            if let Err(why) = agree(&result, &expected) {
                panic!("kernel {kernel}, {text}: {why}");
            }
        });
    }
}

const U8: ElemType = ElemType::UINT8;
const I8: ElemType = ElemType::INT8;

#[test]
fn matrix_products_of_bytes_are_the_same_with_each_kernel() {
    for [rows, steps, columns] in
        [[1, 70, 33], [5, 64, 40], [33, 5, 31], [40, 130, 70], [97, 516, 35], [70, 1030, 17]]
    {
        let (a, b) = (&[rows, steps][..], &[steps, columns][..]);
        let sum = format!("int32[{rows},{columns}] y[i0, i1] = sum over i2 < {steps} of");
        let plain = format!("{sum} int32(a[i0, i2]) * int32(b[i2, i1])");
        check(&plain, &[(U8, a, false), (I8, b, false)]);
        let zeros = format!("{sum} (int32(a[i0, i2]) - int32(c[0])) * (int32(b[i2, i1]) - int32(d[0]))");
        check(&zeros, &[(U8, a, false), (I8, b, true), (U8, &[1], true), (I8, &[1], true)]);
        // The constant factor has the rows, and the other one is transposed.
        let across = format!("{sum} int32(a[i0, i2]) * int32(b[i1, i2])");
        check(&across, &[(I8, a, true), (I8, &[columns, steps], false)]);
    }
}

#[test]
fn transposed_rows_of_bytes_are_the_same_with_each_kernel() {
    for [rows, steps, columns] in [[70, 37, 20], [33, 600, 40]] {
        let text = format!(
            "int32[{rows},{columns}] y[i0, i1] = sum over i2 < {steps} of int32(a[i2, i0]) * int32(b[i2, i1])"
        );
        check(&text, &[(U8, &[steps, rows], false), (I8, &[steps, columns], false)]);
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
        let pad = taps / 2;
        let size = (side + 2 * pad - taps) / stride + 1;
        let line = |pixel: &str, tap: &str| format!("{stride}*{pixel} + {tap} - {pad}");
        // Channels first and last.
        for is_last in [false, true] {
            let (height, width) = if is_last { ("i1", "i2") } else { ("i2", "i3") };
            let channel = if is_last { "i3" } else { "i1" };
            let (y, x) = (line(height, "i5"), line(width, "i6"));
            let inside = format!(
                "((index({y}) >= 0) and (index({y}) < {side})) and ((index({x}) >= 0) and (index({x}) < {side}))"
            );
            let (dims, place, result) = match is_last {
                true => {
                    ([images, side, side, channels], format!("i0, {y}, {x}, i4"), [images, size, size, out])
                }
                false => {
                    ([images, channels, side, side], format!("i0, i4, {y}, {x}"), [images, out, size, size])
                }
            };
            let [n, p, q, r] = result;
            let text = format!(
                "int32[{n},{p},{q},{r}] y[i0, i1, i2, i3] = sum over i4 < {channels}, i5 < {taps}, i6 < {taps} of \
                 ((int32(a[{place}]) - int32(c[0])) if ({inside}) else 0) * int32(b[{channel}, i4, i5, i6])"
            );
            let weights = [out, channels, taps, taps];
            check(&text, &[(U8, &dims, false), (I8, &weights, true), (U8, &[1], true)]);
        }
    }
}
