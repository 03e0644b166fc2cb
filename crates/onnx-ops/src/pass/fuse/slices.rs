//! Merges two `Slice` nodes on different axes.
//!
//! ```text
//! before:  a = Slice(x, zero, two, axis_0)     y = Slice(a, one, three, axis_1)
//! after:   y = Slice(x, starts, ends, axes, steps)     # {0, 1}, {2, 3}, {0, 1}, {1, 1}
//! ```

use super::site::FuseSite;
use onnx_ir::NodeId;

/// Since this version, the slice is given by inputs.
const CUTS_ARE_INPUTS: i64 = 10;

/// The slice of one axis.
struct Cut {
    start: i64,
    end: i64,
    axis: i64,
    step: i64,
}

pub(super) fn fuse(site: &mut FuseSite<'_>, node: NodeId) -> Option<()> {
    if site.version < CUTS_ARE_INPUTS || !site.is_op(node, "Slice") {
        return None;
    }
    let between = site.input(node, 0)?;
    let first = site.producer(between, node).filter(|first| site.is_op(*first, "Slice"))?;
    if !site.is_read_by(between, node) {
        return None;
    }
    let x = site.input(first, 0)?;
    let rank = i64::try_from(site.shape(x)?.len()).ok()?;
    let mut cuts = cuts(site, first, rank)?;
    for cut in self::cuts(site, node, rank)? {
        if cuts.iter().any(|known| known.axis == cut.axis) {
            return None;
        }
        cuts.push(cut);
    }
    let parts: [fn(&Cut) -> i64; 4] = [|c| c.start, |c| c.end, |c| c.axis, |c| c.step];
    let mut inputs = vec![Some(x)];
    for (i, part) in parts.into_iter().enumerate() {
        let like = site.input(node, i + 1).or(Some(between));
        inputs.push(Some(site.int_list(node, like, cuts.iter().map(part).collect())));
    }
    site.become_op(node, "Slice", &inputs, Vec::new());
    site.absorb(node, first);
    Some(())
}

fn cuts(site: &FuseSite<'_>, node: NodeId, rank: i64) -> Option<Vec<Cut>> {
    let list = |i: usize| site.ints(site.input(node, i)?);
    let (starts, ends) = (list(1)?, list(2)?);
    let axes = match site.input(node, 3) {
        Some(_) => list(3)?.to_vec(),
        None => (0..i64::try_from(starts.len()).ok()?).collect(),
    };
    let steps = match site.input(node, 4) {
        Some(_) => list(4)?.to_vec(),
        None => vec![1; starts.len()],
    };
    if ends.len() != starts.len() || axes.len() != starts.len() || steps.len() != starts.len() {
        return None;
    }
    let cut = |i: usize| {
        let axis = if axes[i] < 0 { axes[i].checked_add(rank)? } else { axes[i] };
        (0..rank).contains(&axis).then_some(Cut { start: starts[i], end: ends[i], axis, step: steps[i] })
    };
    (0..starts.len()).map(cut).collect()
}
