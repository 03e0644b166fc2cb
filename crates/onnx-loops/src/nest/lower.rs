//! Lowers formulas to loop nests.

use super::choice::{Allowed, Choice, FormName};
use super::facts::{Around, FactTable, PartFacts, wider};
use super::pieces::Pieces;
use super::{Form, Nest, Pipelines, Reduction, StencilPlan};
use crate::epilogue::{Epilogue, Shape};
use crate::lanes::{Class, Linear, Reg};
use crate::product::Contraction;
use crate::product::recognize::{Codes, Factor, contraction};
use crate::program::axes::{Axes, Extents};
use crate::program::{Bound, Instr, Operand, Program, Types};
use crate::reduce::total::{are_totals_floats, total_class};
use crate::stencil::{MAX_STENCIL_STEPS, Stencil};
use foldhash::HashMap;
use onnx_formula::{Binary, Combine, Domain, Expr, Formula, Index, Number, Unary};
use onnx_ir::ElemType;
use smallvec::SmallVec;

impl Nest {
    /// The loops of a formula; `None` if its types have no loops.
    pub fn of<'a>(formula: &Formula, operands: &Types<'a>) -> Option<Nest> {
        Nest::without_pipelines(formula, operands).map(Nest::with_pipelines)
    }

    /// The loops of a formula without pipelines: enough to know their form and their cost, in less time.
    pub fn without_pipelines<'a>(formula: &Formula, operands: &Types<'a>) -> Option<Nest> {
        Nest::build(formula, operands, Allowed::ALL)
    }

    fn with_pipelines(mut self) -> Nest {
        self.find_pipelines();
        self
    }

    /// The loops of a formula in a given form; `None` if the form does not apply.
    pub fn chosen<'a>(formula: &Formula, operands: &Types<'a>, choice: Choice) -> Option<Nest> {
        let nest = Nest::build(formula, operands, Allowed::only(choice))?;
        (nest.choice() == choice).then(|| nest.with_pipelines())
    }

    fn build<'a>(formula: &Formula, operands: &Types<'a>, allowed: Allowed) -> Option<Nest> {
        if allowed.has(FormName::Pieces)
            && let Some(pieces) = Pieces::of(formula, operands)
        {
            return Nest::of_pieces(formula, pieces);
        }
        // The axes, merged where all loads traverse them alike.
        let extents = |at: usize| operands(at).map(|operand| operand.dims);
        let axes = Axes::of(formula, &extents)?;
        let over = formula.over.as_ref();
        let codes = Codes::of(formula, operands);
        let (last, inner) = (axes.dims.len() - 1, axes.dims.len() + axes.over.len().max(1) - 1);
        let builder = |along: usize| Builder {
            operands,
            extents: &extents,
            axes: &axes,
            program: Program { along, ..Program::default() },
            total: None,
            is_float_total: false,
            facts: FactTable::default(),
            seen: HashMap::default(),
            inside: Vec::new(),
        };
        // The body, and the axis along which its strips go.
        let mut first = builder(last);
        let facts = first.learn(&formula.expr);
        let is_sum = over.is_none_or(|over| matches!(over.combine, Combine::Sum | Combine::Product));
        if !is_sum && facts.has_no_sign {
            return None;
        }
        let mut body = first.finish(&formula.expr, Class::of(formula.elem))?;
        let mut is_inner = false;
        let over_count: usize = axes.over.iter().product();
        let stencil = over
            .filter(|_| over_count <= MAX_STENCIL_STEPS && allowed.has(FormName::Stencil))
            .and_then(|over| Stencil::of(over.combine, &body, &axes.dims, &axes.over))
            .filter(|taps| taps.has_windows() && (taps.factor.is_some() || taps.combine != Combine::Sum));
        // Strips of a stencil cover whole planes, however short their rows are. Plain sums are more exact along the reduction.
        if over.is_some() && stencil.is_none() {
            let other = Program { along: inner, ..body.clone() };
            let all = axes.extents();
            if allowed.along(other.cost(all[inner]) < body.cost(all[last])) {
                (body, is_inner) = (other, true);
            }
        }
        // A sum of products may be a matrix product; of bytes, also a stencil.
        let class = body.result?.class;
        let float = || {
            let Expr::Binary(Binary::Mul, a, b) = &formula.expr else { return None };
            let is_float = over?.elem == ElemType::FLOAT && class == Class::Single && allowed.has_product();
            (over?.combine == Combine::Sum && is_float).then_some(())?;
            let factor = |expr| builder(last).finish(expr, Some(Class::Single)).map(Factor::float);
            contraction(formula.elem, &axes, factor(&**a)?, factor(&**b)?, operands)
        };
        let mut stencil_of_bytes = None;
        let mut contraction = match &codes {
            None => float(),
            Some([a, b]) => {
                let a = Factor::bytes(a, |expr| builder(last).finish(expr, Some(Class::Int)));
                let b = Factor::bytes(b, |expr| builder(last).finish(expr, Some(Class::Int)));
                a.zip(b).and_then(|(a, b)| {
                    stencil_of_bytes = (over_count <= MAX_STENCIL_STEPS && allowed.has(FormName::Stencil))
                        .then(|| Stencil::of_bytes([&a, &b], last, &axes.dims, &axes.over))
                        .flatten();
                    contraction(formula.elem, &axes, a, b, operands).filter(|_| allowed.has_product())
                })
            }
        };
        // For a single row of bytes, packing does not pay off.
        if contraction.as_ref().is_some_and(|product| product.rows_of_one() > 1) {
            stencil_of_bytes = None;
        } else if stencil_of_bytes.is_some() {
            (contraction, is_inner) = (None, false);
        }
        // A stencil, or a reduction in single precision.
        let is_of_bytes = stencil_of_bytes.is_some();
        let is_strip = contraction.is_none() && !is_inner;
        let taps = over.filter(|_| is_strip).and_then(|over| {
            let single = || Stencil::of(over.combine, &body, &axes.dims, &axes.over);
            let of_floats = || {
                let other = || single().filter(|taps| !taps.has_windows() || allowed.has(FormName::Stencil));
                stencil.or_else(other).filter(|taps| taps.has_windows() || allowed.has(FormName::Single))
            };
            stencil_of_bytes.or_else(of_floats)
        });
        // The accumulator and the epilogue.
        let reduction = match over {
            None => None,
            Some(over) => {
                Class::of(over.elem)?;
                // Sums in single precision are not widened to doubles.
                let is_single = contraction.as_ref().is_some_and(Contraction::is_float)
                    || taps.as_ref().is_some_and(Stencil::is_single)
                        && !is_of_bytes
                        && class == Class::Single;
                let total = if is_single { Class::Single } else { total_class(over.combine, class) };
                Some(Reduction { combine: over.combine, elem: over.elem, total, is_inner })
            }
        };
        let total = reduction.map(|reduction| reduction.total);
        let mut then = match &formula.then {
            None => None,
            Some(then) => {
                let mut builder = builder(last);
                builder.total = total;
                // Accumulators of bytes are 32-bit integers, which convert to floats like wider integers.
                builder.is_float_total = (contraction.is_some() || is_of_bytes)
                    && total == Some(Class::Int)
                    && are_totals_floats(then);
                Some(builder.finish(then, Class::of(formula.elem))?)
            }
        };
        // The class of the result must be that of its type.
        let result = match (&then, total) {
            (Some(then), _) => then.result?.class,
            (None, Some(total)) => total,
            (None, None) => class,
        };
        // A float result for an integer type is a mistake in the formula.
        let fits = (Class::of(formula.elem)? == Class::Int) == (result == Class::Int);
        if !fits {
            return None;
        }
        match &mut then {
            Some(then) => then.narrow_at_the_end(formula.elem),
            None if over.is_none() => body.narrow_at_the_end(formula.elem),
            None => {}
        }
        if let Some(contraction) = &mut contraction {
            let is_constant = |at: usize| operands(at).is_some_and(|operand| operand.is_constant);
            let is_known = contraction.b.program.operands().all(is_constant);
            contraction.followed_by(then.as_ref(), allowed.has_one_pass());
            if allowed.has(FormName::Winograd) && is_known {
                contraction.allow_winograd(allowed.must_be(FormName::Winograd));
            }
        }
        // Where the epilogue runs: in the micro-kernel, in one pass over a stencil, or as a program.
        let (dims, over) = (axes.dims, axes.over);
        let stencil = taps.as_ref().filter(|taps| taps.has_windows() && allowed.has_one_pass());
        let epilogue = stencil.zip(then.as_ref()).zip(total).and_then(|((taps, then), total)| {
            let axes: Vec<usize> = (0..dims.len()).collect();
            let of = |axes_of_row: usize, is_one_row: bool| {
                let (rows, columns) = axes.split_at(axes.len().checked_sub(axes_of_row)?);
                let shape = Shape { dims: &dims, rows, columns, is_one_row };
                Epilogue::of(Some(then), formula.elem, total, shape)
            };
            // Numbers of channels are those of planes, or of rows that are images with one axis.
            let of_channels = || of(2, true).or_else(|| of(1, true));
            of(1, false).or_else(|| of_channels().filter(|_| !taps.are_channels()))
        });
        // The form that all this amounts to.
        let form = match (contraction, taps) {
            (Some(contraction), _) => Form::Product(Box::new(contraction)),
            (None, Some(taps)) => {
                Form::Stencil(Box::new(StencilPlan { taps, epilogue, pipelines: Pipelines::default() }))
            }
            (None, None) => Form::Loops(Pipelines::default()),
        };
        let mut nest = Nest { elem: formula.elem, dims, over, reduction, body, then, form };
        if allowed.has(FormName::Copy)
            && let Some(moved) = nest.copied()
        {
            nest.form = Form::Copy(Box::new(moved));
        }
        Some(nest)
    }
}

