//! Prints nests.

use super::{Form, Nest};
use crate::epilogue::Epilogue;
use crate::lanes::{Class, Linear, Reg};
use crate::program::{Instr, Program};
use onnx_formula::Combine;
use onnx_ir::ElemType;
use std::fmt::{self, Display, Formatter};

impl Display for Reg {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let class = match self.class {
            Class::Single => 'f',
            Class::Double => 'd',
            // `i` is for axes.
            Class::Int => 'n',
        };
        write!(f, "{class}{}", self.at)
    }
}

impl Class {
    /// The shortest decimal that parses to the same lane.
    fn number(self, x: f64) -> String {
        match self {
            Class::Single => (x as f32).to_string(),
            Class::Double | Class::Int => x.to_string(),
        }
    }
}

impl Display for Linear {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut is_first = true;
        for (axis, by) in self.by.iter().enumerate().filter(|(_, by)| **by != 0) {
            let plus = if is_first { "" } else { " + " };
            match by {
                1 => write!(f, "{plus}i{axis}")?,
                by => write!(f, "{plus}{by}*i{axis}")?,
            }
            is_first = false;
        }
        match (self.base, is_first) {
            (0, false) => Ok(()),
            (base, true) => write!(f, "{base}"),
            (base @ ..0, false) => write!(f, " - {}", base.unsigned_abs()),
            (base, false) => write!(f, " + {base}"),
        }
    }
}

/// The names of operands.
pub type Names<'n> = &'n dyn Fn(usize) -> String;

impl Nest {
    /// The loops and their bodies in a few lines, equal on all processors: tile sizes are not printed.
    ///
    /// ```text
    /// for i0 < 64 in parallel, i1 < 10: sum over i2 < 128 as a matrix product in tiles, 256 steps at a time
    ///   rows i0: f0 = X[128*i0 + i2], in place
    ///   columns i1: f0 = W[i1 + 10*i2], packed before the run
    ///   then f2 = total; f0 = B[i1]; f1 = Add f2 f0, in one pass
    /// ```
    pub fn outline(&self, is_parallel: bool, names: Names<'_>) -> Vec<String> {
        if let Form::Pieces(pieces) = &self.form {
            let parallel = if is_parallel && !self.is_little() { " in parallel" } else { "" };
            let mut lines = vec![format!("for pieces of each {}{parallel}:", pieces.row)];
            for piece in &pieces.pieces {
                let mut outline = piece.nest.outline(false, names).into_iter();
                let first = outline.next().unwrap_or_default();
                lines.push(format!("  {}..{}: {first}", piece.of_row.start, piece.of_row.end));
                lines.extend(outline.map(|line| format!("  {line}")));
            }
            return lines;
        }
        // The loops.
        let split = self.dims.len();
        let axes = |first: usize, extents: &[usize]| -> Vec<String> {
            extents.iter().enumerate().map(|(axis, d)| self.axis(first + axis, *d, is_parallel)).collect()
        };
        let mut first = format!("for {}: ", axes(0, &self.dims).join(", "));
        if let Some(reduction) = &self.reduction {
            let over = axes(split, &self.over).join(", ");
            first += &format!("{} over {over} ", combined(reduction.combine));
        }
        let mut lines = Vec::new();
        // The body: a product with its factors, or the body.
        match &self.form {
            Form::Product(contraction) => {
                first += &format!(
                    "as {}{} in tiles, {} steps at a time",
                    if contraction.is_winograd() {
                        "Winograd's F(4x4, 3x3), 36 matrix products"
                    } else {
                        "a matrix product"
                    },
                    contraction.of(),
                    contraction.steps_at_a_time()
                );
                lines.push(first);
                let sides = [("rows", &contraction.a), ("columns", &contraction.b)];
                for ((what, side), read) in sides.into_iter().zip(contraction.read()) {
                    let own: Vec<String> = side.axes.iter().map(|axis| format!("i{axis}")).collect();
                    lines.push(format!("  {what} {}: {}, {read}", own.join(", "), side.program.line(names)));
                }
            }
            Form::Loops(_) | Form::Stencil(_) | Form::Copy(_) | Form::Pieces(_) => {
                let how = match &self.form {
                    Form::Copy(_) => "moved as they are: ",
                    Form::Stencil(stencil) if stencil.taps.are_channels() => "as a stencil of channels, of ",
                    Form::Stencil(stencil) if stencil.taps.has_windows() => "as a stencil, of ",
                    Form::Stencil(_) => "in single floats, of ",
                    Form::Loops(_) | Form::Product(_) | Form::Pieces(_) if self.reduction.is_some() => "of ",
                    Form::Loops(_) | Form::Product(_) | Form::Pieces(_) => "",
                };
                let narrowed =
                    if self.reduction.is_none() { self.narrowed(&self.body) } else { String::new() };
                lines.push(format!("{first}{how}{}{narrowed}", self.body.line(names)));
            }
        }
        // The epilogue.
        if let Some(then) = &self.then {
            let total = then.total.map_or(String::new(), |total| format!("{total} = total; "));
            let how = match self.contraction() {
                Some(contraction) if contraction.has_function() => ", its linear part in one pass",
                Some(_) | None => self.epilogue().map_or("", Epilogue::how),
            };
            lines.push(format!("  then {total}{}{}{how}", then.line(names), self.narrowed(then)));
        }
        lines
    }

