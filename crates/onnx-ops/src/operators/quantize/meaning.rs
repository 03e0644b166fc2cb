//! Quantization: scales and zero points per tensor, per axis, or per block along an axis.

use crate::definition::cx::axis;
use crate::definition::{Cast, Combine, Cx, Definition, Expr, Formula, Index, Rounding, Unary};
use onnx_formula::{Kind, is_float};
use onnx_ir::ElemType;

/// An element of a scale or zero point, with its type.
pub(crate) struct Scale {
    pub(crate) expr: Expr,
    pub(crate) elem: ElemType,
}

impl Scale {
    /// A scalar, or one element per position of an axis of the result; higher ranks are broadcast.
    pub(crate) fn of(cx: &Cx<'_>, input: usize, along: Option<usize>) -> Option<Scale> {
        let operand = cx.input(input)?;
        let expr = match operand.dims {
            dims if dims.iter().all(|d| *d == 1) => cx.scalar(input)?,
            [_] => Expr::Load(input, vec![Index::of(along?)]),
            _ => cx.broadcast(input)?,
        };
        Some(Scale { expr, elem: operand.elem })
    }

    fn to(self, elem: ElemType) -> Expr {
        self.expr.into_type(self.elem, elem)
    }
}

/// Requantizes an accumulator: multiplies with both scales of the factors and divides by that of the result. The product of
/// scales is rounded to their type, and the sum with the zero point to nearest.
pub(crate) fn requantize(cx: &Cx<'_>, total: Expr, [a, b, y]: [Scale; 3], zero: Scale) -> Option<Expr> {
    let elem = y.elem;
    let double = ElemType::DOUBLE;
    let product = (a.to(elem) * b.to(elem)).cast(elem);
    let factor = (product / y.to(elem)).cast(elem);
    let element = total.cast(double) * factor.into_type(elem, double) + zero.to(double);
    saturated(element.unary(Unary::Round), cx.out()?.elem, double)
}

/// Converts a float to an integer with saturation.
fn saturated(x: Expr, elem: ElemType, from: ElemType) -> Option<Expr> {
    let limit = |combine: Combine| match combine.neutral(elem)? {
        crate::definition::Number::Int(n) => Some(Expr::float(n as f64)),
        crate::definition::Number::Float(_) => None,
    };
    let (least, most) = (limit(Combine::Max)?, limit(Combine::Min)?);
    Some(x.max(least).min(most).into_type(from, elem))
}

/// The scale or zero point for an element of the first input.
fn element(cx: &Cx<'_>, input: usize) -> Option<Scale> {
    let (dims, operand) = (cx.input(0)?.dims, cx.input(input)?);
    if operand.dims.iter().all(|d| *d == 1) {
        return Some(Scale { expr: cx.scalar(input)?, elem: operand.elem });
    }
    let along = axis(cx.attributes.int("axis").unwrap_or(1), dims.len())?;
    let block = cx.attributes.int("block_size").unwrap_or(0);
    let load = match operand.dims {
        [_] if block == 0 => vec![Index::of(along)],
        other if block > 0 && other.len() == dims.len() => {
            let index = |i: usize| if i == along { Index::of(i).div(block) } else { Index::of(i) };
            (0..dims.len()).map(index).collect()
        }
        // Before axes existed, scales were broadcast.
        _ if cx.since() < 13 => return Some(Scale { expr: cx.broadcast(input)?, elem: operand.elem }),
        _ => return None,
    };
    Some(Scale { expr: Expr::Load(input, load), elem: operand.elem })
}

pub(crate) fn quantize(cx: &Cx<'_>) -> Option<Definition> {
    let (x, out) = (cx.input(0)?, cx.out()?.elem);
    let scale = element(cx, 1)?;
    let common = match cx.attributes.int("precision").filter(|n| *n != 0) {
        Some(precision) => ElemType(i32::try_from(precision).ok()?),
        None => common(x.elem, scale.elem),
    };
    let quotient = (cx.broadcast(0)?.into_type(x.elem, common) / scale.to(common)).cast(common);
    let zero = match cx.input(2) {
        Some(_) => Some(element(cx, 2)?),
        None => None,
    };
    match Kind::of(out)? {
        Kind::Int(..) => {
            // Wide enough for adding the zero point, which a 16-bit float is not.
            let wide = onnx_formula::wide(common);
            let mut element = quotient.unary(Unary::Round).into_type(common, wide);
            if let Some(zero) = zero {
                element = element + zero.to(wide);
            }
            cx.element(saturated(element, out, wide)?)
        }
        Kind::Float(_) => {
            let saturates = cx.attributes.int("saturate").is_none_or(|n| n != 0);
            let is_byte = out.bits() == Some(8);
            let quotient = match zero {
                // The zero point of an 8-bit float is 0.
                Some(zero) if !is_byte => (quotient + zero.to(common)).cast(common),
                Some(_) | None => quotient,
            };
            cx.element(quotient.cast(Cast::new(out, saturates, Rounding::Up)))
        }
        Kind::Bool => None,
    }
}

/// Quantizes to bytes by the range of the elements, widened to include 0, and returns scale and zero point.
pub(crate) fn dynamic(cx: &Cx<'_>) -> Option<Definition> {
    let (x, float, byte) = (cx.input(0)?, ElemType::FLOAT, cx.out()?.elem);
    if x.dims.contains(&0) {
        return None;
    }
    let zero = || Expr::float(0.0);
    let number = |elem, expr| Formula { elem, dims: Vec::new(), over: None, expr, then: None };
    let bound = |combine, then| {
        let all = Expr::Load(0, (0..x.dims.len()).map(Index::of).collect());
        number(float, all).over(x.dims.to_vec(), combine, float).then(then)
    };
    let load = |formula| Expr::Load(cx.result(formula), Vec::new());
    let (least, greatest, scale, offset) = (|| load(0), || load(1), || load(2), || load(3));
    let range = || (greatest() - least()).cast(float);
    let step = Expr::float(1.0).if_else(range().equal(zero()), (range() / Expr::float(255.0)).cast(float));
    let below = (zero() - (least() / scale()).cast(float)).cast(float);
    let quotient = (Expr::Load(0, (0..x.dims.len()).map(Index::of).collect()) / scale()).cast(float);
    let formulas = vec![
        bound(Combine::Min, Expr::Total.min(zero())),
        bound(Combine::Max, Expr::Total.max(zero())),
        number(float, step),
        number(byte, below.max(zero()).min(Expr::float(255.0)).unary(Unary::Round).cast(byte)),
        cx.formula(saturated(quotient.unary(Unary::Round) + offset().cast(float), byte, float)?)?,
    ];
    cx.define(formulas, &[4, 2, 3])
}

/// The type of the computation: the wider float; for an integer and a float, double.
fn common(a: ElemType, b: ElemType) -> ElemType {
    if !is_float(a) {
        return ElemType::DOUBLE;
    }
    if a == b {
        return a;
    }
    if [a, b].contains(&ElemType::DOUBLE) { ElemType::DOUBLE } else { ElemType::FLOAT }
}

pub(crate) fn dequantize(cx: &Cx<'_>) -> Option<Definition> {
    let (x, out) = (cx.input(0)?, cx.out()?.elem);
    let scale = element(cx, 1)?;
    let float = ElemType::FLOAT;
    let mut element = cx.broadcast(0)?.into_type(x.elem, float);
    // For floats, the zero point is 0.
    if cx.has_input(2) && !is_float(x.elem) {
        element = element - self::element(cx, 2)?.to(float);
    }
    cx.element((element * scale.to(float)).into_type(float, out))
}
