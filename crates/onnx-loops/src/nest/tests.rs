//! Reductions of nests, compared bit for bit with the order in which they are documented to add.

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
