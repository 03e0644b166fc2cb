//! `Einsum`: an equation over the axes of its inputs.
//!
//! ```text
//! y = Einsum <equation = "bij, bjk -> bik"> (a, b)
//! ```

use crate::dims::Dim;
use crate::engine::rule::fit::broadcast_axis;
use crate::engine::{Infer, NodeCx};
use crate::facts::Shape;
use onnx_ir::diag::{Diagnostic, code, counted};

/// A parsed equation.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct Equation {
    pub(crate) inputs: Vec<Term>,
    pub(crate) output: Term,
}

/// The axes of an operand.
#[derive(PartialEq, Eq, Debug, Default)]
pub(crate) struct Term {
    /// A letter for each axis.
    pub(crate) letters: Vec<char>,
    /// The position of the ellipsis among the letters.
    pub(crate) ellipsis: Option<usize>,
}

impl Term {
    fn parse(text: &str) -> Result<Term, String> {
        let mut term = Term::default();
        let text: String = text.chars().filter(|&c| c != ' ').collect();
        let mut rest = text.as_str();
        while let Some(c) = rest.chars().next() {
            if let Some(after) = rest.strip_prefix("...") {
                if term.ellipsis.replace(term.letters.len()).is_some() {
                    return Err("a term can have only one ellipsis".to_owned());
                }
                rest = after;
            } else if c.is_ascii_alphabetic() {
                term.letters.push(c);
                rest = &rest[1..];
            } else if c == '.' {
                return Err("an ellipsis is written `...`".to_owned());
            } else {
                return Err(format!("unexpected `{c}`: axes are letters"));
            }
        }
        Ok(term)
    }
}

impl Equation {
    pub(crate) fn parse(text: &str) -> Result<Equation, String> {
        let text: String = text.chars().filter(|&c| c != ' ').collect();
        let (inputs, output) = match text.split_once("->") {
            Some((inputs, output)) => (inputs, Some(output)),
            None => (text.as_str(), None),
        };
        let inputs: Vec<Term> = inputs.split(',').map(Term::parse).collect::<Result<_, _>>()?;
        let output = match output {
            Some(output) => Term::parse(output)?,
            None => Self::implicit(&inputs),
        };
        let mut is_free: [bool; 128] = [false; 128];
        for &letter in inputs.iter().flat_map(|t| &t.letters) {
            is_free[letter as usize] = true;
        }
        for &letter in &output.letters {
            if !std::mem::take(&mut is_free[letter as usize]) {
                return Err(if inputs.iter().any(|t| t.letters.contains(&letter)) {
                    format!("axis `{letter}` occurs twice in the output")
                } else {
                    format!("axis `{letter}` of the output does not occur in an input")
                });
            }
        }
        Ok(Equation { inputs, output })
    }

    /// The implicit output: the axes of the ellipsis, and the letters that occur once.
    fn implicit(inputs: &[Term]) -> Term {
        let mut all: Vec<char> = inputs.iter().flat_map(|t| &t.letters).copied().collect();
        all.sort_unstable();
        let once = all.chunk_by(|a, b| a == b).filter(|same| same.len() == 1).map(|same| same[0]);
        let ellipsis = inputs.iter().any(|t| t.ellipsis.is_some()).then_some(0);
        Term { letters: once.collect(), ellipsis }
    }
}

/// A dimension, and the input that it comes from.
type Axis = (usize, Dim);

/// The dimensions of the axes of an equation.
#[derive(Default)]
struct Axes {
    letters: Vec<(char, Axis)>,
    /// The axes of the ellipsis, if their number is known, with the input that they come from.
    ellipsis: Option<(usize, Vec<Axis>)>,
}

impl Axes {
    fn letter(&self, letter: char) -> Option<Axis> {
        self.letters.iter().find(|(l, _)| *l == letter).map(|(_, axis)| *axis)
    }

    /// Adds the shape of an input. An axis that occurs twice in a term is its diagonal; otherwise, dimensions of 1
    /// broadcast.
    fn add(&mut self, cx: &mut NodeCx<'_, '_>, input: usize, term: &Term, shape: &[Dim]) -> Infer {
        let Some(more) = shape.len().checked_sub(term.letters.len()) else {
            return wrong_rank(cx, input, term, shape.len());
        };
        if more > 0 && term.ellipsis.is_none() {
            return wrong_rank(cx, input, term, shape.len());
        }
        let at = term.ellipsis.unwrap_or(0);
        let (before, rest) = shape.split_at(at);
        let (middle, behind) = rest.split_at(more);
        let mut own: Vec<(char, Dim)> = Vec::new();
        for (&letter, &dim) in term.letters.iter().zip(before.iter().chain(behind)) {
            match own.iter_mut().find(|(l, _)| *l == letter) {
                None => own.push((letter, dim)),
                Some((_, first)) => {
                    let message = |a: &str, b: &str| format!("axis `{letter}` has sizes {a} and {b}");
                    *first = cx.equate((input, *first), (input, dim), message)?;
                }
            }
        }
        for (letter, dim) in own {
            match self.letters.iter_mut().find(|(l, _)| *l == letter) {
                None => self.letters.push((letter, (input, dim))),
                Some((_, axis)) => {
                    let message = |a: &str, b: &str| format!("axis `{letter}` has sizes {a} and {b}");
                    *axis = broadcast_axis(cx, *axis, (input, dim), message)?;
                }
            }
        }
        if term.ellipsis.is_none() {
            return Some(());
        }
        self.add_ellipsis(cx, input, middle)
    }

