//! The function body of `Gelu`.

use crate::bodies::draft::Draft;
use crate::bodies::site::CallSite;

pub(super) fn gelu(site: &CallSite<'_>) -> Option<Draft> {
    let elem = site.elem(0)?;
    let mut draft = Draft::new();
    draft.scalar("half", elem, "0.5");
    draft.scalar("one", elem, "1.0");
    match &*site.string("approximate")? {
        "none" => {
            draft.scalar("scale", elem, "0.7071067811865476");
            draft.add("scaled = Mul (X, scale)");
            draft.add("curve = Erf (scaled)");
        }
        "tanh" => {
            draft.scalar("bend", elem, "0.044715");
            draft.scalar("scale", elem, "0.7978845608028654");
            draft.add("square = Mul (X, X)");
            draft.add("cube = Mul (square, X)");
            draft.add("bent = Mul (bend, cube)");
            draft.add("sum = Add (X, bent)");
            draft.add("scaled = Mul (scale, sum)");
            draft.add("curve = Tanh (scaled)");
        }
        _ => return None,
    }
    draft.add("raised = Add (one, curve)");
    draft.add("weight = Mul (half, raised)");
    draft.add("Y = Mul (X, weight)");
    Some(draft)
}
