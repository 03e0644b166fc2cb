//! The SparseToDenseMatMul kernel. Values are dense when a model runs, also those that are stored as sparse tensors.

use crate::value::Value;
use crate::{Call, Row, row};
use onnx_ir::ElemType;
use onnx_loops::budget::{BETWEEN, spend};
use onnx_loops::failure::{Failure, fail};
use onnx_loops::list::filled;
use onnx_loops::tensor::{Tensor, count_of};

pub(super) const ROWS: &[Row] = &[row("com.microsoft", "SparseToDenseMatMul", sparse_to_dense_mat_mul)];

/// The sizes of a product, and whether its operands are transposed.
struct Sizes {
    rows: usize,
    inner: usize,
    columns: usize,
    turned: [bool; 2],
}

/// The products of a matrix with each matrix of another operand, by `add`, which adds a product to a sum, and then `scale`.
fn products<T: bytemuck::Pod>(
    (a, b): (&Tensor, &Tensor),
    (sizes, dims): (&Sizes, &[usize]),
    zero: T,
    add: impl Fn(T, T, T) -> T,
    scale: impl Fn(T) -> T,
) -> Result<Tensor, Failure> {
    let elem = b.elem();
    let (a, b) = (a.words::<T>(), b.words::<T>());
    let &Sizes { rows, inner, columns, turned } = sizes;
    let mut y = filled(count_of(dims)?, zero)?;
    spend(y.len().saturating_mul(inner))?;
    let planes = y.chunks_exact_mut((rows * columns).max(1)).zip(b.chunks((inner * columns).max(1)));
    for (y, b) in planes {
        for (at, y) in y.iter_mut().enumerate() {
            if at.is_multiple_of((BETWEEN / inner.max(1)).max(1)) {
                spend(0)?;
            }
            let (i, j) = (at / columns, at % columns);
            let sum = (0..inner).fold(zero, |sum, k| {
                let of_a = if turned[0] { k * rows + i } else { i * inner + k };
                let of_b = if turned[1] { j * inner + k } else { k * columns + j };
                add(sum, a[of_a], b[of_b])
            });
            *y = scale(sum);
        }
    }
    Tensor::of_raw(elem, dims, &y)
}

fn sparse_to_dense_mat_mul(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let (a, b) = (call.tensor(0)?, call.tensor(1)?);
    let (&[first, second], &[ref outer @ .., third, fourth]) = (a.dims(), b.dims()) else {
        fail!("operands of shape {:?} and {:?} are none of matrices", a.dims(), b.dims())
    };
    let turned = ["transA", "transB"].map(|name| call.attrs.flag(name));
    let (rows, inner) = if turned[0] { (second, first) } else { (first, second) };
    let (other, columns) = if turned[1] { (fourth, third) } else { (third, fourth) };
    if inner != other {
        fail!("operands of shape {:?} and {:?} are not multiplied", a.dims(), b.dims());
    }
    let sizes = Sizes { rows, inner, columns, turned };
    let dims = [outer, &[rows, columns]].concat();
    if a.elem() != b.elem() {
        fail!("operands of different types are not multiplied");
    }
    let operands = (a, b);
    let of = (&sizes, &dims[..]);
    call.has_room(b.elem(), &dims)?;
    let alpha = call.attrs.float("alpha").unwrap_or(1.0);
    let wide = f64::from(alpha);
    // The bits of sums and products are the same for signed and unsigned integers.
    let whole = alpha as i64;
    let y = match b.elem() {
        ElemType::FLOAT => products(operands, of, 0f32, |s, x, y| s + x * y, |s| s * alpha),
        ElemType::DOUBLE => products(operands, of, 0f64, |s, x, y| s + x * y, |s| s * wide),
        _ if alpha.fract() != 0.0 => fail!("integers cannot be multiplied by `alpha`, which is {alpha}"),
        ElemType::INT32 | ElemType::UINT32 => {
            let add = |s: i32, x: i32, y: i32| s.wrapping_add(x.wrapping_mul(y));
            products(operands, of, 0, add, |s| s.wrapping_mul(whole as i32))
        }
        ElemType::INT64 | ElemType::UINT64 => {
            let add = |s: i64, x: i64, y: i64| s.wrapping_add(x.wrapping_mul(y));
            products(operands, of, 0, add, |s| s.wrapping_mul(whole))
        }
        elem => fail!("matrices of {} cannot be multiplied", elem.name().unwrap_or("such elements")),
    }?;
    Ok(vec![y.into()])
}
