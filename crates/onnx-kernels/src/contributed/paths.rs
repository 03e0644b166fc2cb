//! Kernels that search: DynamicTimeWarping, BifurcationDetector.

use crate::value::Value;
use crate::{Call, Row, row};
use onnx_ir::diag::{counted, counted_are};
use onnx_loops::budget::spend;
use onnx_loops::failure::{Failure, fail};
use onnx_loops::list::{List, filled};
use onnx_loops::tensor::{Tensor, count_of};

pub(super) const ROWS: &[Row] = &[
    row("com.microsoft", "BifurcationDetector", bifurcation_detector),
    row("com.microsoft", "DynamicTimeWarping", dynamic_time_warping),
];

/// The step to the point before: to the left, up, or both.
#[derive(Clone, Copy)]
enum Step {
    Both,
    Up,
    Left,
}

/// The cheapest path through a matrix of costs, from its first to its last element.
fn dynamic_time_warping(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let costs = call.tensor(0)?;
    let (&[rows, columns] | &[1, rows, columns]) = costs.dims() else {
        fail!("costs of shape {:?} are none of a matrix", costs.dims())
    };
    let count = count_of(&[rows, columns])?;
    spend(count)?;
    let numbers = costs.slice::<f32>()?;
    // The least costs of the points of a row, after a border.
    let mut least = filled(columns + 1, f32::INFINITY)?;
    least[0] = 0.0;
    let mut steps = filled(count, Step::Both)?;
    for row in 0..rows {
        let mut diagonal = std::mem::replace(&mut least[0], f32::INFINITY);
        for column in 0..columns {
            let (up, left) = (least[column + 1], least[column]);
            let (cost, step) = if diagonal < up && diagonal < left {
                (diagonal, Step::Both)
            } else if up < diagonal && up < left {
                (up, Step::Up)
            } else {
                (left, Step::Left)
            };
            let at = row * columns + column;
            steps[at] = step;
            diagonal = up;
            least[column + 1] = cost + numbers[at];
        }
    }
    let mut points: List<[i32; 2]> = List::new();
    let (mut row, mut column) = (rows, columns);
    while row > 0 && column > 0 {
        let [Ok(r), Ok(c)] = [row - 1, column - 1].map(i32::try_from) else {
            fail!(
                "a path through {} and {} does not fit its type",
                counted(rows, "row"),
                counted(columns, "column")
            )
        };
        points.push([r, c])?;
        let step = steps[(row - 1) * columns + column - 1];
        row -= usize::from(matches!(step, Step::Both | Step::Up));
        column -= usize::from(matches!(step, Step::Both | Step::Left));
    }
    let mut y = List::with_room(2 * points.len())?;
    for i in 0..2 {
        y.extend(points.iter().rev().map(|point| point[i]))?;
    }
    Ok(vec![Tensor::of(&[2, points.len()], &y)?.into()])
}

/// Appends predicted tokens to the current ones, as far as they are those of the source and one more; and returns the position in
/// the source that follows the last tokens.
fn bifurcation_detector(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let [source, current, start] = [0, 1, 2].map(|i| call.tensor(i).and_then(Tensor::ints));
    let (source, mut tokens, start) = (source?, current?, start?);
    let number = |name: &str, or: usize| match call.attrs.int(name) {
        Some(n) => usize::try_from(n).unwrap_or(0),
        None => or,
    };
    let (shortest, longest) = (number("min_ngram_size", 1), number("max_ngram_size", 3));
    if shortest == 0 || longest < shortest {
        fail!("n-grams have from {shortest} to {longest} tokens");
    }
    if let Some(predicted) = call.optional_ints(3)? {
        let from = start.first().and_then(|from| usize::try_from(*from).ok()).filter(|&n| n <= source.len());
        let Some(rest) = from.map(|from| &source[from..]).filter(|rest| rest.len() + 1 == predicted.len())
        else {
            fail!("{} predicted from {start:?} of {}", counted_are(predicted.len(), "token"), source.len())
        };
        let same = rest.iter().zip(predicted.iter()).take_while(|(a, b)| a == b).count();
        tokens.extend(predicted[..=same].iter().copied())?;
    }
    let mut found = -1;
    for size in shortest..=longest.min(tokens.len()) {
        spend(source.len().saturating_mul(size))?;
        let last = &tokens[tokens.len() - size..];
        let mut places = source.windows(size).enumerate().filter(|(_, n_gram)| *n_gram == last);
        let Some((at, _)) = places.next() else { break };
        found = i64::try_from(at + size).unwrap_or(-1);
        if at + size >= source.len() {
            break;
        }
        if places.next().is_some() {
            found = -1;
        }
    }
    Ok(vec![
        Tensor::of(&[tokens.len()], &tokens)?.into(),
        Tensor::of(call.tensor(2)?.dims(), &[found])?.into(),
    ])
}
