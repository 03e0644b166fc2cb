//! Softmax row by row: maximum, exponentials, their sum and the quotients of a row while it is in the first-level cache.
//!
//! ```text
//! m[r] = max over i of x[r, i]
//! e[r, i] = exp(x[r, i] - m[r])
//! s[r] = sum over i of e[r, i]
//! y[r, i] = e[r, i] / s[r]                                 may be missing: then another kernel divides
//! ```
//! These nests are run one after the other for a block of rows, which then comes from the second-level cache four times, and memory waits
//! while the exponentials are computed. Each operation is that of its own nest, so results are equal bit for bit.

use super::greatest_of_row;
use super::sums::sum_of_row;
use crate::budget::spend;
use crate::failure::{Failure, fail};
use crate::loops::lanes::math;
use crate::loops::lanes::multiversion::{Job, fetch, widest};
use crate::loops::lanes::view::{Operands, View};
use crate::loops::pipeline::divide;
use crate::loops::program::{Instr, Reg};
use crate::loops::{Class, Linear, Nest};
use onnx_ir::ElemType;
use onnx_ops::meaning::{Binary, Combine, Unary};
use std::ops::Range;

/// The nests of a softmax of rows.
#[derive(Clone, Debug)]
pub(crate) struct Softmax {
    /// The operand whose rows are reduced.
    operand: Place,
    /// The number of rows, and of elements of a row.
    rows: usize,
    lanes: usize,
    /// Whether the last nest is the quotient.
    is_divided: bool,
}

/// The results for some rows: maxima, exponentials, sums and quotients.
pub(crate) struct Results<'o> {
    pub(crate) most: &'o mut [u8],
    pub(crate) exps: &'o mut [u8],
    pub(crate) sums: &'o mut [u8],
    pub(crate) quotients: Option<&'o mut [u8]>,
}

impl Softmax {
    /// The softmax of consecutive nests, if it is one. `results` are the operand numbers of the first three.
    pub(crate) fn of(nests: [&Nest; 3], quotient: Option<&Nest>, results: [usize; 3]) -> Option<Self> {
        let [most, exps, sums] = nests;
        let [of_most, of_exps, of_sums] = results;
        let ([rows], [lanes]) = (&most.dims[..], &most.over[..]) else { return None };
        let (rows, lanes) = (*rows, *lanes);
        let row = |operand| Place { operand, base: 0, by: [lanes as i64, 1] };
        let operand = most.reduced_rows(lanes, Combine::Max)?;
        let is_contiguous = operand.by == row(0).by;
        let is_few = operand.by[0] >= 0 && operand.by[1] > 0 && rows.checked_mul(lanes)? <= FEW;
        let is_sum = sums.reduced_rows(lanes, Combine::Sum)? == row(of_exps);
        let are_exps = {
            let [x, by, sub, exp] = exps.rows_of([rows, lanes])? else { return None };
            let ((place, x), by) = (x.float_load()?, by.number_load()?);
            let (
                Instr::Binary { to: apart, op: Binary::Sub, a, b },
                Instr::Unary { to, op: Unary::Exp, x: of },
            ) = (sub, exp)
            else {
                return None;
            };
            place == operand
                && by.0 == of_most
                && (*a, *b, *of) == (x, by.1, *apart)
                && exps.body.result == Some(*to)
        };
        let is_quotient = |nest: &Nest| {
            let [x, by, div] = nest.rows_of([rows, lanes])? else { return None };
            let ((place, x), by) = (x.float_load()?, by.number_load()?);
            let Instr::Binary { to, op: Binary::Div, a, b } = div else { return None };
            let are_these = place == row(of_exps) && by.0 == of_sums && (*a, *b) == (x, by.1);
            (are_these && nest.body.result == Some(*to)).then_some(())
        };
        let is_read = lanes > 0 && (is_contiguous || is_few);
        let is_softmax = is_read && sums.dims == [rows] && is_sum && are_exps;
        let is_divided = quotient.is_some_and(|nest| is_quotient(nest).is_some());
        is_softmax.then_some(Softmax { operand, rows, lanes, is_divided })
    }

    /// The number of nests.
    pub(crate) fn nests(&self) -> usize {
        if self.is_divided { 4 } else { 3 }
    }

