//! Micro-kernels: a tile of a matrix product with its accumulators in registers.
//!
//! `a` has a number for each row and step, `b` one for each step and column; the sums of their products are added to the tile
//! `c`. The numbers of a [group](Factor::GROUP) of steps are contiguous, and so are those of the columns; the row stride and the
//! offsets of steps are parameters, so both can be packed or read in place. The fastest kernel of the processor is selected at
//! run time; the plain one is portable and defines the results of the others.

#[cfg(target_arch = "x86_64")]
mod amx;
#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod end;
#[cfg(target_arch = "aarch64")]
mod neon;
mod plain;
mod steps;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod tile;

pub(crate) use end::End;
use smallvec::SmallVec;
use std::fmt::Debug;
pub(crate) use steps::{StepList, Steps};

/// A type of factors: single floats, or bytes, which are unsigned in `a` and signed in `b`.
pub(crate) trait Factor: bytemuck::Pod + Debug {
    /// The accumulator type; integers wrap around.
    type Total: bytemuck::Pod + PartialEq + Debug;

    /// The steps that one instruction multiplies and adds.
    const GROUP: usize;
    /// Steps accumulated in registers: a tile of columns with so many steps fits into the first-level cache.
    const STEPS: usize;
    const ONE: Self;
    const NO_TOTAL: Self::Total;

    /// Adds the product of two numbers to a sum.
    fn add_product(sum: Self::Total, a: Self, b: Self) -> Self::Total;

    fn add(a: Self::Total, b: Self::Total) -> Self::Total;

    /// A total as a single float, less an integer if it is one itself.
    fn single(total: Self::Total, less: i32) -> f32;

    /// Whether the numbers of a group of a column are so small that some kernels multiply them faster, whatever the row has.
    fn is_narrow(group: &[Self]) -> bool;

    /// Those that this processor can run, the fastest first.
    fn kernels() -> SmallVec<[Micro<Self>; 5]>;
}

impl Factor for f32 {
    type Total = f32;

    const GROUP: usize = 1;
    const STEPS: usize = 256;
    const ONE: f32 = 1.0;
    const NO_TOTAL: f32 = 0.0;

    #[inline(always)]
    fn add_product(sum: f32, a: f32, b: f32) -> f32 {
        sum + a * b
    }

    #[inline(always)]
    fn add(a: f32, b: f32) -> f32 {
        a + b
    }

    #[inline(always)]
    fn single(total: f32, _: i32) -> f32 {
        total
    }

    fn is_narrow(_: &[f32]) -> bool {
        false
    }

    fn kernels() -> SmallVec<[Micro<f32>; 5]> {
        #[cfg(target_arch = "x86_64")]
        let fast = [avx512::floats(), avx2::floats()];
        #[cfg(target_arch = "aarch64")]
        let fast = [Some(neon::floats())];
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        let fast: [Option<Micro<f32>>; 0] = [];
        fast.into_iter().flatten().chain([plain::kernel()]).collect()
    }
}

impl Factor for u8 {
    type Total = i32;

    const GROUP: usize = 4;
    const STEPS: usize = 512;
    const ONE: u8 = 1;
    const NO_TOTAL: i32 = 0;

    #[inline(always)]
    fn add_product(sum: i32, a: u8, b: u8) -> i32 {
        sum.wrapping_add(i32::from(a) * i32::from(b.cast_signed()))
    }

    #[inline(always)]
    fn add(a: i32, b: i32) -> i32 {
        a.wrapping_add(b)
    }

    #[inline(always)]
    fn single(total: i32, less: i32) -> f32 {
        total.wrapping_sub(less) as f32
    }

    /// Whether the sum of a pair of products has 16 bits: `255 * 128` is less than `2^15`.
    fn is_narrow(group: &[u8]) -> bool {
        group.chunks(2).all(|pair| {
            let (mut above, mut below) = (0, 0);
            for b in pair {
                let b = i32::from(b.cast_signed());
                (above, below) = (above + b.max(0), below + b.min(0));
            }
            above <= 128 && below >= -128
        })
    }

    fn kernels() -> SmallVec<[Micro<u8>; 5]> {
        #[cfg(target_arch = "x86_64")]
        let fast = [amx::bytes(), avx512::bytes(), avx2::bytes_at_once(), avx2::bytes()];
        #[cfg(not(target_arch = "x86_64"))]
        let fast: [Option<Micro<u8>>; 0] = [];
        fast.into_iter().flatten().chain([plain::kernel()]).collect()
    }
}

