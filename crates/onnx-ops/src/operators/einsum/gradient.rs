//! The derivative of `Einsum`, for all forms of equations.

mod broadcast;

use crate::derivative::{Cell, Done};

/// An equation with a letter for every axis.
struct Equation {
    /// The letters of each operand.
    terms: Vec<Vec<char>>,
    output: Vec<char>,
    /// The letters of an ellipsis.
    hidden: Vec<char>,
}

/// The axes that an ellipsis stands for, given the rank of an operand.
fn dots(term: &str, rank: i64) -> Result<usize, String> {
    let letters = term.chars().filter(|c| *c != '.').count();
    let axes = usize::try_from(rank).ok().and_then(|rank| rank.checked_sub(letters));
    axes.ok_or_else(|| {
        format!("the term `{term}` of its equation has more letters than its operand has axes")
    })
}

impl Equation {
    /// The equation of a node, with unused letters instead of an ellipsis: those of the last axes are the same in all terms.
    fn of(cell: &Cell<'_>) -> Result<Equation, String> {
        let text = cell.site.string("equation").ok_or("its equation is unknown")?;
        let text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        let (left, right) = match text.split_once("->") {
            Some((left, right)) => (left, right.to_owned()),
            None => (&*text, implied(&text)),
        };
        let parts: Vec<&str> = left.split(',').collect();
        if parts.len() != cell.arity() {
            return Err(format!("its equation has {} terms for {} operands", parts.len(), cell.arity()));
        }
        let mut counts = Vec::new();
        for (i, part) in (0..).zip(&parts) {
            counts.push(if part.contains('.') { dots(part, cell.rank(i)?)? } else { 0 });
        }
        let most = counts.iter().copied().max().unwrap_or(0);
        let unused = ('a'..='z').chain('A'..='Z').filter(|c| !text.contains(*c));
        let hidden: Vec<char> = unused.take(most).collect();
        if hidden.len() < most {
            return Err("its equation has too many axes".to_owned());
        }
        let lettered = |part: &str, count: usize| -> Vec<char> {
            let own = &hidden[most - count..];
            let (before, after) = part.split_once("...").unwrap_or((part, ""));
            let own = if part.contains("...") { own } else { &[] };
            before.chars().chain(own.iter().copied()).chain(after.chars()).collect()
        };
        let terms = parts.iter().zip(&counts).map(|(part, &count)| lettered(part, count)).collect();
        Ok(Equation { terms, output: lettered(&right, most), hidden })
    }
}

fn text(letters: &[char]) -> String {
    letters.iter().collect()
}

/// The gradient of an operand is an Einsum of the gradient of the result and the other operands. An axis that only this operand
/// has was summed: ones in its shape restore it. Of a diagonal, a unit matrix restores the other axis.
pub(super) fn einsum(cell: &mut Cell<'_>) -> Done {
    let mut equation = Equation::of(cell)?;
    let operands = broadcast::fit(cell, &mut equation)?;
    for (i, term) in equation.terms.iter().enumerate() {
        let mut names = vec!["dy0".to_owned()];
        let mut own = vec![text(&equation.output)];
        for (j, other) in equation.terms.iter().enumerate().filter(|(j, _)| *j != i) {
            names.push(operands[j].name.clone());
            own.push(text(other));
        }
        if term.iter().any(|c| !own.iter().any(|known| known.contains(*c))) {
            let shape = match operands[i].is_whole() {
                true => cell.shape_of(i),
                false => cell.op("Shape", &[&operands[i].name]),
            };
            let ones = cell.filled(&shape, 1, cell.elem(i)?);
            names.push(ones);
            own.push(text(term));
        }
        let mut target: Vec<char> = Vec::new();
        for (axis, letter) in (0i64..).zip(term) {
            if !target.contains(letter) {
                target.push(*letter);
                continue;
            }
            let is_used = |c: &char| {
                target.contains(c)
                    || equation.terms.iter().any(|term| term.contains(c))
                    || own.iter().any(|known| known.contains(*c))
            };
            let other = ('a'..='z').chain('A'..='Z').find(|c| !is_used(c));
            let other = other.ok_or("its equation has too many axes")?;
            let size = match operands[i].is_whole() {
                true => cell.extent(i, axis),
                false => cell.extent_of(&operands[i].name, axis),
            };
            let square = cell.op_with("Concat", "axis = 0", &[&size, &size]);
            let zeros = cell.filled(&square, 0, cell.elem(i)?);
            names.push(cell.op("EyeLike", &[&zeros]));
            own.push(text(&[*letter, other]));
            target.push(other);
        }
        let attrs = format!("equation = \"{}->{}\"", own.join(","), text(&target));
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let sum = cell.op_with("Einsum", &attrs, &names);
        let sum = operands[i].back(cell, sum);
        cell.give(i, sum);
    }
    Ok(())
}

/// The implicit output of an equation: the ellipsis, and the letters that occur once, in order.
fn implied(terms: &str) -> String {
    let mut letters: Vec<char> = terms.chars().filter(|c| c.is_alphabetic()).collect();
    letters.sort_unstable();
    let is_once = |c: &char| terms.chars().filter(|d| d == c).count() == 1;
    let dots = if terms.contains('.') { "..." } else { "" };
    dots.chars().chain(letters.into_iter().filter(is_once)).collect()
}
