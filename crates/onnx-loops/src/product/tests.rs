//! Products with each micro-kernel of the processor, compared with their formulas element by element, and on several threads.

mod stored;

use super::micro::{Factor, forced};
use super::rows::Access;
use super::{Packed, Precision};
use crate::lanes::view::View;
use crate::program::Operand;
use crate::tensor::Tensor;
use crate::{Nest, Workers, agree, pool};
use onnx_formula::{Elements, Formula, Mode, Reader};
use onnx_ir::ElemType;

/// Bytes of all values, at all places.
fn byte(at: usize) -> u8 {
    (at * 37 + at / 3 + at / 256) as u8
}

/// An operand: its element type, its shape, and whether it is constant.
type Factors<'f> = (ElemType, &'f [usize], bool);

/// The formula of a text with operands `a`, `b` and so on.
fn formula(text: &str) -> Formula {
    let mut reader = Reader::new(text).expect("tokens");
    let mut number = |name: &str| Some(usize::from(name.as_bytes()[0] - b'a'));
    let (_, formula) = reader.formula(&mut number).unwrap_or_else(|why| panic!("{text}: {why:?}"));
    formula
}

/// The loops of a formula, with constants packed.
fn nest(formula: &Formula, factors: &[Factors<'_>], tensors: &[Tensor]) -> Nest {
    let types = |at: usize| {
        let (elem, dims, is_constant) = *factors.get(at)?;
        Some(Operand { elem, dims, is_constant })
    };
    let mut nest = Nest::of(formula, &types).expect("loops");
    let constants: Vec<Option<&Tensor>> =
        factors.iter().zip(tensors).map(|((.., is_constant), it)| is_constant.then_some(it)).collect();
    nest.pack_constants(&constants, &mut Packed::default(), Precision::Exact).expect("memory");
    nest
}

/// The result of loops on so many threads.
fn result(nest: &Nest, formula: &Formula, tensors: &[Tensor], threads: usize) -> Tensor {
    let views: Vec<Option<View<'_>>> = tensors.iter().map(|it| Some(View::of(it))).collect();
    let mut result = Tensor::zeros(formula.elem, &formula.dims).expect("small");
    let out = result.bytes_mut().expect("memory");
    pool::with_threads(threads, || nest.run_all(&views, out, &Workers::default())).expect("it runs");
    result
}

/// Floats that are small integers, so that all sums are exact.
fn floats(dims: &[usize], first: usize) -> Tensor {
    let numbers: Vec<f32> = (first..first + dims.iter().product::<usize>())
        .map(|i| (i * 7 % 11 + i / 5 % 3) as f32 - 6.0)
        .collect();
    Tensor::of(dims, &numbers).expect("small")
}

/// Computes a product of bytes `a` and `b`, with zero points `c` and `d` if it has any, with each kernel.
fn check(text: &str, factors: &[Factors<'_>]) {
    let formula = formula(text);
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
    for kernel in 0..u8::kernels().len() {
        forced(kernel, || {
            let nest = nest(&formula, factors, &tensors);
            assert!(nest.is_product_of_bytes(), "{text}: {nest:?}");
            if let Err(why) = agree(&result(&nest, &formula, &tensors, 1), &expected) {
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

#[test]
fn few_rows_are_the_same_on_any_number_of_threads() {
    const F: ElemType = ElemType::FLOAT;
    for (at, rows) in [1, 2, 3, 4, 5, 6, 8, 13, 20, 49, 90].into_iter().enumerate() {
        let columns = [517, 768, 1000][at % 3];
        let steps = (1usize << 19).div_ceil(rows * columns).max(at % 4 + 5);
        let total = format!("sum over i2 < {steps} of a[i0, i2] * b[i2, i1]");
        let begin = format!("float[{rows},{columns}] y[i0, i1]");
        let (a, b) = (floats(&[rows, steps], 0), floats(&[steps, columns], 4));
        let (x, w) = (a.slice::<f32>().expect("floats"), b.slice::<f32>().expect("floats"));
        let sum = |row: usize, column: usize| {
            (0..steps).map(|step| x[row * steps + step] * w[step * columns + column]).sum::<f32>()
        };
        let of_columns = floats(&[columns], 1);
        let z = of_columns.slice::<f32>().expect("floats");
        // As large as the result.
        let others = floats(&[rows, columns], 2);
        let residual = others.slice::<f32>().expect("floats");
        for (case, is_constant) in (0..5).flat_map(|case| [(case, true), (case, false)]) {
            let text = match case {
                0 => format!("{begin} = {total}"),
                // In the micro-kernel, and by a program.
                1 => format!("{begin} = max(total + c[i1], 0.0) where total = {total}"),
                2 => format!("{begin} = abs(total + c[i1]) where total = {total}"),
                3 => format!("{begin} = total + d[i0, i1] where total = {total}"),
                _ => format!("{begin} = max((total + c[i1]) + d[i0, i1], 0.0) where total = {total}"),
            };
            let of = |sum: f32, z: f32, residual: f32| match case {
                0 => sum,
                1 => (sum + z).max(0.0),
                2 => (sum + z).abs(),
                3 => sum + residual,
                _ => (sum + z + residual).max(0.0),
            };
            let formula = formula(&text);
            let dims = [&[rows, steps][..], &[steps, columns], &[columns], &[rows, columns]];
            let factors =
                [(F, dims[0], false), (F, dims[1], is_constant), (F, dims[2], true), (F, dims[3], false)];
            let tensors = [a.clone(), b.clone(), of_columns.clone(), others.clone()];
            let count = [2, 3, 3, 4, 4][case];
            if rows < 4 && !is_constant {
                continue;
            }
            let nest = nest(&formula, &factors[..count], &tensors[..count]);
            assert_eq!(nest.as_contraction().columns_of_part(2).is_some(), rows > 1, "{text}");
            let one = result(&nest, &formula, &tensors[..count], 1);
            let numbers = one.slice::<f32>().expect("floats");
            for (row, column) in
                (0..rows).flat_map(|row| (row % 7..columns).step_by(7).map(move |c| (row, c)))
            {
                assert_eq!(
                    numbers[row * columns + column],
                    of(sum(row, column), z[column], residual[row * columns + column]),
                    "{text} {row} {column}"
                );
            }
            for threads in 2..5 {
                let several = result(&nest, &formula, &tensors[..count], threads);
                assert!(several.bytes() == one.bytes(), "{text} {threads}");
            }
        }
    }
}

#[test]
fn few_rows_of_bytes_are_the_same_on_any_number_of_threads() {
    for [rows, columns] in [[1, 70], [2, 140], [3, 75], [4, 130], [5, 200], [6, 64]] {
        let steps = 37;
        let text = format!(
            "int32[{rows},{columns}] y[i0, i1] = sum over i2 < {steps} of \
             (int32(a[i0, i2]) - int32(c[0])) * (int32(b[i2, i1]) - int32(d[0]))"
        );
        let zeros = [(U8, &[1][..], true), (I8, &[1], true)];
        check(&text, &[(U8, &[rows, steps], false), (I8, &[steps, columns], true), zeros[0], zeros[1]]);
    }
    for rows in [1, 2, 7, 12, 30] {
        let (steps, columns) = ((1usize << 19).div_ceil(rows * 600), 600);
        let text = format!(
            "int32[{rows},{columns}] y[i0, i1] = sum over i2 < {steps} of \
             (int32(a[i0, i2]) - int32(c[0])) * (int32(b[i2, i1]) - int32(d[i1]))"
        );
        let dims = [&[rows, steps][..], &[steps, columns], &[1], &[columns]];
        let factors = [(U8, dims[0], false), (I8, dims[1], true), (U8, dims[2], true), (I8, dims[3], true)];
        let of = |(n, (elem, dims, _)): (usize, &Factors<'_>)| {
            let bytes: Vec<u8> = (0..dims.iter().product()).map(|at| byte(at * (4 * n + 1) + n)).collect();
            Tensor::from_bytes(*elem, dims, bytes.into()).expect("it has so many bytes")
        };
        let tensors: Vec<Tensor> = factors.iter().enumerate().map(of).collect();
        let formula = formula(&text);
        let nest = nest(&formula, &factors, &tensors);
        let one = result(&nest, &formula, &tensors, 1);
        for threads in 2..5 {
            assert!(result(&nest, &formula, &tensors, threads).bytes() == one.bytes(), "{text} {threads}");
        }
    }
}

#[test]
fn functions_of_a_linear_part_are_computed_with_each_kernel() {
    // Tiles that are whole and not, several blocks of steps, rows that are contiguous and blocks of columns that are not.
    for [rows, steps, columns] in
        [[1, 5, 40], [7, 33, 16], [13, 20, 70], [50, 300, 129], [300, 9, 24], [9, 12, 1500]]
    {
        let x = "(total + c[i1])";
        let text = format!(
            "float[{rows},{columns}] y[i0, i1] = {x} * tanh({x} * 0.25) where total = sum over i2 < {steps} of a[i0, i2] * b[i2, i1]"
        );
        let formula = formula(&text);
        let dims = [&[rows, steps][..], &[steps, columns], &[columns]];
        let tensors = [floats(dims[0], 0), floats(dims[1], 3), floats(dims[2], 1)];
        let [a, b, c] = [0, 1, 2].map(|at| tensors[at].slice::<f32>().expect("floats"));
        let expected = |row: usize, column: usize| {
            let sum: f32 = (0..steps).map(|k| a[row * steps + k] * b[k * columns + column]).sum();
            let x = f64::from(sum + c[column]);
            x * (x * 0.25).tanh()
        };
        // One row by numbers that are not packed is a stencil.
        for is_constant in [true, false].into_iter().take(1 + usize::from(rows > 1)) {
            let factors = [
                (ElemType::FLOAT, dims[0], false),
                (ElemType::FLOAT, dims[1], is_constant),
                (ElemType::FLOAT, dims[2], true),
            ];
            for kernel in 0..f32::kernels().len() {
                forced(kernel, || {
                    let nest = nest(&formula, &factors, &tensors);
                    assert!(nest.as_contraction().has_function(), "{nest:?}");
                    let one = result(&nest, &formula, &tensors, 1);
                    for (at, result) in one.slice::<f32>().expect("floats").iter().enumerate() {
                        let expected = expected(at / columns, at % columns);
                        let apart = (f64::from(*result) - expected).abs();
                        assert!(apart <= expected.abs() * 5e-7, "kernel {kernel}, {text}, {at}");
                    }
                });
            }
            let nest = nest(&formula, &factors, &tensors);
            let one = result(&nest, &formula, &tensors, 1);
            assert!(result(&nest, &formula, &tensors, 2).bytes() == one.bytes(), "{text}");
        }
    }
}

/// A convolution of floats with channels last: images and channels, size of an image, output channels and taps on each axis, their
/// distances, stride, padding before and behind.
#[derive(Clone, Copy)]
struct Taps([usize; 2], [usize; 2], [usize; 2], [usize; 2], usize, [usize; 2]);

impl Taps {
    /// Its formula, and the dimensions of its factors.
    fn formula(self) -> (Formula, [[usize; 4]; 2]) {
        let Taps([images, channels], [high, wide], [out, taps], apart, stride, pads) = self;
        let size =
            |size: usize, apart: usize| (size + pads[0] + pads[1] - apart * (taps - 1) - 1) / stride + 1;
        let [p, q] = [size(high, apart[0]), size(wide, apart[1])];
        let line =
            |pixel: &str, tap: &str, apart: usize| format!("{stride}*{pixel} + {apart}*{tap} - {}", pads[0]);
        let (y, x) = (line("i1", "i4", apart[0]), line("i2", "i5", apart[1]));
        let inside = format!(
            "((index({y}) >= 0) and (index({y}) < {high})) and ((index({x}) >= 0) and (index({x}) < {wide}))"
        );
        let text = format!(
            "float[{images},{p},{q},{out}] y[i0, i1, i2, i3] = sum over i4 < {taps}, i5 < {taps}, i6 < {channels} of \
             (a[i0, {y}, {x}, i6] if ({inside}) else 0.0) * b[i3, i6, i4, i5]"
        );
        (formula(&text), [[images, high, wide, channels], [out, channels, taps, taps]])
    }
}

/// Whether the rows of a product are read with lists of taps.
fn is_far(nest: &Nest) -> bool {
    let (extents, steps) = nest.as_contraction().axes();
    matches!(Access::of::<f32>(nest.as_contraction(), &extents, &steps), Access::Far(_))
}

#[test]
fn taps_that_are_far_apart_are_those_of_the_formula() {
    for (is_expected, taps) in [
        (false, Taps([1, 6], [14, 14], [9, 3], [1, 1], 1, [1, 1])),
        (true, Taps([1, 6], [14, 14], [9, 3], [6, 6], 1, [6, 6])),
        (true, Taps([1, 6], [14, 13], [9, 3], [12, 12], 1, [12, 12])),
        (true, Taps([2, 5], [14, 15], [8, 3], [20, 20], 1, [20, 20])),
        (true, Taps([1, 4], [17, 29], [9, 3], [9, 5], 2, [8, 10])),
        (true, Taps([1, 4], [9, 7], [40, 5], [2, 3], 1, [6, 5])),
        (true, Taps([1, 3], [6, 40], [8, 3], [5, 24], 3, [24, 24])),
        (true, Taps([1, 260], [5, 4], [8, 3], [3, 3], 1, [3, 3])),
    ] {
        let (formula, dims) = taps.formula();
        let factors = [(ElemType::FLOAT, &dims[0][..], false), (ElemType::FLOAT, &dims[1][..], true)];
        for has_infinity in [false, true] {
            let mut weights = floats(&dims[1], 3).slice::<f32>().expect("floats").to_vec();
            if has_infinity {
                weights[4] = f32::INFINITY;
            }
            let tensors = [floats(&dims[0], 0), Tensor::of(&dims[1], &weights).expect("small")];
            let loads: Vec<Option<&dyn Elements>> =
                tensors.iter().map(|it| Some(it as &dyn Elements)).collect();
            let dense = formula.evaluate(&loads, Mode::Reference, usize::MAX).expect("numbers");
            let numbers: Vec<f32> = dense.numbers.iter().map(|n| n.as_float() as f32).collect();
            let expected = Tensor::of(&formula.dims, &numbers).expect("small");
            for kernel in 0..f32::kernels().len() {
                forced(kernel, || {
                    let nest = nest(&formula, &factors, &tensors);
                    // Padding times infinity must be computed.
                    assert_eq!(is_far(&nest), is_expected && !has_infinity, "{dims:?}");
                    if let Err(why) = agree(&result(&nest, &formula, &tensors, 1), &expected) {
                        panic!("kernel {kernel}, {dims:?}: {why}");
                    }
                });
            }
        }
    }
}

#[test]
fn taps_that_are_far_apart_are_the_same_on_any_number_of_threads() {
    for taps in [
        // The copy is of the whole image, and of few lines at a time.
        Taps([1, 24], [20, 22], [24, 3], [8, 8], 1, [8, 8]),
        Taps([1, 200], [9, 300], [8, 3], [4, 4], 2, [4, 4]),
        Taps([1, 1500], [9, 40], [8, 3], [5, 5], 1, [5, 5]),
    ] {
        let (formula, dims) = taps.formula();
        let factors = [(ElemType::FLOAT, &dims[0][..], false), (ElemType::FLOAT, &dims[1][..], true)];
        let tensors = [floats(&dims[0], 0), floats(&dims[1], 3)];
        let nest = nest(&formula, &factors, &tensors);
        assert!(is_far(&nest), "{dims:?}");
        let one = result(&nest, &formula, &tensors, 1);
        for threads in 2..5 {
            assert!(result(&nest, &formula, &tensors, threads).bytes() == one.bytes(), "{dims:?} {threads}");
        }
        // The product of all taps, of which those outside are zeros, for some pixels.
        let [x, w, y] = [&tensors[0], &tensors[1], &one].map(|it| it.slice::<f32>().expect("floats"));
        let Taps([_, channels], [high, wide], [out, count], apart, stride, pads) = taps;
        let [_, p, q, _] = formula.dims[..] else { panic!("{dims:?}") };
        for (line, pixel) in (0..p).flat_map(|line| (line % 5..q).step_by(5).map(move |pixel| (line, pixel)))
        {
            let column = (line + pixel) % out;
            let place =
                |at: usize, tap: usize, apart: usize| (at * stride + tap * apart).checked_sub(pads[0]);
            let mut sum = 0.0;
            for (i, j) in (0..count).flat_map(|i| (0..count).map(move |j| (i, j))) {
                let (down, along) = (place(line, i, apart[0]), place(pixel, j, apart[1]));
                let (Some(down), Some(along)) = (down.filter(|at| *at < high), along.filter(|at| *at < wide))
                else {
                    continue;
                };
                for channel in 0..channels {
                    let weight = w[((column * channels + channel) * count + i) * count + j];
                    sum += x[(down * wide + along) * channels + channel] * weight;
                }
            }
            assert_eq!(y[(line * q + pixel) * out + column], sum, "{dims:?} {line} {pixel}");
        }
    }
}

/// Convolutions to one, two and three channels before the pixels are products where all pixels are read; images are wider than the
/// tiles that are packed together.
#[test]
fn few_channels_before_the_pixels_are_products() {
    for (is_expected, [out, channels, taps, stride]) in [
        (true, [1, 40, 3, 1]),
        (false, [1, 4, 3, 1]),
        (true, [2, 4, 3, 1]),
        (true, [3, 3, 5, 1]),
        (true, [5, 9, 3, 2]),
        (false, [3, 9, 3, 2]),
        (false, [3, 40, 1, 1]),
    ] {
        let (high, wide) = (9, 300 * stride);
        let pad = taps / 2;
        let [p, q] = [high, wide].map(|size| (size + 2 * pad - taps) / stride + 1);
        let line = |pixel: &str, tap: &str| format!("{stride}*{pixel} + {tap} - {pad}");
        let (y, x) = (line("i1", "i4"), line("i2", "i5"));
        let inside = format!(
            "((index({y}) >= 0) and (index({y}) < {high})) and ((index({x}) >= 0) and (index({x}) < {wide}))"
        );
        let text = format!(
            "float[{out},{p},{q}] y[i0, i1, i2] = sum over i3 < {channels}, i4 < {taps}, i5 < {taps} of \
             (a[i3, {y}, {x}] if ({inside}) else 0.0) * b[i0, i3, i4, i5]"
        );
        let (formula, dims) = (formula(&text), [vec![channels, high, wide], vec![out, channels, taps, taps]]);
        let factors = [(ElemType::FLOAT, &dims[0][..], false), (ElemType::FLOAT, &dims[1][..], true)];
        let tensors = [floats(&dims[0], 0), floats(&dims[1], 3)];
        let nest = nest(&formula, &factors, &tensors);
        assert_eq!(nest.contraction().is_some(), is_expected, "{text}");
        let loads: Vec<Option<&dyn Elements>> = tensors.iter().map(|it| Some(it as &dyn Elements)).collect();
        let dense = formula.evaluate(&loads, Mode::Reference, usize::MAX).expect("numbers");
        let numbers: Vec<f32> = dense.numbers.iter().map(|n| n.as_float() as f32).collect();
        let expected = Tensor::of(&formula.dims, &numbers).expect("small");
        let one = result(&nest, &formula, &tensors, 1);
        if let Err(why) = agree(&one, &expected) {
            panic!("{text}: {why}");
        }
        assert!(result(&nest, &formula, &tensors, 3).bytes() == one.bytes(), "{text}");
    }
}

#[test]
fn rows_that_are_computed_are_multiplied_like_others() {
    // More than a strip, as many bytes as compete for the same lines of a cache, more than a band, and short runs.
    for [rows, steps, columns] in [[5, 16, 9], [33, 40, 17], [30, 1024, 8], [130, 1100, 8], [70, 2049, 70]] {
        let [a, b, c, d] =
            [[rows, steps], [steps, columns], [steps, 1], [rows, 1]].map(|dims| floats(&dims, dims[0]));
        let [x, w, gates, of_rows] = [&a, &b, &c, &d].map(|it| it.slice::<f32>().expect("floats"));
        let begin = format!("float[{rows},{columns}] y[i0, i1] = sum over i2 < {steps} of");
        for (factor, of) in [
            ("a[i0, i2] * c[i2, 0]", (|x, gate, _| x * gate) as fn(f32, f32, f32) -> f32),
            ("max(a[i0, i2] + d[i0, 0], c[i2, 0])", |x, gate, of_row| (x + of_row).max(gate)),
        ] {
            let formula = formula(&format!("{begin} ({factor}) * b[i2, i1]"));
            let dims = [[rows, steps], [steps, columns], [steps, 1], [rows, 1]];
            let factors: Vec<Factors<'_>> =
                dims.iter().enumerate().map(|(at, dims)| (ElemType::FLOAT, &dims[..], at == 1)).collect();
            let tensors = [a.clone(), b.clone(), c.clone(), d.clone()];
            let sums: Vec<f32> = (0..rows)
                .flat_map(|row| (0..columns).map(move |column| (row, column)))
                .map(|(row, column)| {
                    let product = |step| {
                        of(x[row * steps + step], gates[step], of_rows[row]) * w[step * columns + column]
                    };
                    (0..steps).map(product).sum()
                })
                .collect();
            for kernel in 0..f32::kernels().len() {
                forced(kernel, || {
                    let nest = nest(&formula, &factors, &tensors);
                    let (extents, over) = nest.as_contraction().axes();
                    let access = Access::of::<f32>(nest.as_contraction(), &extents, &over);
                    assert!(matches!(access, Access::Computed(_)), "{factor} {rows}");
                    let result = result(&nest, &formula, &tensors, 1);
                    assert_eq!(
                        result.slice::<f32>().expect("floats"),
                        sums,
                        "{kernel} {factor} {rows} {steps}"
                    );
                });
            }
            let nest = nest(&formula, &factors, &tensors);
            for threads in 2..4 {
                let result = result(&nest, &formula, &tensors, threads);
                assert_eq!(result.slice::<f32>().expect("floats"), sums, "{threads} {factor} {rows} {steps}");
            }
        }
    }
}
