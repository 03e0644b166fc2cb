//! Micro-kernel tiles in vector registers of any width.

#![allow(
    unsafe_code,
    reason = "instructions that not every processor has, and loads through pointers, of places that were looked at before"
)]

use super::{End, Factor, Panels, Steps, Tile};
use crate::product::LINE;
use crate::zip::zip;
use std::hint::black_box;

/// A vector instruction set.
pub(super) trait Vectors {
    type Factor: Factor;
    /// A register of accumulators, or of a group of factors for each.
    type Register: Copy;

    /// Accumulators per register.
    const LANES: usize;
    const ROWS: usize;
    /// The columns of two registers.
    const COLUMNS: usize = 2 * Self::LANES;
    /// The most panels of tiles of few rows: their accumulators and the factors of a step fit into 32 registers.
    const PANELS: Panels = [4, 4, 2, 2, 2, 2];

    /// # Safety
    /// The processor has the instructions.
    unsafe fn zero() -> Self::Register;

    /// Loads the groups of as many columns as there are lanes.
    ///
    /// # Safety
    /// The processor has the instructions, and `from` is readable for as many groups as a register has lanes, at least.
    unsafe fn load(from: *const Self::Factor) -> Self::Register;

    /// Broadcasts a group to all lanes.
    ///
    /// # Safety
    /// The processor has the instructions, and `from` is readable for at least one group.
    unsafe fn spread(from: *const Self::Factor) -> Self::Register;

    /// Adds the products of groups to sums.
    ///
    /// # Safety
    /// The processor has the instructions.
    unsafe fn add_products(sum: Self::Register, a: Self::Register, b: Self::Register) -> Self::Register;

    /// Whether there is a faster way for groups that are narrow.
    const KNOWS_NARROW: bool = false;

    /// Sums with the products of a group added that is [narrow](Factor::is_narrow).
    ///
    /// # Safety
    /// The processor has the instructions.
    #[inline(always)]
    unsafe fn add_narrow_products(
        sum: Self::Register,
        a: Self::Register,
        b: Self::Register,
    ) -> Self::Register {
        // SAFETY: the processor has the instructions.
        unsafe { Self::add_products(sum, a, b) }
    }

    /// Sums that were stored.
    ///
    /// # Safety
    /// The processor has the instructions, and `from` points to sums for all lanes.
    unsafe fn sums(from: *const Total<Self>) -> Self::Register;

    /// Adds sums.
    ///
    /// # Safety
    /// The processor has the instructions.
    unsafe fn plus(a: Self::Register, b: Self::Register) -> Self::Register;

    /// Stores sums.
    ///
    /// # Safety
    /// The processor has the instructions, and `to` points to memory for all lanes.
    unsafe fn put(to: *mut Total<Self>, sums: Self::Register);

    /// Fetches a line into the first-level cache, if there is an instruction for that; any address will do.
    #[inline(always)]
    fn fetch(_: *const Self::Factor) {}

    type Singles: Singles;

    /// Sums as single floats, less integers if they are integers.
    ///
    /// # Safety
    /// The processor has the instructions, and `less` points to numbers for all lanes.
    unsafe fn singles(sums: Self::Register, less: Option<*const i32>) -> Self::Singles;
}

/// A register of single floats.
pub(super) trait Singles: Copy {
    /// # Safety
    /// The processor has the instructions, and `from` points to numbers for all lanes.
    unsafe fn load(from: *const f32) -> Self;

    /// A number in all lanes.
    ///
    /// # Safety
    /// The processor has the instructions.
    unsafe fn all(number: f32) -> Self;

    /// `self * scale + bias`, which the processor computes as functions in the widest registers do.
    ///
    /// # Safety
    /// The processor has the instructions.
    unsafe fn line(self, scale: Self, bias: Self) -> Self;

    /// # Safety
    /// The processor has the instructions.
    unsafe fn plus(self, other: Self) -> Self;

    /// The nearest number from `least` to `most`; NaN stays.
    ///
    /// # Safety
    /// The processor has the instructions.
    unsafe fn clamped(self, least: Self, most: Self) -> Self;

