//! Where the groups of steps of a product begin, and which of them are at equal distances.

use std::ops::Range;

/// The offsets of groups of steps.
#[derive(Clone, Copy)]
pub(crate) struct Steps<'s> {
    pub(super) at: &'s [usize],
    pub(super) last: usize,
    pub(super) runs: Runs,
}

/// Runs of steps at equal distances, such as the channels of each tap of a convolution.
#[derive(Clone, Copy)]
pub(super) struct Runs {
    /// The distance of successive offsets of a run.
    pub(super) by: usize,
    /// The steps of each run but the last, and those of the first one that are left.
    pub(super) length: usize,
    pub(super) first: usize,
}

impl Runs {
    /// Steps at any distances.
    const NONE: Runs = Runs { by: 0, length: 1, first: 1 };
    /// Looking up the offset of each step is as fast as shorter runs.
    const MIN_LENGTH: usize = 4;

    fn of(at: &[usize]) -> Runs {
        let by = match at {
            [first, second, ..] => second.checked_sub(*first),
            _ => Some(0),
        };
        let Some(by) = by else { return Runs::NONE };
        let is_next = |pair: &[usize]| pair[1].wrapping_sub(pair[0]) == by;
        let length = 1 + at.windows(2).take_while(|pair| is_next(pair)).count();
        if length >= at.len() {
            return Runs { by, length: usize::MAX, first: usize::MAX };
        }
        let is_run = |run: &[usize]| run.windows(2).all(is_next);
        let are_runs = length >= Self::MIN_LENGTH && at.chunks(length).all(is_run);
        if are_runs { Runs { by, length, first: length } } else { Runs::NONE }
    }

    /// From a step on.
    fn from(self, step: usize) -> Runs {
        if self.length == usize::MAX {
            self
        } else {
            Runs { first: self.length - step % self.length, ..self }
        }
    }
}

impl<'s> Steps<'s> {
    pub(crate) fn of(at: &'s [usize]) -> Self {
        Steps { at, last: at.iter().copied().max().unwrap_or(0), runs: Runs::of(at) }
    }

    /// Offsets of which the greatest is known.
    pub(crate) fn up_to(at: &'s [usize], last: usize) -> Self {
        Steps { at, last, runs: Runs::NONE }
    }

    pub(crate) fn offsets(&self) -> &'s [usize] {
        self.at
    }

    /// These groups in the order of their numbers in `order`.
    pub(crate) fn in_order<'o>(self, order: &[u8], room: &'o mut Vec<usize>) -> Steps<'o> {
        room.clear();
        room.extend(order.iter().filter_map(|group| self.at.get(usize::from(*group))));
        Steps { at: room, last: self.last, runs: Runs::NONE }
    }
}

/// The offsets of all groups of steps, block by block.
pub(crate) struct StepList {
    at: Vec<usize>,
    /// The greatest offset of the block up to each group.
    last: Vec<usize>,
    runs: Runs,
}

impl StepList {
    /// Groups of steps in blocks of `block` groups.
    pub(crate) fn of(at: Vec<usize>, block: usize) -> Self {
        let mut last: Vec<usize> = Vec::with_capacity(at.len());
        for block in at.chunks(block.max(1)) {
            let mut most = 0;
            last.extend(block.iter().map(|at| {
                most = most.max(*at);
                most
            }));
        }
        let runs = Runs::of(&at);
        StepList { at, last, runs }
    }

    /// The first groups of a block.
    pub(crate) fn block(&self, groups: Range<usize>) -> Steps<'_> {
        let last = groups.end.checked_sub(1).and_then(|at| self.last.get(at)).copied().unwrap_or(0);
        Steps { runs: self.runs.from(groups.start), at: &self.at[groups], last }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_a_block_of_steps_begin_where_those_of_the_list_do() {
        for (run, taps, apart) in [(96, 9, 1000), (3, 49, 10), (5, 70, 9), (256, 3, 300), (300, 1, 0)] {
            let at: Vec<usize> =
                (0..taps).flat_map(|tap| (0..run).map(move |channel| tap * apart + channel)).collect();
            let list = StepList::of(at.clone(), 256);
            for start in (0..at.len()).step_by(256) {
                let Steps { at, runs, .. } = list.block(start..at.len().min(start + 256));
                assert_eq!(runs.length > 1, run > 3);
                let (mut done, mut left) = (0, runs.first);
                while done < at.len() {
                    let n = left.min(at.len() - done);
                    assert!((0..n).all(|i| at[done + i] == at[done] + i * runs.by), "{run} {start} {done}");
                    (done, left) = (done + n, runs.length);
                }
            }
        }
    }
}
