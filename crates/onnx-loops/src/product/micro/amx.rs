//! Micro-kernel of bytes for AMX: 32 rows by 32 columns, four accumulator tiles.
//!
//! A tile register has 16 rows of 64 bytes. One instruction adds the products of 16 rows and 16 groups of steps by 16 columns:
//!
//! ```text
//!                    b of columns 0..16    b of columns 16..32
//! a of rows 0..16          tmm0                   tmm1
//! a of rows 16..32         tmm2                   tmm3
//! ```
//! It reads rows and columns where they are if 16 groups of steps are contiguous in each row and equally far apart in the columns.
//! Others are first copied to the stack, and so are the last groups if there are fewer: what `a` has behind them is multiplied by
//! zeros. What is faster with AVX-512 is left to that kernel: small tiles, and rows in short runs.
//!
//! The compiler has no stable functions for these instructions, so that all of them are in assembly language.

#![allow(
    unsafe_code,
    reason = "instructions that not every processor has, and loads through pointers, of places that were looked at before"
)]

use super::{Factor, LineBreak, Micro, Panels, Rows, Tile, avx512};
use std::arch::asm;
use std::arch::x86_64::{
    __cpuid, __cpuid_count, _mm512_loadu_si512, _mm512_mask_loadu_epi32, _mm512_setzero_si512,
    _mm512_storeu_si512, _xgetbv,
};
use std::mem::MaybeUninit;
use std::sync::LazyLock;

/// Rows of a tile register.
const HALF: usize = 16;
/// Bytes of its rows.
const WIDE: usize = 64;
const ROWS: usize = 2 * HALF;
const COLUMNS: usize = 2 * HALF;
/// Bytes of a group of steps.
const GROUP: usize = u8::GROUP;
/// The groups of steps of a block.
const GROUPS: usize = WIDE / GROUP;
/// The blocks that are multiplied at once.
const BLOCKS: usize = 8;
/// With AVX-512, tiles of at most so many rows take less time,
const FEW_ROWS: usize = 4;
/// which has several panels of those,
const PANELS: Panels = {
    let mut panels = avx512::PANELS_OF_BYTES;
    let mut rows = FEW_ROWS;
    while rows < panels.len() {
        panels[rows] = 1;
        rows += 1;
    }
    panels
};
/// and those of at most so many groups in all rows together,
const FEW_GROUPS: usize = 256;
/// and those whose rows are copied from runs of fewer groups.
const SHORT_RUN_GROUPS: usize = 8;

/// Whether the processor has the instructions and this process may use them.
pub(super) fn has_bytes() -> bool {
    static HAS: LazyLock<bool> = LazyLock::new(|| avx512::has_bytes() && is_there() && is_allowed());
    *HAS
}

/// Whether the processor has the instructions, and the system saves their registers.
fn is_there() -> bool {
    /// AMX-TILE and AMX-INT8.
    const FEATURES: u32 = 1 << 24 | 1 << 25;
    /// The configuration and the data of tiles.
    const STATE: u64 = 1 << 17 | 1 << 18;
    #[target_feature(enable = "xsave")]
    fn saved() -> u64 {
        // SAFETY: register 0 exists where the instruction does.
        unsafe { _xgetbv(0) }
    }
    __cpuid(0).eax >= 7
        && __cpuid_count(7, 0).edx & FEATURES == FEATURES
        && std::arch::is_x86_feature_detected!("xsave")
        // SAFETY: the processor has the instruction, and the system allows it.
        && unsafe { saved() } & STATE == STATE
}

/// Asks Linux for tile registers, which a process has only then.
#[cfg(target_os = "linux")]
fn is_allowed() -> bool {
    /// `arch_prctl(ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA)`.
    const CALL: i64 = 158;
    const ASK: i64 = 0x1023;
    const TILES: i64 = 18;
    let mut result = CALL;
    // SAFETY: the call only sets a permission of the process; it changes no memory.
    unsafe {
        asm!("syscall", inlateout("rax") result, in("rdi") ASK, in("rsi") TILES, lateout("rcx") _, lateout("r11") _,
            options(nostack));
    }
    result == 0
}

/// Other systems are not asked, and have no kernel.
#[cfg(not(target_os = "linux"))]
fn is_allowed() -> bool {
    false
}

