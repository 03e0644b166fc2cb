//! Axes of size 1 that other operands of an `Einsum` do not have with this size.
//!
//! ```text
//! before:  y = Einsum <equation = "...i,...i->..."> (x[1,3], w[2,3])
//! after:   y = Einsum <equation = "i,...i->..."> (squeezed[3], w)
//! ```
//!
//! An axis that is known to be broadcast is removed. If it depends on sizes which are known at run time only, the operand is expanded to
//! the sizes of the result.

use super::Equation;
use crate::derivative::Cell;
use crate::dims::Dim;

/// An operand whose axes have the sizes of all other axes with their letters.
pub(super) struct Fitted {
    /// The name of the operand.
    pub(super) name: String,
    /// The axes that were removed.
    squeezed: Vec<i64>,
    /// The name before it was expanded.
    narrow: Option<String>,
}

impl Fitted {
    /// Whether it is the operand itself.
    pub(super) fn is_whole(&self) -> bool {
        self.squeezed.is_empty() && self.narrow.is_none()
    }

    /// The gradient of the operand, from that of the fitted one.
    pub(super) fn back(&self, cell: &mut Cell<'_>, gradient: String) -> String {
        let mut gradient = gradient;
        if let Some(narrow) = &self.narrow {
            gradient = cell.unbroadcast_open(narrow, &gradient);
        }
        if !self.squeezed.is_empty() {
            gradient = cell.unsqueeze(&gradient, &self.squeezed);
        }
        gradient
    }
}

/// The role of an axis.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// It has the size of all axes with its letter.
    Same,
    /// It has size 1, and another one has not.
    Broadcast,
    /// It may be broadcast.
    Open,
}

/// Fits all operands, and their terms in the equation.
pub(super) fn fit(cell: &mut Cell<'_>, equation: &mut Equation) -> Result<Vec<Fitted>, String> {
    let roles: Vec<Vec<Role>> = (0..equation.terms.len()).map(|i| roles(cell, equation, i)).collect();
    let mut all = Vec::new();
    for (i, roles) in roles.iter().enumerate() {
        let mut fitted = Fitted { name: format!("x{i}"), squeezed: Vec::new(), narrow: None };
        let axes = |role: Role| (0i64..).zip(roles).filter(move |(_, r)| **r == role).map(|(axis, _)| axis);
        fitted.squeezed.extend(axes(Role::Broadcast));
        if !fitted.squeezed.is_empty() {
            fitted.name = cell.squeeze(&fitted.name, &fitted.squeezed);
            let term = equation.terms[i].iter().zip(roles).filter(|(_, role)| **role != Role::Broadcast);
            equation.terms[i] = term.map(|(letter, _)| *letter).collect();
        }
        if roles.contains(&Role::Open) {
            let left = roles.iter().filter(|role| **role != Role::Broadcast);
            let mut sizes = Vec::new();
            for (letter, role) in equation.terms[i].iter().zip(left) {
                let place = equation.output.iter().position(|c| c == letter);
                sizes.push(match (role, place.and_then(|at| i64::try_from(at).ok())) {
                    (Role::Open, Some(at)) => cell.extent_of("y0", at),
                    (Role::Open, None) => {
                        return Err(
                            "an axis of its ellipsis may be broadcast, and the result has none".to_owned()
                        );
                    }
                    (Role::Same | Role::Broadcast, _) => cell.list(&[1]),
                });
            }
            let sizes: Vec<&str> = sizes.iter().map(String::as_str).collect();
            let sizes = cell.op_with("Concat", "axis = 0", &sizes);
            let wide = cell.op("Expand", &[&fitted.name, &sizes]);
            fitted.narrow = Some(std::mem::replace(&mut fitted.name, wide));
        }
        all.push(fitted);
    }
    Ok(all)
}

/// The roles of the axes of an operand.
fn roles(cell: &Cell<'_>, equation: &Equation, i: usize) -> Vec<Role> {
    let size = |operand: usize, axis: usize| cell.shape(operand).and_then(|shape| shape.get(axis).copied());
    let one = Some(Dim::Const(1));
    let role = |(axis, letter): (usize, &char)| {
        // Where a letter is repeated, the operand is a diagonal.
        if equation.terms[i].iter().filter(|c| *c == letter).count() > 1 {
            return Role::Same;
        }
        let own = size(i, axis);
        let others = equation.terms.iter().enumerate().filter(|(j, _)| *j != i).flat_map(|(j, term)| {
            let axes = term.iter().enumerate().filter(|(_, c)| *c == letter);
            axes.map(move |(at, _)| size(j, at))
        });
        // Axes with a letter have the same size or are known to have size 1; those of an ellipsis may turn out to be so.
        let is_hidden = equation.hidden.contains(letter);
        let mut role = Role::Same;
        for other in others {
            if own == other && own.is_some_and(|size| size != Dim::Unknown) {
                continue;
            }
            if own == one {
                return Role::Broadcast;
            }
            if is_hidden && other != one {
                role = Role::Open;
            }
        }
        role
    };
    equation.terms[i].iter().enumerate().map(role).collect()
}
