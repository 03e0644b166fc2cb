//! Prints definitions. Inputs are `x0`, `x1` …, outputs `y0`, `y1` …, intermediate results `r0`, `r1` ….
//!
//! ```text
//! float[2,1] r0[i0, i1] = max over i2 < 3 of x0[i0, i2]
//! ```
//! The text parses to an equal formula (`read`); its grammar is in `grammar/schedule.md`.

use super::lex::is_plain_name;
use crate::{Binary, Cast, Combine, Definition, Expr, Formula, Index, Keep, Number, Rounding, Unary};
use onnx_ir::ElemType;
use std::fmt::{self, Display, Formatter, Write as _};

impl Display for Definition {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (i, formula) in self.formulas.iter().enumerate() {
            if i > 0 {
                f.write_char('\n')?;
            }
            f.write_str(&line(formula, &self.name(self.inputs + i), &|operand| self.name(operand)))?;
        }
        Ok(())
    }
}

/// A formula as a line of text, with the names of its result and its operands.
pub fn line(formula: &Formula, name: &str, operand: &dyn Fn(usize) -> String) -> String {
    Names { operand }.line(&quoted(name), formula)
}

/// A name in a formula: quoted unless it is a plain identifier or the number of a slot (`%3`).
pub fn quoted(name: &str) -> String {
    if is_plain_name(name) {
        return name.to_owned();
    }
    let mut text = String::from("\"");
    for c in name.chars() {
        match c {
            '"' | '\\' => text.extend(['\\', c]),
            c if c.is_control() || onnx_ir::is_active(c) => {
                let _ = write!(text, "\\u{{{:x}}}", u32::from(c));
            }
            c => text.push(c),
        }
    }
    text + "\""
}

/// The names of operands.
struct Names<'n> {
    operand: &'n dyn Fn(usize) -> String,
}

impl Definition {
    /// The name of an operand.
    fn name(&self, input: usize) -> String {
        let Some(formula) = input.checked_sub(self.inputs) else { return format!("x{input}") };
        match self.outputs.iter().position(|output| *output == Some(formula)) {
            Some(output) => format!("y{output}"),
            None => format!("r{formula}"),
        }
    }
}

impl Names<'_> {
    fn name(&self, operand: usize) -> String {
        quoted(&(self.operand)(operand))
    }

    fn line(&self, name: &str, formula: &Formula) -> String {
        let dims: Vec<String> = formula.dims.iter().map(usize::to_string).collect();
        let indices: Vec<String> = (0..dims.len()).map(|i| format!("i{i}")).collect();
        let (dims, indices) = match dims.is_empty() {
            true => (String::new(), String::new()),
            false => (format!("[{}]", dims.join(",")), format!("[{}]", indices.join(", "))),
        };
        let begin = format!("{}{dims} {name}{indices} = ", elem(formula.elem));
        let element = self.text(&formula.expr, false);
        let Some(over) = &formula.over else { return begin + &element };
        let first = formula.dims.len();
        let limits: Vec<String> =
            over.dims.iter().enumerate().map(|(i, d)| format!("i{} < {d}", first + i)).collect();
        let limits = if limits.is_empty() { "nothing".to_owned() } else { limits.join(", ") };
        // The accumulator type, if it differs from that of the result.
        let ty = if over.elem == formula.elem { "" } else { elem(over.elem) };
        let space = if ty.is_empty() { "" } else { " " };
        let total = format!("{ty}{space}{} over {limits} of {element}", over.combine.name());
        match &formula.then {
            None => begin + &total,
            Some(then) => {
                format!("{begin}{} where total = {total}", self.text(then, false))
            }
        }
    }

    fn text(&self, expr: &Expr, is_inner: bool) -> String {
        match expr {
            Expr::Load(input, position) if position.is_empty() => self.name(*input),
            Expr::Load(input, position) => {
                let position: Vec<String> = position.iter().map(|index| self.index(index)).collect();
                format!("{}[{}]", self.name(*input), position.join(", "))
            }
            Expr::Number(number) => self::number(*number),
            Expr::Index(index @ Index::Affine(0, terms)) if matches!(terms[..], [(_, 1)]) => {
                self.index(index)
            }
            Expr::Index(index) => format!("index({})", self.index(index)),
            Expr::Total => "total".to_owned(),
            Expr::Unary(Unary::Neg, x) => match &**x {
                Expr::Number(_) | Expr::Unary(Unary::Neg, _) => format!("-({})", self.text(x, false)),
                x => format!("-{}", self.text(x, true)),
            },
            Expr::Unary(Unary::Not, x) => {
                let text = format!("not {}", self.text(x, true));
                if is_inner { format!("({text})") } else { text }
            }
            Expr::Unary(op, x) => format!("{}({})", op.name(), self.text(x, false)),
            Expr::Binary(op, a, b) => match op.sign() {
                Some(sign) => {
                    let text = format!("{} {sign} {}", self.text(a, true), self.text(b, true));
                    if is_inner { format!("({text})") } else { text }
                }
                None => format!("{}({}, {})", op.name(), self.text(a, false), self.text(b, false)),
            },
            Expr::Select(parts) => {
                let [condition, yes, no] = &**parts;
                let [yes, condition, no] = [yes, condition, no].map(|part| self.text(part, true));
                format!("({yes} if {condition} else {no})")
            }
            Expr::Cast(cast, x) => format!("{}({}{})", elem(cast.to), self.text(x, false), cast.how()),
            Expr::Bits(from, to, x) => {
                format!("bits({}, {}, {})", elem(*from), elem(*to), self.text(x, false))
            }
        }
    }

    fn index(&self, index: &Index) -> String {
        // A part of a sum is in parentheses, to distinguish it from a multiple of an index.
        let part = |index: &Index| format!("({})", self.index(index));
        let inner = |index: &Index| match (index, self.index(index)) {
            (Index::Affine(0, terms), text) if matches!(terms[..], [(_, 1)]) => text,
            (_, text) => format!("({text})"),
        };
        match index {
            Index::Affine(offset, terms) => {
                sum(terms.iter().map(|(index, by)| (format!("i{index}"), *by)), *offset)
            }
            Index::Sum(parts) => sum(parts.iter().map(|(of, by)| (part(of), *by)), 0),
            Index::Div(index, by) => format!("{} / {by}", inner(index)),
            Index::Rem(index, by) => format!("{} % {by}", inner(index)),
            Index::Element(expr) => match &**expr {
                Expr::Load(..) => self.text(expr, false),
                expr => format!("{{{}}}", self.text(expr, false)),
            },
        }
    }
}

