//! Formulas that only say where each element comes from, so that they hold for elements of any type.

use super::eval::{Point, advance, offset};
use super::number::Number;
use super::{Definition, Elements, Expr, Formula, Mode};

/// Where an element of a result comes from.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Source {
    /// The input, and the place in its row-major order.
    Element(usize, usize),
    /// A number; 0 stands for what is nothing in the type: an empty string, false.
    Number(Number),
}

impl Definition {
    /// Whether all results are elements of inputs in other places, and numbers that stand for nothing.
    pub fn is_move(&self) -> bool {
        self.formulas.iter().all(Formula::is_move)
    }
}

impl Formula {
    /// Whether each element is one of an input, or a number.
    pub fn is_move(&self) -> bool {
        self.over.is_none() && self.then.is_none() && self.expr.is_move()
    }

    /// Where each element of a [move](Self::is_move) comes from. Only inputs that hold positions are looked into; of the others
    /// the extents are enough, so that their elements may be of any type. `None` if it takes more than so many steps, or a
    /// position is out of bounds.
    pub fn sources(&self, inputs: &[Option<&dyn Elements>], most: usize) -> Option<Vec<Source>> {
        let total = super::cx::count(&self.dims).filter(|n| *n <= most && self.is_move())?;
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

    fn source(&self, point: &Point<'_>) -> Option<Source> {
        match self {
            Expr::Load(input, position) => {
                let from = (*point.inputs.get(*input)?)?;
                Some(Source::Element(*input, offset(position, from.dims(), point)?))
            }
            Expr::Number(number) => Some(Source::Number(*number)),
            Expr::Select(parts) => {
                let [condition, yes, no] = &**parts;
                if condition.at(point)?.is_true() { yes.source(point) } else { no.source(point) }
            }
            Expr::Index(_) | Expr::Total | Expr::Unary(..) | Expr::Binary(..) => None,
            Expr::Cast(..) | Expr::Bits(..) => None,
        }
    }
}