    /// Stores results.
    ///
    /// # Safety
    /// The processor has the instructions, and `to` points to memory for all lanes.
    unsafe fn put(self, to: *mut f32);
}

type Total<V> = <<V as Vectors>::Factor as Factor>::Total;

/// Adds products to the first rows and columns of a tile; further columns, up to a whole register, become unspecified.
///
/// # Safety
/// The processor has the instructions.
#[inline(always)]
pub(super) unsafe fn run<V: Vectors>(it: Tile<'_, V::Factor>) {
    if let Some(end) = &it.end {
        // The lines of the results arrive while products are added.
        for row in 0..it.size[0].min(V::ROWS) {
            for column in (0..it.size[1]).step_by(LINE) {
                V::fetch(end.out.as_ptr().wrapping_add(row * end.stride + column).cast());
            }
        }
    }
    let (stride, size) = (it.stride, [it.size[0].min(V::ROWS), it.size[1]]);
    // SAFETY: the processor has the instructions.
    unsafe {
        let left = match size[1] {
            0 => None,
            n if n <= V::LANES => rows_of::<V, 1>(it),
            n if n <= V::COLUMNS => rows_of::<V, 2>(it),
            n if n <= 2 * V::COLUMNS => few_rows_of::<V, 4>(it),
            _ => few_rows_of::<V, 8>(it),
        };
        if let Some((c, mut end)) = left {
            finish::<V>(c, stride, size, &mut end);
        }
    }
}

/// The sums of a tile that were stored, and the results that are computed from them.
type Stored<'t, V> = Option<(&'t mut [Total<V>], End<'t>)>;