/// A number that parses to the same one: floats have a point or an exponent; those of `float` have the digits of that type, with
/// an `f` if these differ from the digits of the number.
fn number(number: Number) -> String {
    match number {
        Number::Int(n) => n.to_string(),
        Number::Float(x) => {
            let (text, short) = (format!("{x:?}"), format!("{:?}", x as f32));
            let is_float = !x.is_finite() || f64::from(x as f32).to_bits() == x.to_bits();
            if is_float && text != short { short + "f" } else { text }
        }
    }
}

/// Multiples, followed by a number.
fn sum(terms: impl Iterator<Item = (String, i64)>, offset: i64) -> String {
    let mut text = String::new();
    let mut add = |what: &str, is_negative: bool| {
        text += match (text.is_empty(), is_negative) {
            (true, false) => "",
            (true, true) => "-",
            (false, false) => " + ",
            (false, true) => " - ",
        };
        text += what;
    };
    let mut is_empty = true;
    for (what, by) in terms {
        let times = if by.unsigned_abs() == 1 { what } else { format!("{}*{what}", by.unsigned_abs()) };
        add(&times, by < 0);
        is_empty = false;
    }
    if offset != 0 || is_empty {
        add(&offset.unsigned_abs().to_string(), offset < 0);
    }
    text
}

fn elem(elem: ElemType) -> &'static str {
    elem.name().unwrap_or("?")
}

impl Combine {
    pub(super) fn name(self) -> &'static str {
        match self {
            Combine::Sum => "sum",
            Combine::Product => "product",
            Combine::Max => "max",
            Combine::Min => "min",
            Combine::ArgMax(Keep::First) => "first argmax",
            Combine::ArgMax(Keep::Last) => "last argmax",
            Combine::ArgMin(Keep::First) => "first argmin",
            Combine::ArgMin(Keep::Last) => "last argmin",
        }
    }
}

impl Cast {
    /// The rounding attributes, if the type depends on them.
    fn how(self) -> String {
        let saturated = if self.saturates { ", saturated" } else { "" };
        let rounded = match self.rounding {
            Rounding::Up => ", up",
            Rounding::Down => ", down",
            Rounding::Nearest => "",
        };
        format!("{saturated}{rounded}")
    }
}

impl Unary {
    /// The function with this name.
    pub(super) fn named(name: &str) -> Option<Unary> {
        Unary::ALL.iter().copied().find(|op| op.name() == name)
    }

    fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }
}

impl Binary {
    /// The operation with this sign or name.
    pub(super) fn named(name: &str) -> Option<Binary> {
        Binary::ALL
            .iter()
            .copied()
            .find(|op| op.sign().map_or_else(|| op.name() == name, |sign| sign == name))
    }

    fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_have_the_digits_of_their_type() {
        for (x, text) in [
            (f64::from(0.1f32), "0.1f"),
            (0.1, "0.1"),
            (0.5, "0.5"),
            // More digits than a float has.
            (std::f64::consts::FRAC_1_SQRT_2, "0.7071067811865476"),
            (f64::from(f32::MAX), "3.4028235e38f"),
            (1e300, "1e300"),
            (-0.0, "-0.0"),
            (f64::INFINITY, "inf"),
            (f64::NAN, "NaN"),
        ] {
            assert_eq!(number(Number::Float(x)), text);
        }
        assert_eq!(number(Number::Int(-3)), "-3");
    }
}