pub(super) fn bytes() -> Option<Micro<u8>> {
    let micro = Micro::new([ROWS, COLUMNS], HALF, run_bytes);
    has_bytes().then_some(Micro {
        interleave: GROUPS,
        least_steps: WIDE,
        crosses_lines: true,
        panels: PANELS,
        release: Some(release),
        ..micro
    })
}

/// Gives up the tile registers, which the system saves as long as they are used.
fn release() {
    assert!(has_bytes(), "a kernel for instructions that the processor has not");
    // SAFETY: the processor has the instruction, which changes nothing else.
    unsafe { asm!("tilerelease", options(nomem, nostack, preserves_flags)) }
}

/// The shapes of all tile registers, as the processor reads them.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(C, align(64))]
struct Shapes([u8; 64]);

impl Shapes {
    /// Those of accumulators and of `a` have the rows of the upper and of the lower half.
    fn of([upper, lower]: [usize; 2]) -> Shapes {
        // In front, the number of the only layout; at 16 the bytes of rows, in 16 bits each; at 48 the rows.
        let mut shapes = [0; 64];
        shapes[0] = 1;
        for (tile, rows) in [upper, upper, lower, lower, upper, lower, HALF, HALF].into_iter().enumerate() {
            shapes[16 + 2 * tile] = if rows > 0 { WIDE as u8 } else { 0 };
            shapes[48 + tile] = rows as u8;
        }
        Shapes(shapes)
    }

    /// Gives the tile registers these shapes, unless they have them: that takes a third of the time of a tile.
    ///
    /// # Safety
    /// The processor has the instructions.
    unsafe fn set(&self) {
        let mut now = Shapes([0; 64]);
        // SAFETY: the processor has the instructions, and both are 64 bytes.
        unsafe {
            asm!("sttilecfg [{}]", in(reg) &raw mut now, options(nostack, preserves_flags));
            if now != *self {
                asm!("ldtilecfg [{}]", in(reg) &raw const *self, out("tmm0") _, out("tmm1") _, out("tmm2") _,
                    out("tmm3") _, out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
                    options(nostack, preserves_flags));
            }
        }
    }
}

/// The factors for up to [`GROUPS`] groups of steps.
#[derive(Clone, Copy)]
#[repr(C)]
struct Block {
    /// The upper and the lower half of rows, and how many bytes rows are apart.
    a: [*const u8; 2],
    of_a: usize,
    /// The groups of columns, and how many bytes groups are apart.
    b: *const u8,
    of_b: usize,
}

impl Block {
    const NONE: Block = Block { a: [std::ptr::null(); 2], of_a: 0, b: std::ptr::null(), of_b: 0 };
}

fn run_bytes(tile: Tile<'_, u8>) {
    let rows = tile.size[0].min(ROWS);
    if rows <= FEW_ROWS || rows * tile.a.steps.at.len() <= FEW_GROUPS || has_short_runs(tile.a.steps.at) {
        return with_avx512(tile, rows);
    }
    assert!(has_bytes(), "a kernel for instructions that the processor has not");
    // SAFETY: the processor has the instructions.
    unsafe { run(tile) }
}

/// Whether contiguous groups are few.
fn has_short_runs(at: &[usize]) -> bool {
    let is_end = |pair: &[usize; 2]| usize::from(pair[1] != pair[0].wrapping_add(GROUP));
    let ends = at.array_windows().map(is_end).sum::<usize>();
    (ends + 1) * SHORT_RUN_GROUPS > at.len()
}

/// Computes a tile with AVX-512, some rows at a time.
fn with_avx512(it: Tile<'_, u8>, rows: usize) {
    let Tile { a, b, c, stride, size: [_, columns], is_first, mut end } = it;
    let lines = match a.line_break {
        LineBreak { row, later: later @ 1.. } if row < rows => [(0..row, 0), (row..rows, later)],
        LineBreak { .. } => [(0..rows, 0), (0..0, 0)],
    };
    for (line, later) in lines {
        let count = line.len();
        let parts = count.div_ceil(avx512::ROWS_OF_BYTES);
        for part in 0..parts {
            let (first, last) = (count * part / parts, count * (part + 1) / parts);
            let size = [last - first, columns];
            let first = line.start + first;
            let a = Rows::of(&a.numbers[first * a.apart + later..], a.apart, a.steps);
            let end = end.as_mut().map(|end| end.from(first, 0).expect("an end has all rows"));
            avx512::run_bytes(Tile { a, b, c: &mut c[first * stride..], stride, size, is_first, end });
        }
    }
}

