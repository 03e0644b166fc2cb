//! Batches: slices of the first axis of arrays, in their order or shuffled, in epochs.

use super::derived_seed;
use onnx_exec::{Failure, Random, Tensor};
use onnx_ir::diag::counted;

/// Where a training is in its data: what the next batch depends on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Position {
    /// The epochs that have been completed.
    pub epoch: u64,
    /// The rows of the current epoch that have been used.
    pub row: usize,
}

/// The rows of a step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Batch {
    /// Their numbers.
    pub rows: Vec<usize>,
    /// Whether the epoch ends with it.
    pub is_last: bool,
}

/// Divides rows into batches. The same seed gives the same batches, from any position on.
#[derive(Clone, Debug)]
pub struct Batches {
    rows: usize,
    batch: usize,
    /// The seed of the order of rows in each epoch; `None`: as they are.
    shuffle: Option<u64>,
    /// Whether the last batch of an epoch may have fewer rows.
    keeps_rest: bool,
    position: Position,
    /// The order of the rows in the epoch that it is for.
    order: Option<(u64, Vec<usize>)>,
}

impl Batches {
    /// Batches of so many of so many rows. A seed shuffles the rows of each epoch. The last batch of an epoch may have fewer rows
    /// if `keeps_rest` is set, and is left out otherwise.
    ///
    /// `None` if a batch would have no rows.
    pub fn new(rows: usize, batch: usize, shuffle: Option<u64>, keeps_rest: bool) -> Option<Batches> {
        let is_possible = batch > 0 && if keeps_rest { rows > 0 } else { rows >= batch };
        let position = Position::default();
        is_possible.then_some(Batches { rows, batch, shuffle, keeps_rest, position, order: None })
    }

    /// The number of batches of an epoch.
    pub fn per_epoch(&self) -> usize {
        if self.keeps_rest { self.rows.div_ceil(self.batch) } else { self.rows / self.batch }
    }

    /// Where it is.
    pub fn position(&self) -> Position {
        self.position
    }

    /// Continues at a position.
    pub fn seek(&mut self, position: Position) {
        self.position = position;
        if self.left() == 0 {
            self.position = Position { epoch: position.epoch + 1, row: 0 };
        }
    }

    /// The rows that the next batches of this epoch use.
    fn left(&self) -> usize {
        let left = self.rows.saturating_sub(self.position.row);
        if self.keeps_rest { left } else { left - left % self.batch }
    }

    /// The next batch.
    pub fn next_batch(&mut self) -> Batch {
        let Position { epoch, row } = self.position;
        let end = row.saturating_add(self.batch).min(self.rows);
        let rows = match self.shuffle {
            None => (row..end).collect(),
            Some(seed) => {
                let count = self.rows;
                if self.order.as_ref().is_none_or(|(of, _)| *of != epoch) {
                    self.order = Some((epoch, order(count, derived_seed(seed, &[SHUFFLE, epoch]))));
                }
                self.order.as_ref().map_or_else(Vec::new, |(_, order)| order[row..end].to_vec())
            }
        };
        self.position.row = end;
        let is_last = self.left() == 0;
        if is_last {
            self.position = Position { epoch: epoch + 1, row: 0 };
        }
        Batch { rows, is_last }
    }
}

/// Distinguishes the seeds of orders from those of steps.
const SHUFFLE: u64 = u64::MAX - 1;

/// The numbers below `count` in an order that the seed determines (Fisher and Yates).
fn order(count: usize, seed: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    let mut random = Random::new(seed);
    for i in (1..count).rev() {
        // The bias of the remainder is below 2^-32 for fewer than 2^32 rows.
        let j = random.bits() % (i as u64 + 1);
        order.swap(i, usize::try_from(j).unwrap_or(i));
    }
    order
}

impl Batch {
    /// These rows of an array.
    ///
    /// # Errors
    ///
    /// The array has fewer rows, or there is not enough memory.
    pub fn of(&self, array: &Tensor) -> Result<Tensor, Failure> {
        let (Some(&rows), rest) = (array.dims().first(), array.dims().get(1..).unwrap_or_default()) else {
            return Err(Failure::new("a scalar has no rows"));
        };
        if let Some(row) = self.rows.iter().find(|row| **row >= rows) {
            return Err(Failure::new(format!("row {row} is out of range ({})", counted(rows, "row"))));
        }
        let mut dims = vec![self.rows.len()];
        dims.extend(rest);
        let width: usize = rest.iter().product();
        if let Ok(strings) = array.string_slice() {
            let all = self.rows.iter().flat_map(|row| &strings[row * width..][..width]);
            return Tensor::from_strings(&dims, all.cloned());
        }
        let mut batch = Tensor::zeros(array.elem(), &dims)?;
        let bytes = array.bytes().len() / rows.max(1);
        if bytes > 0 {
            for (to, row) in batch.bytes_mut()?.chunks_exact_mut(bytes).zip(&self.rows) {
                to.copy_from_slice(&array.bytes()[row * bytes..][..bytes]);
            }
        }
        Ok(batch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(batches: &mut Batches, count: usize) -> Vec<Vec<usize>> {
        (0..count).map(|_| batches.next_batch().rows).collect()
    }

    #[test]
    fn rows_are_divided_in_order() {
        let mut batches = Batches::new(5, 2, None, true).unwrap();
        assert_eq!(batches.per_epoch(), 3);
        assert_eq!(all(&mut batches, 4), [vec![0, 1], vec![2, 3], vec![4], vec![0, 1]]);
        let mut batches = Batches::new(5, 2, None, false).unwrap();
        assert_eq!(batches.per_epoch(), 2);
        assert_eq!(all(&mut batches, 3), [vec![0, 1], vec![2, 3], vec![0, 1]]);
        assert!(Batches::new(1, 2, None, false).is_none() && Batches::new(0, 2, None, true).is_none());
        assert!(Batches::new(1, 0, None, true).is_none());
    }

    #[test]
    fn shuffled_epochs_have_each_row_once_and_go_on_from_any_position() {
        let mut batches = Batches::new(10, 3, Some(7), true).unwrap();
        let mut first: Vec<usize> = all(&mut batches, 4).concat();
        let second: Vec<usize> = all(&mut batches, 4).concat();
        assert_ne!(first, second);
        first.sort_unstable();
        assert_eq!(first, (0..10).collect::<Vec<_>>());
        let mut whole = Batches::new(10, 3, Some(7), true).unwrap();
        all(&mut whole, 6);
        let mut other = Batches::new(10, 3, Some(7), true).unwrap();
        other.seek(whole.position());
        assert_eq!(all(&mut whole, 5), all(&mut other, 5));
    }

    #[test]
    fn arrays_of_any_type_have_rows() {
        let batch = Batch { rows: vec![2, 0], is_last: false };
        let numbers = Tensor::of(&[3, 2], &[0i64, 1, 2, 3, 4, 5]).unwrap();
        assert_eq!(batch.of(&numbers).unwrap(), Tensor::of(&[2, 2], &[4i64, 5, 0, 1]).unwrap());
        let texts = Tensor::from_strings(&[3], ["a", "b", "c"].map(str::to_owned)).unwrap();
        assert_eq!(
            batch.of(&texts).unwrap(),
            Tensor::from_strings(&[2], ["c", "a"].map(str::to_owned)).unwrap()
        );
        assert!(batch.of(&Tensor::scalar(1i64).unwrap()).is_err());
        assert!(batch.of(&Tensor::of(&[2], &[1.0f32, 2.0]).unwrap()).is_err());
    }
}
