//! Nodes that return their input. The pass that removes them decides which ones.

use super::no_op::Look;
use super::site::LintSite;
use crate::facts::elem_text;
use onnx_ir::ValueId;
use onnx_ir::diag::{Diagnostic, code};

pub(crate) fn idle(site: &LintSite<'_>) -> Option<Diagnostic> {
    let look = Look {
        model: site.model,
        facts: site.facts,
        body: site.body_id,
        node: site.id,
        uses: site.uses,
        local: site.local,
    };
    let (_, same) = look.passes_on()?;
    let why = reason(site, same)?;
    let message = format!("this `{}` has no effect: {}", site.op(), why);
    let title = format!("use `{}` instead", site.name(same));
    Some(site.finding(&code::NO_OP, message).change(title, site.bypass(same), true))
}

/// The reason why the node returns this value. `None` if the node has a purpose.
fn reason(site: &LintSite<'_>, same: ValueId) -> Option<String> {
    let op = site.op();
    let is_arithmetic = ["Add", "Sub", "Mul", "Div"].contains(&op);
    if !is_arithmetic && site.input(0) != Some(same) {
        let (_, before) = site.producer(0)?;
        return Some(format!("it reverses the `{}` before it", site.model.text(before.op)));
    }
    let why = match op {
        // Exporters use it to name the output of a graph, and a nested graph needs one to return an outer value.
        "Identity" if site.is_returned() => return None,
        "Identity" => "it only renames its input".to_owned(),
        "Dropout" => "it is active only in training mode".to_owned(),
        "Cast" | "CastLike" => format!("its input is {} already", elem_text(site.elem(0)?)),
        "Transpose" => "the permutation is the identity".to_owned(),
        "Concat" | "Sum" | "Max" | "Min" | "Mean" => "it has one input".to_owned(),
        _ if is_arithmetic => {
            let other = usize::from(site.input(0) == Some(same));
            // A computed operand may have another value in another run.
            if !site.is_stored(other) {
                return None;
            }
            format!("the other operand is {}", site.numbers(other)?.first()?)
        }
        _ => "the shape does not change".to_owned(),
    };
    Some(why)
}
