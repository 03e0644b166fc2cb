//! Expressions become nodes: operands first, with made-up names for their results.
//!
//! ```text
//! y = Relu(x * w) + b        y_1 = Mul(x, w)
//!                            y_2 = Relu(y_1)
//!                            y = Add(y_2, b)
//! ```
//!
//! The type of a literal depends on its operator, which is not known here. The value is named by the text of the literal after [`LITERAL`], and is
//! undefined until a crate that knows the operators defines it ([`literal_of`]).

use super::Cx;
use super::literals::{Escapes, unquote};
use crate::ast::{self, Node, Operand, Range, Subscript, SugarForm};
use crate::lex::Kind;
use crate::literal::{LiteralOperand, number_ranges};
use onnx_ir::diag::{Diagnostic, Span, code};
use onnx_ir::{Attr, AttrValue, BodyBuilder, ElemType, Name, NodeId, NodeSpec, Origin};
use smallvec::SmallVec;
use std::collections::{HashMap, HashSet};

/// Begins the name of a value that is a literal. A text with this character has no literals.
const LITERAL: char = '\u{1}';

/// The text of a literal, if a name is that of one.
#[must_use]
pub fn literal_of(name: &str) -> Option<&str> {
    name.strip_prefix(LITERAL)
}

/// The names of the inputs of a node.
pub(super) type Inputs = SmallVec<[Name; 8]>;
/// The names of its results.
pub(super) type Outputs = SmallVec<[Name; 4]>;

/// The finding about literals whose types are not known: only who knows the operators knows them.
pub(super) fn without_type(source: &str, literals: &[Span]) -> impl Iterator<Item = Diagnostic> {
    literals.iter().map(move |&span| {
        let text = &source[span.range()];
        let shown = crate::lex::shown(text);
        let message =
            format!("the type of `{shown}` depends on its operator, and operators are not known here");
        let help = LiteralOperand::parse(text).map(|literal| literal.help(literal.elem(), false));
        Diagnostic::new(&code::UNEXPECTED_TOKEN, span, message)
            .label("expected the name of a value")
            .maybe_help(help)
    })
}

/// Names that a text does not have.
#[derive(Default)]
pub(super) struct FreshNames {
    taken: HashSet<String>,
    /// The last number after each stem.
    last: HashMap<String, u32>,
    /// Whether the text has the character of literals.
    has_mark: bool,
}

impl FreshNames {
    fn of(source: &str) -> FreshNames {
        let mut taken = HashSet::new();
        for token in crate::lex::lex(source).tokens {
            let text = &source[token.span.range()];
            match token.kind {
                Kind::Ident => _ = taken.insert(text.to_owned()),
                Kind::String | Kind::Bytes => {
                    let name = unquote(text, Escapes::Literal);
                    taken.insert(String::from_utf8_lossy(&name).into_owned());
                }
                _ => {}
            }
        }
        FreshNames { taken, last: HashMap::new(), has_mark: source.contains(LITERAL) }
    }

    /// `y_1`, `y_2` and so on.
    fn next(&mut self, stem: &str) -> String {
        let last = self.last.entry(stem.to_owned()).or_default();
        loop {
            *last += 1;
            let name = format!("{stem}_{last}");
            if self.taken.insert(name.clone()) {
                return name;
            }
        }
    }
}

/// The operator of a sign.
pub(crate) fn operator_of(sign: &str, form: SugarForm) -> &'static str {
    match (sign, form) {
        ("-", SugarForm::Prefix) => "Neg",
        ("+", _) => "Add",
        ("-", _) => "Sub",
        ("*", _) => "Mul",
        ("/", _) => "Div",
        ("@", _) => "MatMul",
        ("**", _) => "Pow",
        ("<", _) => "Less",
        ("<=", _) => "LessOrEqual",
        (">", _) => "Greater",
        (">=", _) => "GreaterOrEqual",
        // Of the `Equal` before it.
        (_, SugarForm::Unequal) => "Not",
        _ => "Equal",
    }
}

