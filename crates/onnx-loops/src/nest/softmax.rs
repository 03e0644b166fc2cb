//! Recognizes the nests that are a softmax of rows.

use super::{Form, Nest};
use crate::lanes::{Class, Linear, Reg};
use crate::program::Instr;
use crate::reduce::softmax::{MAX_STRIDED_ELEMENTS, Place, Softmax};
use onnx_formula::{Binary, Combine, Unary};
use onnx_ir::ElemType;

impl Softmax {
    /// The softmax of consecutive nests, if it is one. `results` are the operand numbers of the first three.
    pub fn of(nests: [&Nest; 3], quotient: Option<&Nest>, results: [usize; 3]) -> Option<Self> {
        let [most, exps, sums] = nests;
        let [of_most, of_exps, of_sums] = results;
        let ([rows], [lanes]) = (&most.dims[..], &most.over[..]) else { return None };
        let (rows, lanes) = (*rows, *lanes);
        let row = |operand| Place { operand, base: 0, by: [lanes as i64, 1] };
        let operand = most.reduced_rows(lanes, Combine::Max)?;
        let is_contiguous = operand.by == row(0).by;
        let is_few =
            operand.by[0] >= 0 && operand.by[1] > 0 && rows.checked_mul(lanes)? <= MAX_STRIDED_ELEMENTS;
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
}

impl Nest {
    /// The operand of a plain reduction of rows.
    fn reduced_rows(&self, lanes: usize, combine: Combine) -> Option<Place> {
        let reduction = self.reduction.filter(|reduction| reduction.combine == combine)?;
        let is_plain = self.elem == ElemType::FLOAT && self.then.is_none() && !self.is_product();
        // In which order others are added depends on more than the row.
        let is_along = combine == Combine::Max || reduction.is_inner && self.stencil().is_none();
        let ([_], [over], [load]) = (&self.dims[..], &self.over[..], &self.body.instrs[..]) else {
            return None;
        };
        let (place, to) = load.float_load()?;
        (is_plain && is_along && *over == lanes && self.body.result == Some(to)).then_some(place)
    }

    /// The steps of a loop over rows of lanes.
    fn rows_of(&self, size: [usize; 2]) -> Option<&[Instr]> {
        let Nest { elem, dims, body, .. } = self;
        let is_loop = self.reduction.is_none() && matches!(self.form, Form::Loops(_));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lanes::view::View;
    use crate::nest::run::Worker;
    use crate::nest::{Pipelines, Reduction};
    use crate::program::Program;
    use crate::reduce::softmax::Results;

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
        let form = Form::Loops(Pipelines::default());
        let mut nest = Nest { elem, dims, over, reduction, body, then: None, form };
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
                if by[1] != 1 && rows * lanes > MAX_STRIDED_ELEMENTS {
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
