//! The function body of `CenterCropPad`.

use crate::bodies::draft::Draft;
use crate::bodies::site::CallSite;

/// Crops or pads half at each end.
pub(super) fn center_crop_pad(site: &CallSite<'_>) -> Option<Draft> {
    let mut draft = Draft::new();
    draft.add("all = Shape (input_data)");
    let axes = if site.has_attr("axes") { Some(site.ints("axes")?) } else { None };
    let (sizes, slice_axes, pad_axes) = match &axes {
        Some(axes) => {
            draft.list("axes", axes);
            draft.add("sizes = Gather (all, axes)");
            ("sizes", ", axes", ", \"\", axes")
        }
        None => ("all", "", ""),
    };
    draft.add("target = Cast <to = 7> (shape)");
    draft.list("zero", &[0]);
    draft.list("two", &[2]);
    draft.add(format_args!("rest = Sub ({sizes}, target)"));
    draft.add("surplus = Max (rest, zero)");
    draft.add("start = Div (surplus, two)");
    draft.add(format_args!("kept = Min ({sizes}, target)"));
    draft.add("end = Add (start, kept)");
    draft.add(format_args!("cut = Slice (input_data, start, end{slice_axes})"));
    draft.add(format_args!("lack = Sub (target, {sizes})"));
    draft.add("missing = Max (lack, zero)");
    draft.add("before = Div (missing, two)");
    draft.add("after = Sub (missing, before)");
    draft.add("pads = Concat <axis = 0> (before, after)");
    draft.add(format_args!("output_data = Pad (cut, pads{pad_axes})"));
    Some(draft)
}
