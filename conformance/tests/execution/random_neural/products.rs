//! Products of matrices, and what is near to them.

use super::activate::FLOATS;
use super::case::{Case, Draw};
use onnx_ir::ElemType;

const NUMBERS: &[ElemType] = &[
    ElemType::FLOAT,
    ElemType::FLOAT,
    ElemType::DOUBLE,
    ElemType::FLOAT16,
    ElemType::BFLOAT16,
    ElemType::INT32,
    ElemType::INT64,
    ElemType::UINT32,
    ElemType::UINT64,
];

pub(crate) fn draw(mut d: Draw) -> Case {
    match d.below(8) {
        0 | 1 => product(d),
        2 | 3 => gemm(d),
        4 | 5 => einsum(d),
        6 => determinant(d),
        _ => sums(d),
    }
}

/// An extent: few, and now and then none or many.
fn extent(d: &mut Draw) -> usize {
    match d.below(12) {
        0 => 0,
        1 => d.pick(&[17, 33, 64]),
        _ => 1 + d.below(6),
    }
}

/// Shapes of two factors of a product of matrices.
pub(crate) fn factors(d: &mut Draw) -> (Vec<usize>, Vec<usize>) {
    let rank = d.below(3);
    let batch = d.extents(rank, 1, 3);
    let (m, mut k, mut n) = (extent(d), extent(d), extent(d));
    // ONNX Runtime does not broadcast empty tensors, and does not set vectors that are empty sums.
    if rank > 0 || d.chance(2) {
        (k, n) = (k.max(1), n.max(1));
    }
    let part = |d: &mut Draw| -> Vec<usize> {
        let from = d.below(batch.len() + 1);
        batch[from..].iter().map(|&n| if d.chance(3) { 1 } else { n }).collect()
    };
    let (mut a, mut b) = (part(d), part(d));
    if a.is_empty() && k > 0 && d.chance(4) {
        a.push(k);
    } else {
        a.extend([m, k]);
    }
    if b.is_empty() && k > 0 && d.chance(4) {
        b.push(k);
    } else {
        b.extend([k, n]);
    }
    (a, b)
}

fn product(mut d: Draw) -> Case {
    let version = d.pick(&[7, 9, 13]);
    let elem = if version < 9 { d.pick(FLOATS) } else { d.pick(NUMBERS) };
    let (a, b) = factors(&mut d);
    d.numbers(elem, &a, 3.0);
    d.numbers(elem, &b, 3.0);
    d.case("MatMul", version)
}

fn gemm(mut d: Draw) -> Case {
    let version = d.pick(&[7, 9, 11, 13]);
    let elem = if version < 9 { d.pick(FLOATS) } else { d.pick(NUMBERS) };
    // ONNX Runtime ignores `beta` for empty sums.
    let (m, k, n) = (extent(&mut d), extent(&mut d).max(1), extent(&mut d));
    let (ta, tb) = (d.chance(2), d.chance(2));
    d.numbers(elem, &if ta { [k, m] } else { [m, k] }, 3.0);
    d.numbers(elem, &if tb { [n, k] } else { [k, n] }, 3.0);
    if version < 11 || d.chance(2) {
        let c = [vec![], vec![1], vec![n], vec![1, n], vec![m, 1], vec![m, n], vec![1, 1]];
        let c = &c[d.below(c.len())];
        d.numbers(elem, c, 3.0);
    }
    if ta || d.chance(3) {
        d.attribute("transA", i64::from(ta));
    }
    if tb || d.chance(3) {
        d.attribute("transB", i64::from(tb));
    }
    let is_integer = super::case::range(elem).is_some();
    for name in ["alpha", "beta"] {
        let number = if is_integer { d.pick(&[1.0, 2.0, 0.0]) } else { d.pick(&[0.5, 2.0, 0.0, -1.0]) };
        if d.chance(2) {
            d.float(name, number);
        }
    }
    d.case("Gemm", version)
}

/// Labels of one to three operands, some of them repeated, some left to an ellipsis.
fn einsum(mut d: Draw) -> Case {
    let elem =
        d.pick(&[ElemType::FLOAT, ElemType::FLOAT, ElemType::DOUBLE, ElemType::INT32, ElemType::INT64]);
    let labels = ['i', 'j', 'k', 'l', 'B'];
    let extents = d.extents(5, 1, 4);
    let rest = d.below(3);
    let rest = d.extents(rest, 1, 3);
    let with_rest = d.chance(3);
    let mut terms: Vec<String> = Vec::new();
    let mut used: Vec<char> = Vec::new();
    for _ in 0..1 + d.below(3) {
        let (mut term, mut dims) = (String::new(), Vec::new());
        let count = d.below(4);
        let at = d.below(count + 1);
        for i in 0..=count {
            if i == at && with_rest {
                let from = d.below(rest.len() + 1);
                term.push_str("...");
                dims.extend(rest[from..].iter().map(|&n| if d.chance(3) { 1 } else { n }));
            }
            if i < count {
                let label = d.below(labels.len());
                term.push(labels[label]);
                used.push(labels[label]);
                dims.push(extents[label]);
            }
        }
        d.numbers(elem, &dims, 3.0);
        terms.push(term);
    }
    used.sort_unstable();
    used.dedup();
    let space = if d.chance(4) { " " } else { "" };
    let mut equation = terms.join(&format!("{space},{space}"));
    if d.chance(2) || with_rest && terms.len() > 1 {
        let mut kept: Vec<char> = used.iter().copied().filter(|_| !d.chance(3)).collect();
        for i in (1..kept.len()).rev() {
            let other = d.below(i + 1);
            kept.swap(i, other);
        }
        let kept: String = kept.into_iter().collect();
        let rest = if with_rest { "..." } else { "" };
        equation += &format!("{space}->{space}{rest}{kept}");
    }
    d.text("equation", &equation);
    d.case("Einsum", 12)
}

fn determinant(mut d: Draw) -> Case {
    let elem = d.pick(&[ElemType::FLOAT, ElemType::DOUBLE, ElemType::FLOAT16]);
    let n = 1 + d.below(4);
    let batch = d.below(3);
    let dims = [&d.extents(batch, 1, 3)[..], &[n, n]].concat();
    d.floats(elem, &dims, 2.0);
    // Differences of products.
    d.tolerance = (elem != ElemType::FLOAT16).then_some(1e-4);
    let version = d.pick(&[11, 22]);
    d.case("Det", version)
}

fn sums(mut d: Draw) -> Case {
    let version = d.pick(&[11, 14]);
    let elem = d.pick(NUMBERS);
    let rank = 1 + d.below(4);
    let least = if d.chance(10) { 0 } else { 1 };
    let dims = d.extents(rank, least, 5);
    d.numbers(elem, &dims, 3.0);
    let axis = d.pick(&[ElemType::INT32, ElemType::INT64]);
    let axes: &[usize] = if d.chance(4) { &[1] } else { &[] };
    d.ints(axis, axes, -(rank as i64), rank as i64 - 1);
    d.maybe(2, "exclusive", 1);
    d.maybe(2, "reverse", 1);
    d.case("CumSum", version)
}
