//! Expressions: what `grammar/sugar.md` adds to nodes.
//!
//! An expression is a tree of nodes. An operand that is an expression is a node among the operands of another one; it has no results,
//! and its span stands among the inputs, where a plain node has a name.
//!
//! ```text
//! y = Relu(x * w + 1)      Relu: inputs [`x * w + 1`]
//!                          └ +: inputs [`x * w`, `1`]
//!                            └ *: inputs [`x`, `w`], a plain node but for its form
//! ```

use super::{Attr, AttrValue, File, Graph, Node, ScalarKind, Type};
use onnx_ir::diag::Span;

/// The parts of a node that are not plain syntax.
#[derive(Clone, Debug)]
pub struct Sugar {
    /// How the node is written.
    pub form: SugarForm,
    /// The kinds of the inputs of the node.
    pub operands: Vec<Operand>,
    /// The items of a subscript, in its brackets; empty in all other forms.
    pub subscripts: Vec<Subscript>,
    /// Whether the node is in parentheses of its own.
    pub is_parenthesized: bool,
    /// The types of the results of a statement; empty if none is stated.
    pub types: Vec<Option<Type>>,
}

/// How a node is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SugarForm {
    /// `Op(x)`
    Call,
    /// `x + y`: the sign stands for the operator.
    Infix,
    /// `x != y`: `Not` of `Equal`.
    Unequal,
    /// `-x`
    Prefix,
    /// `x[0, 1:3]`: the `[` stands for the operator, and the first input is before it.
    Subscript,
}

/// The kind of an input of a node.
#[derive(Clone, Debug)]
pub enum Operand {
    /// The name of a value, or nothing.
    Name,
    /// A number, or a list of numbers in brackets.
    Literal,
    /// An expression.
    Node(Box<Node>),
}

/// An item of a subscript.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Subscript {
    /// An index: the next input of the node.
    Index(Span),
    /// `1:3`
    Range(Range),
}

/// `start:end:step` of a subscript; all parts are integers that may be left out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Range {
    /// The first index.
    pub start: Option<Span>,
    /// The index after the last.
    pub end: Option<Span>,
    /// The distance of two indices.
    pub step: Option<Span>,
    /// From the start to the step.
    pub span: Span,
}

impl Range {
    /// Whether it has all indices of the axis.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.start.is_none() && self.end.is_none() && self.step.is_none()
    }
}

impl Sugar {
    /// The sugar of a form without anything else.
    pub(crate) fn of(form: SugarForm, operands: Vec<Operand>) -> Sugar {
        Sugar { form, operands, subscripts: Vec::new(), is_parenthesized: false, types: Vec::new() }
    }
}

impl Node {
    /// How the node is written.
    #[must_use]
    pub fn form(&self) -> SugarForm {
        self.sugar.as_ref().map_or(SugarForm::Call, |sugar| sugar.form)
    }

    /// The expressions among its operands, in order.
    pub fn nested(&self) -> impl Iterator<Item = &Node> {
        self.sugar.iter().flat_map(|sugar| &sugar.operands).filter_map(|operand| match operand {
            Operand::Node(node) => Some(&**node),
            Operand::Name | Operand::Literal => None,
        })
    }

    /// The inputs that are names, or are left out.
    pub fn named_inputs(&self) -> impl Iterator<Item = Span> {
        let sugar = self.sugar.as_deref();
        let is_name = move |i: usize| {
            sugar.is_none_or(|sugar| matches!(sugar.operands.get(i), Some(Operand::Name) | None))
        };
        self.inputs.iter().enumerate().filter(move |(i, _)| is_name(*i)).map(|(_, &input)| input)
    }

    /// The inputs that are literals.
    pub fn literals(&self) -> impl Iterator<Item = Span> {
        let operands = self.sugar.iter().flat_map(|sugar| &sugar.operands);
        let inputs = self.inputs.iter().zip(operands);
        inputs.filter(|(_, operand)| matches!(operand, Operand::Literal)).map(|(&input, _)| input)
    }

    /// Whether its attributes are among the operands: `Softmax(x, axis = 1)`.
    #[must_use]
    pub fn has_named_attributes(&self) -> bool {
        self.attrs.as_ref().is_some_and(|attrs| {
            self.inputs_span.start < attrs.span.start && attrs.span.end <= self.inputs_span.end
        })
    }

    /// The number of nodes of a model that it stands for, without those of its operands.
    pub(crate) fn count(&self) -> usize {
        match &self.sugar {
            Some(sugar) if sugar.form == SugarForm::Subscript => {
                let is_index = |item: &&Subscript| matches!(item, Subscript::Index(_));
                // `x[:]` is the value itself.
                (sugar.subscripts.iter().filter(is_index).count() + usize::from(sugar.slices())).max(1)
            }
            Some(sugar) if sugar.form == SugarForm::Unequal => 2,
            Some(_) | None => 1,
        }
    }

    /// The types that are stated for results, with the results.
    pub fn typed_results(&self) -> impl Iterator<Item = (Span, &Type)> {
        let types = self.sugar.iter().flat_map(|sugar| &sugar.types);
        self.outputs.iter().copied().zip(types).filter_map(|(output, ty)| Some((output, ty.as_ref()?)))
    }