    /// Whether the quotient is among the nests.
    pub(crate) fn is_divided(&self) -> bool {
        self.is_divided
    }

    /// Computes all results for some elements of the first nest, which are rows.
    pub(crate) fn run(
        &self,
        operands: &Operands<'_>,
        rows: Range<usize>,
        results: Results<'_>,
    ) -> Result<(), Failure> {
        spend(0)?;
        if rows.end > self.rows {
            fail!("a softmax has fewer rows than are computed");
        }
        let Some(view) = operands.get(self.operand.operand).copied().flatten() else {
            fail!("an input is left out");
        };
        let Some((x, by)) = self.rows_in(view, &rows) else { fail!("an index is out of bounds") };
        let Results { most, exps, sums, quotients } = results;
        let singles = |bytes| bytemuck::try_cast_slice_mut::<u8, f32>(bytes).ok();
        let (Some(most), Some(exps), Some(sums)) = (singles(most), singles(exps), singles(sums)) else {
            fail!("results are not aligned");
        };
        let quotients = match quotients.map(singles) {
            Some(None) => fail!("results are not aligned"),
            Some(Some(quotients)) if quotients.len() != exps.len() => fail!("a result has another size"),
            quotients => quotients.flatten(),
        };
        if [most.len(), exps.len(), sums.len()] != [rows.len(), rows.len() * self.lanes, rows.len()] {
            fail!("a result has another size");
        }
        widest(Rows { lanes: self.lanes, x, by, most, exps, sums, quotients });
        Ok(())
    }

    /// The elements of some rows, and the strides of rows and lanes.
    fn rows_in<'v>(&self, view: View<'v>, rows: &Range<usize>) -> Option<(&'v [f32], [usize; 2])> {
        let Place { base, by, .. } = self.operand;
        let by = [usize::try_from(by[0]).ok()?, usize::try_from(by[1]).ok()?];
        let first = i64::try_from(rows.start * by[0]).ok()? + base - view.first;
        let count = by[0] * rows.len().checked_sub(1)? + by[1] * (self.lanes - 1) + 1;
        Some((view.words().get(usize::try_from(first).ok()?..)?.get(..count)?, by))
    }
}

impl Nest {
    /// The operand of a plain reduction of rows.
    fn reduced_rows(&self, lanes: usize, combine: Combine) -> Option<Place> {
        let reduction = self.reduction.filter(|reduction| reduction.combine == combine)?;
        let is_plain = self.elem == ElemType::FLOAT && self.then.is_none() && self.contraction.is_none();
        // In which order others are added depends on more than the row.
        let is_along = combine == Combine::Max || reduction.is_inner && self.taps.is_none();
        let ([_], [over], [load]) = (&self.dims[..], &self.over[..], &self.body.instrs[..]) else {
            return None;
        };
        let (place, to) = load.float_load()?;
        (is_plain && is_along && *over == lanes && self.body.result == Some(to)).then_some(place)
    }

    /// The steps of a loop over rows of lanes.
    fn rows_of(&self, size: [usize; 2]) -> Option<&[Instr]> {
        let Nest { elem, dims, body, .. } = self;
        let is_loop = self.reduction.is_none() && self.moved.is_none() && self.pieces.is_none();
        (is_loop && *elem == ElemType::FLOAT && dims[..] == size && body.along == 1).then_some(&body.instrs)
    }
}

impl Instr {
    /// The operand and the register, if it loads a number for each row, from the first on.
    fn number_load(&self) -> Option<(usize, Reg)> {
        let (place, to) = self.float_load()?;
        (place.base == 0 && place.by == [1, 0]).then_some((place.operand, to))
    }

    /// The place of elements of rows, and the register.
    fn float_load(&self) -> Option<(Place, Reg)> {
        let Instr::Load { to, operand, elem: ElemType::FLOAT, place: Linear { base, by } } = self else {
            return None;
        };
        let place = Place { operand: *operand, base: *base, by: by[..].try_into().ok()? };
        (to.class == Class::Single).then_some((place, *to))
    }
}

/// The place of rows: an operand, the offset of the first element, and the strides of rows and lanes.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Place {
    operand: usize,
    base: i64,
    by: [i64; 2],
}

/// Rows with other strides have at most this many elements together: larger ones are read in another order than row by row.
const FEW: usize = 1 << 12;

