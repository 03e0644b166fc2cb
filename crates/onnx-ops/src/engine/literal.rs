//! Literals among the operands of a text, and the types that their places allow.

use crate::schema::{Param, Schema};
use onnx_ir::{BodyId, ElemType, Names, Node, NodeId, Tensor, ValueId};

/// A literal as an operand.
#[derive(Clone)]
pub(crate) struct Use<'r> {
    pub(crate) body: BodyId,
    pub(crate) node: NodeId,
    pub(crate) input: usize,
    pub(crate) text: String,
    pub(crate) schema: Option<&'r Schema>,
    /// Its type, once that is known.
    pub(crate) elem: Option<ElemType>,
    /// Whether two calls of its function tell two types.
    pub(crate) is_contradicted: bool,
}

impl Use<'_> {
    /// The type that the parameter or the other values of the node tell: inputs, and the declared types of outputs.
    pub(crate) fn told(
        &self,
        node: &Node,
        input: &dyn Fn(ValueId) -> Option<ElemType>,
        outputs: &[Option<ElemType>],
    ) -> Option<ElemType> {
        let Some(schema) = self.schema else { return Some(natural(&self.text)) };
        let param = schema.input(self.input)?;
        let allowed = param.types.tensors;
        let others = || node.inputs.iter().enumerate().filter(|(i, _)| *i != self.input);
        // Another value of the node with the same type variable.
        let same = |other: Option<&Param>| other.is_some_and(|other| other.ty == param.ty);
        let of_inputs =
            || others().filter(|(i, _)| same(schema.input(*i))).find_map(|(_, value)| input((*value)?));
        let of_outputs = || {
            outputs.iter().enumerate().filter(|(i, _)| same(schema.output(*i))).find_map(|(_, elem)| *elem)
        };
        // Another operand, for an operator that takes numbers of several types, as `Pow` does.
        let of_other = || {
            let takes_numbers = allowed.contains(ElemType::FLOAT);
            others().filter(|_| takes_numbers).find_map(|(_, value)| input((*value)?))
        };
        let told = allowed.single().or_else(of_inputs).or_else(of_outputs).or_else(of_other);
        told.filter(|elem| self.fits(*elem, param))
    }

    /// The type of a literal that nothing tells.
    pub(crate) fn default(&self) -> ElemType {
        let natural = natural(&self.text);
        let Some(param) = self.schema.and_then(|schema| schema.input(self.input)) else { return natural };
        let preferred = [natural, ElemType::FLOAT].into_iter().find(|elem| self.fits(*elem, param));
        preferred
            .or_else(|| param.types.tensors.iter().find(|elem| self.fits(*elem, param)))
            .unwrap_or(natural)
    }

    fn fits(&self, elem: ElemType, param: &Param) -> bool {
        param.types.tensors.contains(elem) && can_be(elem, has_fraction(&self.text))
    }

    /// Adds what one run of the graph of its node tells.
    pub(crate) fn decide(&mut self, told: Option<ElemType>) {
        self.is_contradicted |= self.elem.zip(told).is_some_and(|(known, told)| known != told);
        self.elem = self.elem.or(told);
    }

    /// The type that all runs agree on.
    pub(crate) fn elem(&self) -> ElemType {
        self.elem.filter(|_| !self.is_contradicted).unwrap_or_else(|| self.default())
    }
}

/// The type of a literal by itself.
pub(crate) fn natural(text: &str) -> ElemType {
    if has_fraction(text) { ElemType::FLOAT } else { ElemType::INT64 }
}

/// Whether a literal has a number that is not an integer.
fn has_fraction(text: &str) -> bool {
    numbers(text).any(|number| number.contains(['.', 'e', 'E', 'i', 'I', 'n', 'N']))
}

/// Whether a literal can be of a type: `0.5` is not an integer, and no number is a string or a truth value.
fn can_be(elem: ElemType, fraction: bool) -> bool {
    let is_other =
        [ElemType::STRING, ElemType::BOOL, ElemType::COMPLEX64, ElemType::COMPLEX128].contains(&elem);
    !(is_other || fraction && elem.is_integer())
}

pub(crate) fn numbers(text: &str) -> impl Iterator<Item = &str> {
    text.trim_matches(['[', ']']).split(',').map(str::trim).filter(|number| !number.is_empty())
}

/// A literal as a tensor; `None` if its type does not have one of the numbers.
pub(crate) fn tensor(names: &mut Names, text: &str, elem: ElemType) -> Option<Tensor> {
    let is_list = text.starts_with('[');
    let numbers: Vec<String> = numbers(text)
        // An integer would be the bits of a narrow float.
        .map(|number| match elem.is_integer() || has_fraction(number) {
            true => number.to_owned(),
            false => format!("{number}.0"),
        })
        .collect();
    let dims = if is_list { format!("[{}]", numbers.len()) } else { String::new() };
    let text = format!("{}{dims} {{{}}}", elem.name()?, numbers.join(", "));
    onnx_text::read_tensor(&text, names).into_result().ok()?
}
