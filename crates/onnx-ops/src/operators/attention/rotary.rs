//! Rotary embeddings.

use crate::bodies::draft::Draft;
use crate::bodies::site::CallSite;

/// Rotates pairs of elements by the angle of their position. The partner of an element is adjacent, or half of the rotated width
/// away. With three axes, the last one packs all heads.
pub(super) fn rotary_embedding(site: &CallSite<'_>) -> Option<Draft> {
    let heads = site.int("num_heads").filter(|n| *n > 0);
    let is_packed = site.rank(0).map_or(heads.is_some(), |rank| rank == 3);
    let mut draft = Draft::new();
    if is_packed {
        draft.list("apart", &[0, 0, heads?, -1]);
        draft.add("x = Reshape (X, apart)");
    } else {
        draft.add("x = Identity (X)");
    }
    // The angles have axes of batch, position and pair; the axis of heads is inserted after or before that of positions.
    draft.list("head_axis", &[if is_packed { 2 } else { 1 }]);
    for name in ["cos", "sin"] {
        let cache = if site.has_input(3) {
            draft.add(format_args!("{name}_found = Gather ({name}_cache, position_ids)"));
            format!("{name}_found")
        } else {
            format!("{name}_cache")
        };
        draft.add(format_args!("{name} = Unsqueeze ({cache}, head_axis)"));
    }
    let size = site.int("rotary_embedding_dim")?;
    draft.list("axis", &[-1]);
    draft.list("zero", &[0]);
    draft.list("end", &[i64::MAX]);
    if size > 0 {
        draft.list("size", &[size]);
        draft.add("turning = Slice (x, zero, size, axis)");
        draft.add("resting = Slice (x, size, end, axis)");
    } else {
        draft.add("turning = Identity (x)");
    }
    let is_interleaved = site.int("interleaved")? != 0;
    if is_interleaved {
        draft.list("one", &[1]);
        draft.list("two", &[2]);
        draft.add("a = Slice (turning, zero, end, axis, two)");
        draft.add("b = Slice (turning, one, end, axis, two)");
    } else {
        draft.add("a, b = Split <axis = -1, num_outputs = 2> (turning)");
    }
    for (product, left, right) in
        [("cos_a", "cos", "a"), ("sin_b", "sin", "b"), ("sin_a", "sin", "a"), ("cos_b", "cos", "b")]
    {
        draft.add(format_args!("{product} = Mul ({left}, {right})"));
    }
    draft.add("real = Sub (cos_a, sin_b)");
    draft.add("imaginary = Add (sin_a, cos_b)");
    if is_interleaved {
        draft.add("real_column = Unsqueeze (real, axis)");
        draft.add("imaginary_column = Unsqueeze (imaginary, axis)");
        draft.add("pairs = Concat <axis = -1> (real_column, imaginary_column)");
        draft.add("shape = Shape (turning)");
        draft.add("turned = Reshape (pairs, shape)");
    } else {
        draft.add("turned = Concat <axis = -1> (real, imaginary)");
    }
    draft.add(match size > 0 {
        true => "whole = Concat <axis = -1> (turned, resting)",
        false => "whole = Identity (turned)",
    });
    if is_packed {
        draft.add("packed = Shape (X)");
        draft.add("Y = Reshape (whole, packed)");
    } else {
        draft.add("Y = Identity (whole)");
    }
    Some(draft)
}