/// The rows of a tile: each group of steps starts at its step offset plus `apart` per row.
#[derive(Clone, Copy)]
pub(crate) struct Rows<'n, T> {
    pub(crate) numbers: &'n [T],
    pub(crate) apart: usize,
    pub(crate) steps: Steps<'n>,
    pub(crate) line_break: LineBreak,
}

impl<'n, T> Rows<'n, T> {
    /// Rows that are all equally far apart.
    pub(crate) fn of(numbers: &'n [T], apart: usize, steps: Steps<'n>) -> Self {
        Rows { numbers, apart, steps, line_break: LineBreak::default() }
    }
}

/// The row at which a tile continues in another line of an image, for kernels that [can](Micro::crosses_lines) do so.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct LineBreak {
    /// The first row of the other line; at most half of a tile is before it, and at most half after it.
    pub(crate) row: usize,
    /// The additional offset of that row and of those after it.
    pub(crate) later: usize,
}

/// The columns of a tile: each group of steps starts at its step offset, with contiguous columns.
#[derive(Clone, Copy)]
pub(crate) struct Columns<'n, T> {
    pub(crate) numbers: &'n [T],
    pub(crate) steps: Steps<'n>,
    /// The first so many groups are [narrow](Factor::is_narrow).
    pub(crate) narrow: usize,
    /// The distance between panels, if there are [several](Micro::panels).
    pub(crate) panel: usize,
    /// How far ahead numbers are fetched into the first-level cache; 0 if they are there.
    pub(crate) ahead: usize,
}

impl<'n, T> Columns<'n, T> {
    /// The columns of one panel, of which no group is known to be narrow.
    pub(crate) fn of(numbers: &'n [T], steps: Steps<'n>) -> Self {
        Columns { numbers, steps, narrow: 0, panel: 0, ahead: 0 }
    }
}

/// A tile to compute. The kernel computes at least `size` rows and columns, and not more rows; `b` has all columns of a tile, and
/// `c` at least `size` rows with the columns of a whole tile. With an end, columns are a multiple of [`Micro::lanes`], and
/// `c` becomes unspecified. Columns are at most those of a panel, or all of [several](Micro::panels).
pub(crate) struct Tile<'t, T: Factor> {
    pub(crate) a: Rows<'t, T>,
    pub(crate) b: Columns<'t, T>,
    pub(crate) c: &'t mut [T::Total],
    /// The distance between rows of `c`.
    pub(crate) stride: usize,
    pub(crate) size: [usize; 2],
    /// Whether these are the first products, which overwrite `c`.
    pub(crate) is_first: bool,
    /// For the last products.
    pub(crate) end: Option<End<'t>>,
}

/// A micro-kernel and the size of its tile.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Micro<T: Factor> {
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    /// The columns of a register.
    pub(crate) lanes: usize,
    /// The groups of steps that are contiguous in each row where rows are packed.
    pub(crate) interleave: usize,
    /// Whether it takes less time for groups that are narrow.
    pub(crate) knows_narrow: bool,
    /// With fewer steps in all, the next kernel is faster.
    pub(crate) least_steps: usize,
    /// Whether half of the rows of a tile may be in another line.
    pub(crate) crosses_lines: bool,
    panels: Panels,
    run: Kernel<T>,
    /// Gives up what it keeps of the processor between tiles.
    release: Option<fn()>,
}

/// Tiles that are run one after the other, on one thread; at the end the kernel releases the tile registers.
pub(crate) struct Session {
    release: Option<fn()>,
}

impl Drop for Session {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            release();
        }
    }
}

/// The most panels of tiles of one row, of two rows, and so on. Tiles of more rows have one.
type Panels = [usize; 6];

