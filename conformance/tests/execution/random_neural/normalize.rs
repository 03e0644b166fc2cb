//! Normalizations.

use super::activate::FLOATS;
use super::case::{Case, Draw};
use onnx_ir::ElemType;

pub(crate) fn draw(mut d: Draw) -> Case {
    // The reference evaluator forgets a channel in LRN of even size, magnitudes in norms, and types of statistics.
    d.is_for_runtime = true;
    match d.below(9) {
        0 | 1 => batch(d),
        2 => instance(d),
        3 | 4 => layer(d),
        5 => group(d),
        6 => root_mean_square(d),
        7 => local(d),
        _ => whole(d),
    }
}

/// N, C and more axes.
fn image(d: &mut Draw, least: usize) -> Vec<usize> {
    let axes = least + d.below(4 - least);
    let mut dims = vec![1 + d.below(3), 1 + d.below(5)];
    dims.extend(d.extents(axes, 1, 5));
    dims
}

fn positive(d: &mut Draw, elem: ElemType, dims: &[usize]) {
    let tensor = d.random_floats(elem, dims, 0.25, 2.0);
    d.tensor(tensor);
}

fn epsilon(d: &mut Draw) {
    let epsilon = d.pick(&["0.001", "1e-5", "0.1", "1e-12"]);
    d.maybe(2, "epsilon", epsilon);
}

fn batch(mut d: Draw) -> Case {
    let version = d.pick(&[7, 9, 14, 15]);
    let elem = d.pick(FLOATS);
    let other = if version >= 14 && d.chance(3) { d.pick(FLOATS) } else { elem };
    let scale = if version == 15 && d.chance(3) { d.pick(FLOATS) } else { elem };
    let (scale, other) = if version == 14 { (elem, other) } else { (scale, other) };
    let dims = image(&mut d, 0);
    d.floats(elem, &dims, 3.0);
    let c = [dims[1]];
    positive(&mut d, scale, &c);
    d.floats(scale, &c, 1.0);
    d.floats(other, &c, 1.0);
    positive(&mut d, other, &c);
    epsilon(&mut d);
    d.maybe(2, "momentum", "0.75");
    // A single element has no deviation, see `instance`.
    let count = dims.iter().product::<usize>() / dims[1];
    if version >= 14 && count > 1 && d.chance(2) {
        d.attribute("training_mode", 1);
        let present = [true, d.chance(2), d.chance(2)];
        d.outputs(&present);
    }
    if version == 7 {
        d.maybe(3, "spatial", 1);
    }
    d.tolerance = (elem == ElemType::FLOAT16).then_some(4e-3);
    d.case("BatchNormalization", version)
}

fn instance(mut d: Draw) -> Case {
    let elem = d.pick(FLOATS);
    let mut dims = image(&mut d, 1);
    // ONNX Runtime subtracts the mean late, which is inexact for small deviations.
    dims[2] = dims[2].max(3);
    d.floats(elem, &dims, 3.0);
    d.floats(elem, &[dims[1]], 2.0);
    d.floats(elem, &[dims[1]], 2.0);
    epsilon(&mut d);
    let version = d.pick(&[7, 22]);
    d.case("InstanceNormalization", version)
}

fn layer(mut d: Draw) -> Case {
    let elem = d.pick(FLOATS);
    let rank = 1 + d.below(4);
    let dims = d.extents(rank, 1, 6);
    let axis = d.within(-(rank as i64), rank as i64 - 1);
    let from = axis.rem_euclid(rank as i64) as usize;
    d.floats(elem, &dims, 3.0);
    d.floats(elem, &dims[from..], 2.0);
    if d.chance(2) {
        d.floats(elem, &dims[from..], 2.0);
    }
    if axis != -1 || d.chance(2) {
        d.attribute("axis", axis);
    }
    epsilon(&mut d);
    d.maybe(3, "stash_type", 1);
    let present = [true, d.chance(2), d.chance(2)];
    d.outputs(&present);
    d.case("LayerNormalization", 17)
}

fn group(mut d: Draw) -> Case {
    let version = d.pick(&[18, 21]);
    let elem = d.pick(FLOATS);
    let mut dims = image(&mut d, 0);
    let groups = d.pick(&[1, 2, 3]);
    dims[1] = groups * (1 + d.below(3));
    // As above.
    if dims[1..].iter().product::<usize>() < 3 * groups {
        dims[1] = 3 * groups;
    }
    let count = if version == 18 { groups } else { dims[1] };
    d.floats(elem, &dims, 3.0);
    d.floats(elem, &[count], 2.0);
    d.floats(elem, &[count], 2.0);
    d.attribute("num_groups", groups);
    epsilon(&mut d);
    // ONNX Runtime computes in 32 bits there.
    d.tolerance = (elem == ElemType::DOUBLE).then_some(1e-5);
    d.case("GroupNormalization", version)
}

fn root_mean_square(mut d: Draw) -> Case {
    let elem = d.pick(FLOATS);
    let rank = 1 + d.below(4);
    let dims = d.extents(rank, 1, 6);
    let axis = d.within(-(rank as i64), rank as i64 - 1);
    let from = axis.rem_euclid(rank as i64) as usize;
    d.floats(elem, &dims, 3.0);
    d.floats(elem, &dims[from..], 2.0);
    if axis != -1 || d.chance(2) {
        d.attribute("axis", axis);
    }
    epsilon(&mut d);
    d.maybe(3, "stash_type", 1);
    d.case("RMSNormalization", 23)
}

fn local(mut d: Draw) -> Case {
    if d.chance(2) {
        let elem = d.pick(FLOATS);
        let dims = image(&mut d, 2);
        d.floats(elem, &dims, 3.0);
        let size = d.pick(&[1, 3, 5, 2, 4]);
        d.attribute("size", size);
        d.maybe(2, "alpha", "0.5");
        d.maybe(2, "beta", "0.5");
        d.maybe(2, "bias", "2.0");
        let version = d.pick(&[7, 13]);
        return d.case("LRN", version);
    }
    let elem = d.pick(FLOATS);
    let rank = 1 + d.below(4);
    let dims = d.extents(rank, 1, 6);
    d.floats(elem, &dims, 3.0);
    let (axis, p) = (d.within(-(rank as i64), rank as i64 - 1), d.pick(&[1, 2]));
    d.maybe(2, "axis", axis);
    d.maybe(2, "p", p);
    let version = d.pick(&[7, 22]);
    d.case("LpNormalization", version)
}

fn whole(mut d: Draw) -> Case {
    let elem = d.pick(FLOATS);
    // The deviation of a single element is none, which ONNX Runtime divides by.
    let rank = 4 + d.below(2);
    let dims = d.extents(rank, 2, 4);
    d.floats(elem, &dims, 3.0);
    if dims.len() != 4 || d.chance(2) {
        let axes: Vec<usize> = (0..dims.len()).filter(|_| d.chance(2)).collect();
        if !axes.is_empty() {
            d.list("axes", &axes);
        }
    }
    let version = d.pick(&[9, 13]);
    d.case("MeanVarianceNormalization", version)
}
