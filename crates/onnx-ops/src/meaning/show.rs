//! Definitions as text, for who reviews them. Inputs are `x0`, `x1` …, outputs `y0`, `y1` …, and what is neither `r0`, `r1` ….
//!
//! ```text
//! float[2,1] r0[i0, i1] = max over i2 < 3 of x0[i0, i2]
//! ```

use super::number::is_float;
use super::{Binary, Cast, Combine, Definition, Expr, Formula, Index, Keep, Number, Rounding, Unary};
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

/// A formula as a line of text, with names for what it computes and for what it loads.
pub fn line(formula: &Formula, name: &str, operand: &dyn Fn(usize) -> String) -> String {
    Names { operand }.line(name, formula)
}

/// Names of what is loaded.
struct Names<'n> {
    operand: &'n dyn Fn(usize) -> String,
}

impl Definition {
    /// The name of what is loaded.
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
        (self.operand)(operand)
    }

    fn line(&self, name: &str, formula: &Formula) -> String {
        let dims: Vec<String> = formula.dims.iter().map(usize::to_string).collect();
        let indices: Vec<String> = (0..dims.len()).map(|i| format!("i{i}")).collect();
        let (dims, indices) = match dims.is_empty() {
            true => (String::new(), String::new()),
            false => (format!("[{}]", dims.join(",")), format!("[{}]", indices.join(", "))),
        };
        let begin = format!("{}{dims} {name}{indices} = ", elem(formula.elem));
        let of = formula.over.as_ref().map_or(formula.elem, |over| over.elem);
        let is_index = matches!(&formula.over, Some(over) if matches!(over.combine, Combine::ArgMax(_) | Combine::ArgMin(_)));
        // What an index is taken of has a type of its own.
        let element = self.text(&formula.expr, Some(of).filter(|_| !is_index), false);
        let Some(over) = &formula.over else { return begin + &element };
        let first = formula.dims.len();
        let limits: Vec<String> =
            over.dims.iter().enumerate().map(|(i, d)| format!("i{} < {d}", first + i)).collect();
        // The type of the total, where it is not that of the result.
        let ty = if over.elem == formula.elem { "" } else { elem(over.elem) };
        let space = if ty.is_empty() { "" } else { " " };
        let total = format!("{ty}{space}{} over {} of {element}", over.combine.name(), limits.join(", "));
        match &formula.then {
            None => begin + &total,
            Some(then) => {
                format!("{begin}{} where total = {total}", self.text(then, Some(formula.elem), false))
            }
        }
    }

    /// `of` is the type that numbers have, where it is known.
    fn text(&self, expr: &Expr, of: Option<ElemType>, is_inner: bool) -> String {
        match expr {
            Expr::Load(input, position) if position.is_empty() => self.name(*input),
            Expr::Load(input, position) => {
                let position: Vec<String> = position.iter().map(|index| self.index(index)).collect();
                format!("{}[{}]", self.name(*input), position.join(", "))
            }
            Expr::Number(Number::Int(n)) => n.to_string(),
            Expr::Number(Number::Float(x)) => float(*x, of),
            Expr::Index(index) => {
                let text = self.index(index);
                if is_inner && text.contains(' ') { format!("({text})") } else { text }
            }
            Expr::Total => "total".to_owned(),
            Expr::Unary(op, x) => match op {
                Unary::Neg => format!("-{}", self.text(x, of, true)),
                Unary::Not => format!("not {}", self.text(x, of, true)),
                op => {
                    let of = if op.is_test() { x.elem(&[], None) } else { of };
                    format!("{}({})", format!("{op:?}").to_lowercase(), self.text(x, of, false))
                }
            },
            Expr::Binary(op, a, b) => {
                // What is compared may be of any type.
                let of = if op.is_test() { a.elem(&[], None).or_else(|| b.elem(&[], None)) } else { of };
                let name = format!("{op:?}").to_lowercase();
                match op.sign() {
                    Some(sign) => {
                        let text = format!("{} {sign} {}", self.text(a, of, true), self.text(b, of, true));
                        if is_inner { format!("({text})") } else { text }
                    }
                    None => format!("{name}({}, {})", self.text(a, of, false), self.text(b, of, false)),
                }
            }
            Expr::Select(parts) => {
                let [condition, yes, no] = &**parts;
                let bool = Some(ElemType::BOOL);
                let [yes, condition, no] =
                    [(yes, of), (condition, bool), (no, of)].map(|(part, of)| self.text(part, of, true));
                format!("({yes} if {condition} else {no})")
            }
            Expr::Cast(cast, x) => {
                format!("{}({}{})", elem(cast.to), self.text(x, x.elem(&[], None), false), cast.how())
            }
            Expr::Bits(from, to, x) => format!("{}(bits of {})", elem(*to), self.text(x, Some(*from), true)),
        }
    }

    fn index(&self, index: &Index) -> String {
        let inner = |index: &Index| match self.index(index) {
            text if text.contains(' ') => format!("({text})"),
            text => text,
        };
        match index {
            Index::Affine(offset, terms) => {
                sum(terms.iter().map(|(index, by)| (format!("i{index}"), *by)), *offset)
            }
            Index::Sum(parts) => sum(parts.iter().map(|(part, by)| (inner(part), *by)), 0),
            Index::Div(index, by) => format!("{} / {by}", inner(index)),
            Index::Rem(index, by) => format!("{} % {by}", inner(index)),
            Index::Element(expr) => self.text(expr, None, false),
        }
    }
}