/// The function type of [`Micro::run`].
type Kernel<T> = fn(Tile<'_, T>);

impl<T: Factor> Micro<T> {
    /// A kernel that knows nothing about narrow groups, and reads rows that are packed group by group.
    fn new([rows, columns]: [usize; 2], lanes: usize, run: Kernel<T>) -> Micro<T> {
        Micro {
            rows,
            columns,
            lanes,
            interleave: 1,
            knows_narrow: false,
            least_steps: 0,
            crosses_lines: false,
            panels: [1; 6],
            run,
            release: None,
        }
    }

    /// The fastest kernel for this processor and products of many steps.
    pub(crate) fn best() -> Micro<T> {
        Micro::best_for(usize::MAX)
    }

    /// The fastest kernel for this processor and products of so many steps.
    pub(crate) fn best_for(steps: usize) -> Micro<T> {
        let kernels = T::kernels().into_iter();
        #[cfg(test)]
        let kernels = kernels.skip(FORCED.get());
        let mut kernels = kernels.filter(|micro| micro.least_steps <= steps);
        kernels.next().unwrap_or_else(plain::kernel)
    }

    /// The most panels of a tile of so many rows: as many columns as a tile of many rows has, each. A tile of few rows and one panel has
    /// fewer accumulators than the processor adds to at the same time. The kernel also runs tiles of half as many panels.
    pub(crate) fn panels(self, rows: usize) -> usize {
        rows.checked_sub(1).and_then(|at| self.panels.get(at)).copied().unwrap_or(1)
    }

    /// Begins a session, to be kept while tiles are run.
    pub(crate) fn session(self) -> Session {
        Session { release: self.release }
    }

    /// The steps of a row that are contiguous where rows are packed.
    pub(crate) fn interleaved_steps(self) -> usize {
        self.interleave * T::GROUP
    }

    /// Adds the products of all steps to a tile, or overwrites it with them.
    pub(crate) fn run(self, tile: Tile<'_, T>) {
        (self.run)(tile);
    }
}

/// Whether products of bytes are computed in tile registers (AMX).
#[cfg(target_arch = "x86_64")]
pub fn has_tile_registers() -> bool {
    amx::has_bytes()
}

/// Adds products of single floats to accumulators in registers for `rounds` rounds, and returns the number of operations; `None`
/// if there is only the plain kernel.
pub(crate) fn peak_of_floats(rounds: usize) -> Option<u64> {
    #[cfg(target_arch = "x86_64")]
    let peak = avx512::peak_of_floats(rounds).or_else(|| avx2::peak_of_floats(rounds));
    #[cfg(target_arch = "aarch64")]
    let peak = Some(neon::peak_of_floats(rounds));
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let peak = {
        _ = rounds;
        None
    };
    peak
}

/// The peak of products of bytes.
pub(crate) fn peak_of_bytes(rounds: usize) -> Option<u64> {
    #[cfg(target_arch = "x86_64")]
    let peak = amx::peak_of_bytes(rounds)
        .or_else(|| avx512::peak_of_bytes(rounds))
        .or_else(|| avx2::peak_of_bytes_at_once(rounds))
        .or_else(|| avx2::peak_of_bytes(rounds));
    #[cfg(not(target_arch = "x86_64"))]
    let peak = {
        _ = rounds;
        None
    };
    peak
}

#[cfg(test)]
thread_local! {
    /// How many kernels this processor does not seem to have.
    static FORCED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Does something with the `number` fastest kernels disabled on this thread.
#[cfg(test)]
pub(crate) fn forced<R>(number: usize, work: impl FnOnce() -> R) -> R {
    let before = FORCED.replace(number);
    let result = work();
    FORCED.set(before);
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::epilogue::Line;

    /// Compares all kernels with sums of products, for tiles of all sizes.
    fn check<T: Factor>(of_a: impl Fn(usize) -> T, of_b: impl Fn(usize) -> T, one: T::Total) {
        let (groups, narrow) = (37, 11);
        for micro in T::kernels() {
            let (all_rows, all_columns) = (micro.rows, micro.columns);
            let interleave = micro.interleaved_steps();
            let packed = (groups * T::GROUP).next_multiple_of(interleave);
            let a: Vec<T> = (0..packed * all_rows).map(&of_a).collect();
            let mut b: Vec<T> = (0..groups * all_columns * T::GROUP).map(&of_b).collect();
            for group in b[..narrow * all_columns * T::GROUP].chunks_mut(T::GROUP) {
                if !T::is_narrow(group) {
                    group.fill(T::ONE);
                }
            }
            let place = |[all, interleave]: [usize; 2], step: usize| {
                step / interleave * interleave * all + step % interleave
            };
            let steps = |packed| (0..groups).map(|group| place(packed, group * T::GROUP)).collect::<Vec<_>>();
            let (rows, columns) = ([all_rows, interleave], [all_columns, T::GROUP]);
            let (of_a, of_b) = (steps(rows), steps(columns));
            for (n, m) in (0..=all_rows).flat_map(|r| (0..=all_columns).map(move |c| (r, c))) {
                let stride = all_columns + 3;
                let mut c = vec![one; all_rows * stride];
                let a = Rows::of(&a, interleave, Steps::of(&of_a));
                let b = Columns { narrow, ..Columns::of(&b, Steps::of(&of_b)) };
                let size = [n, m];
                micro.run(Tile { a, b, c: &mut c, stride, size, is_first: false, end: None });
                let mut first = vec![one; all_rows * stride];
                micro.run(Tile { a, b, c: &mut first, stride, size, is_first: true, end: None });
                for (row, column) in (0..n).flat_map(|r| (0..m).map(move |c| (r, c))) {
                    let sum = (0..groups * T::GROUP).fold(T::NO_TOTAL, |sum, step| {
                        let a = a.numbers[place(rows, step) + row * interleave];
                        T::add_product(sum, a, b.numbers[place(columns, step) + column * T::GROUP])
                    });
                    assert_eq!(c[row * stride + column], T::add(one, sum), "{micro:?} {row} {column}");
                    assert_eq!(first[row * stride + column], sum, "{micro:?} {row} {column}");
                }
                assert!(c[n * stride..].iter().all(|c| *c == one), "{micro:?} {n}");
            }
        }
    }

    #[test]
    fn all_kernels_give_sums_of_products_for_tiles_of_all_sizes() {
        check::<f32>(|i| (i % 7) as f32 - 3.0, |i| (i % 5) as f32 - 2.0, 1.0);
        check::<u8>(|i| (i * 37 + i / 3) as u8, |i| (i * 91 + i / 5) as u8, 1);
    }

    /// Compares what all kernels make of sums with the same, computed from stored sums. All numbers are exact.
    fn check_ends<T: Factor>(of: impl Fn(usize) -> T, one: T::Total) {
        let groups = 21;
        for micro in T::kernels() {
            let numbers = |all: usize| (0..groups * all * T::GROUP).map(&of).collect::<Vec<T>>();
            let steps = |apart: usize| (0..groups).map(|group| group * apart * T::GROUP).collect::<Vec<_>>();
            let (all_a, all_b) = (numbers(micro.rows), numbers(micro.columns));
            let (of_a, of_b) = (steps(1), steps(micro.columns));
            let stride = micro.columns + 5;
            let less: Vec<i32> = (0..micro.columns as i32).map(|column| column * 7 - 20).collect();
            let scale: Vec<f32> = (0..micro.columns).map(|column| [0.5, -2.0, 1.0][column % 3]).collect();
            let bias: Vec<f32> = (0..micro.columns).map(|column| column as f32 - 4.0).collect();
            let other: Vec<f32> = (0..micro.rows * stride).map(|at| (at % 19) as f32).collect();
            let of_rows: Vec<f32> = (0..micro.rows).map(|row| 3.0 - row as f32).collect();
            for case in 0..32 {
                let [has_line, has_other, has_less, is_first, has_rows] =
                    [1, 2, 4, 8, 16].map(|bit| case & bit != 0);
                let of_rows = has_rows.then_some(&of_rows[..]);
                let other = has_other.then_some(&other[..]);
                let line = Line { scale: &scale, bias: &bias, of_rows, other, least: -30.0, most: 55.0 };
                let (line, less) = (has_line.then_some(line), has_less.then_some(&less[..]));
                let columns = (1..=micro.columns / micro.lanes).map(|n| n * micro.lanes);
                for (rows, columns) in columns.flat_map(|c| (0..=micro.rows).map(move |r| (r, c))) {
                    let run = |c: &mut [T::Total], end: Option<End<'_>>| {
                        let a = Rows::of(&all_a, groups * T::GROUP, Steps::of(&of_a));
                        let b = Columns::of(&all_b, Steps::of(&of_b));
                        let size = [rows, columns];
                        micro.run(Tile { a, b, c, stride: micro.columns, size, is_first, end });
                    };
                    let mut sums = vec![one; micro.rows * micro.columns];
                    run(&mut sums, None);
                    let mut expected = vec![7.5; micro.rows * stride];
                    for (row, column) in (0..rows).flat_map(|r| (0..columns).map(move |c| (r, c))) {
                        let less = less.map_or(0, |less| less[column]);
                        let mut y = T::single(sums[row * micro.columns + column], less);
                        if let Some(Line { scale, bias, of_rows, other, least, most }) = line {
                            let of_row = of_rows.map_or(0.0, |of_rows| of_rows[row]);
                            let other = other.map_or(0.0, |other| other[row * stride + column]);
                            y = (y * scale[column] + bias[column] + of_row + other).clamp(least, most);
                        }
                        expected[row * stride + column] = y;
                    }
                    let mut before = vec![one; micro.rows * micro.columns];
                    let mut out = vec![7.5; micro.rows * stride];
                    run(&mut before, Some(End { out: &mut out, stride, less, line }));
                    assert_eq!(out, expected, "{micro:?} {rows} {columns} {case}");
                }
            }
        }
    }

    /// Compares tiles of several panels with those of each panel.
    fn check_panels<T: Factor>(of_a: impl Fn(usize) -> T, of_b: impl Fn(usize) -> T, one: T::Total) {
        let groups = 43;
        for micro in T::kernels() {
            // Some numbers are between the panels.
            let panel = groups * micro.columns * T::GROUP + 24;
            let interleave = micro.interleaved_steps();
            let a: Vec<T> = (0..micro.rows * (groups * T::GROUP + interleave)).map(&of_a).collect();
            let b: Vec<T> = (0..4 * panel).map(&of_b).collect();
            let steps = |apart: usize| (0..groups).map(|group| group * apart).collect::<Vec<_>>();
            let (of_a, of_b) = (steps(T::GROUP), steps(micro.columns * T::GROUP));
            let a = Rows::of(&a, groups * T::GROUP, Steps::of(&of_a));
            let all = |rows| [1, 2, 4].into_iter().filter(move |panels| *panels <= micro.panels(rows));
            for (rows, panels) in (0..=micro.rows).flat_map(|rows| all(rows).map(move |n| (rows, n))) {
                for (is_first, has_end) in [(false, false), (true, false), (false, true), (true, true)] {
                    let wide = panels * micro.columns;
                    let run = |panels: std::ops::Range<usize>,
                               c: &mut [T::Total],
                               out: Option<&mut [f32]>| {
                        let b =
                            Columns { panel, ..Columns::of(&b[panels.start * panel..], Steps::of(&of_b)) };
                        let size = [rows, panels.len() * micro.columns];
                        let end = out.map(|out| End { out, stride: wide, less: None, line: None });
                        micro.run(Tile { a, b, c, stride: wide, size, is_first, end });
                    };
                    let first = || vec![one; micro.rows * wide];
                    let (mut sums, mut expected) = (first(), first());
                    let (mut results, mut results_expected) =
                        (vec![0.5; 12 * wide + wide], vec![0.5; 12 * wide + wide]);
                    run(0..panels, &mut sums, has_end.then_some(&mut results[..]));
                    for at in 0..panels {
                        let left = at * micro.columns;
                        let out = has_end.then_some(&mut results_expected[left..]);
                        run(at..at + 1, &mut expected[left..], out);
                    }
                    assert_eq!(results, results_expected, "{micro:?} {rows} {panels}");
                    if !has_end {
                        assert_eq!(sums, expected, "{micro:?} {rows} {panels}");
                    }
                }
            }
        }
    }

    #[test]
    fn tiles_of_several_panels_are_the_panels_beside_each_other() {
        check_panels::<f32>(|i| (i % 7) as f32 - 3.0, |i| (i % 5) as f32 - 2.0, 1.0);
        check_panels::<u8>(|i| (i * 37 + i / 3) as u8, |i| (i * 91 + i / 5) as u8, 1);
    }

    #[test]
    fn ends_are_what_epilogues_are() {
        check_ends::<f32>(|i| (i % 7) as f32 - 3.0, 1.0);
        check_ends::<u8>(|i| (i * 37 + i / 3) as u8, 1);
    }

    #[test]
    fn the_greatest_bytes_are_added_up_exactly() {
        check::<u8>(|_| 255, |i| if i % 3 == 0 { 127 } else { 128 }, i32::MAX);
    }

    #[test]
    fn bytes_are_read_in_runs_of_any_length() {
        let byte = |i: usize| (i * 37 + i / 3) as u8;
        for micro in u8::kernels() {
            let wide = micro.columns * u8::GROUP;
            for groups in [0, 1, 15, 16, 17, 32, 47, 128, 129, 200] {
                // Contiguous, in long and in short runs with gaps, each on its own, and backwards.
                let of_a: [Box<dyn Fn(usize) -> usize>; 5] = [
                    Box::new(|group| 3 + group * 4),
                    Box::new(|group| group * 4 + group / 13 * 9),
                    Box::new(|group| group * 4 + group / 7 * 5),
                    Box::new(|group| group * 9),
                    Box::new(|group| (groups - 1 - group) * 4),
                ];
                // In order, with gaps, backwards, and all the same.
                let of_b: [Box<dyn Fn(usize) -> usize>; 4] = [
                    Box::new(|group| group * wide),
                    Box::new(|group| group * wide + group / 20 * 8),
                    Box::new(|group| (groups - 1 - group) * (wide + 4)),
                    Box::new(|_| 0),
                ];
                let of_a = of_a.map(|at| (0..groups).map(at).collect::<Vec<_>>());
                let of_b = of_b.map(|at| (0..groups).map(at).collect::<Vec<_>>());
                let all = of_a.iter().flat_map(|a| of_b.iter().map(move |b| (a, b)));
                for ((of_a, of_b), rows) in all.flat_map(|it| [1, 5, 16, 17, 29, 32].map(|n| (it, n))) {
                    let rows = rows.min(micro.rows);
                    let line_break = match micro.crosses_lines && groups % 2 == 1 {
                        true => LineBreak { row: rows.div_ceil(2).max(rows.min(13)), later: 77 },
                        false => LineBreak::default(),
                    };
                    let place = |row: usize, apart: usize| {
                        row * apart + if row >= line_break.row { line_break.later } else { 0 }
                    };
                    for (apart, columns) in [(1700, micro.columns), (0, 3), (1925, micro.lanes)] {
                        let last = |at: &[usize]| at.iter().copied().max().unwrap_or(0);
                        // Only the numbers that are read exist.
                        let a: Vec<u8> = (0..last(of_a) + place(rows - 1, apart) + 4).map(byte).collect();
                        let of_columns = columns.next_multiple_of(micro.lanes) * u8::GROUP;
                        let b: Vec<u8> = (0..last(of_b) + of_columns).map(|i| byte(i + 91)).collect();
                        let mut c = vec![5; (rows - 1) * micro.columns + of_columns / u8::GROUP];
                        let (stride, size) = (micro.columns, [rows, columns]);
                        micro.run(Tile {
                            a: Rows { line_break, ..Rows::of(&a, apart, Steps::of(of_a)) },
                            b: Columns::of(&b, Steps::of(of_b)),
                            c: &mut c,
                            stride,
                            size,
                            is_first: rows == 5,
                            end: None,
                        });
                        for (row, column) in [(0, 0), (rows - 1, columns - 1), (rows / 2, columns / 3)] {
                            let sum = of_a.iter().zip(of_b).fold(
                                if rows == 5 { 0 } else { 5 },
                                |sum, (at_a, at_b)| {
                                    let (a, b) =
                                        (&a[at_a + place(row, apart)..], &b[at_b + column * u8::GROUP..]);
                                    (0..u8::GROUP).fold(sum, |sum, i| u8::add_product(sum, a[i], b[i]))
                                },
                            );
                            assert_eq!(
                                c[row * stride + column],
                                sum,
                                "{micro:?} {groups} {size:?} {row} {column}"
                            );
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn factors_are_read_where_they_lie() {
        // Contiguous rows, and columns with overlapping unordered steps.
        let all: Vec<f32> = (0..900).map(|i| ((i * 37) % 23) as f32 - 11.0).collect();
        let (of_a, of_b): (Vec<usize>, Vec<usize>) =
            ((0..29).collect(), (0..29).map(|k| k * 7 % 29).collect());
        for micro in f32::kernels() {
            for rows in 0..=micro.rows {
                let numbers = &all[..(rows.max(1) - 1) * 41 + 29];
                let a = Rows::of(numbers, 41, Steps::of(&of_a));
                let numbers = &all[..28 + micro.columns];
                let b = Columns::of(numbers, Steps::of(&of_b));
                let mut c = vec![0.0; micro.rows * micro.columns];
                let (stride, size) = (micro.columns, [rows, micro.columns]);
                micro.run(Tile { a, b, c: &mut c, stride, size, is_first: true, end: None });
                for (row, column) in (0..rows).flat_map(|r| (0..micro.columns).map(move |c| (r, c))) {
                    let sum: f32 = (0..29).map(|k| all[row * 41 + k] * all[of_b[k] + column]).sum();
                    assert_eq!(c[row * micro.columns + column], sum, "{micro:?} {row} {column}");
                }
            }
        }
    }
}
