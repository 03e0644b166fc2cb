//! What attention of a head of a sequence is, whatever operator it is part of.

use crate::budget::spend;
use crate::failure::Failure;
use crate::list::{Listed as _, filled};
use crate::loops::{Job, Matrix, math, widest};

/// Rows of products that there are at a time.
const ROWS_AT_A_TIME: usize = 120;

/// The keys and values of a head of a sequence.
pub(super) struct Memory {
    keys: Matrix,
    values: Matrix,
    /// How many of each there are.
    count: usize,
    /// The elements of a key, and of a value.
    sizes: [usize; 2],
}

impl Memory {
    /// Keys and values, one behind the other.
    pub(super) fn of(keys: &[f32], values: &[f32], sizes: [usize; 2]) -> Result<Memory, Failure> {
        let count = keys.len().checked_div(sizes[0]).unwrap_or(0);
        let keys = Matrix::of_columns(keys, sizes[0])?;
        Ok(Memory { keys, values: Matrix::of_rows(values, sizes[1])?, count, sizes })
    }

    /// For each query, the sum of the values, each as often as its key fits. `weigh` makes parts of a whole of the products of
    /// a query with all keys.
    pub(super) fn attend<'q>(
        &self,
        count: usize,
        query: impl Fn(usize) -> &'q [f32],
        weigh: impl Fn(usize, &mut [f32]),
        out: &mut [f32],
    ) -> Result<(), Failure> {
        let [size, of_value] = self.sizes;
        if out.is_empty() {
            return Ok(());
        }
        for (first, out) in (0..count).step_by(ROWS_AT_A_TIME).zip(out.chunks_mut(ROWS_AT_A_TIME * of_value))
        {
            let rows = first..count.min(first + ROWS_AT_A_TIME);
            spend(rows.len().saturating_mul(self.count).saturating_mul(size + of_value))?;
            let queries = rows.clone().flat_map(&query).copied().listed()?;
            let mut products = filled(rows.len() * self.count, 0.0)?;
            self.keys.add_products(&queries, &mut products)?;
            for (i, products) in rows.zip(products.chunks_exact_mut(self.count.max(1))) {
                weigh(i, products);
            }
            self.values.add_products(&products, out)?;
        }
        Ok(())
    }
}

/// Numbers as parts of a whole, to which another number may belong that gets its part and is left out.
pub(super) fn soften(numbers: &mut [f32], other: Option<f32>) {
    widest(Softmax(numbers, other));
}

struct Softmax<'s>(&'s mut [f32], Option<f32>);

impl Job for Softmax<'_> {
    type Out = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let first = self.1.unwrap_or(f32::NEG_INFINITY);
        let most = self.0.iter().copied().fold(first, f32::max);
        self.0.iter_mut().for_each(|x| *x = math::exp::<FUSED>(*x - most));
        let sum: f32 = self.0.iter().sum();
        let sum = sum + self.1.map_or(0.0, |other| math::exp::<FUSED>(other - most));
        self.0.iter_mut().for_each(|x| *x /= sum);
    }
}
