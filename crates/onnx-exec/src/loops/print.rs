//! Nests as text.

use super::program::{Instr, Program, Reg};
use super::{Class, Linear, Nest};
use std::fmt::{self, Display, Formatter};

impl Display for Reg {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let class = match self.class {
            Class::Single => 'f',
            Class::Double => 'd',
            Class::Int => 'i',
        };
        write!(f, "{class}{}", self.at)
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
            (base, false) => write!(f, " + {base}"),
        }
    }
}

impl Nest {
    /// The matrix product that it is, in words.
    pub(crate) fn product(&self) -> Option<String> {
        let [rows, columns, steps, count] = self.contraction.as_ref()?.extents();
        let each = format!("matrix product of {rows}x{steps} and {steps}x{columns}");
        Some(if count == 1 { each } else { format!("{count} times a {each}") })
    }
}

impl Display for Nest {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.elem.name().unwrap_or("?"))?;
        for (axis, d) in self.dims.iter().enumerate() {
            write!(f, " i{axis}<{d}")?;
        }
        if let Some(reduction) = &self.reduction {
            write!(f, " {:?}", reduction.combine)?;
            for (axis, d) in self.over.iter().enumerate() {
                write!(f, " i{}<{d}", axis + self.dims.len())?;
            }
        }
        if let Some(c) = &self.contraction {
            write!(f, " as a matrix product, rows {:?} columns {:?}", c.a.axes, c.b.axes)?;
        }
        if self.taps.is_some() {
            write!(f, " in single floats")?;
        }
        if let Some(pieces) = &self.pieces {
            writeln!(f)?;
            for piece in &pieces.pieces {
                write!(f, "  {}..{}: {}", piece.of_row.start, piece.of_row.end, piece.nest)?;
            }
            return Ok(());
        }
        if self.moved.is_some() {
            write!(f, " moved")?;
        }
        writeln!(f, " along i{}", self.body.along)?;
        self.body.fmt(f)?;
        if let Some(then) = &self.then {
            writeln!(f, "  then")?;
            then.fmt(f)?;
        }
        Ok(())
    }
}

impl Display for Program {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (to, float, int) in &self.numbers {
            match to.class {
                Class::Int => writeln!(f, "    {to} = {int}")?,
                Class::Single | Class::Double => writeln!(f, "    {to} = {float}")?,
            }
        }
        for instr in &self.instrs {
            writeln!(f, "    {instr}")?;
        }
        Ok(())
    }
}

impl Display for Instr {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Instr::Load { to, operand, place, elem } => {
                write!(f, "{to} = load {} %{operand}[{place}]", elem.name().unwrap_or("?"))
            }
            Instr::LoadWhere { to, operand, place, elem, bounds, otherwise } => {
                write!(f, "{to} = load {} %{operand}[{place}] where", elem.name().unwrap_or("?"))?;
                for (i, bound) in bounds.iter().enumerate() {
                    let and = if i > 0 { " and" } else { "" };
                    write!(f, "{and} {} <= {} < {}", bound.from, bound.function, bound.to)?;
                }
                match to.class {
                    Class::Int => write!(f, " else {}", otherwise.1),
                    Class::Single | Class::Double => write!(f, " else {}", otherwise.0),
                }
            }
            Instr::Ramp { to, function } => write!(f, "{to} = {function}"),
            Instr::Guard { to, index, extent, mask: None } => write!(f, "{to} = {index} below {extent}"),
            Instr::Guard { to, index, extent, mask: Some(mask) } => {
                write!(f, "{to} = {index} below {extent} where {mask}")
            }
            Instr::Step { to, sum: None, index, by } => write!(f, "{to} = {index} * {by}"),
            Instr::Step { to, sum: Some(sum), index, by } => write!(f, "{to} = {sum} + {index} * {by}"),
            Instr::Gather { to, operand, places, elem } => {
                write!(f, "{to} = gather {} %{operand}[{places}]", elem.name().unwrap_or("?"))
            }
            Instr::Unary { to, op, x } => write!(f, "{to} = {op:?} {x}"),
            Instr::Binary { to, op, a, b } => write!(f, "{to} = {op:?} {a} {b}"),
            Instr::Select { to, condition, yes, no } => write!(f, "{to} = {yes} if {condition} else {no}"),
            Instr::Cast { to, cast, x } => write!(f, "{to} = {} {x}", cast.to.name().unwrap_or("?")),
            Instr::Widen { to, x } => write!(f, "{to} = double {x}"),
            Instr::Divide { to, x, by, is_remainder } => {
                write!(f, "{to} = {x} {} {by}", if *is_remainder { "%" } else { "/" })
            }
        }
    }
}