type Seen = (u64, Class, Option<Reg>);

struct Builder<'b, 'a, 'e> {
    operands: &'b Types<'a>,
    extents: &'b Extents<'b>,
    axes: &'b Axes,
    program: Program,
    total: Option<Class>,
    /// Whether the accumulator is converted to float wherever it is used.
    is_float_total: bool,
    facts: FactTable,
    /// Computed parts by hash, class and mask, for common subexpression elimination.
    seen: HashMap<Seen, SmallVec<[(&'e Expr, Reg); 1]>>,
    /// Masks that are conjunctions of bounds.
    inside: Vec<(Reg, Vec<Bound>)>,
}

impl<'e> Builder<'_, '_, 'e> {
    fn finish(mut self, expr: &'e Expr, class: Option<Class>) -> Option<Program> {
        let class = self.learn(expr).class?.or(class)?;
        let result = self.expr(expr, class, None)?;
        self.program.result = Some(result);
        self.program.compact();
        Some(self.program)
    }

    /// Computes the facts of an expression before it is lowered.
    fn learn(&mut self, expr: &'e Expr) -> PartFacts {
        let Builder { operands, extents, axes, total, .. } = *self;
        self.facts.add(expr, Around { operands, extents, axes, total })
    }

    /// The facts of a part of the current expression.
    fn known(&self, expr: &Expr) -> Option<PartFacts> {
        self.facts.of(expr)
    }

    /// [`PartFacts::class`]
    fn class(&self, expr: &Expr) -> Option<Option<Class>> {
        self.known(expr)?.class
    }

    /// [`PartFacts::has_no_sign`]
    fn has_no_sign(&self, expr: &Expr) -> bool {
        self.known(expr).is_none_or(|facts| facts.has_no_sign)
    }

    /// [`PartFacts::can_fail`]
    fn can_fail(&self, expr: &Expr) -> bool {
        self.known(expr).is_none_or(|facts| facts.can_fail)
    }

    fn emit(&mut self, class: Class, instr: impl FnOnce(Reg) -> Instr) -> Reg {
        let to = self.program.reg(class);
        self.program.instrs.push(instr(to));
        to
    }

    /// Whether an expression loads an integer at a linear position, of a type that is loaded as single floats.
    fn is_loaded_as_single(&self, expr: &Expr) -> bool {
        let Expr::Load(operand, position) = expr else { return false };
        let Some(Operand { elem, dims, .. }) = (self.operands)(*operand) else { return false };
        let is_it = matches!(elem, ElemType::UINT8 | ElemType::INT8 | ElemType::INT32);
        is_it && self.axes.place(position, dims).is_some()
    }

    /// Whether an expression is a single float that is cast to a byte.
    fn is_byte_of_single(&self, expr: &Expr) -> bool {
        let Expr::Cast(cast, x) = expr else { return false };
        let is_byte = matches!(cast.to, ElemType::UINT8 | ElemType::INT8);
        is_byte && self.class(x) == Some(Some(Class::Single))
    }

    fn total(&mut self, class: Class) -> Reg {
        *self.program.total.get_or_insert_with(|| {
            let count = &mut self.program.counts[class as usize];
            *count += 1;
            Reg { class, at: *count - 1 }
        })
    }

    fn number(&mut self, class: Class, number: Number) -> Option<Reg> {
        let (float, int) = match (class, number) {
            (Class::Int, Number::Int(n)) => (0.0, n as i64),
            (Class::Single | Class::Double, Number::Float(x)) => (x, 0),
            (Class::Single | Class::Double, Number::Int(n)) => (n as f64, 0),
            (Class::Int, Number::Float(_)) => return None,
        };
        let to = self.program.reg(class);
        self.program.numbers.push((to, float, int));
        Some(to)
    }

    /// Lowers an expression to a register class; lanes where `mask` is 0 are not used.
    fn expr(&mut self, expr: &'e Expr, class: Class, mask: Option<Reg>) -> Option<Reg> {
        let facts = self.known(expr)?;
        let own = facts.class?.unwrap_or(class);
        let key = (facts.hash, own, mask);
        let same = |(other, _): &&(&Expr, Reg)| *other == expr;
        let reg = match self.seen.get(&key).and_then(|alike| alike.iter().find(same)) {
            Some((_, reg)) => *reg,
            None => {
                let reg = self.own(expr, own, mask)?;
                self.seen.entry(key).or_default().push((expr, reg));
                reg
            }
        };
        Some(match (own, class) {
            (Class::Int, Class::Int) | (Class::Single, Class::Single) | (Class::Double, Class::Double) => reg,
            (Class::Single, Class::Double) => self.emit(class, |to| Instr::Widen { to, x: reg }),
            // Double-precision results are rounded when they are stored.
            (Class::Double, Class::Single) => reg,
            (Class::Int, Class::Single | Class::Double) | (Class::Single | Class::Double, Class::Int) => {
                return None;
            }
        })
    }

    fn own(&mut self, expr: &'e Expr, class: Class, mask: Option<Reg>) -> Option<Reg> {
        Some(match expr {
            // Leaves.
            Expr::Load(operand, position) => self.load(*operand, position, mask)?,
            Expr::Number(number) => self.number(class, *number)?,
            Expr::Index(index) => self.index(index, mask)?,
            Expr::Total => self.total(class),
            Expr::Cast(_, x) if self.is_float_total && **x == Expr::Total => self.total(class),
            // Integers that become floats are loaded as floats.
            Expr::Cast(cast, x) if cast.to == ElemType::FLOAT && self.is_loaded_as_single(x) => {
                let Expr::Load(operand, position) = &**x else { return None };
                let Operand { elem, dims, .. } = (self.operands)(*operand)?;
                let (operand, place) = (*operand, self.axes.moved(&self.axes.place(position, dims)?));
                self.emit(class, |to| Instr::Load { to, operand, elem, place })
            }
            // A single float that is rounded to a byte and back stays a single float.
            Expr::Cast(cast, x) if cast.to == ElemType::FLOAT && self.is_byte_of_single(x) => {
                let Expr::Cast(cast, x) = &**x else { return None };
                let (cast, x) = (*cast, self.expr(x, Class::Single, mask)?);
                self.emit(class, |to| Instr::Cast { to, cast, x })
            }
            // Operations on one and two operands, of a class that has them.
            Expr::Unary(op, x) => {
                if !op.is_test() && self.has_no_sign(x) {
                    return None;
                }
                let from = self.class(x)?.unwrap_or(if class == Class::Int { Class::Single } else { class });
                let x = self.expr(x, from, mask)?;
                let fits = fits(op.domain(), from);
                if !fits {
                    return None;
                }
                let op = *op;
                self.emit(class, |to| Instr::Unary { to, op, x })
            }
            Expr::Binary(Binary::Pow, x, power)
                if class != Class::Int
                    && self.class(x)? == Some(class)
                    && times_of_power(power).is_some() =>
            {
                let x = self.expr(x, class, mask)?;
                let mut product = x;
                for _ in 1..times_of_power(power)? {
                    let a = product;
                    product = self.emit(class, |to| Instr::Binary { to, op: Binary::Mul, a, b: x });
                }
                product
            }
            Expr::Binary(op, a, b) => {
                let from = wider(self.class(a)?, self.class(b)?)?.unwrap_or(class);
                if needs_sign(*op) && (self.has_no_sign(a) || self.has_no_sign(b)) {
                    return None;
                }
                let fits = fits(op.domain(), from);
                if !fits {
                    return None;
                }
                let (a, b) = (self.expr(a, from, mask)?, self.expr(b, from, mask)?);
                let op = *op;
                self.emit(class, |to| Instr::Binary { to, op, a, b })
            }
            // Choices and conversions.
            Expr::Select(parts) => self.select(parts, class, mask)?,
            Expr::Cast(cast, x) => {
                if self.has_no_sign(x) {
                    return None;
                }
                let from = self.class(x)?.unwrap_or(Class::Double);
                let is_same = match (from, class) {
                    (Class::Int, Class::Int) => self.int(x).is_some_and(|elem| holds(cast.to, elem)),
                    (Class::Single, Class::Single) => cast.to == ElemType::FLOAT,
                    (_, _) => false,
                };
                let x = self.expr(x, from, mask)?;
                if is_same {
                    return Some(x);
                }
                let cast = *cast;
                self.emit(class, |to| Instr::Cast { to, cast, x })
            }
            Expr::Bits(..) => return None,
        })
    }

    /// Lowers a padded load: elements in bounds, and a number elsewhere.
    fn bounded(&mut self, parts: &'e [Expr; 3]) -> Option<Reg> {
        let [condition, Expr::Load(operand, position), Expr::Number(otherwise)] = parts else { return None };
        let Operand { elem, dims, .. } = (self.operands)(*operand)?;
        let class = Class::of(elem)?;
        let mut bounds = Vec::new();
        self.bounds(condition, &mut bounds)?;
        let place = self.axes.place_where(position, dims, &bounds)?;
        let place = self.axes.moved(&place);
        for bound in &mut bounds {
            bound.function = self.axes.moved(&bound.function);
        }
        let otherwise = match (class, otherwise) {
            (Class::Int, Number::Int(n)) => (0.0, *n as i64),
            (Class::Single | Class::Double, Number::Int(n)) => (*n as f64, 0),
            (Class::Single | Class::Double, Number::Float(x)) => (*x, 0),
            (Class::Int, Number::Float(_)) => return None,
        };
        let operand = *operand;
        Some(self.emit(class, |to| Instr::LoadWhere { to, operand, elem, place, bounds, otherwise }))
    }

    /// Lowers a select whose condition is a conjunction of bounds.
    fn select_inside(&mut self, parts: &'e [Expr; 3], class: Class) -> Option<Reg> {
        let [condition, yes, no] = parts;
        let mut bounds = Vec::new();
        self.bounds(condition, &mut bounds)?;
        if self.can_fail(no) {
            return None;
        }
        let moved = |bound: &Bound| Bound { function: self.axes.moved(&bound.function), ..bound.clone() };
        let there = bounds.iter().map(moved).collect();
        let condition = self.emit(Class::Int, |to| Instr::Inside { to, bounds: there });
        self.inside.push((condition, bounds));
        let yes = self.expr(yes, class, Some(condition))?;
        let no = self.expr(no, class, None)?;
        Some(self.emit(class, |to| Instr::Select { to, condition, yes, no }))
    }

    /// The bounds on affine indices that a condition consists of; `None` for other conditions.
    fn bounds(&self, condition: &Expr, bounds: &mut Vec<Bound>) -> Option<()> {
        let Expr::Binary(op, a, b) = condition else { return None };
        if *op == Binary::And {
            self.bounds(a, bounds)?;
            return self.bounds(b, bounds);
        }
        let (function, n) = match (&**a, &**b) {
            (Expr::Index(Index::Affine(offset, terms)), Expr::Number(Number::Int(n))) => {
                (self.axes.affine(*offset, terms)?, *n)
            }
            // Of two indices, their difference.
            (Expr::Index(Index::Affine(offset, terms)), Expr::Index(Index::Affine(less, by))) => {
                let mut terms = terms.clone();
                for (axis, by) in by {
                    match terms.iter_mut().find(|(known, _)| known == axis) {
                        Some((_, times)) => *times = times.checked_sub(*by)?,
                        None => terms.push((*axis, by.checked_neg()?)),
                    }
                }
                (self.axes.affine(offset.checked_sub(*less)?, &terms)?, 0)
            }
            (_, _) => return None,
        };
        let (from, to) = Bound::asked(*op, n)?;
        match bounds.iter_mut().find(|bound| bound.function == function) {
            Some(bound) => (bound.from, bound.to) = (bound.from.max(from), bound.to.min(to)),
            None => bounds.push(Bound { function, from, to }),
        }
        Some(())
    }

    fn select(&mut self, parts: &'e [Expr; 3], class: Class, mask: Option<Reg>) -> Option<Reg> {
        if let Some(reg) = self.bounded(parts) {
            return Some(reg);
        }
        if let Some((x, by)) = leaky(parts).filter(|_| class == Class::Single) {
            let (a, by) = (self.expr(x, class, mask)?, self.expr(by, class, mask)?);
            let b = self.emit(class, |to| Instr::Binary { to, op: Binary::Mul, a, b: by });
            return Some(self.emit(class, |to| Instr::Binary { to, op: Binary::Max, a, b }));
        }
        let [condition, yes, no] = parts;
        if mask.is_none()
            && let Some(reg) = self.select_inside(parts, class)
        {
            return Some(reg);
        }
        let condition = self.expr(condition, Class::Int, mask)?;
        let both = |this: &mut Self, mine: Reg| match mask {
            None => mine,
            Some(mask) => this.emit(Class::Int, |to| Instr::Binary { to, op: Binary::And, a: mask, b: mine }),
        };
        let yes_mask = self.can_fail(yes).then(|| both(self, condition));
        let no_mask = self.can_fail(no).then(|| {
            let not = self.emit(Class::Int, |to| Instr::Unary { to, op: Unary::Not, x: condition });
            both(self, not)
        });
        let yes = self.expr(yes, class, yes_mask)?;
        let no = self.expr(no, class, no_mask)?;
        Some(self.emit(class, |to| Instr::Select { to, condition, yes, no }))
    }

    /// The integer type of an expression, if it is known.
    fn int(&self, expr: &Expr) -> Option<ElemType> {
        match expr {
            Expr::Load(operand, _) => (self.operands)(*operand).map(|operand| operand.elem),
            Expr::Cast(cast, _) => Some(cast.to),
            _ => None,
        }
    }

    fn load(&mut self, operand: usize, position: &'e [Index], mask: Option<Reg>) -> Option<Reg> {
        let Operand { elem, dims, .. } = (self.operands)(operand)?;
        let class = Class::of(elem)?;
        if let Some(place) = self.axes.place(position, dims) {
            let place = self.axes.moved(&place);
            return Some(self.emit(class, |to| Instr::Load { to, operand, elem, place }));
        }
        let bounds = self.inside.iter().find(|(reg, _)| Some(*reg) == mask).map(|(_, bounds)| bounds);
        if let Some(bounds) = bounds
            && let Some(place) = self.axes.place_where(position, dims, bounds)
        {
            let moved = |bound: &Bound| Bound { function: self.axes.moved(&bound.function), ..bound.clone() };
            let (bounds, place) = (bounds.iter().map(moved).collect(), self.axes.moved(&place));
            let otherwise = (0.0, 0);
            return Some(self.emit(class, |to| Instr::LoadWhere {
                to,
                operand,
                elem,
                place,
                bounds,
                otherwise,
            }));
        }
        let mut stride = 1i64;
        let mut sum: Option<Reg> = None;
        for (index, &d) in position.iter().zip(dims).rev() {
            let is_safe = match index {
                Index::Affine(offset, terms) => self.axes.is_in(&self.axes.affine(*offset, terms)?, d),
                Index::Sum(_) | Index::Div(..) | Index::Rem(..) | Index::Element(_) => false,
            };
            let mut index = self.index(index, mask)?;
            if !is_safe {
                let extent = i64::try_from(d).ok()?;
                index = self.emit(Class::Int, |to| Instr::Guard { to, index, extent, mask });
            }
            sum = Some(self.emit(Class::Int, |to| Instr::Step { to, sum, index, by: stride }));
            stride = stride.checked_mul(i64::try_from(d).ok()?)?;
        }
        let places = sum?;
        Some(self.emit(class, |to| Instr::Gather { to, operand, elem, places }))
    }

    fn index(&mut self, index: &'e Index, mask: Option<Reg>) -> Option<Reg> {
        Some(match index {
            Index::Affine(offset, terms) => {
                let function: Linear = self.axes.moved(&self.axes.affine(*offset, terms)?);
                self.emit(Class::Int, |to| Instr::Ramp { to, function })
            }
            Index::Sum(parts) => {
                let mut sum: Option<Reg> = None;
                for (part, by) in parts {
                    let (index, by) = (self.index(part, mask)?, *by);
                    sum = Some(self.emit(Class::Int, |to| Instr::Step { to, sum, index, by }));
                }
                sum?
            }
            Index::Div(x, by) | Index::Rem(x, by) => {
                let (x, by, is_remainder) = (self.index(x, mask)?, *by, matches!(index, Index::Rem(..)));
                if by <= 0 {
                    return None;
                }
                self.emit(Class::Int, |to| Instr::Divide { to, x, by, is_remainder })
            }
            Index::Element(expr) => self.expr(expr, Class::Int, mask)?,
        })
    }
}

/// Whether registers of a class can be operands.
fn fits(domain: Domain, class: Class) -> bool {
    match domain {
        Domain::Numbers | Domain::Tests => true,
        Domain::Integers | Domain::Booleans => class == Class::Int,
        Domain::Floats => class != Class::Int,
    }
}

/// The factors of a power that is a product of few: multiplying takes a tenth of the time, and is at most an ulp away.
pub fn times_of_power(power: &Expr) -> Option<u32> {
    match power {
        Expr::Number(Number::Float(1.0)) => Some(1),
        Expr::Number(Number::Float(2.0)) => Some(2),
        Expr::Number(Number::Float(3.0)) => Some(3),
        _ => None,
    }
}

/// The operand and the factor of `x if x >= 0 else x * by`, which is `max(x, x * by)` for factors between 0 and 1: infinities, zeros
/// with a sign and NaN too.
fn leaky([condition, yes, no]: &[Expr; 3]) -> Option<(&Expr, &Expr)> {
    let (Expr::Binary(Binary::GreaterOrEqual, x, zero), Expr::Binary(Binary::Mul, of, by)) = (condition, no)
    else {
        return None;
    };
    let Expr::Number(Number::Float(factor)) = **by else { return None };
    let is_zero = **zero == Expr::Number(Number::Float(0.0));
    let is_between = factor > 0.0 && factor <= 1.0;
    (is_zero && is_between && **x == *yes && **of == *yes).then_some((yes, &**by))
}

/// Whether an operation depends on the signedness of 64-bit integers.
fn needs_sign(op: Binary) -> bool {
    match op {
        Binary::Add | Binary::Sub | Binary::Mul | Binary::And | Binary::Or | Binary::Xor | Binary::Equal => {
            false
        }
        Binary::BitwiseAnd | Binary::BitwiseOr | Binary::BitwiseXor | Binary::ShiftLeft => false,
        Binary::Div | Binary::Mod | Binary::Remainder | Binary::Pow | Binary::Min | Binary::Max => true,
        Binary::Less
        | Binary::LessOrEqual
        | Binary::Greater
        | Binary::GreaterOrEqual
        | Binary::ShiftRight => true,
    }
}

/// Whether an integer type includes all values of another.
fn holds(wide: ElemType, narrow: ElemType) -> bool {
    let range = |elem: ElemType| match (Combine::Max.neutral(elem)?, Combine::Min.neutral(elem)?) {
        (Number::Int(least), Number::Int(most)) => Some((least, most)),
        (Number::Int(_) | Number::Float(_), _) => None,
    };
    match (range(wide), range(narrow)) {
        (Some(wide), Some(narrow)) => wide.0 <= narrow.0 && narrow.1 <= wide.1,
        (Some(_) | None, _) => false,
    }
}