/// Elements that are computed together, and elements of a cache line.
const TOGETHER: usize = 64;
const LINE: usize = 16;
/// Rows between the one that is computed and the one that is prefetched.
const ROWS_AHEAD: usize = 2;

/// The rows to compute.
struct Rows<'r> {
    lanes: usize,
    x: &'r [f32],
    /// The strides of rows and lanes in it.
    by: [usize; 2],
    most: &'r mut [f32],
    exps: &'r mut [f32],
    sums: &'r mut [f32],
    quotients: Option<&'r mut [f32]>,
}

impl Job for Rows<'_> {
    type Out = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let Rows { lanes, x, by, most, exps, sums, mut quotients } = self;
        for (row, exps) in exps.chunks_exact_mut(lanes).enumerate() {
            let from = &x[row * by[0]..];
            let to = match &quotients {
                Some(all) => &all[row * lanes..],
                None => &[],
            };
            if by[1] == 1 {
                let x = &from[..lanes];
                most[row] = greatest_of_row(x);
                let ahead = Some((from, ROWS_AHEAD * by[0], to));
                of_each::<FUSED, _>(x, exps, Exponentials { most: most[row], ahead });
            } else {
                for (to, x) in exps.iter_mut().zip(from.iter().step_by(by[1])) {
                    *to = *x;
                }
                most[row] = greatest_of_row(exps);
                in_place::<FUSED, _>(exps, Exponentials { most: most[row], ahead: None });
            }
            sums[row] = sum_of_row(exps) as f32;
            if let Some(all) = &mut quotients {
                of_each::<FUSED, _>(exps, &mut all[row * lanes..][..lanes], Quotients(sums[row]));
            }
        }
    }
}

/// A function of elements. No closures here: they would be functions for every processor.
trait Compute {
    /// Computes in place; receives the index of the first element in its row.
    fn compute<const FUSED: bool>(&self, x: &mut [f32; TOGETHER], at: usize);
}

/// Copies elements and computes with them in place.
#[inline(always)]
fn of_each<const FUSED: bool, C: Compute>(x: &[f32], to: &mut [f32], of: C) {
    let (from, from_rest) = x.as_chunks::<TOGETHER>();
    let (to, to_rest) = to.as_chunks_mut::<TOGETHER>();
    let mut at = 0;
    for (x, to) in from.iter().zip(to) {
        *to = *x;
        of.compute::<FUSED>(to, at);
        at += TOGETHER;
    }
    to_rest.copy_from_slice(from_rest);
    in_full::<FUSED, C>(to_rest, at, &of);
}

#[inline(always)]
fn in_place<const FUSED: bool, C: Compute>(x: &mut [f32], of: C) {
    let (all, rest) = x.as_chunks_mut::<TOGETHER>();
    let mut at = 0;
    for x in all {
        of.compute::<FUSED>(x, at);
        at += TOGETHER;
    }
    in_full::<FUSED, C>(rest, at, &of);
}

/// Computes with the last elements of a row and others behind them, which are not stored.
#[inline(always)]
fn in_full<const FUSED: bool, C: Compute>(x: &mut [f32], at: usize, of: &C) {
    if let Some(first) = x.first() {
        let mut full = [*first; TOGETHER];
        full[..x.len()].copy_from_slice(x);
        of.compute::<FUSED>(&mut full, at);
        x.copy_from_slice(&full[..x.len()]);
    }
}

/// Exponentials of differences.
struct Exponentials<'r> {
    most: f32,
    /// The row, the distance of a later one, and the row of quotients: while exponentials are computed, memory has time for both.
    ahead: Option<(&'r [f32], usize, &'r [f32])>,
}

impl Compute for Exponentials<'_> {
    #[inline(always)]
    fn compute<const FUSED: bool>(&self, x: &mut [f32; TOGETHER], at: usize) {
        if let Some((from, by, to)) = self.ahead {
            for line in (at..at + TOGETHER).step_by(LINE) {
                fetch(from, line + by);
                fetch(to, line);
            }
        }
        let mut are_within = true;
        for x in x.iter() {
            are_within &= math::is_within(*x - self.most);
        }
        if are_within {
            for x in x {
                *x = math::exp_within::<FUSED>(*x - self.most);
            }
        } else {
            for x in x {
                *x = math::exp::<FUSED>(*x - self.most);
            }
        }
    }
}