impl Cx<'_> {
    /// The inputs of a node. Those that are expressions become nodes before it.
    pub(super) fn operands(
        &mut self,
        b: &mut BodyBuilder<'_>,
        node: &Node,
        stem: &str,
        origin: Origin,
    ) -> Inputs {
        let Some(sugar) = &node.sugar else {
            return node.inputs.iter().map(|&input| self.name(b.names, input)).collect();
        };
        let mut names = SmallVec::new();
        for (&input, operand) in node.inputs.iter().zip(&sugar.operands) {
            names.push(match operand {
                Operand::Name => self.name(b.names, input),
                Operand::Literal => {
                    let text = self.text(input);
                    let numbers: Vec<&str> =
                        number_ranges(text).into_iter().map(|range| &text[range]).collect();
                    let numbers = numbers.join(", ");
                    let text = if text.starts_with('[') { format!("[{numbers}]") } else { numbers };
                    self.literal(b, &text, input)
                }
                Operand::Node(inner) => {
                    let inputs = self.operands(b, inner, stem, origin);
                    self.expression(b, inner, inputs, None, stem, origin).1
                }
            });
        }
        names
    }

    /// A node that is not a plain call, whose operands are nodes already; results that are not given have a made-up name. Returns the
    /// last node and its first result.
    pub(super) fn expression(
        &mut self,
        b: &mut BodyBuilder<'_>,
        node: &Node,
        inputs: Inputs,
        outputs: Option<Outputs>,
        stem: &str,
        origin: Origin,
    ) -> (NodeId, Name) {
        let (inputs, last) = match node.form() {
            SugarForm::Subscript => self.subscript(b, node, &inputs, stem, origin),
            SugarForm::Unequal => {
                let equal = self.fresh(b, stem);
                let outputs = SmallVec::from_iter([equal]);
                self.simple(b, &Node::at(node.span), "Equal", inputs, outputs, origin);
                (SmallVec::from_iter([equal]), None)
            }
            SugarForm::Call | SugarForm::Infix | SugarForm::Prefix => (inputs, None),
        };
        let outputs = outputs.unwrap_or_else(|| SmallVec::from_iter([self.fresh(b, stem)]));
        let result = outputs.first().copied().unwrap_or(Name::empty());
        let id = match last {
            Some(step) => self.step(b, node, &step, inputs, outputs, origin),
            None if node.form() == SugarForm::Call => self.call(b, node, Some((inputs, outputs)), origin),
            None => {
                let operator = operator_of(self.text(node.op), node.form());
                self.simple(b, node, operator, inputs, outputs, origin)
            }
        };
        (id, result)
    }

    /// A node of an operator of ai.onnx; its names are those of the statement, if it is one.
    fn simple(
        &mut self,
        b: &mut BodyBuilder<'_>,
        node: &Node,
        operator: &str,
        inputs: impl IntoIterator<Item = Name>,
        outputs: Outputs,
        origin: Origin,
    ) -> NodeId {
        let name = node.name.map(|name| self.name(b.names, name));
        let op = Some(b.name(operator));
        let spec = NodeSpec { name, op, domain: self.default_domain, overload: None, origin };
        let id = b.begin_node(spec, inputs);
        if !node.notes.is_empty() {
            self.node_notes(b, &node.notes, id);
        }
        b.end_node(id, outputs);
        id
    }

    /// `x[0, 1:3, -1]`: a `Slice` of all ranges, then a `Gather` for each index, from the last axis to the first. Returns the inputs of
    /// the last of these nodes, which is still to be made.
    fn subscript(
        &mut self,
        b: &mut BodyBuilder<'_>,
        node: &Node,
        inputs: &Inputs,
        stem: &str,
        origin: Origin,
    ) -> (Inputs, Option<SubscriptStep>) {
        let items = node.sugar.as_ref().map_or(&[][..], |sugar| &sugar.subscripts);
        let mut indices = inputs.iter().skip(1);
        let mut steps: Vec<SubscriptStep> = Vec::new();
        let mut ranges: Vec<(i64, Range)> = Vec::new();
        for (axis, item) in (0..).zip(items) {
            match item {
                Subscript::Range(range) if range.is_full() => {}
                Subscript::Range(range) => ranges.push((axis, *range)),
                Subscript::Index(_) => {
                    let inputs = indices.next().copied().into_iter().collect();
                    steps.push(SubscriptStep { operator: "Gather", inputs, axis });
                }
            }
        }
        if !ranges.is_empty() {
            let inputs = self.slice(b, node, &ranges);
            steps.push(SubscriptStep { operator: "Slice", inputs, axis: 0 });
        }
        let mut value = inputs.first().copied().unwrap_or(Name::empty());
        let mut rest = steps.into_iter();
        let last =
            rest.next().unwrap_or(SubscriptStep { operator: "Identity", inputs: SmallVec::new(), axis: 0 });
        let inner = Node::at(node.span);
        for step in rest.rev() {
            let inputs = step.inputs_of(value);
            value = self.fresh(b, stem);
            self.step(b, &inner, &step, inputs, SmallVec::from_iter([value]), origin);
        }
        (last.inputs_of(value), Some(last))
    }

    fn step(
        &mut self,
        b: &mut BodyBuilder<'_>,
        node: &Node,
        step: &SubscriptStep,
        inputs: Inputs,
        outputs: Outputs,
        origin: Origin,
    ) -> NodeId {
        let id = self.simple(b, node, step.operator, inputs, outputs, origin);
        if step.axis != 0 {
            let name = b.name("axis");
            b.attr(id, Attr::new(name, AttrValue::Int(step.axis)));
        }
        id
    }

    /// The other operands of a `Slice`: starts, ends, axes, and steps if there are any.
    fn slice(
        &mut self,
        b: &mut BodyBuilder<'_>,
        node: &Node,
        ranges: &[(i64, Range)],
    ) -> SmallVec<[Name; 4]> {
        let text = |span: Option<Span>| span.map(|span| self.text(span).to_owned());
        let is_backward = |range: &Range| text(range.step).is_some_and(|step| step.starts_with('-'));
        // A bound that is left out is the end of the axis in its direction.
        let (least, most) = (i64::MIN.to_string(), i64::MAX.to_string());
        let start = |range: &Range| {
            text(range.start).unwrap_or(if is_backward(range) { most.clone() } else { "0".to_owned() })
        };
        let end = |range: &Range| {
            text(range.end).unwrap_or(if is_backward(range) { least.clone() } else { most.clone() })
        };
        let step = |range: &Range| text(range.step).unwrap_or("1".to_owned());
        let list = |items: Vec<String>| format!("[{}]", items.join(", "));
        let mut lists = vec![
            list(ranges.iter().map(|(_, range)| start(range)).collect()),
            list(ranges.iter().map(|(_, range)| end(range)).collect()),
            list(ranges.iter().map(|(axis, _)| axis.to_string()).collect()),
        ];
        if ranges.iter().any(|(_, range)| range.step.is_some()) {
            lists.push(list(ranges.iter().map(|(_, range)| step(range)).collect()));
        }
        lists.iter().map(|text| self.literal(b, text, node.inputs_span)).collect()
    }

    /// `to = float` among operands: the number of the element type.
    pub(super) fn elem_type_number(
        &mut self,
        b: &mut BodyBuilder<'_>,
        node: &Node,
        attr: &ast::Attr,
    ) -> Option<Attr> {
        let name = attr.elem_type_name().filter(|_| node.has_named_attributes())?;
        let elem = ElemType::from_name(self.text(name))?;
        let name = self.name(b.names, attr.name);
        Some(Attr::new(name, AttrValue::Int(elem.0.into())))
    }

    /// The value of a literal.
    fn literal(&mut self, b: &mut BodyBuilder<'_>, text: &str, at: Span) -> Name {
        if self.literals.last() != Some(&at) {
            self.literals.push(at);
        }
        match self.fresh_names().has_mark {
            true => b.name(text),
            false => b.name(&format!("{LITERAL}{text}")),
        }
    }

    /// A name that the text does not have.
    fn fresh(&mut self, b: &mut BodyBuilder<'_>, stem: &str) -> Name {
        let name = self.fresh_names().next(stem);
        b.name(&name)
    }

    fn fresh_names(&mut self) -> &mut FreshNames {
        let source = self.source;
        self.fresh_names.get_or_insert_with(|| FreshNames::of(source))
    }
}

/// A node of a subscript.
struct SubscriptStep {
    operator: &'static str,
    /// The inputs after the first one.
    inputs: SmallVec<[Name; 4]>,
    axis: i64,
}

impl SubscriptStep {
    fn inputs_of(&self, value: Name) -> Inputs {
        std::iter::once(value).chain(self.inputs.iter().copied()).collect()
    }
}