/// Adds products to a tile, and computes its end.
///
/// # Safety
/// The processor has the instructions.
#[target_feature(enable = "avx512f,avx512vnni")]
fn run(it: Tile<'_, u8>) {
    let Tile { a, b, c, stride, size: [rows, columns], is_first, end } = it;
    let rows = rows.min(ROWS);
    let halves = columns.min(COLUMNS).div_ceil(HALF);
    if rows == 0 || halves == 0 {
        return;
    }
    // Equally many rows in both halves, or those of each line.
    let (upper, later) = match a.line_break {
        LineBreak { row, later: later @ 1.. } if row < rows => (row, later),
        LineBreak { .. } => (if rows > HALF { rows.div_ceil(2) } else { rows }, 0),
    };
    assert!((1..=HALF).contains(&upper) && rows - upper <= HALF, "a line of more than half a tile");
    let of_rows = (rows - 1).saturating_mul(a.apart).saturating_add(later).saturating_add(GROUP);
    let of_columns = halves * WIDE;
    assert!(a.numbers.len() >= a.steps.last.saturating_add(of_rows), "rows that are not all there");
    assert!(b.numbers.len() >= b.steps.last.saturating_add(of_columns), "columns that are not all there");
    assert!(c.len() >= (rows - 1) * stride + halves * HALF, "a tile that is not all there");
    let tile = Part { a, numbers_of_b: b.numbers, upper, later, rows, halves, stride };
    let mut is_first = is_first;
    let steps = a.steps.at.len().min(b.steps.at.len());
    // Without steps there is one part as well, so that totals are overwritten.
    for first in (0..steps.max(1)).step_by(BLOCKS * GROUPS) {
        let end = steps.min(first + BLOCKS * GROUPS);
        let (at_a, at_b) = (&a.steps.at[first..end], &b.steps.at[first..end]);
        let mut blocks = [Block::NONE; BLOCKS];
        let count = at_a.len().div_ceil(GROUPS);
        let groups = at_a.chunks(GROUPS).zip(at_b.chunks(GROUPS));
        let are_there = blocks.iter_mut().zip(groups).all(|(block, (at_a, at_b))| {
            let (of_a, of_b) = (tile.a(at_a), tile.b(at_b));
            let (Some(of_a), Some(of_b)) = (of_a, of_b) else { return false };
            *block = Block { a: of_a, of_a: tile.a.apart, b: of_b.0, of_b: of_b.1 };
            true
        });
        // SAFETY: the processor has the instructions; the steps are those of `a` and `b`, whose last one was checked to be within
        // bounds for all rows and columns, and `c` has the asserted length.
        unsafe {
            if are_there {
                tile.multiply(&blocks[..count], c, is_first);
            } else {
                tile.multiply_copied(at_a, at_b, c, is_first);
            }
        }
        is_first = false;
    }
    if let Some(mut end) = end {
        // SAFETY: the processor has the instructions.
        unsafe { avx512::finish(c, stride, [rows, halves * HALF], &mut end) }
    }
}

/// A tile to compute for some steps.
struct Part<'p> {
    a: Rows<'p, u8>,
    numbers_of_b: &'p [u8],
    /// The rows of the upper half, how much later those of the lower half begin, and all.
    upper: usize,
    later: usize,
    rows: usize,
    /// Halves of columns.
    halves: usize,
    stride: usize,
}