    fn add_ellipsis(&mut self, cx: &mut NodeCx<'_, '_>, input: usize, dims: &[Dim]) -> Infer {
        let Some((first, axes)) = &mut self.ellipsis else {
            self.ellipsis = Some((input, dims.iter().map(|&d| (input, d)).collect()));
            return Some(());
        };
        if axes.len() != dims.len() {
            let message = format!(
                "the ellipsis covers {} of one input and {} of another",
                counted(axes.len(), "axis"),
                dims.len()
            );
            let diagnostic = Diagnostic::new(&code::SHAPE_PRECONDITION, cx.at_input(input), message);
            return cx.fail(diagnostic.related(cx.at_input(*first), "the first input with an ellipsis"));
        }
        for (axis, &dim) in axes.iter_mut().zip(dims) {
            let message = |a: &str, b: &str| format!("cannot broadcast {b} against {a}");
            *axis = broadcast_axis(cx, *axis, (input, dim), message)?;
        }
        Some(())
    }
}

fn wrong_rank(cx: &mut NodeCx<'_, '_>, input: usize, term: &Term, rank: usize) -> Infer {
    let least = if term.ellipsis.is_some() { "at least " } else { "" };
    let message =
        format!("the equation expects {least}rank {}, but the input has rank {rank}", term.letters.len());
    cx.fail_at_input(input, &code::SHAPE_PRECONDITION, message)
}

pub(super) fn einsum(cx: &mut NodeCx<'_, '_>) -> Infer {
    let text = cx.string("equation")?.into_owned();
    let equation = match Equation::parse(&text) {
        Ok(equation) => equation,
        Err(message) => return cx.fail_at_attr("equation", message),
    };
    let (has, takes) = (cx.input_count(), equation.inputs.len());
    if has != takes {
        let (has, takes) = (counted(has, "input"), counted(takes, "term"));
        return cx.fail_at_attr("equation", format!("the equation has {takes}, but the node has {has}"));
    }
    let mut axes = Axes::default();
    for (input, term) in equation.inputs.iter().enumerate() {
        if let Some(shape) = cx.shape(input) {
            axes.add(cx, input, term, &shape)?;
        }
    }
    let is_open = equation.inputs.iter().any(|t| t.ellipsis.is_some());
    let output = &equation.output;
    let mut shape: Shape =
        output.letters.iter().map(|&l| axes.letter(l).map_or(Dim::Unknown, |(_, d)| d)).collect();
    for (input, term) in equation.inputs.iter().enumerate() {
        // An unknown input may have any size where the others have 1.
        if cx.rank(input).is_none() {
            for (dim, letter) in shape.iter_mut().zip(&output.letters) {
                if term.letters.contains(letter) && !is_settled(cx, *dim) {
                    *dim = Dim::Unknown;
                }
            }
        }
    }
    if let Some(at) = output.ellipsis {
        let known = axes.ellipsis.map(|(_, axes)| axes);
        let more: Vec<Dim> = match known {
            Some(more) => more.into_iter().map(|(_, d)| d).collect(),
            None if is_open => return None,
            None => Vec::new(),
        };
        let is_whole =
            (0..cx.input_count()).all(|i| equation.inputs[i].ellipsis.is_none() || cx.rank(i).is_some());
        let more = more.into_iter().map(|d| if is_whole || is_settled(cx, d) { d } else { Dim::Unknown });
        let more: Vec<Dim> = more.collect();
        shape.insert_many(at, more);
    }
    cx.set_shape(0, shape);
    Some(())
}

/// Whether broadcasting cannot change a dimension.
fn is_settled(cx: &mut NodeCx<'_, '_>, dim: Dim) -> bool {
    cx.dims().lower_bound(dim).is_some_and(|least| least > 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(text: &str) -> Result<(String, Option<usize>), String> {
        let Term { letters, ellipsis } = Equation::parse(text)?.output;
        Ok((letters.into_iter().collect(), ellipsis))
    }

    #[test]
    fn equations_say_their_output_or_imply_it() {
        assert_eq!(output("ij,jk->ik"), Ok(("ik".to_owned(), None)));
        assert_eq!(output("b A, A a"), Ok(("ab".to_owned(), None)));
        assert_eq!(output("zA, aB"), Ok(("ABaz".to_owned(), None)));
        assert_eq!(output("i...j, ...j"), Ok(("i".to_owned(), Some(0))));
        assert_eq!(output("...ij -> j...i"), Ok(("ji".to_owned(), Some(1))));
        assert_eq!(output(""), Ok((String::new(), None)));
        assert_eq!(output("i - > i"), Ok(("i".to_owned(), None)));
        assert_eq!(Equation::parse(",").map(|e| e.inputs.len()), Ok(2));
    }

    #[test]
    fn wrong_equations_are_told_of() {
        for (text, message) in [
            ("i1->i", "unexpected `1`: axes are letters"),
            ("i->j", "axis `j` of the output does not occur in an input"),
            ("ij->ii", "axis `i` occurs twice in the output"),
            ("i.j", "an ellipsis is written `...`"),
            ("i...j...", "a term can have only one ellipsis"),
            ("ij->ji->ij", "unexpected `-`: axes are letters"),
            ("é->", "unexpected `é`: axes are letters"),
        ] {
            assert_eq!(Equation::parse(text), Err(message.to_owned()), "{text}");
        }
    }
}