/// Quotients by a number.
struct Quotients(f32);

impl Compute for Quotients {
    #[inline(always)]
    fn compute<const FUSED: bool>(&self, x: &mut [f32; TOGETHER], _: usize) {
        divide::<FUSED>(x, self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loops::program::Program;
    use crate::loops::{Reduction, Worker};

    /// The results as separate loops compute them.
    struct Plain<'r>(Rows<'r>);

    impl Job for Plain<'_> {
        type Out = ();

        #[inline(always)]
        fn run<const FUSED: bool>(self) {
            let Rows { lanes, x, by, most, exps, sums, quotients } = self.0;
            let quotients = quotients.expect("they are wanted");
            for row in 0..most.len() {
                let row_of = row * lanes..(row + 1) * lanes;
                let x: Vec<f32> = (0..lanes).map(|lane| x[row * by[0] + lane * by[1]]).collect();
                most[row] = greatest_of_row(&x);
                for (at, x) in row_of.clone().zip(&x) {
                    exps[at] = math::exp::<FUSED>(x - most[row]);
                }
                sums[row] = sum_of_row(&exps[row_of.clone()]) as f32;
                row_of.for_each(|at| quotients[at] = exps[at] / sums[row]);
            }
        }
    }

    #[test]
    fn rows_at_once_are_rows_one_by_one() {
        for lanes in [1, 3, 63, 64, 65, 128, 200, 1000] {
            let rows = 7;
            let x: Vec<f32> = (0..rows * lanes)
                .map(|i| match (i / lanes, i % lanes) {
                    (1, 0) => f32::NAN,
                    (2, _) => f32::NEG_INFINITY,
                    (3, 0) => f32::INFINITY,
                    // Some far below the greatest, whose exponentials are subnormal or 0.
                    (4, at) => at as f32 * -0.7,
                    (row, at) => ((at * 7919 + row * 31) % 1013) as f32 / 97.0 - 5.0,
                })
                .collect();
            let results = |is_plain: bool, is_wide: bool, by: [usize; 2]| {
                let (mut most, mut sums) = (vec![0.0; rows], vec![0.0; rows]);
                let (mut exps, mut quotients) = (vec![0.0; x.len()], vec![0.0; x.len()]);
                let (x, quotients_to) = (&x[..], Some(&mut quotients[..]));
                let it = Rows {
                    lanes,
                    x,
                    by,
                    most: &mut most,
                    exps: &mut exps,
                    sums: &mut sums,
                    quotients: quotients_to,
                };
                match (is_plain, is_wide) {
                    (true, true) => widest(Plain(it)),
                    (false, true) => widest(it),
                    (true, false) => Plain(it).run::<false>(),
                    (false, false) => it.run::<false>(),
                }
                let all = most.into_iter().chain(exps).chain(sums).chain(quotients);
                // All NaN are equal.
                all.map(|x| if x.is_nan() { f32::NAN.to_bits() } else { x.to_bits() }).collect::<Vec<u32>>()
            };
            for (is_wide, by) in
                [true, false].into_iter().flat_map(|w| [[lanes, 1], [1, rows]].map(|by| (w, by)))
            {
                let (found, expected) = (results(false, is_wide, by), results(true, is_wide, by));
                assert_eq!(found, expected, "{lanes} lanes by {by:?}, widest: {is_wide}");
            }
        }
    }

    fn load(program: &mut Program, operand: usize, by: [i64; 2]) -> Reg {
        let to = program.reg(Class::Single);
        let place = Linear { base: 0, by: by.into_iter().collect() };
        program.instrs.push(Instr::Load { to, operand, elem: ElemType::FLOAT, place });
        to
    }

    /// A loop over rows of lanes, or their reduction.
    fn nest(rows: usize, lanes: usize, combine: Option<(Combine, Class)>, body: Program) -> Nest {
        let (dims, over) =
            if combine.is_some() { (vec![rows], vec![lanes]) } else { (vec![rows, lanes], vec![]) };
        let elem = ElemType::FLOAT;
        let reduction = combine.map(|(combine, total)| Reduction { combine, elem, total, is_inner: true });
        let mut nest = Nest {
            elem,
            dims,
            over,
            reduction,
            body,
            then: None,
            in_pipelines: [None, None],
            contraction: None,
            taps: None,
            epilogue: None,
            moved: None,
            pieces: None,
        };
        nest.find_pipelines();
        nest
    }

