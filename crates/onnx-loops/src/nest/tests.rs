//! Reductions of nests, compared bit for bit with the order in which they are documented to add, and copies with what they are to move.

use super::Nest;
use crate::lanes::view::View;
use crate::nest::run::Workers;
use crate::pool;
use crate::program::Operand;
use crate::tensor::Tensor;
use onnx_formula::{Formula, Reader};
use onnx_ir::ElemType;

/// The formula of a text with the operand `a`.
fn formula(text: &str) -> Formula {
    let mut reader = Reader::new(text).expect("tokens");
    let mut number = |name: &str| Some(usize::from(name.as_bytes()[0] - b'a'));
    let (_, formula) = reader.formula(&mut number).unwrap_or_else(|why| panic!("{text}: {why:?}"));
    formula
}

fn nest(formula: &Formula, tensors: &[Tensor]) -> Nest {
    let types = |at: usize| {
        let dims = tensors.get(at)?.dims();
        Some(Operand { elem: ElemType::FLOAT, dims, is_constant: false })
    };
    Nest::of(formula, &types).expect("loops")
}

fn result(nest: &Nest, formula: &Formula, tensors: &[Tensor], threads: usize) -> Vec<f32> {
    let views: Vec<Option<View<'_>>> = tensors.iter().map(|it| Some(View::of(it))).collect();
    let mut result = Tensor::zeros(formula.elem, &formula.dims).expect("small");
    let out = result.bytes_mut().expect("memory");
    pool::with_threads(threads, || nest.run_all(&views, out, &Workers::default())).expect("it runs");
    result.slice::<f32>().expect("floats").to_vec()
}

#[test]
fn sums_of_columns_are_blocks_of_single_floats() {
    for (rows, lanes) in
        [(1, 9), (3, 64), (4, 65), (7, 63), (8, 16), (9, 256), (16, 257), (31, 600), (196, 40)]
    {
        // Columns of a wider matrix, with numbers whose sums are rounded.
        let dims = [rows, lanes + 3];
        let numbers: Vec<f32> = (0..rows * (lanes + 3)).map(|i| 1.0 / (i % 97 + 1) as f32).collect();
        let tensors = [Tensor::of(&dims, &numbers).expect("small")];
        let formula = formula(&format!("float[{lanes}] y[i0] = sum over i1 < {rows} of a[i1, i0 + 2]"));
        let nest = nest(&formula, &tensors);
        let found = result(&nest, &formula, &tensors, 1);
        for (lane, found) in found.iter().enumerate() {
            let column: Vec<f32> = (0..rows).map(|row| numbers[row * (lanes + 3) + lane + 2]).collect();
            let blocks = column.chunks(8).map(|block| block.iter().copied().reduce(|sum, x| sum + x));
            let sum: f64 = blocks.flatten().map(f64::from).fold(0.0, |sum, x| sum + x);
            assert_eq!(*found, sum as f32, "{rows}×{lanes}, lane {lane}");
        }
        assert_eq!(found, result(&nest, &formula, &tensors, 2), "{rows}×{lanes}");
    }
}

