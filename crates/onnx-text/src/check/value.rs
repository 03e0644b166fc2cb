//! Checks a text with a value.

use crate::ast::{self, Content, MapPartValue, ValueKind};
#[cfg(feature = "verify")]
use crate::parse::Syntax;
use onnx_ir::diag::{Entity, Span};
#[cfg(feature = "verify")]
use onnx_ir::{
    Data, Names, VerifyOptions,
    diag::{Level, Parsed, Place},
    verify_data,
};

/// A text with a value, for those who need its syntax as well.
#[cfg(feature = "verify")]
#[derive(Clone, Debug)]
pub struct CheckedValue {
    /// The tree and the comments.
    pub syntax: Syntax<Option<ast::Value>>,
    /// The value, as far as it could be read.
    pub data: Option<Data>,
    /// The strings of the value.
    pub names: Names,
}

/// Parses, lowers and verifies a text with a value. A text with syntax errors is not verified, because missing parts would be
/// reported.
///
/// ```
/// let checked = onnx_text::check_value("seq(map) s = [float {1}]", &Default::default());
/// assert_eq!(checked.diagnostics[0].message, "`s` is a sequence of `map`, but holds a `tensor`");
/// ```
#[cfg(feature = "verify")]
pub fn check_value(source: &str, options: &VerifyOptions) -> Parsed<CheckedValue> {
    let mut names = Names::new();
    let read = crate::lower::read_value_syntax(source, &mut names);
    let is_whole = !read.has_errors();
    let Parsed { value: (syntax, data), mut diagnostics } = read;
    super::certain::keep_certain(source, &mut diagnostics, |text| {
        crate::lower::read_value_syntax(text, &mut Names::new()).diagnostics
    });
    if let (Some(data), Some(tree), true) = (&data, &syntax.tree, is_whole && options.level > Level::Syntax) {
        let mut found = verify_data(data, &names, options);
        for diagnostic in &mut found {
            if let Place::Entity(entity) = diagnostic.primary.place
                && let Some(span) = value_span(tree, entity)
            {
                diagnostic.primary.place = span.into();
            }
        }
        diagnostics.append(&mut found);
        crate::parse::sort(&mut diagnostics);
    }
    Parsed::new(CheckedValue { syntax, data, names }, diagnostics)
}

/// The span of a value of a file about which the verifier has a finding: a whole tensor, or the words before the elements of a
/// container.
pub fn value_span(tree: &ast::Value, entity: Entity) -> Option<Span> {
    let Entity::Data(number) = entity else { return None };
    let mut left = number;
    find(tree, &mut left)
}

/// The value that `left` counts down to.
fn find(value: &ast::Value, left: &mut u32) -> Option<Span> {
    if *left == 0 {
        return Some(match &value.kind {
            ValueKind::Tensor(_) | ValueKind::Sparse(_) => value.span,
            ValueKind::Sequence(head, _) | ValueKind::Map(head, _) | ValueKind::Optional(head, _) => {
                head.word.to(head.name.unwrap_or(head.args))
            }
        });
    }
    *left -= 1;
    match &value.kind {
        ValueKind::Tensor(_) | ValueKind::Sparse(_) => None,
        ValueKind::Sequence(_, list) | ValueKind::Optional(_, Content::Many(list)) => {
            // The value has a list for each kind.
            let mut items: Vec<_> = list.items.iter().collect();
            items.sort_by_key(|item| rank(&item.kind));
            items.into_iter().find_map(|item| find(item, left))
        }
        ValueKind::Map(_, parts) => parts.items.iter().find_map(|part| match &part.value {
            MapPartValue::Values(values) => find(values, left),
            MapPartValue::Keys(_) => None,
        }),
        ValueKind::Optional(_, Content::One(value)) => find(value, left),
        ValueKind::Optional(_, Content::None(_)) => None,
    }
}

fn rank(kind: &ValueKind) -> u8 {
    match kind {
        ValueKind::Tensor(_) => 0,
        ValueKind::Sparse(_) => 1,
        ValueKind::Sequence(..) => 2,
        ValueKind::Map(..) => 3,
        ValueKind::Optional(..) => 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_are_where_the_value_is_written() {
        let source = "seq(seq) a = [float {1}, seq(map) b = [map(float) m {keys = []}], seq(tensor) [float[3] {1, 2, 3}]]";
        let checked = check_value(source, &VerifyOptions::default());
        let reported: Vec<_> = checked
            .diagnostics
            .iter()
            .map(|d| {
                let Place::Source(span) = d.primary.place else { panic!("a place in the text") };
                (&source[span.range()], d.message.as_str())
            })
            .collect();
        let expected = [
            ("seq(seq) a", "`a` is a sequence of `seq`, but holds a `tensor`"),
            ("map(float) m", "`m` has the key type `float`: expected an integer type or string"),
        ];
        assert_eq!(reported, expected);
        let tree = checked.value.syntax.tree.expect("a tree");
        let text = |n| value_span(&tree, Entity::Data(n)).map(|span| &source[span.range()]);
        let all: Vec<_> = (0..8).map_while(text).collect();
        let expected =
            ["seq(seq) a", "float {1}", "seq(map) b", "map(float) m", "seq(tensor)", "float[3] {1, 2, 3}"];
        assert_eq!(all, expected);
    }
}