/// # Safety
/// The processor has the instructions.
#[inline(always)]
unsafe fn rows_of<V: Vectors, const N: usize>(it: Tile<'_, V::Factor>) -> Stored<'_, V> {
    const { assert!(V::ROWS <= 12) };
    // SAFETY: the processor has the instructions.
    unsafe {
        match it.size[0].min(V::ROWS) {
            0 => None,
            1 => tile::<V, 1, N>(it),
            2 => tile::<V, 2, N>(it),
            3 => tile::<V, 3, N>(it),
            4 => tile::<V, 4, N>(it),
            5 => tile::<V, 5, N>(it),
            6 => tile::<V, 6, N>(it),
            7 => tile::<V, 7, N>(it),
            8 => tile::<V, 8, N>(it),
            9 => tile::<V, 9, N>(it),
            10 => tile::<V, 10, N>(it),
            11 => tile::<V, 11, N>(it),
            _ => tile::<V, 12, N>(it),
        }
    }
}

/// Few rows by several panels.
///
/// # Safety
/// The processor has the instructions.
#[inline(always)]
unsafe fn few_rows_of<V: Vectors, const N: usize>(it: Tile<'_, V::Factor>) -> Stored<'_, V> {
    // SAFETY: the processor has the instructions.
    unsafe {
        match it.size[0].min(V::ROWS) {
            0 => None,
            1 if 2 * V::PANELS[0] >= N => tile::<V, 1, N>(it),
            2 if 2 * V::PANELS[1] >= N => tile::<V, 2, N>(it),
            3 if 2 * V::PANELS[2] >= N => tile::<V, 3, N>(it),
            4 if 2 * V::PANELS[3] >= N => tile::<V, 4, N>(it),
            5 if 2 * V::PANELS[4] >= N => tile::<V, 5, N>(it),
            6 if 2 * V::PANELS[5] >= N => tile::<V, 6, N>(it),
            rows => panic!("a tile of {rows} rows has fewer panels"),
        }
    }
}

/// Adds products to accumulators in registers for `rounds` rounds, and returns the number of operations: the upper bound for any
/// tile.
///
/// # Safety
/// The processor has the instructions.
#[inline(always)]
pub(super) unsafe fn peak<V: Vectors>(rounds: usize) -> u64 {
    // Enough for two units with a latency of five cycles.
    const SUMS: usize = 12;
    // SAFETY: the processor has the instructions.
    let zero = unsafe { V::zero() };
    // Those of rows, and of two columns: what is the same for several sums is computed once only.
    let factors = [zero; SUMS / 2 + 2];
    let mut sums = [zero; SUMS];
    for _ in 0..rounds {
        let factors = black_box(&factors);
        for (at, sum) in sums.iter_mut().enumerate() {
            // SAFETY: the processor has the instructions.
            *sum = unsafe { V::add_narrow_products(*sum, factors[at / 2], factors[SUMS / 2 + at % 2]) };
        }
    }
    sums.into_iter().for_each(|sum| _ = black_box(sum));
    (2 * rounds * SUMS * V::LANES * <V::Factor as Factor>::GROUP) as u64
}

/// Adds the products of steps, whose groups are narrow or not.
///
/// # Safety
/// The processor has the instructions, and at each step, a group of `R` rows and the groups of `N` registers are within bounds.
#[inline(always)]
unsafe fn add_steps<V: Vectors, const R: usize, const N: usize, const NARROW: bool>(
    (a, b): (*const V::Factor, *const V::Factor),
    [apart, panel, ahead]: [usize; 3],
    (of_a, of_b): (&[usize], &[usize]),
    sums: &mut [[V::Register; N]; R],
) {
    let group = <V::Factor as Factor>::GROUP;
    // SAFETY: the processor has the instructions.
    let zero = unsafe { V::zero() };
    // Rows in threes, so that addresses take few registers: two distances in a three, and one to the next.
    let three = 3 * apart;
    for (of_a, of_b) in zip(of_a, of_b) {
        // SAFETY: the caller has checked that the groups of the step are within bounds.
        let (from_a, from_b) = unsafe { (a.add(*of_a), b.add(*of_b)) };
        let mut of_three = from_a;
        // The side with fewer registers stays in them for the step.
        if R < N {
            let mut rows = [zero; R];
            for (r, x) in rows.iter_mut().enumerate() {
                // SAFETY: these are some of the groups of `R` rows, in order.
                unsafe {
                    *x = V::spread(of_three.add(r % 3 * apart));
                    if r % 3 == 2 && r + 1 < R {
                        of_three = of_three.add(three);
                    }
                }
            }
            for n in 0..N {
                // SAFETY: these are some of the groups of `N` registers, two for each panel.
                let from = unsafe { from_b.add(n / 2 * panel + n % 2 * V::LANES * group) };
                V::fetch(from.wrapping_add(ahead));
                // SAFETY: as above.
                let row = unsafe { V::load(from) };
                for (sums, x) in zip(&mut *sums, &rows) {
                    // SAFETY: the processor has the instructions.
                    sums[n] = unsafe { add::<V, NARROW>(sums[n], *x, row) };
                }
            }
            continue;
        }
        let mut row = [zero; N];
        for (n, row) in row.iter_mut().enumerate() {
            // SAFETY: these are some of the groups of `N` registers, two for each panel.
            let from = unsafe { from_b.add(n / 2 * panel + n % 2 * V::LANES * group) };
            V::fetch(from.wrapping_add(ahead));
            // SAFETY: as above.
            *row = unsafe { V::load(from) };
        }
        for (r, sums) in sums.iter_mut().enumerate() {
            // SAFETY: this is one of the groups of `R` rows.
            let x = unsafe { V::spread(of_three.add(r % 3 * apart)) };
            for (sum, row) in zip(sums, &row) {
                // SAFETY: the processor has the instructions.
                *sum = unsafe { add::<V, NARROW>(*sum, x, *row) };
            }
            if r % 3 == 2 && r + 1 < R {
                // SAFETY: the next row is one of those.
                of_three = unsafe { of_three.add(three) };
            }
        }
    }
}

/// Adds the products of steps at equal distances, `by`, whose groups are narrow or not: instructions that look up offsets would take
/// longer than the products.
///
/// # Safety
/// The processor has the instructions, and at each of `count` steps, a group of `R` rows and the groups of two registers are within
/// bounds.
#[inline(always)]
unsafe fn add_even_steps<V: Vectors, const R: usize, const N: usize, const NARROW: bool>(
    (mut a, mut b): (*const V::Factor, *const V::Factor),
    [apart, ahead]: [usize; 2],
    by: [usize; 2],
    count: usize,
    sums: &mut [[V::Register; N]; R],
) {
    let wide = V::LANES * <V::Factor as Factor>::GROUP;
    // SAFETY: the processor has the instructions.
    let zero = unsafe { V::zero() };
    for _ in 0..count {
        let mut row = [zero; N];
        for (n, row) in row.iter_mut().enumerate() {
            let from = b.wrapping_add(n * wide);
            if (n * wide * size_of::<V::Factor>()).is_multiple_of(LINE * size_of::<f32>()) {
                V::fetch(from.wrapping_add(ahead));
            }
            // SAFETY: these are some of the groups of two registers.
            *row = unsafe { V::load(from) };
        }
        // Rows in threes, as above.
        let mut of_three = a;
        for (r, sums) in sums.iter_mut().enumerate() {
            // SAFETY: this is one of the groups of `R` rows.
            let x = unsafe { V::spread(of_three.wrapping_add(r % 3 * apart)) };
            for (sum, row) in zip(sums, &row) {
                // SAFETY: the processor has the instructions.
                *sum = unsafe { add::<V, NARROW>(*sum, x, *row) };
            }
            if r % 3 == 2 && r + 1 < R {
                of_three = of_three.wrapping_add(3 * apart);
            }
        }
        (a, b) = (a.wrapping_add(by[0]), b.wrapping_add(by[1]));
    }
}

/// Adds the products of runs of steps at equal distances, whose first `narrow` groups are narrow.
///
/// # Safety
/// The processor has the instructions, and at each step, a group of `R` rows and the groups of `N` registers are within bounds.
#[inline(always)]
unsafe fn add_runs<V: Vectors, const R: usize, const N: usize>(
    (a, b): (*const V::Factor, *const V::Factor),
    apart: [usize; 2],
    [of_a, of_b]: [Steps<'_>; 2],
    narrow: usize,
    sums: &mut [[V::Register; N]; R],
) {
    let count = of_a.at.len().min(of_b.at.len());
    let by = [of_a.runs.by, of_b.runs.by];
    let (mut done, mut left) = (0, [of_a.runs.first, of_b.runs.first]);
    while done < count {
        let is_narrow = V::KNOWS_NARROW && done < narrow;
        let end = if is_narrow { narrow } else { count };
        let n = left[0].min(left[1]).min(end - done);
        // SAFETY: the caller has checked that the groups of the steps are within bounds, and `done` is one of them.
        unsafe {
            let from = (a.add(*of_a.at.get_unchecked(done)), b.add(*of_b.at.get_unchecked(done)));
            if is_narrow {
                add_even_steps::<V, R, N, true>(from, apart, by, n, sums);
            } else {
                add_even_steps::<V, R, N, false>(from, apart, by, n, sums);
            }
        }
        done += n;
        for (left, of) in zip(&mut left, &[of_a, of_b]) {
            *left = if *left == n { of.runs.length } else { *left - n };
        }
    }
}

/// Adds the products of groups, which are narrow or not.
///
/// # Safety
/// The processor has the instructions.
#[inline(always)]
unsafe fn add<V: Vectors, const NARROW: bool>(
    sum: V::Register,
    a: V::Register,
    b: V::Register,
) -> V::Register {
    // SAFETY: the processor has the instructions.
    unsafe { if NARROW { V::add_narrow_products(sum, a, b) } else { V::add_products(sum, a, b) } }
}

/// `R` rows by `N` registers. Results that are not computed are returned with the sums.
///
/// # Safety
/// The processor has the instructions.
#[inline(always)]
unsafe fn tile<V: Vectors, const R: usize, const N: usize>(it: Tile<'_, V::Factor>) -> Stored<'_, V> {
    const { assert!(R >= 1 && (N <= 2 || N.is_multiple_of(2))) };
    let Tile { a, b, c, stride, is_first, end, .. } = it;
    let group = <V::Factor as Factor>::GROUP;
    let of_rows = (R - 1).saturating_mul(a.apart).saturating_add(group);
    let before = (N.div_ceil(2) - 1).saturating_mul(b.panel);
    let of_columns = before.saturating_add((N - 2 * (N.div_ceil(2) - 1)) * V::LANES * group);
    assert!(a.line_break.later == 0, "rows of two lines");
    assert!(R <= V::ROWS, "a tile of more rows than there are");
    assert!(a.numbers.len() >= a.steps.last.saturating_add(of_rows), "rows that are not all there");
    assert!(b.numbers.len() >= b.steps.last.saturating_add(of_columns), "columns that are not all there");
    assert!(c.len() >= (R - 1) * stride + N * V::LANES, "a tile that is not all there");
    // SAFETY: the processor has the instructions.
    let zero = unsafe { V::zero() };
    let mut sums = [[zero; N]; R];
    let narrow = if V::KNOWS_NARROW { b.narrow.min(a.steps.at.len()).min(b.steps.at.len()) } else { 0 };
    let from = (a.numbers.as_ptr(), b.numbers.as_ptr());
    // SAFETY: no step begins after the last, from which on `of_rows` and `of_columns` numbers are within the slices, as was asserted; runs
    // are of these steps.
    unsafe {
        if N == 2 && 2 * R >= V::ROWS && a.steps.runs.length > 1 && b.steps.runs.length > 1 {
            add_runs::<V, R, N>(from, [a.apart, b.ahead], [a.steps, b.steps], narrow, &mut sums);
        } else {
            let ((of_a, wide_a), (of_b, wide_b)) = (a.steps.at.split_at(narrow), b.steps.at.split_at(narrow));
            let apart = [a.apart, b.panel, b.ahead];
            if V::KNOWS_NARROW {
                add_steps::<V, R, N, true>(from, apart, (of_a, of_b), &mut sums);
            }
            add_steps::<V, R, N, false>(from, apart, (wide_a, wide_b), &mut sums);
        }
    }
    // Each form of the results is more code than the products, so only tiles of many rows have them.
    let is_high = N == 2 && R + 1 >= V::ROWS;
    // SAFETY: the last row, and so every row, has `N * LANES` totals in `c`, as asserted.
    unsafe {
        match end {
            Some(mut end) if is_first && is_high => {
                match end.line.map(|line| line.other.is_some()) {
                    None => put_results::<V, R, N, false, false>(&sums, &mut end),
                    Some(false) => put_results::<V, R, N, true, false>(&sums, &mut end),
                    Some(true) => put_results::<V, R, N, true, true>(&sums, &mut end),
                }
                None
            }
            end => {
                for (r, sums) in sums.iter().enumerate() {
                    for (n, sum) in sums.iter().enumerate() {
                        let to = c.as_mut_ptr().add(r * stride + n * V::LANES);
                        V::put(to, if is_first { *sum } else { V::plus(V::sums(to), *sum) });
                    }
                }
                end.map(|end| (c, end))
            }
        }
    }
}

/// Computes results from the sums of a tile, with a line, and with numbers that are added to it, or not: loops with constant bounds and
/// without branches. If they are not unrolled, the sums lie in memory all the time.
///
/// # Safety
/// The processor has the instructions, and the end has a line and such numbers, or not.
#[inline(always)]
unsafe fn put_results<
    V: Vectors,
    const R: usize,
    const N: usize,
    const HAS_LINE: bool,
    const HAS_OTHER: bool,
>(
    sums: &[[V::Register; N]; R],
    end: &mut End<'_>,
) {
    assert!(end.has(R, N * V::LANES), "an end that is not all there");
    let (out, stride) = (end.out.as_mut_ptr(), end.stride);
    // Adding -0 changes no number.
    let of_rows =
        end.line.and_then(|line| line.of_rows).map_or(const { &[-0.0; R] }.as_ptr(), <[f32]>::as_ptr);
    // SAFETY: the end has these rows and columns, as asserted, and what its line has was looked at by the caller.
    unsafe {
        for n in 0..N {
            let column = n * V::LANES;
            let of_columns = ColumnNumbers::<V>::of(end, column);
            let line = if HAS_LINE { of_columns.line } else { None };
            let other = match &end.line {
                Some(line) if HAS_OTHER => line.other.map_or(out.cast_const(), <[f32]>::as_ptr),
                _ => out.cast_const(),
            };
            for (r, sums) in sums.iter().enumerate() {
                let at = r * stride + column;
                let mut y = V::singles(sums[n], of_columns.less);
                if let Some([scale, bias, least, most]) = line {
                    y = y.line(scale, bias).plus(V::Singles::all(*of_rows.add(r)));
                    if HAS_OTHER {
                        y = y.plus(V::Singles::load(other.add(at)));
                    }
                    y = y.clamped(least, most);
                }
                y.put(out.add(at));
            }
        }
    }
}

/// The numbers of an end for the columns of a register.
struct ColumnNumbers<V: Vectors> {
    less: Option<*const i32>,
    /// Scale, bias, and the least and the greatest result.
    line: Option<[V::Singles; 4]>,
}

impl<V: Vectors> ColumnNumbers<V> {
    /// # Safety
    /// The processor has the instructions, and the end has these columns.
    #[inline(always)]
    unsafe fn of(end: &End<'_>, column: usize) -> Self {
        // SAFETY: the end has numbers for these columns.
        unsafe {
            let less = end.less.map(|less| less.as_ptr().add(column));
            // No closure: it would be compiled for every processor.
            let mut line = None;
            if let Some(of) = &end.line {
                line = Some([
                    V::Singles::load(of.scale.as_ptr().add(column)),
                    V::Singles::load(of.bias.as_ptr().add(column)),
                    V::Singles::all(of.least),
                    V::Singles::all(of.most),
                ]);
            }
            ColumnNumbers { less, line }
        }
    }

    /// Stores the results of sums.
    ///
    /// # Safety
    /// The processor has the instructions, and the end has this row and these columns.
    #[inline(always)]
    unsafe fn put(&self, sums: V::Register, end: &mut End<'_>, row: usize, column: usize) {
        let at = row * end.stride + column;
        // SAFETY: the end has this row and these columns.
        unsafe {
            let mut y = V::singles(sums, self.less);
            if let (Some([scale, bias, least, most]), Some(line)) = (self.line, &end.line) {
                y = y.line(scale, bias);
                if let Some(of_rows) = line.of_rows {
                    y = y.plus(V::Singles::all(*of_rows.get_unchecked(row)));
                }
                if let Some(other) = line.other {
                    y = y.plus(V::Singles::load(other.as_ptr().add(at)));
                }
                y = y.clamped(least, most);
            }
            y.put(end.out.as_mut_ptr().add(at));
        }
    }
}

/// Computes results from the sums of a tile, which are in the first-level cache.
///
/// # Safety
/// The processor has the instructions.
#[inline(always)]
pub(super) unsafe fn finish<V: Vectors>(
    c: &[Total<V>],
    stride: usize,
    [rows, columns]: [usize; 2],
    end: &mut End<'_>,
) {
    if rows == 0 || columns == 0 {
        return;
    }
    let columns = columns.next_multiple_of(V::LANES);
    assert!(c.len() >= (rows - 1) * stride + columns, "a tile that is not all there");
    assert!(end.has(rows, columns), "an end that is not all there");
    for column in (0..columns).step_by(V::LANES) {
        // SAFETY: `c` and the end have these rows and columns, as asserted.
        unsafe {
            let of_columns = ColumnNumbers::<V>::of(end, column);
            for row in 0..rows {
                of_columns.put(V::sums(c.as_ptr().add(row * stride + column)), end, row, column);
            }
        }
    }
}
