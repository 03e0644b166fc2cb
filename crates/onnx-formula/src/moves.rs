//! Formulas that only move elements, and therefore apply to any element type.

use crate::eval::{Point, advance, offset};
use crate::{Definition, Elements, Expr, Formula, Mode, Number, count};

/// The source of an element.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum ElementSource {
    /// The input, and the row-major index in it.
    Element(usize, usize),
    /// A number; 0 stands for the zero value of the type: an empty string, false.
    Number(Number),
}

impl Definition {
    /// Whether all results are elements of inputs, or zero values.
    pub fn is_move(&self) -> bool {
        self.formulas.iter().all(Formula::is_move)
    }
}

impl Formula {
    /// Whether each element is an element of an input, or a number.
    pub fn is_move(&self) -> bool {
        self.over.is_none() && self.then.is_none() && self.expr.is_move()
    }

    /// The source of each element of a [move](Self::is_move). Only inputs with positions are read; of the others only the shape
    /// is used, so their elements can have any type. `None` if it takes more than `most` steps, or a position is out of bounds.
    pub fn sources(&self, inputs: &[Option<&dyn Elements>], most: usize) -> Option<Vec<ElementSource>> {
        let total = count(&self.dims).filter(|n| *n <= most && self.is_move())?;
        let mut point = Point::new(self.dims.len(), inputs, Mode::Reference);
        let mut sources = Vec::with_capacity(total);
        for _ in 0..total {
            sources.push(self.expr.source(&point)?);
            advance(&mut point.at, &self.dims);
        }
        Some(sources)
    }
}

impl Expr {
    fn is_move(&self) -> bool {
        match self {
            Expr::Load(..) | Expr::Number(_) => true,
            Expr::Select(parts) => parts[1].is_move() && parts[2].is_move(),
            Expr::Index(_) | Expr::Total | Expr::Unary(..) | Expr::Binary(..) => false,
            Expr::Cast(..) | Expr::Bits(..) => false,
        }
    }

    fn source(&self, point: &Point<'_>) -> Option<ElementSource> {
        match self {
            Expr::Load(input, position) => {
                let from = (*point.inputs.get(*input)?)?;
                Some(ElementSource::Element(*input, offset(position, from.dims(), point)?))
            }
            Expr::Number(number) => Some(ElementSource::Number(*number)),
            Expr::Select(parts) => {
                let [condition, yes, no] = &**parts;
                if condition.at(point)?.is_true() { yes.source(point) } else { no.source(point) }
            }
            Expr::Index(_) | Expr::Total | Expr::Unary(..) | Expr::Binary(..) => None,
            Expr::Cast(..) | Expr::Bits(..) => None,
        }
    }
}