    /// The node that stands for the node at a position among those that the model has of this statement; the operands come first.
    pub(crate) fn at_position(&self, position: usize) -> Option<&Node> {
        fn find<'n>(node: &'n Node, left: &mut usize) -> Option<&'n Node> {
            for inner in node.nested() {
                if let Some(found) = find(inner, left) {
                    return Some(found);
                }
            }
            let count = node.count();
            if *left < count {
                return Some(node);
            }
            *left -= count;
            None
        }
        let mut left = position;
        find(self, &mut left)
    }

    /// The position of the first node of the model that an expression of this statement stands for; the inverse of
    /// [`at_position`](Node::at_position).
    pub(crate) fn position_of(&self, expression: &Node) -> Option<usize> {
        fn find(node: &Node, wanted: &Node, passed: &mut usize) -> bool {
            for inner in node.nested() {
                if find(inner, wanted, passed) {
                    return true;
                }
            }
            if std::ptr::eq(node, wanted) {
                return true;
            }
            *passed += node.count();
            false
        }
        let mut passed = 0;
        find(self, expression, &mut passed).then_some(passed)
    }

    /// The smallest expression of the statement with a byte, or the statement itself.
    pub(crate) fn innermost_at(&self, offset: u32) -> &Node {
        let mut node = self;
        while let Some(inner) =
            node.nested().find(|inner| inner.span.start <= offset && offset <= inner.span.end)
        {
            node = inner;
        }
        node
    }

    /// The graphs in the attributes of the statement and of the expressions in it, in the order of the model.
    pub fn all_subgraphs(&self) -> Vec<&Graph> {
        let mut graphs: Vec<&Graph> = self.nested().flat_map(Node::all_subgraphs).collect();
        graphs.extend(self.subgraphs());
        graphs
    }
}

impl Node {
    /// Calls a function with the node, and before with the expressions among its operands.
    pub fn each<'n>(&'n self, visit: &mut dyn FnMut(&'n Node)) {
        for inner in self.nested() {
            inner.each(visit);
        }
        visit(self);
    }
}

impl File {
    /// The graphs in the header: those of trainings.
    pub(crate) fn header_graphs(&self) -> impl Iterator<Item = &Graph> {
        let fields = self.header.iter().flat_map(|header| &header.items);
        fields.flat_map(|field| field.value.graphs())
    }

    /// All statements, also those of nested graphs, in the order of the text but for the graphs of a statement, which come after it.
    pub fn statements(&self) -> impl Iterator<Item = &Node> {
        let graphs = self.header_graphs().chain(&self.graph).flat_map(|graph| &graph.body);
        let mut left: Vec<&Node> = graphs.chain(self.functions.iter().flat_map(|f| &f.body)).collect();
        left.reverse();
        std::iter::from_fn(move || {
            let node = left.pop()?;
            let graphs = node.all_subgraphs();
            left.extend(graphs.into_iter().flat_map(|graph| &graph.body).rev());
            Some(node)
        })
    }
}

impl Sugar {
    /// Whether a subscript takes ranges, and not only indices.
    pub(crate) fn slices(&self) -> bool {
        self.ranges().next().is_some()
    }

    /// The ranges of a subscript that do not take a whole axis.
    fn ranges(&self) -> impl Iterator<Item = Span> {
        self.subscripts.iter().filter_map(|item| match item {
            Subscript::Range(range) if !range.is_full() => Some(range.span),
            Subscript::Range(_) | Subscript::Index(_) => None,
        })
    }

    /// The items of a subscript of which the node at a position among its nodes is made: the first takes all ranges, the others an index
    /// each, from the last to the first.
    pub(crate) fn items_of_node(&self, position: usize) -> Option<Span> {
        if let (0, Some(first)) = (position, self.ranges().next()) {
            return self.ranges().last().map(|last| first.to(last));
        }
        let mut indices = self.subscripts.iter().rev().filter_map(|item| match item {
            Subscript::Index(index) => Some(*index),
            Subscript::Range(_) => None,
        });
        indices.nth(position.checked_sub(usize::from(self.slices()))?)
    }
}

impl Attr {
    /// Whether the value is a number or a list that may be one of numbers.
    pub(crate) fn is_number(&self) -> bool {
        match &self.value {
            Some(AttrValue::Scalar(scalar)) => scalar.kind != ScalarKind::String,
            Some(AttrValue::Ints(_) | AttrValue::List(_)) => true,
            Some(
                AttrValue::Reference(_)
                | AttrValue::Graph(_)
                | AttrValue::Tensor(_)
                | AttrValue::Type(_)
                | AttrValue::Sparse(_)
                | AttrValue::Braced(_)
                | AttrValue::Record(_),
            )
            | None => false,
        }
    }

    /// The element type that the value of an attribute among operands names: `to = float`.
    pub(crate) fn elem_type_name(&self) -> Option<Span> {
        match &self.value {
            Some(AttrValue::Type(ty)) => match **ty {
                Type::Tensor { elem, dims: None } => Some(elem),
                Type::Tensor { .. } | Type::Call { .. } | Type::Unset(_) => None,
            },
            _ => None,
        }
    }
}