impl Part<'_> {
    /// Both halves of the rows, if the groups are contiguous and what is behind them may be read.
    #[inline(always)]
    fn a(&self, at: &[usize]) -> Option<[*const u8; 2]> {
        let first = *at.first()?;
        let behind = first.checked_add((self.rows - 1) * self.a.apart + self.later + WIDE)?;
        let is_run = at.iter().enumerate().fold(true, |is, (i, at)| is & (*at == first + i * GROUP));
        let from = self.a.numbers.get(first..)?.as_ptr();
        let lower = from.wrapping_add(self.upper * self.a.apart + self.later);
        (is_run && behind <= self.a.numbers.len()).then_some([from, lower])
    }

    /// The groups of columns and how far apart they are, if they are equally far apart and there are all of a block.
    #[inline(always)]
    fn b(&self, at: &[usize]) -> Option<(*const u8, usize)> {
        let at: &[usize; GROUPS] = at.try_into().ok()?;
        let apart = at[1].wrapping_sub(at[0]);
        let is_even = at.windows(2).fold(true, |is, pair| is & (pair[1].wrapping_sub(pair[0]) == apart));
        let from = self.numbers_of_b.get(at[0]..)?.as_ptr();
        is_even.then_some((from, apart))
    }

    /// Multiplies factors that are copied first.
    ///
    /// # Safety
    /// The processor has the instructions; there are not more steps than [`BLOCKS`] have, and at each, all rows and columns
    /// are within bounds, and `c` has the length of all totals.
    #[target_feature(enable = "avx512f")]
    #[inline(never)]
    unsafe fn multiply_copied(&self, at_a: &[usize], at_b: &[usize], c: &mut [i32], is_first: bool) {
        #[repr(C, align(64))]
        struct Copies<const BYTES: usize>(MaybeUninit<[u8; BYTES]>);
        let mut of_a = [const { Copies::<{ ROWS * WIDE }>(MaybeUninit::uninit()) }; BLOCKS];
        let mut of_b = [const { Copies::<{ GROUPS * 2 * WIDE }>(MaybeUninit::uninit()) }; BLOCKS];
        let mut blocks = [Block::NONE; BLOCKS];
        let groups = at_a.chunks(GROUPS).zip(at_b.chunks(GROUPS));
        let copies = of_a.iter_mut().zip(&mut of_b);
        for ((block, (of_a, of_b)), (at_a, at_b)) in blocks.iter_mut().zip(copies).zip(groups) {
            (block.a, block.of_a) = match self.a(at_a) {
                Some(a) => (a, self.a.apart),
                None => {
                    let to: *mut u8 = of_a.0.as_mut_ptr().cast();
                    // SAFETY: `to` has a size of 64 bytes for each of at most `ROWS` rows, and the caller has checked that each step is in bounds for all
                    // rows.
                    unsafe { self.copy_rows(at_a, to) };
                    ([to.cast_const(), to.wrapping_add(self.upper * WIDE)], WIDE)
                }
            };
            (block.b, block.of_b) = match self.b(at_b) {
                Some(b) => b,
                None => {
                    let to: *mut u8 = of_b.0.as_mut_ptr().cast();
                    // SAFETY: `to` has a size of 128 bytes for each of at most `GROUPS` groups, and the caller has checked that each step is in
                    // bounds for all columns.
                    unsafe { self.copy_columns(at_b, to) };
                    (to.cast_const(), 2 * WIDE)
                }
            };
        }
        let count = at_a.len().div_ceil(GROUPS);
        // SAFETY: the caller has checked that factors that were not copied are in bounds, and that `c` has the length of all totals.
        unsafe { self.multiply(&blocks[..count], c, is_first) }
    }

    /// Copies the groups of all rows, one run of contiguous groups after the other; missing groups become zeros.
    ///
    /// # Safety
    /// The processor has the instructions, there are at most [`GROUPS`] groups, each of which all rows have, and `to` has room for 64
    /// bytes a row.
    #[target_feature(enable = "avx512f")]
    unsafe fn copy_rows(&self, at: &[usize], to: *mut u8) {
        let from = self.a.numbers.as_ptr();
        // The lanes of each run, and where lane 0 would be.
        let mut runs = [(0u16, from); GROUPS];
        let mut count = 0;
        for (i, place) in at.iter().take(GROUPS).enumerate() {
            if i == 0 || at[i - 1].wrapping_add(GROUP) != *place {
                runs[count].1 = from.wrapping_add(*place).wrapping_sub(i * GROUP);
                count += 1;
            }
            runs[count - 1].0 |= 1 << i;
        }
        for row in 0..self.rows {
            let later = if row < self.upper { 0 } else { self.later };
            let mut groups = _mm512_setzero_si512();
            for (lanes, from) in &runs[..count] {
                let from = from.wrapping_add(row * self.a.apart + later);
                // SAFETY: a masked load reads only the groups of set bits of `lanes`, which are within the row.
                groups = unsafe { _mm512_mask_loadu_epi32(groups, *lanes, from.cast()) };
            }
            // SAFETY: `to` is writable for 64 bytes at `row`, which is within the rows that the caller counted.
            unsafe { _mm512_storeu_si512(to.add(row * WIDE).cast(), groups) };
        }
    }

    /// Copies groups of columns; missing groups become zeros.
    ///
    /// # Safety
    /// The processor has the instructions, there are at most [`GROUPS`] groups, each with all columns, and `to` has room for 128 bytes
    /// a group.
    #[target_feature(enable = "avx512f")]
    unsafe fn copy_columns(&self, at: &[usize], to: *mut u8) {
        for group in 0..GROUPS {
            for half in 0..self.halves {
                let columns = match at.get(group) {
                    // SAFETY: 64 bytes from here on are within the columns of the group, as the caller has checked.
                    Some(at) => unsafe {
                        _mm512_loadu_si512(self.numbers_of_b.as_ptr().add(at + half * WIDE).cast())
                    },
                    None => _mm512_setzero_si512(),
                };
                // SAFETY: `to` is writable for 128 bytes for each group within the range of the loop.
                unsafe { _mm512_storeu_si512(to.add((group * 2 + half) * WIDE).cast(), columns) };
            }
        }
    }

    /// Adds the products of all blocks to totals, or overwrites them.
    ///
    /// # Safety
    /// The processor has the instructions; the factors of all blocks are readable, 64 bytes for each row and [`GROUPS`] groups, and `c` has
    /// the length of all totals.
    #[inline(always)]
    unsafe fn multiply(&self, blocks: &[Block], c: &mut [i32], is_first: bool) {
        let lower = self.rows - self.upper;
        // SAFETY: the processor has the instructions.
        unsafe { Shapes::of([self.upper, lower]).set() };
        let upper = c.as_mut_ptr();
        let totals = [upper, upper.wrapping_add(self.upper * self.stride)];
        let totals = Totals { at: totals, apart: self.stride * size_of::<i32>(), is_first };
        // SAFETY: the shapes of the tile registers bound what is read and written: rows and columns within the factors and totals, as the
        // caller has checked.
        unsafe {
            match (lower > 0, self.halves > 1) {
                (true, true) => {
                    add_products!(blocks, totals,
                        "tilezero tmm0" "tilezero tmm1" "tilezero tmm2" "tilezero tmm3",
                        "tileloadd tmm0, [{upper} + {apart}]" "tileloadd tmm1, [{upper} + {apart} + 64]"
                        "tileloadd tmm2, [{lower} + {apart}]" "tileloadd tmm3, [{lower} + {apart} + 64]",
                        "tileloadd tmm6, [{b} + {of_b}]" "tileloadd tmm4, [{a} + {of_a}]"
                        "tdpbusd tmm0, tmm4, tmm6"
                        "tileloadd tmm7, [{b} + {of_b} + 64]"
                        "tdpbusd tmm1, tmm4, tmm7"
                        "mov {a}, [{block} + 8]" "tileloadd tmm5, [{a} + {of_a}]"
                        "tdpbusd tmm2, tmm5, tmm6" "tdpbusd tmm3, tmm5, tmm7",
                        "tilestored [{upper} + {apart}], tmm0" "tilestored [{upper} + {apart} + 64], tmm1"
                        "tilestored [{lower} + {apart}], tmm2" "tilestored [{lower} + {apart} + 64], tmm3");
                }
                (true, false) => {
                    add_products!(blocks, totals,
                        "tilezero tmm0" "tilezero tmm2",
                        "tileloadd tmm0, [{upper} + {apart}]" "tileloadd tmm2, [{lower} + {apart}]",
                        "tileloadd tmm6, [{b} + {of_b}]" "tileloadd tmm4, [{a} + {of_a}]"
                        "tdpbusd tmm0, tmm4, tmm6"
                        "mov {a}, [{block} + 8]" "tileloadd tmm5, [{a} + {of_a}]"
                        "tdpbusd tmm2, tmm5, tmm6",
                        "tilestored [{upper} + {apart}], tmm0" "tilestored [{lower} + {apart}], tmm2");
                }
                (false, true) => {
                    add_products!(blocks, totals,
                        "tilezero tmm0" "tilezero tmm1",
                        "tileloadd tmm0, [{upper} + {apart}]" "tileloadd tmm1, [{upper} + {apart} + 64]",
                        "tileloadd tmm6, [{b} + {of_b}]" "tileloadd tmm4, [{a} + {of_a}]"
                        "tdpbusd tmm0, tmm4, tmm6"
                        "tileloadd tmm7, [{b} + {of_b} + 64]"
                        "tdpbusd tmm1, tmm4, tmm7",
                        "tilestored [{upper} + {apart}], tmm0" "tilestored [{upper} + {apart} + 64], tmm1");
                }
                (false, false) => {
                    add_products!(blocks, totals,
                        "tilezero tmm0",
                        "tileloadd tmm0, [{upper} + {apart}]",
                        "tileloadd tmm6, [{b} + {of_b}]" "tileloadd tmm4, [{a} + {of_a}]"
                        "tdpbusd tmm0, tmm4, tmm6",
                        "tilestored [{upper} + {apart}], tmm0");
                }
            }
        }
    }
}

