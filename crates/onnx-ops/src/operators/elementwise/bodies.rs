//! The function body of `Clip`.

use crate::bodies::draft::Draft;
use crate::bodies::site::CallSite;

/// The minimum of the upper bound and the maximum of lower bound and input.
pub(super) fn clip(site: &CallSite<'_>) -> Option<Draft> {
    let mut draft = Draft::new();
    draft.add(match (site.has_input(1), site.has_input(2)) {
        (true, true) => "raised = Max (input, min)\n    output = Min (raised, max)",
        (true, false) => "output = Max (input, min)",
        (false, true) => "output = Min (input, max)",
        (false, false) => "output = Identity (input)",
    });
    Some(draft)
}
