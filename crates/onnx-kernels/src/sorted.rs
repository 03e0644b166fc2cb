//! Sorting that a cancelled run leaves soon: long lists are split around pivots, with a look at the run between blocks of
//! comparisons; short parts are sorted by the standard library, which cannot be interrupted.

use onnx_loops::budget::spend;
use onnx_loops::failure::Failure;
use std::cmp::Ordering;
use std::ops::Range;

/// Comparisons between two looks, and the most that one uninterrupted sort of a part may need for each of its levels: some ten
/// milliseconds.
const UNINTERRUPTED: usize = 1 << 18;
/// Splits of one part after which pivots are hopeless; it is sorted in one go.
const MAX_DEPTH: usize = 96;
/// At most this number of first elements is kept in order while the others are compared with the last of them.
const FEW: usize = 8;

/// Sorts so that the first `count` elements are the least ones in order; the others follow in any order. `compare` must tell all
/// elements apart, and takes about `cost` steps.
pub(crate) fn sort_first<T: Copy>(
    all: &mut [T],
    count: usize,
    cost: usize,
    compare: impl Fn(&T, &T) -> Ordering,
) -> Result<(), Failure> {
    let short = (UNINTERRUPTED / cost.max(1)).max(1);
    // One part of each split waits while the shorter one is sorted, so this stays small.
    let mut open: Vec<(Range<usize>, usize)> = vec![(0..all.len(), 0)];
    let mut seed = 0x9e37_79b9_7f4a_7c15u64;
    while let Some((range, depth)) = open.pop() {
        let part = &mut all[range.clone()];
        let wanted = count.saturating_sub(range.start).min(part.len());
        if wanted == 0 {
            continue;
        }
        if part.len() <= short || depth >= MAX_DEPTH {
            if wanted <= FEW {
                keep_first(part, wanted, &compare);
                spend(0)?;
                continue;
            }
            if wanted < part.len() {
                part.select_nth_unstable_by(wanted, &compare);
            }
            part[..wanted].sort_unstable_by(&compare);
            spend(0)?;
            continue;
        }
        seed = seed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(range.len() as u64);
        let middle = range.start + split(part, seed, short, &compare)?;
        let parts = [(range.start..middle, depth + 1), (middle + 1..range.end, depth + 1)];
        let [shorter, longer] = if middle - range.start < range.end - middle {
            parts
        } else {
            let [first, second] = parts;
            [second, first]
        };
        open.extend([longer, shorter]);
    }
    Ok(())
}

/// Puts the least elements first, in order, comparing each element with the last of them: most are greater.
fn keep_first<T: Copy>(part: &mut [T], wanted: usize, compare: &impl Fn(&T, &T) -> Ordering) {
    let (first, others) = part.split_at_mut(wanted);
    first.sort_unstable_by(compare);
    for other in others {
        let Some(last) = first.last_mut() else { return };
        if compare(other, last).is_lt() {
            std::mem::swap(other, last);
            let mut at = wanted - 1;
            while at > 0 && compare(&first[at], &first[at - 1]).is_lt() {
                first.swap(at, at - 1);
                at -= 1;
            }
        }
    }
}

/// Moves the elements below a pivot before it, and the others after it; returns the place of the pivot.
fn split<T: Copy>(
    part: &mut [T],
    seed: u64,
    between: usize,
    compare: &impl Fn(&T, &T) -> Ordering,
) -> Result<usize, Failure> {
    let last = part.len() - 1;
    // The middle one of three elements at places that no order of the elements can foresee.
    let place = |shift: u32| (seed.rotate_left(shift) % part.len() as u64) as usize;
    let mut places = [place(0), place(21), place(42)];
    places.sort_unstable_by(|&a, &b| compare(&part[a], &part[b]));
    part.swap(places[1], last);
    let pivot = part[last];
    let mut below = 0;
    for at in 0..last {
        if at % between == 0 {
            spend(0)?;
        }
        let is_below = compare(&part[at], &pivot).is_lt();
        part.swap(at, below);
        below += usize::from(is_below);
    }
    part.swap(below, last);
    Ok(below)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of all orders: rising, falling, equal but for their places, saw teeth, and mixed.
    fn lists(count: usize) -> Vec<Vec<(u32, usize)>> {
        let n = count as u32;
        let of = |number: &dyn Fn(u32) -> u32| (0..n).map(|i| (number(i), i as usize)).collect();
        vec![
            of(&|i| i),
            of(&|i| n - i),
            of(&|_| 7),
            of(&|i| i % 10),
            of(&|i| i.wrapping_mul(2_654_435_761)),
            of(&|i| if i < n / 2 { i } else { n - i }),
        ]
    }

    #[test]
    fn the_first_elements_are_those_of_a_full_sort() {
        for count in [0, 1, 2, 3, 50, 1000] {
            for list in lists(count) {
                let mut expected = list.clone();
                expected.sort_unstable();
                for wanted in [0, 1, 7, 8, 9, count / 3, count] {
                    // A comparison that costs much makes parts short.
                    for cost in [1, UNINTERRUPTED / 16, UNINTERRUPTED] {
                        let mut sorted = list.clone();
                        sort_first(&mut sorted, wanted, cost, Ord::cmp).expect("nothing cancels it");
                        let wanted = wanted.min(count);
                        assert_eq!(sorted[..wanted], expected[..wanted], "{wanted} of {count}");
                        sorted.sort_unstable();
                        assert_eq!(sorted, expected, "elements are lost");
                    }
                }
            }
        }
    }

    /// The number of comparisons stays near n log n, whatever the order is.
    #[test]
    fn no_order_is_slow() {
        let count = 20_000;
        for list in lists(count) {
            let compared = std::cell::Cell::new(0usize);
            let compare = |a: &(u32, usize), b: &(u32, usize)| {
                compared.set(compared.get() + 1);
                a.cmp(b)
            };
            sort_first(&mut list.clone(), count, UNINTERRUPTED / 16, compare).expect("nothing cancels it");
            assert!(compared.get() < 40 * count, "{}", compared.get());
        }
    }
}
