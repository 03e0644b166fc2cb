//! Products of quantized matrices with float or requantized results.
//!
//! ```text
//! Y = MatMulIntegerToFloat (A, B, a_scale, b_scale, a_zero_point, b_zero_point, bias)
//!
//! sums = MatMulInteger (A, B, a_zero_point, b_zero_point)
//! floats = Cast <to = 1> (sums)
//! scale = Mul (a_scale, b_scale)
//! product = Mul (floats, scale)
//! Y = Add (product, bias)
//! ```

use crate::bodies::draft::{Draft, number};
use crate::bodies::site::CallSite;
use onnx_ir::ElemType;

/// Adds `Y` from integer sums, a scale per column or for all, and an optional bias.
fn scaled(draft: &mut Draft, elem: ElemType, scale: &str, bias: Option<&str>) {
    let product = if bias.is_some() { "product" } else { "Y" };
    draft.add(format_args!("floats = Cast <to = {}> (sums)", elem.0));
    draft.add(format_args!("{product} = Mul (floats, {scale})"));
    if let Some(bias) = bias {
        draft.add(format_args!("Y = Add (product, {bias})"));
    }
}

/// An input; `None` if it is omitted.
fn optional<'s>(site: &'s CallSite<'_>, input: usize) -> Option<&'s str> {
    site.has_input(input).then(|| &*site.schema.inputs[input].name)
}

pub(in crate::operators::contributed) fn of_dynamic_bytes(site: &CallSite<'_>) -> Option<Draft> {
    let mut draft = Draft::new();
    draft.add("bytes, bytes_scale, bytes_zero = DynamicQuantizeLinear (A)");
    let zero = optional(site, 3).unwrap_or_default();
    draft.add(format_args!("sums = MatMulInteger (bytes, B, bytes_zero, {zero})"));
    draft.add("scale = Mul (bytes_scale, b_scale)");
    scaled(&mut draft, ElemType::FLOAT, "scale", optional(site, 4));
    Some(draft)
}

pub(in crate::operators::contributed) fn to_floats(site: &CallSite<'_>) -> Option<Draft> {
    let mut draft = Draft::new();
    let [a_zero, b_zero] = [4, 5].map(|input| optional(site, input).unwrap_or_default());
    draft.add(format_args!("sums = MatMulInteger (A, B, {a_zero}, {b_zero})"));
    draft.add("scale = Mul (a_scale, b_scale)");
    scaled(&mut draft, site.elem(2)?, "scale", optional(site, 6));
    Some(draft)
}

/// The third operand has the scale of the product.
pub(in crate::operators::contributed) fn gemm(site: &CallSite<'_>) -> Option<Draft> {
    let mut draft = Draft::new();
    let mut factor = |name: &str, turned: &str| {
        let is_turned = site.int(turned)? != 0;
        if is_turned {
            draft.add(format_args!("turned_{name} = Transpose <perm = [1, 0]> ({name})"));
        }
        Some(if is_turned { format!("turned_{name}") } else { name.to_owned() })
    };
    let (a, b) = (factor("A", "transA")?, factor("B", "transB")?);
    let sums = if site.has_input(6) { "products" } else { "sums" };
    draft.add(format_args!("{sums} = MatMulInteger ({a}, {b}, a_zero_point, b_zero_point)"));
    if site.has_input(6) {
        draft.add("sums = Add (products, C)");
    }
    draft.add("scale = Mul (a_scale, b_scale)");
    let alpha = site.float("alpha").filter(|alpha| alpha.is_finite())?;
    draft.scalar("alpha", ElemType::FLOAT, number(alpha, ElemType::FLOAT));
    draft.add("whole_scale = Mul (scale, alpha)");
    if !site.has_input(8) {
        scaled(&mut draft, ElemType::FLOAT, "whole_scale", None);
        return Some(draft);
    }
    draft.add("floats = Cast <to = 1> (sums)");
    draft.add("y = Mul (floats, whole_scale)");
    draft.add("Y = QuantizeLinear (y, y_scale, y_zero_point)");
    site.has_input(7).then_some(draft)
}