    /// The conversion on store.
    fn narrowed(&self, program: &Program) -> String {
        match program.result {
            Some(result) if result.class == Class::Single && Class::of(self.elem) == Some(Class::Int) => {
                format!("; store {} {result}", self.elem.name().unwrap_or("?"))
            }
            Some(_) | None => String::new(),
        }
    }

    /// A loop.
    fn axis(&self, axis: usize, extent: usize, is_parallel: bool) -> String {
        let parallel = if axis == 0 && is_parallel && !self.is_little() { " in parallel" } else { "" };
        let is_along = matches!(self.form, Form::Loops(_) | Form::Stencil(_)) && self.body.along == axis;
        format!("i{axis} < {extent}{parallel}{}", if is_along { " in strips" } else { "" })
    }

    /// A description of the matrix product.
    pub fn product(&self) -> Option<String> {
        let product = self.contraction()?;
        let [rows, columns, steps, count] = product.extents();
        let of = if product.is_float() { "product of" } else { "product of bytes," };
        let each = format!("matrix {of} {rows}x{steps} and {steps}x{columns}");
        Some(if count == 1 { each } else { format!("{count} times a {each}") })
    }
}

/// The name of a reduction.
fn combined(combine: Combine) -> &'static str {
    match combine {
        Combine::Sum => "sum",
        Combine::Product => "product",
        Combine::Max => "max",
        Combine::Min => "min",
        Combine::ArgMax(_) => "argmax",
        Combine::ArgMin(_) => "argmin",
    }
}

impl Program {
    /// All steps.
    fn line(&self, names: Names<'_>) -> String {
        let numbers = self.numbers.iter().map(|(to, float, int)| match to.class {
            Class::Int => format!("{to} = {int}"),
            Class::Single | Class::Double => format!("{to} = {}", to.class.number(*float)),
        });
        let steps = self.instrs.iter().map(|instr| instr.line(names));
        numbers.chain(steps).collect::<Vec<_>>().join("; ")
    }
}

impl Instr {
    fn line(&self, names: Names<'_>) -> String {
        let elem = |elem: &ElemType| elem.name().unwrap_or("?");
        match self {
            Instr::Load { to, operand, place, elem } => {
                let is_cast = to.class == Class::Single && Class::of(*elem) == Some(Class::Int);
                format!("{to} = {}{}[{place}]", if is_cast { "float " } else { "" }, names(*operand))
            }
            Instr::LoadWhere { to, operand, place, bounds, otherwise, .. } => {
                let bounds: Vec<String> = bounds
                    .iter()
                    .map(|bound| format!("{} <= {} < {}", bound.from, bound.function, bound.to))
                    .collect();
                let otherwise = match to.class {
                    Class::Int => otherwise.1.to_string(),
                    class @ (Class::Single | Class::Double) => class.number(otherwise.0),
                };
                format!("{to} = {}[{place}] where {} else {otherwise}", names(*operand), bounds.join(" and "))
            }
            Instr::Inside { to, bounds } => {
                let bounds: Vec<String> = bounds
                    .iter()
                    .map(|bound| format!("{} <= {} < {}", bound.from, bound.function, bound.to))
                    .collect();
                format!("{to} = 1 where {} else 0", bounds.join(" and "))
            }
            Instr::Ramp { to, function } => format!("{to} = {function}"),
            Instr::Guard { to, index, extent, mask: None } => format!("{to} = {index} below {extent}"),
            Instr::Guard { to, index, extent, mask: Some(mask) } => {
                format!("{to} = {index} below {extent} where {mask}")
            }
            Instr::Step { to, sum: None, index, by } => format!("{to} = {index} * {by}"),
            Instr::Step { to, sum: Some(sum), index, by } => format!("{to} = {sum} + {index} * {by}"),
            Instr::Gather { to, operand, places, elem: of } => {
                format!("{to} = gather {} {}[{places}]", elem(of), names(*operand))
            }
            Instr::Unary { to, op, x } => format!("{to} = {op:?} {x}"),
            Instr::Binary { to, op, a, b } => format!("{to} = {op:?} {a} {b}"),
            Instr::Select { to, condition, yes, no } => format!("{to} = {yes} if {condition} else {no}"),
            Instr::Cast { to, cast, x } => format!("{to} = {} {x}", elem(&cast.to)),
            Instr::Widen { to, x } => format!("{to} = double {x}"),
            Instr::Divide { to, x, by, is_remainder } => {
                format!("{to} = {x} {} {by}", if *is_remainder { "%" } else { "/" })
            }
            Instr::Pipeline(pipeline) => format!("{} stages in one pass", pipeline.stages.len()),
        }
    }
}
