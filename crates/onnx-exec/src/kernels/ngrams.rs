//! TfIdfVectorizer: how often each n-gram of a pool occurs in a row of integers or strings.
//!
//! The pool lists all 1-grams, then all 2-grams and so on; they are found by a tree in which each item leads on. An n-gram is
//! looked for with every distance between its items, up to the skips that are allowed; single items once.

use super::{Call, Row};
use crate::budget::spend;
use crate::failure::{Failure, fail};
use crate::tensor::Tensor;
use crate::value::Value;
use foldhash::HashMap;
use onnx_ir::ElemType;

pub(super) const ROWS: &[Row] = &[("", "TfIdfVectorizer", vectorize)];

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Item<'a> {
    Int(i64),
    Text(&'a str),
}

/// The n-grams that begin in the same way.
#[derive(Default)]
struct Branch<'a> {
    /// The column of the n-gram that ends here.
    column: Option<usize>,
    next: HashMap<Item<'a>, usize>,
}

struct Pool<'a> {
    /// The first one is the root.
    branches: Vec<Branch<'a>>,
}

/// Which n-grams count.
struct Lengths {
    least: usize,
    greatest: usize,
    skips: usize,
}

impl<'a> Pool<'a> {
    /// The n-grams of the lengths that count. `starts` says where those of each length begin.
    fn new(
        items: &[Item<'a>],
        starts: &[usize],
        columns: &[usize],
        lengths: &Lengths,
    ) -> Result<Self, Failure> {
        let mut pool = Pool { branches: vec![Branch::default()] };
        let mut column = columns.iter();
        for (i, &start) in starts.iter().enumerate() {
            let (n, end) = (i + 1, starts.get(i + 1).copied().unwrap_or(items.len()));
            let Some(grams) = items.get(start..end) else {
                fail!("`ngram_counts` does not divide a pool of {} items", items.len());
            };
            for gram in grams.chunks_exact(n) {
                let Some(&column) = column.next() else {
                    fail!("`ngram_indexes` has fewer entries than the pool has n-grams");
                };
                if (lengths.least..=lengths.greatest).contains(&n) {
                    pool.add(gram, column);
                }
            }
        }
        Ok(pool)
    }

    fn add(&mut self, gram: &[Item<'a>], column: usize) {
        let mut at = 0;
        for &item in gram {
            let fresh = self.branches.len();
            at = *self.branches[at].next.entry(item).or_insert(fresh);
            if at == fresh {
                self.branches.push(Branch::default());
            }
        }
        self.branches[at].column = Some(column);
    }

    fn count(&self, row: &[Item<'a>], lengths: &Lengths, counts: &mut [f32]) -> Result<(), Failure> {
        let mut least = lengths.least;
        for distance in 1..=lengths.skips.saturating_add(1) {
            // With a larger distance even less fits.
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
                    if let Some(column) = self.branches[at].column.filter(|_| i + 1 >= least) {
                        counts[column] += 1.0;
                    }
                }
            }
            // An item alone has no distance.
            least = least.max(2);
            if least > lengths.greatest {
                break;
            }
        }
        Ok(())
    }
}

fn items(tensor: &Tensor) -> Result<Vec<Item<'_>>, Failure> {
    if tensor.is_strings() {
        return Ok(tensor.string_slice()?.iter().map(|text| Item::Text(text)).collect());
    }
    Ok(tensor.ints()?.into_iter().map(Item::Int).collect())
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
    let pool: Vec<Item<'_>> = match (&texts, &ints) {
        (Some(texts), _) => texts.iter().map(|text| Item::Text(text)).collect(),
        (None, Some(ints)) => ints.iter().copied().map(Item::Int).collect(),
        (None, None) => fail!("there is neither `pool_strings` nor `pool_int64s`"),
    };
    let pool = Pool::new(&pool, &starts, &columns, &lengths)?;
    let Some(width) = columns.iter().max().and_then(|last| last.checked_add(1)) else {
        fail!("`ngram_indexes` is empty");
    };
    let dims: &[usize] = if x.rank() == 2 { &[rows, width] } else { &[width] };
    let mut counts = Tensor::zeros(ElemType::FLOAT, dims)?;
    let weights = attrs.floats("weights").filter(|all| !all.is_empty());
    let weight = |column: usize| weights.as_ref().map_or(1.0, |all| all.get(column).copied().unwrap_or(1.0));
    let mode = attrs.string("mode").unwrap_or_default();
    let weigh: fn(f32, f32) -> f32 = match &mode[..] {
        "TF" => |count, _| count,
        "IDF" => |count, weight| if count > 0.0 { weight } else { 0.0 },
        "TFIDF" => |count, weight| count * weight,
        _ => fail!("`mode` is `{mode}`, not TF, IDF or TFIDF"),
    };
    let all = items(x)?;
    for (row, counts) in counts.words_mut::<f32>().chunks_exact_mut(width).enumerate() {
        pool.count(&all[row * len..][..len], &lengths, counts)?;
        for (column, count) in counts.iter_mut().enumerate() {
            *count = weigh(*count, weight(column));
        }
    }
    Ok(vec![counts.into()])
}