/// Permutations with rows of any length: squares of two axes, and of several short ones together; few rows, and columns that are left.
#[test]
fn copies_move_each_element_to_its_place() {
    let shapes: &[&[usize]] = &[
        &[32, 8, 2, 8, 2],
        &[2, 2, 16, 9, 9],
        &[17, 3, 5, 2],
        &[64, 33, 2],
        &[3, 40, 50],
        &[16, 16],
        &[7, 300],
        &[5, 1, 4, 3, 6],
    ];
    for dims in shapes {
        let rank = dims.len();
        let count: usize = dims.iter().product();
        let numbers: Vec<f32> = (0..count).map(|i| i as f32).collect();
        let tensors = [Tensor::of(dims, &numbers).expect("small")];
        for turn in 0..rank * 2 {
            // A rotation of the axes, and the same in reverse.
            let order: Vec<usize> = (0..rank).map(|axis| (axis + turn) % rank).collect();
            let order = if turn < rank { order } else { order.into_iter().rev().collect() };
            let of_result = |axis: usize| order.iter().position(|from| *from == axis).expect("a permutation");
            let sizes: Vec<String> = order.iter().map(|axis| dims[*axis].to_string()).collect();
            let position: Vec<String> = (0..rank).map(|axis| format!("i{}", of_result(axis))).collect();
            let indices: Vec<String> = (0..rank).map(|axis| format!("i{axis}")).collect();
            let (sizes, position) = (sizes.join(","), position.join(", "));
            let formula = formula(&format!("float[{sizes}] y[{}] = a[{position}]", indices.join(", ")));
            let nest = nest(&formula, &tensors);
            for threads in [1, 2] {
                let found = result(&nest, &formula, &tensors, threads);
                for (at, found) in found.iter().enumerate() {
                    let (mut rest, mut place) = (at, 0);
                    for axis in order.iter().rev() {
                        let stride: usize = dims[axis + 1..].iter().product();
                        place += rest % dims[*axis] * stride;
                        rest /= dims[*axis];
                    }
                    assert_eq!(*found, numbers[place], "{dims:?} {order:?} {at}, {threads} threads");
                }
            }
        }
    }
}

#[test]
fn small_powers_are_products() {
    let numbers = [0.0f32, -0.0, 1.0, -1.5, 3.7, 1e-20, 1e20, f32::INFINITY, f32::NEG_INFINITY, f32::NAN];
    let tensors = [Tensor::of(&[numbers.len()], &numbers).expect("small")];
    for power in [1.0, 2.0, 3.0] {
        let formula = formula(&format!("float[{}] y[i0] = pow(a[i0], {power:?})", numbers.len()));
        let found = result(&nest(&formula, &tensors), &formula, &tensors, 1);
        for (x, found) in numbers.iter().zip(found) {
            let exact = f64::from(*x).powf(power) as f32;
            let is_near = found == exact || found.to_bits().abs_diff(exact.to_bits()) <= 1;
            assert!(is_near || found.is_nan() && exact.is_nan(), "{x:e}^{power}: {found:e}, not {exact:e}");
        }
    }
}

#[test]
fn a_leaky_rectifier_is_a_maximum() {
    let numbers = [0.0f32, -0.0, 1.0, -1.5, 3e-45, -3e-45, 1e38, f32::INFINITY, f32::NEG_INFINITY, f32::NAN];
    let tensors = [Tensor::of(&[numbers.len()], &numbers).expect("small")];
    for by in [0.2f32, 1e-3, 1.0] {
        let (size, sign) = (numbers.len(), "a[i0] >= 0.0");
        let formula = formula(&format!("float[{size}] y[i0] = (a[i0] if ({sign}) else (a[i0] * {by:?}f))"));
        let nest = nest(&formula, &tensors);
        assert!(format!("{:?}", nest.body).contains("Max"), "{formula:?}");
        for (x, found) in numbers.iter().zip(result(&nest, &formula, &tensors, 1)) {
            let wanted = if *x >= 0.0 { *x } else { x * by };
            let is_equal = found.to_bits() == wanted.to_bits() || found.is_nan() && wanted.is_nan();
            assert!(is_equal, "{x:e} by {by}: {found:e}, not {wanted:e}");
        }
    }
}

