//! The work of `Einsum`.

use crate::dims::Dim;
use crate::work::Counter;
use onnx_ir::NodeId;

/// The product of all different labels, if there are products.
pub(crate) fn einsum(cx: &mut Counter<'_>, node: NodeId) -> Option<Dim> {
    let onnx_ir::AttrValue::String(equation) = cx.attr(node, "equation")? else { return None };
    let equation: String =
        std::str::from_utf8(equation).ok()?.chars().filter(|c| !c.is_whitespace()).collect();
    let operands = equation.split("->").next()?;
    if operands.contains('.') {
        return None;
    }
    let mut seen: Vec<(char, Dim)> = Vec::new();
    let terms: Vec<&str> = operands.split(',').collect();
    for (i, term) in terms.iter().enumerate() {
        let shape = cx.input(node, i)?;
        for (label, dim) in term.chars().zip(shape) {
            match seen.iter_mut().find(|(known, _)| *known == label) {
                Some((_, known)) if *known == Dim::Const(1) => *known = dim,
                Some(_) => {}
                None => seen.push((label, dim)),
            }
        }
    }
    let dims: Vec<Dim> = seen.into_iter().map(|(_, dim)| dim).collect();
    let products = i64::try_from(terms.len()).ok()?.checked_sub(1)?;
    let all = cx.product(&dims);
    Some(cx.mul(all, Dim::Const(products)))
}