/// The shortest text that reads back as the same element of a type; without a type, as the same `double`.
fn float(x: f64, of: Option<ElemType>) -> String {
    let of = of.filter(|of| is_float(*of) && x.is_finite());
    let short = of.and_then(|of| onnx_text::number_text(of, x).parse::<f64>().ok());
    format!("{:?}", short.unwrap_or(x))
}

/// Multiples, and a number behind them.
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
    fn name(self) -> &'static str {
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
    /// What an attribute says of it, where the type depends on that.
    fn how(self) -> &'static str {
        let is_byte = [
            ElemType::FLOAT8E4M3FN,
            ElemType::FLOAT8E4M3FNUZ,
            ElemType::FLOAT8E5M2,
            ElemType::FLOAT8E5M2FNUZ,
        ];
        match self.rounding {
            _ if is_byte.contains(&self.to) => {
                if self.saturates {
                    ", saturated"
                } else {
                    ""
                }
            }
            _ if self.to != ElemType::FLOAT8E8M0 => "",
            Rounding::Up => ", up",
            Rounding::Down => ", down",
            Rounding::Nearest => ", nearest",
        }
    }
}

impl Binary {
    /// The sign that stands between both sides; the others are functions.
    fn sign(self) -> Option<&'static str> {
        match self {
            Binary::Add => Some("+"),
            Binary::Sub => Some("-"),
            Binary::Mul => Some("*"),
            Binary::Div => Some("/"),
            Binary::And => Some("and"),
            Binary::Or => Some("or"),
            Binary::Xor => Some("xor"),
            Binary::Equal => Some("=="),
            Binary::Less => Some("<"),
            Binary::LessOrEqual => Some("<="),
            Binary::Greater => Some(">"),
            Binary::GreaterOrEqual => Some(">="),
            Binary::BitwiseAnd => Some("&"),
            Binary::BitwiseOr => Some("|"),
            Binary::BitwiseXor => Some("^"),
            Binary::ShiftLeft => Some("<<"),
            Binary::ShiftRight => Some(">>"),
            Binary::Mod | Binary::Remainder | Binary::Pow | Binary::Min | Binary::Max => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_have_the_digits_of_their_type() {
        for (x, elem, text) in [
            (f64::from(0.1f32), ElemType::FLOAT, "0.1"),
            (f64::from(0.1f32), ElemType::DOUBLE, "0.10000000149011612"),
            (0.1, ElemType::DOUBLE, "0.1"),
            // As a loop shows it, though the number has more digits than the type.
            (std::f64::consts::FRAC_1_SQRT_2, ElemType::FLOAT, "0.70710677"),
            (f64::from(f32::MAX), ElemType::FLOAT, "3.4028235e38"),
            (0.0999755859375, ElemType::FLOAT16, "0.1"),
            (-0.0, ElemType::FLOAT, "-0.0"),
            (f64::INFINITY, ElemType::FLOAT, "inf"),
        ] {
            assert_eq!(float(x, Some(elem)), text);
        }
        assert_eq!(float(f64::from(0.1f32), None), "0.10000000149011612");
    }
}
