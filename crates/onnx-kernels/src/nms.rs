//! The NonMaxSuppression kernel.

use crate::sorted::sort_first;
use crate::value::Value;
use crate::{Call, Row, row};
use onnx_loops::budget::spend;
use onnx_loops::failure::{Failure, fail};
use onnx_loops::list::{List, Listed as _};
use onnx_loops::tensor::Tensor;

pub(crate) const ROWS: &[Row] = &[row("", "NonMaxSuppression", non_max_suppression)];

/// Least and greatest x, least and greatest y.
#[derive(Clone, Copy)]
struct Corners {
    x: [f32; 2],
    y: [f32; 2],
}

impl Corners {
    /// From two opposite corners, y before x.
    fn of_corners(b: &[f32; 4]) -> Corners {
        let ordered = |a: f32, b: f32| if a >= b { [b, a] } else { [a, b] };
        Corners { x: ordered(b[1], b[3]), y: ordered(b[0], b[2]) }
    }

    /// From center, width and height.
    fn of_center(b: &[f32; 4]) -> Corners {
        let (w, h) = (b[2] / 2.0, b[3] / 2.0);
        Corners { x: [b[0] - w, b[0] + w], y: [b[1] - h, b[1] + h] }
    }

    fn area(self) -> f32 {
        (self.x[1] - self.x[0]) * (self.y[1] - self.y[0])
    }

    /// Whether the intersection over union of two boxes exceeds a threshold.
    fn overlaps(self, other: Corners, threshold: f32) -> bool {
        let shared = |a: [f32; 2], b: [f32; 2]| a[1].min(b[1]) - a[0].max(b[0]);
        let (w, h) = (shared(self.x, other.x), shared(self.y, other.y));
        let both = w * h;
        // Comparisons with NaN are false.
        if !(w > 0.0 && h > 0.0 && both > 0.0) {
            return false;
        }
        let (a, b) = (self.area(), other.area());
        let union = a + b - both;
        a > 0.0 && b > 0.0 && union > 0.0 && both / union > threshold
    }
}

/// An optional scalar.
fn number(call: &Call<'_>, input: usize) -> Result<Option<f32>, Failure> {
    Ok(match call.optional_tensor(input)? {
        Some(tensor) => tensor.slice::<f32>()?.first().copied(),
        None => None,
    })
}

fn non_max_suppression(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let (boxes, scores) = (call.tensor(0)?, call.tensor(1)?);
    let (&[batches, count, 4], &[b, classes, n]) = (boxes.dims(), scores.dims()) else {
        fail!("boxes of shape {:?} and scores of shape {:?} do not fit", boxes.dims(), scores.dims())
    };
    if (b, n) != (batches, count) {
        fail!("boxes of shape {:?} and scores of shape {:?} do not fit", boxes.dims(), scores.dims());
    }
    let most = call.optional_ints(2)?.and_then(|most| most.first().copied()).unwrap_or(0);
    let most = usize::try_from(most).unwrap_or(0);
    let threshold = number(call, 3)?.unwrap_or(0.0);
    let least_score = number(call, 4)?;
    let is_center = call.attrs.flag("center_point_box");
    let corners = boxes
        .slice::<f32>()?
        .as_chunks::<4>()
        .0
        .iter()
        .map(|b| if is_center { Corners::of_center(b) } else { Corners::of_corners(b) })
        .listed()?;

    let mut selected: List<i64> = List::new();
    let long = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
    let mut candidates: List<usize> = List::new();
    let mut kept: List<Corners> = List::new();
    for (row, scores) in scores.slice::<f32>()?.chunks_exact(count.max(1)).enumerate() {
        let (batch, class) = (row / classes.max(1), row % classes.max(1));
        spend(count)?;
        candidates.clear();
        candidates.extend((0..count).filter(|&i| least_score.is_none_or(|least| scores[i] > least)))?;
        // Best scores first; NaN is the worst.
        let order = |x: f32| if x.is_nan() { f32::NEG_INFINITY } else { x };
        // Ties by index, like a stable sort, which would allocate.
        let best_first =
            |&a: &usize, &b: &usize| order(scores[b]).total_cmp(&order(scores[a])).then(a.cmp(&b));
        let all = candidates.len();
        sort_first(&mut candidates, all, 1, best_first)?;
        kept.clear();
        for &candidate in &candidates {
            if kept.len() >= most {
                break;
            }
            spend(kept.len())?;
            let corners = corners[batch * count + candidate];
            if !kept.iter().any(|other| corners.overlaps(*other, threshold)) {
                kept.push(corners)?;
                selected.extend([long(batch), long(class), long(candidate)])?;
            }
        }
    }
    Ok(vec![Tensor::of(&[selected.len() / 3, 3], &selected)?.into()])
}
