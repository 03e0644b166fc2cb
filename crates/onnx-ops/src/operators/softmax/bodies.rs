//! Function bodies of softmax and its logarithm.

use crate::bodies::draft::Draft;
use crate::bodies::site::CallSite;
use crate::operators::norm::bodies::AXES_ARE_INPUTS;

/// The difference to the maximum along an axis, whose exponential cannot overflow.
fn below_largest(draft: &mut Draft, site: &CallSite<'_>, axis: i64) {
    let is_input = site.version >= AXES_ARE_INPUTS;
    draft.with_axes("largest = ReduceMax", ("input", &[axis]), "keepdims = 1", is_input);
    draft.add("small = Sub (input, largest)");
    draft.add("power = Exp (small)");
    draft.with_axes("sum = ReduceSum", ("power", &[axis]), "keepdims = 1", true);
}

pub(super) fn softmax(site: &CallSite<'_>) -> Option<Draft> {
    let mut draft = Draft::new();
    below_largest(&mut draft, site, site.int("axis")?);
    draft.add("output = Div (power, sum)");
    Some(draft)
}

pub(super) fn log_softmax(site: &CallSite<'_>) -> Option<Draft> {
    let mut draft = Draft::new();
    below_largest(&mut draft, site, site.int("axis")?);
    draft.add("log = Log (sum)");
    draft.add("output = Sub (small, log)");
    Some(draft)
}
