//! Function bodies of operators that move blocks.

use crate::bodies::draft::Draft;
use crate::bodies::site::CallSite;

/// Whether rows and columns of a block come before the channels, as in mode `DCR`.
fn blocks_first(site: &CallSite<'_>) -> Option<bool> {
    match &*site.string("mode")? {
        "DCR" => Some(true),
        "CRD" => Some(false),
        _ => None,
    }
}

fn sizes(draft: &mut Draft, block: i64) {
    for (axis, name) in (0..).zip(["n", "c", "h", "w"]) {
        draft.extent(name, "input", axis);
    }
    draft.list("block", &[block]);
}

pub(super) fn depth_to_space(site: &CallSite<'_>) -> Option<Draft> {
    let block = site.int("blocksize")?;
    let mut draft = Draft::new();
    sizes(&mut draft, block);
    draft.list("area", &[block.checked_mul(block)?]);
    draft.add("channels = Div (c, area)");
    let (parts, perm) = match blocks_first(site)? {
        true => ("n, block, block, channels, h, w", "0, 3, 4, 1, 5, 2"),
        false => ("n, channels, block, block, h, w", "0, 1, 4, 2, 5, 3"),
    };
    draft.add(format_args!("six = Concat <axis = 0> ({parts})"));
    draft.add("apart = Reshape (input, six)");
    draft.add(format_args!("moved = Transpose <perm = [{perm}]> (apart)"));
    draft.add("height = Mul (h, block)");
    draft.add("width = Mul (w, block)");
    draft.add("four = Concat <axis = 0> (n, channels, height, width)");
    draft.add("output = Reshape (moved, four)");
    Some(draft)
}

pub(super) fn space_to_depth(site: &CallSite<'_>) -> Option<Draft> {
    let block = site.int("blocksize")?;
    let mut draft = Draft::new();
    sizes(&mut draft, block);
    draft.list("area", &[block.checked_mul(block)?]);
    draft.add("height = Div (h, block)");
    draft.add("width = Div (w, block)");
    draft.add("six = Concat <axis = 0> (n, c, height, block, width, block)");
    draft.add("apart = Reshape (input, six)");
    let perm = if blocks_first(site)? { "0, 3, 5, 1, 2, 4" } else { "0, 1, 3, 5, 2, 4" };
    draft.add(format_args!("moved = Transpose <perm = [{perm}]> (apart)"));
    draft.add("channels = Mul (c, area)");
    draft.add("four = Concat <axis = 0> (n, channels, height, width)");
    draft.add("output = Reshape (moved, four)");
    Some(draft)
}
