//! The TfIdfVectorizer kernel: counts the n-grams of a pool in rows of integers or strings.
//!
//! The pool lists all 1-grams, then all 2-grams and so on; they are stored in a trie. An n-gram is searched with every distance
//! between its items up to the allowed skips; single items once.

use crate::value::Value;
use crate::{Call, Row, row};
use foldhash::HashMap;
use onnx_ir::ElemType;
use onnx_ir::diag::counted;
use onnx_loops::budget::spend;
use onnx_loops::failure::{Failure, fail};
use onnx_loops::list::{List, Listed as _};
use onnx_loops::tensor::Tensor;

pub(crate) const ROWS: &[Row] = &[row("", "TfIdfVectorizer", vectorize)];

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum GramItem<'a> {
    Int(i64),
    Text(&'a str),
}

/// A node of the trie: the n-grams with a common prefix.
#[derive(Default)]
struct Branch<'a> {
    /// The column and weight of the n-gram that ends here.
    gram: Option<(usize, f32)>,
    next: HashMap<GramItem<'a>, usize>,
}

struct Pool<'a> {
    /// The first one is the root.
    branches: Vec<Branch<'a>>,
}

/// The lengths of n-grams that count.
struct Lengths {
    least: usize,
    greatest: usize,
    skips: usize,
}

impl<'a> Pool<'a> {
    /// The n-grams with the requested lengths, with columns and weights. `starts` has the start of each length in `items`.
    fn new(
        items: &[GramItem<'a>],
        starts: &[usize],
        mut places: impl Iterator<Item = (usize, f32)>,
        lengths: &Lengths,
    ) -> Result<Self, Failure> {
        let mut pool = Pool { branches: vec![Branch::default()] };
        for (i, &start) in starts.iter().enumerate() {
            let (n, end) = (i + 1, starts.get(i + 1).copied().unwrap_or(items.len()));
            let Some(grams) = items.get(start..end) else {
                fail!("`ngram_counts` does not divide a pool of {}", counted(items.len(), "item"));
            };
            for gram in grams.chunks_exact(n) {
                let Some(place) = places.next() else {
                    fail!("`ngram_indexes` has fewer entries than the pool has n-grams");
                };
                if (lengths.least..=lengths.greatest).contains(&n) {
                    pool.add(gram, place);
                }
            }
        }
        Ok(pool)
    }

    fn add(&mut self, gram: &[GramItem<'a>], place: (usize, f32)) {
        let mut at = 0;
        for &item in gram {
            let fresh = self.branches.len();
            at = *self.branches[at].next.entry(item).or_insert(fresh);
            if at == fresh {
                self.branches.push(Branch::default());
            }
        }
        self.branches[at].gram = Some(place);
    }

    fn count(
        &self,
        row: &[GramItem<'a>],
        lengths: &Lengths,
        tally: fn(&mut f32, f32),
        counts: &mut [f32],
    ) -> Result<(), Failure> {
        let mut least = lengths.least;
        for distance in 1..=lengths.skips.saturating_add(1) {
            // Larger distances do not fit either.
            if distance.saturating_mul(least - 1) >= row.len() {
                break;
            }
            spend(row.len())?;
            for start in 0..row.len() {
                let mut at = 0;
                let items = row[start..].iter().step_by(distance).take(lengths.greatest);
                for (i, item) in items.enumerate() {
                    let Some(&next) = self.branches[at].next.get(item) else { break };
                    at = next;
                    if let Some((column, weight)) = self.branches[at].gram.filter(|_| i + 1 >= least) {
                        tally(&mut counts[column], weight);
                    }
                }
            }
            // A single item has no distances.
            least = least.max(2);
            if least > lengths.greatest {
                break;
            }
        }
        Ok(())
    }
}

fn items(tensor: &Tensor) -> Result<List<GramItem<'_>>, Failure> {
    if tensor.is_strings() {
        return tensor.string_slice()?.iter().map(|text| GramItem::Text(text)).listed();
    }
    tensor.ints()?.into_iter().map(GramItem::Int).listed()
}

fn vectorize(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let x = call.tensor(0)?;
    let (rows, len) = match x.dims() {
        [] => (1, 1),
        &[len] => (1, len),
        &[rows, len] => (rows, len),
        dims => fail!("items of shape [C] or [N,C] are expected, these are of shape {dims:?}"),
    };
    let attrs = &call.attrs;
    let number = |name: &str| match attrs.int(name).map(usize::try_from) {
        Some(Ok(n)) => Ok(n),
        Some(Err(_)) | None => fail!("attribute `{name}` has to be a number that is not negative"),
    };
    let numbers = |name: &str| -> Result<Vec<usize>, Failure> {
        let given = attrs.ints(name).unwrap_or_default().into_iter().map(usize::try_from);
        given.collect::<Result<_, _>>().map_err(|_| Failure::new(format!("`{name}` has a negative number")))
    };
    let lengths = Lengths {
        least: number("min_gram_length")?.max(1),
        greatest: number("max_gram_length")?,
        skips: number("max_skip_count")?,
    };
    let columns = numbers("ngram_indexes")?;
    let starts = numbers("ngram_counts")?;
    let (texts, ints) = (attrs.strings("pool_strings"), attrs.ints("pool_int64s"));
    let pool: Vec<GramItem<'_>> = match (&texts, &ints) {
        (Some(texts), _) => texts.iter().map(|text| GramItem::Text(text)).collect(),
        (None, Some(ints)) => ints.iter().copied().map(GramItem::Int).collect(),
        (None, None) => fail!("there is neither `pool_strings` nor `pool_int64s`"),
    };
    // Weights are in the order of the pool, independent of columns.
    let weights = attrs.floats("weights").unwrap_or_default();
    let weights = weights.into_iter().chain(std::iter::repeat(1.0));
    let pool = Pool::new(&pool, &starts, columns.iter().copied().zip(weights), &lengths)?;
    let Some(width) = columns.iter().max().and_then(|last| last.checked_add(1)) else {
        fail!("`ngram_indexes` is empty");
    };
    let dims: &[usize] = if x.rank() == 2 { &[rows, width] } else { &[width] };
    let mut counts = Tensor::zeros(ElemType::FLOAT, dims)?;
    let mode = attrs.string("mode").unwrap_or_default();
    let tally: fn(&mut f32, f32) = match &mode[..] {
        "TF" => |count, _| *count += 1.0,
        "IDF" => |count, weight| *count = weight,
        "TFIDF" => |count, weight| *count += weight,
        _ => fail!("`mode` is `{mode}`, not TF, IDF or TFIDF"),
    };
    let all = items(x)?;
    for (row, counts) in counts.words_mut::<f32>()?.chunks_exact_mut(width).enumerate() {
        pool.count(&all[row * len..][..len], &lengths, tally, counts)?;
    }
    Ok(vec![counts.into()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_those_of_ngrams_not_of_columns() {
        let items = [1, 2, 1, 2].map(GramItem::Int);
        let lengths = Lengths { least: 1, greatest: 2, skips: 0 };
        // 1 and 2 alone, then 1 before 2.
        let places = [(2, 0.5), (0, 0.25), (1, 4.0)];
        let pool = Pool::new(&items, &[0, 2], places.into_iter(), &lengths).expect("sound");
        let mut counts = [0.0; 3];
        let add = |count: &mut f32, weight: f32| *count += weight;
        pool.count(&[1, 2, 2, 1].map(GramItem::Int), &lengths, add, &mut counts).expect("short");
        assert_eq!(counts, [0.5, 4.0, 1.0]);
    }
}