    /// The nests of a softmax of operand 0, whose results are the operands 1 to 3.
    fn nests(rows: usize, lanes: usize, by: [i64; 2]) -> [Nest; 4] {
        let row = [lanes as i64, 1];
        let reduced = |operand, by, combine, total| {
            let mut body = Program { along: 1, ..Program::default() };
            body.result = Some(load(&mut body, operand, by));
            nest(rows, lanes, Some((combine, total)), body)
        };
        let with_number = |operand, by, number, op, then: Option<Unary>| {
            let mut body = Program { along: 1, ..Program::default() };
            let (a, b) = (load(&mut body, operand, by), load(&mut body, number, [1, 0]));
            let mut x = body.reg(Class::Single);
            body.instrs.push(Instr::Binary { to: x, op, a, b });
            if let Some(op) = then {
                let to = body.reg(Class::Single);
                body.instrs.push(Instr::Unary { to, op, x });
                x = to;
            }
            body.result = Some(x);
            nest(rows, lanes, None, body)
        };
        [
            reduced(0, by, Combine::Max, Class::Single),
            with_number(0, by, 1, Binary::Sub, Some(Unary::Exp)),
            reduced(2, row, Combine::Sum, Class::Double),
            with_number(2, row, 3, Binary::Div, None),
        ]
    }

    #[test]
    fn a_softmax_gives_what_its_nests_give() {
        for (rows, lanes) in [(3, 1000), (9, 64), (2, 5000), (5, 7), (40, 130)] {
            for by in [[lanes as i64, 1], [1, rows as i64]] {
                let [most, exps, sums, quotients] = nests(rows, lanes, by);
                let nests = [&most, &exps, &sums];
                let softmax = Softmax::of(nests, Some(&quotients), [1, 2, 3]);
                if by[1] != 1 && rows * lanes > FEW {
                    assert!(softmax.is_none(), "{rows} rows of {lanes} by {by:?}");
                    continue;
                }
                let softmax = softmax.expect("it is a softmax");
                assert_eq!((softmax.nests(), softmax.is_divided()), (4, true));
                assert!(Softmax::of(nests, Some(&quotients), [1, 2, 1]).is_some_and(|it| !it.is_divided()));
                assert!(Softmax::of(nests, None, [2, 1, 3]).is_none());
                let x: Vec<f32> = (0..rows * lanes).map(|i| (i * 7919 % 1013) as f32 / 47.0 - 9.0).collect();
                let mut one_by_one: Vec<Vec<f32>> = vec![x.clone()];
                for it in [&most, &exps, &sums, &quotients] {
                    let mut out = vec![0.0f32; it.count()];
                    let views = one_by_one.iter().map(|all| {
                        Some(View { elem: ElemType::FLOAT, bytes: bytemuck::cast_slice(all), first: 0 })
                    });
                    let operands: Vec<Option<View<'_>>> = views.collect();
                    let mut worker = Worker::new(it);
                    worker
                        .run(it, &operands, 0..it.count(), bytemuck::cast_slice_mut(&mut out))
                        .expect("it runs");
                    one_by_one.push(out);
                }
                let view = View { elem: ElemType::FLOAT, bytes: bytemuck::cast_slice(&x), first: 0 };
                let mut all = [rows, rows * lanes, rows, rows * lanes].map(|count| vec![0.0f32; count]);
                // In two parts.
                let middle = rows / 2;
                for part in [0..middle, middle..rows] {
                    let of = |each: usize| part.start * each..part.end * each;
                    let [most, exps, sums, quotients] = &mut all;
                    let results = Results {
                        most: bytemuck::cast_slice_mut(&mut most[of(1)]),
                        exps: bytemuck::cast_slice_mut(&mut exps[of(lanes)]),
                        sums: bytemuck::cast_slice_mut(&mut sums[of(1)]),
                        quotients: Some(bytemuck::cast_slice_mut(&mut quotients[of(lanes)])),
                    };
                    softmax.run(&[Some(view)], part.clone(), results).expect("it runs");
                }
                assert_eq!(all[..], one_by_one[1..], "{rows} rows of {lanes} by {by:?}");
            }
        }
    }
}
