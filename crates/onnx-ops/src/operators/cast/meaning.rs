//! Conversions of elements, and their bits as another type.

use crate::definition::{Cast, Cx, Definition, Expr, Rounding};

/// Also `CastLike`, whose second input determines the type.
pub(super) fn cast(cx: &Cx<'_>) -> Option<Definition> {
    let to = cx.out()?.elem;
    let saturates = cx.attributes.int("saturate").is_none_or(|n| n != 0);
    let rounding = match cx.attributes.string("round_mode").as_deref() {
        // Before version 24, this was the only rounding.
        Some("up") | None => Rounding::Up,
        Some("down") => Rounding::Down,
        Some("nearest") => Rounding::Nearest,
        Some(_) => return None,
    };
    cx.element(cx.broadcast(0)?.cast(Cast::new(to, saturates, rounding)))
}

/// Reinterprets the bits as another type of the same width.
pub(super) fn bits(cx: &Cx<'_>) -> Option<Definition> {
    let (from, to) = (cx.input(0)?.elem, cx.out()?.elem);
    let load = Box::new(cx.broadcast(0)?);
    (from.bits()? == to.bits()?).then(|| cx.element(Expr::Bits(from, to, load)))?
}
