//! Experimental operators of the first versions of ONNX, which ONNX Runtime still runs.

use crate::bodies::draft::Draft;
use crate::bodies::site::CallSite;

/// Cuts off the borders, or what follows a region of the size `scale`.
pub(in crate::operators::contributed) fn crop(site: &CallSite<'_>) -> Option<Draft> {
    let [left, top, right, bottom] = site.ints("border")?.try_into().ok()?;
    let mut draft = Draft::new();
    draft.list("axes", &[2, 3]);
    draft.list("starts", &[top, left]);
    match site.ints("scale") {
        Some(scale) => {
            let [height, width] = scale.try_into().ok()?;
            draft.list("ends", &[top.checked_add(height)?, left.checked_add(width)?]);
        }
        None => {
            draft.extents("sizes", "input", 2, 4);
            draft.list("borders", &[bottom, right]);
            draft.add("ends = Sub (sizes, borders)");
        }
    }
    draft.add("output = Slice (input, starts, ends, axes)");
    Some(draft)
}

/// `Slice` without steps.
pub(in crate::operators::contributed) fn dynamic_slice(site: &CallSite<'_>) -> Option<Draft> {
    let mut draft = Draft::new();
    let axes = if site.has_input(3) { ", axes" } else { "" };
    draft.add(format_args!("output = Slice (data, starts, ends{axes})"));
    Some(draft)
}
