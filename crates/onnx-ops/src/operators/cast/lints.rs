//! Redundant casts.

use crate::facts::elem_text;
use crate::lint::LintSite;
use onnx_ir::ElemType;
use onnx_ir::diag::{Diagnostic, Entity, ModelChange, code};

/// A Cast of a lossless Cast that has no other reader.
pub(super) fn chain(site: &LintSite<'_>) -> Option<Diagnostic> {
    let (id, inner) = site.producer(0)?;
    let is_cast = site.model.text(inner.op) == "Cast" && site.model.text(inner.domain).is_empty();
    let origin = inner.inputs.first().copied().flatten()?;
    let is_alone = site.uses.of_value(site.input(0)?).len() == 1;
    if !is_cast || !is_alone || inner.inputs.len() != 1 {
        return None;
    }
    let (from, by) = (site.facts.get(site.body_id, origin).ty.elem()?, site.elem(0)?);
    if from == by || !holds(by, from) {
        return None;
    }
    let to = site.attrs().elem("to")?;
    // Then the second cast undoes the first, which another lint reports.
    if from == to {
        return None;
    }
    let [from, by, to] = [from, by, to].map(elem_text);
    let message = format!("cast from {from} to {by} and then to {to}");
    let changes = vec![ModelChange::Rename(site.at_input(0), site.name(origin).to_owned())];
    Some(
        site.finding(&code::CAST_CHAIN, message)
            .related(
                Entity::NodeOp(site.body_id, id),
                format!("the first cast is exact: every {from} value is a {by} value"),
            )
            .change(format!("cast `{}` directly", site.name(origin)), changes, true),
    )
}

/// Whether one type includes every value of another.
fn holds(wide: ElemType, narrow: ElemType) -> bool {
    use ElemType as E;
    let wider: &[E] = match narrow {
        E::UINT8 => {
            &[E::INT16, E::UINT16, E::INT32, E::UINT32, E::INT64, E::UINT64, E::FLOAT16, E::FLOAT, E::DOUBLE]
        }
        E::INT8 => &[E::INT16, E::INT32, E::INT64, E::FLOAT16, E::FLOAT, E::DOUBLE],
        E::UINT16 => &[E::INT32, E::UINT32, E::INT64, E::UINT64, E::FLOAT, E::DOUBLE],
        E::INT16 => &[E::INT32, E::INT64, E::FLOAT, E::DOUBLE],
        E::INT32 => &[E::INT64, E::DOUBLE],
        E::UINT32 => &[E::INT64, E::UINT64, E::DOUBLE],
        E::FLOAT16 | E::BFLOAT16 => &[E::FLOAT, E::DOUBLE],
        E::FLOAT => &[E::DOUBLE],
        _ => &[],
    };
    wider.contains(&wide)
}

/// A constant that is stored in double precision and cast to a narrower type by all its readers.
pub(super) fn double_constant(site: &LintSite<'_>) -> Option<Diagnostic> {
    let (value, to) = (site.input(0)?, site.attrs().elem("to")?);
    if site.elem(0) != Some(ElemType::DOUBLE) || ![ElemType::FLOAT, ElemType::FLOAT16].contains(&to) {
        return None;
    }
    if !site.is_stored(0) || site.uses.of_value(value).len() != 1 {
        return None;
    }
    let to = elem_text(to);
    let message = format!("constant `{}` is stored as double, but used only as {to}", site.name(value));
    let finding = Diagnostic::new(&code::DOUBLE_CONSTANT, site.at_input(0), message);
    Some(finding.help(format!("store it as {to}")))
}