#[test]
fn chains_of_rows_are_their_operations_one_by_one() {
    for [planes, rows, lanes] in [[1, 1, 40], [1, 7, 31], [1, 50, 32], [3, 5, 33], [2, 9, 700], [1, 3, 2500]]
    {
        let count = planes * rows * lanes;
        let of = |dims: &[usize], by: usize| {
            let n: usize = dims.iter().product();
            let numbers: Vec<f32> = (0..n).map(|i| ((i * by + 3) % 101) as f32 / 7.0 + 0.1).collect();
            (Tensor::of(dims, &numbers).expect("small"), numbers)
        };
        let (a, x) = of(&[planes, rows, lanes], 37);
        let (b, mean) = of(&[planes, rows], 11);
        let (c, by) = of(&[planes, rows], 5);
        let (d, scale) = of(&[lanes], 13);
        let (e, bias) = of(&[rows, lanes], 17);
        let tensors = [a, b, c, d, e];
        let size = format!("{planes},{rows},{lanes}");
        let line = |at: usize| (at / lanes, at % lanes, at % (rows * lanes));
        let check = |text: String, wanted: &dyn Fn(usize) -> f32| {
            let formula = formula(&text);
            let nest = nest(&formula, &tensors);
            for threads in [1, 2] {
                let found = result(&nest, &formula, &tensors, threads);
                for (at, found) in found.iter().enumerate() {
                    assert_eq!(*found, wanted(at), "{text}, element {at}, {threads} threads");
                }
            }
        };
        let normalized = "((((a[i0, i1, i2] - b[i0, i1]) * c[i0, i1]) * d[i2]) + e[i1, i2]) - 0.5".to_owned();
        check(format!("float[{size}] y[i0, i1, i2] = {normalized}"), &|at| {
            let (row, lane, of_plane) = line(at);
            ((x[at] - mean[row]) * by[row] * scale[lane] + bias[of_plane]) - 0.5
        });
        let divided = "(d[i2] * a[i0, i1, i2]) / c[i0, i1]";
        check(format!("float[{size}] y[i0, i1, i2] = {divided}"), &|at| {
            let (row, lane, _) = line(at);
            scale[lane] * x[at] / by[row]
        });
        // No chain, as the element is the second operand of a difference.
        check(format!("float[{size}] y[i0, i1, i2] = (b[i0, i1] - a[i0, i1, i2]) * c[i0, i1]"), &|at| {
            let (row, ..) = line(at);
            (mean[row] - x[at]) * by[row]
        });
        let square = "(a[i0, i1, i2] - b[i0, i1]) * (a[i0, i1, i2] - b[i0, i1])";
        let sums = formula(&format!("float[{planes},{rows}] y[i0, i1] = sum over i2 < {lanes} of {square}"));
        let found = result(&nest(&sums, &tensors), &sums, &tensors, 1);
        assert_eq!(found.len() * lanes, count);
        for (row, found) in found.iter().enumerate() {
            let squares =
                x[row * lanes..][..lanes].iter().map(|x| f64::from((x - mean[row]) * (x - mean[row])));
            let exact: f64 = squares.sum();
            assert!((f64::from(*found) - exact).abs() <= exact * 1e-6, "row {row} of {size}: {found}");
        }
    }
}

#[test]
fn triangles_are_rows_with_bounds() {
    type Wanted = fn(usize, usize) -> bool;
    let conditions: [(&str, Wanted); 4] = [
        ("i2 >= i1", |row, column| column >= row),
        ("i2 < i1", |row, column| column < row),
        ("index(i1 + 2) > i2", |row, column| row + 2 > column),
        ("index(2*i1) <= index(i2 + 3)", |row, column| 2 * row <= column + 3),
    ];
    for [rows, columns] in [[1, 1], [5, 9], [40, 33], [64, 7]] {
        let numbers: Vec<f32> = (0..2 * rows * columns).map(|i| i as f32 + 1.0).collect();
        let tensors = [Tensor::of(&[2, rows, columns], &numbers).expect("small")];
        for (condition, is_kept) in conditions {
            for (name, expr, of) in [
                ("moved", "a[i0, i1, i2]", (|x| x) as fn(f32) -> f32),
                ("computed", "(a[i0, i1, i2] * 3.0)", |x| x * 3.0),
            ] {
                let formula = formula(&format!(
                    "float[2,{rows},{columns}] y[i0, i1, i2] = ({expr} if ({condition}) else -1.0)"
                ));
                let nest = nest(&formula, &tensors);
                for (at, found) in result(&nest, &formula, &tensors, 1).iter().enumerate() {
                    let (row, column) = (at / columns % rows, at % columns);
                    let wanted = if is_kept(row, column) { of(numbers[at]) } else { -1.0 };
                    assert_eq!(*found, wanted, "{name} where {condition}: {row}, {column}");
                }
            }
        }
    }
}