/// The accumulators of both halves of rows, which are so many bytes apart.
struct Totals {
    at: [*mut i32; 2],
    apart: usize,
    is_first: bool,
}

/// Zeroes or loads accumulators, adds the products of each block, and stores them.
macro_rules! add_products {
    ($blocks:expr, $totals:expr, $($zero:literal)*, $($load:literal)*, $($step:literal)*, $($store:literal)*) => {{
        let (blocks, totals): (&[Block], Totals) = ($blocks, $totals);
        let all = blocks.as_ptr_range();
        asm!(
            "/* {lower}, unless there is only the upper half */",
            "test {is_first:e}, {is_first:e}",
            "jz 2f",
            $($zero,)*
            "jmp 3f",
            "2:",
            $($load,)*
            "jmp 3f",
            "4:",
            "mov {a}, [{block}]",
            "mov {of_a}, [{block} + 16]",
            "mov {b}, [{block} + 24]",
            "mov {of_b}, [{block} + 32]",
            $($step,)*
            "add {block}, {size}",
            "3:",
            "cmp {block}, {end}",
            "jb 4b",
            $($store,)*
            is_first = in(reg) u32::from(totals.is_first),
            block = inout(reg) all.start => _,
            end = in(reg) all.end,
            upper = in(reg) totals.at[0],
            lower = in(reg) totals.at[1],
            apart = in(reg) totals.apart,
            a = out(reg) _,
            of_a = out(reg) _,
            b = out(reg) _,
            of_b = out(reg) _,
            size = const size_of::<Block>(),
            out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
            out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
            options(nostack),
        );
    }};
}
use add_products;

/// Multiplies tile registers for `rounds` rounds, and returns the number of operations, if the processor has the instructions: the upper
/// bound for any tile.
pub(super) fn peak_of_bytes(rounds: usize) -> Option<u64> {
    if !has_bytes() {
        return None;
    }
    // A round of vectors has twelve registers of accumulators; of 16 rows of tiles, there are four times 16.
    let rounds = rounds.div_ceil(4);
    // SAFETY: the processor has the instructions, which read no memory.
    unsafe {
        Shapes::of([HALF; 2]).set();
        asm!(
            "tilezero tmm4", "tilezero tmm5", "tilezero tmm6", "tilezero tmm7",
            "2:",
            "tdpbusd tmm0, tmm4, tmm6",
            "tdpbusd tmm1, tmm4, tmm7",
            "tdpbusd tmm2, tmm5, tmm6",
            "tdpbusd tmm3, tmm5, tmm7",
            "sub {rounds}, 1",
            "jnz 2b",
            rounds = inout(reg) rounds.max(1) => _,
            out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
            out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
            options(nostack, nomem),
        );
    }
    release();
    Some((2 * rounds.max(1) * ROWS * COLUMNS * WIDE) as u64)
}
