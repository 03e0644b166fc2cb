//! String operators.

use crate::dims::Dim;
use crate::engine::{Infer, NodeCx};
use onnx_ir::ElemType;
use onnx_ir::diag::{code, counted};

/// `[C]` or `[1,C]`; stop words are removed.
pub(super) fn normalize(cx: &mut NodeCx<'_, '_>) -> Infer {
    cx.one_of("case_change_action", &["LOWER", "UPPER", "NONE"])?;
    let mut shape = cx.shape_of_ranks(0, 1, Some(2))?;
    if shape.len() == 2 {
        if cx.dims().known_equal(shape[0], Dim::Const(1)) == Some(false) {
            let message = "`StringNormalizer` expects one row of strings".to_owned();
            return cx.fail_at_input(0, &code::SHAPE_PRECONDITION, message);
        }
        shape[0] = Dim::Const(1);
    }
    let removes = if cx.has_attr("stopwords") { !cx.strings("stopwords")?.is_empty() } else { false };
    if removes && let Some(last) = shape.last_mut() {
        *last = cx.fresh(0);
    }
    cx.set_shape(0, shape);
    Some(())
}

/// The parts of each string, padded to the longest list, and their number.
pub(super) fn split(cx: &mut NodeCx<'_, '_>) -> Infer {
    let shape = cx.shape(0)?;
    let parts = cx.fresh(0);
    cx.set_shape(0, shape.iter().copied().chain([parts]));
    cx.set_shape(1, shape);
    Some(())
}

/// `TfIdfVectorizer`: `[C]` or `[N,C]`; an axis of n-grams replaces the last one.
pub(super) fn count_grams(cx: &mut NodeCx<'_, '_>) -> Infer {
    cx.one_of("mode", &["TF", "IDF", "TFIDF"])?;
    let shape = cx.shape_of_ranks(0, 1, Some(2));
    let (least, most) = (cx.int("min_gram_length")?, cx.int("max_gram_length")?);
    if least < 1 {
        return cx.fail_at_attr("min_gram_length", format!("invalid n-gram length {least}"));
    }
    if most < least {
        return cx.fail_at_attr(
            "max_gram_length",
            format!("maximum n-gram length {most} is less than the minimum {least}"),
        );
    }
    if cx.int("max_skip_count")? < 0 {
        return cx.fail_at_attr("max_skip_count", "negative number of skips".to_owned());
    }
    let indexes = cx.ints("ngram_indexes")?;
    if let Some(index) = indexes.iter().find(|i| **i < 0) {
        return cx.fail_at_attr("ngram_indexes", format!("negative index {index}"));
    }
    pool(cx, indexes.len(), most)?;
    if cx.has_attr("weights") {
        let weights = cx.list_len("weights")?;
        if weights != indexes.len() {
            let message = format!("{} for {}", counted(weights, "weight"), counted(indexes.len(), "n-gram"));
            return cx.fail_at_attr("weights", message);
        }
    }
    let Some(&last) = indexes.iter().max() else {
        return cx.fail_at_attr("ngram_indexes", "list of n-grams is empty".to_owned());
    };
    let count = last.checked_add(1)?;
    let mut shape = shape?;
    *shape.last_mut()? = Dim::Const(count);
    cx.set_shape(0, shape);
    Some(())
}

/// Checks that the pool has an n-gram for each index: `ngram_counts` holds the start of each length.
fn pool(cx: &mut NodeCx<'_, '_>, indexes: usize, most: i64) -> Infer {
    let (name, len, elem) = match (cx.has_attr("pool_strings"), cx.has_attr("pool_int64s")) {
        (true, false) => ("pool_strings", cx.list_len("pool_strings")?, true),
        (false, true) => ("pool_int64s", cx.list_len("pool_int64s")?, false),
        (true, true) => {
            return cx.fail_at_attr("pool_int64s", "the other pool".to_owned());
        }
        (false, false) => {
            let message = "`TfIdfVectorizer` requires `pool_strings` or `pool_int64s`";
            return cx.fail(onnx_ir::diag::Diagnostic::new(&code::ATTR_VALUE, cx.at_op(), message));
        }
    };
    if let Some(input) = cx.elem(0)
        && (input == ElemType::STRING) != elem
    {
        let ty = cx.ty(0).clone().text(cx.dims());
        return cx.fail_at_attr(name, format!("`{name}` does not match the input type {ty}"));
    }
    let counts = cx.ints("ngram_counts")?;
    if i64::try_from(counts.len()).is_ok_and(|n| n < most) {
        let message = format!(
            "`ngram_counts` has {}, but n-grams have up to {}",
            counted(counts.len(), "element"),
            counted(most, "item")
        );
        return cx.fail_at_attr("ngram_counts", message);
    }
    let mut grams = 0;
    for (i, &start) in counts.iter().enumerate() {
        let end = counts.get(i + 1).copied().unwrap_or(i64::try_from(len).ok()?);
        let items = usize::try_from(start).ok().and_then(|s| usize::try_from(end).ok()?.checked_sub(s));
        let Some(items) = items.filter(|_| usize::try_from(end).is_ok_and(|end| end <= len)) else {
            let message =
                format!("range {start} to {end} of {}-grams is out of range for a pool of {len}", i + 1);
            return cx.fail_at_attr("ngram_counts", message);
        };
        if items % (i + 1) != 0 {
            return cx.fail_at_attr(
                "ngram_counts",
                format!("{} cannot be split into {}-grams", counted(items, "item"), i + 1),
            );
        }
        grams += items / (i + 1);
    }
    if grams != indexes {
        return cx
            .fail_at_attr("ngram_indexes", format!("{indexes} indexes for {}", counted(grams, "n-gram")));
    }
    Some(())
}
