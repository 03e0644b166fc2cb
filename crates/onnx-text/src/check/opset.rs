//! Checks a text with an operator set.

use super::certain::keep_certain;
use crate::ast;
use crate::lower::{LoweredSet, lower_operator_set, too_large};
use crate::map::OpsetMap;
use crate::parse::{self, Syntax};
use crate::signature;
use onnx_ir::diag::{Diagnostic, Level, Parsed, Place};
use onnx_ir::{OperatorSet, VerifyOptions, verify_operator_set};

/// A text with an operator set, for those who need its syntax as well.
#[derive(Clone, Debug)]
pub struct CheckedSet {
    /// The tree and the comments.
    pub syntax: Syntax<ast::OperatorSet>,
    /// The set, as far as it could be read.
    pub set: OperatorSet,
}

/// Parses, lowers and verifies a text with an operator set. A text with syntax errors is not verified, because missing parts
/// would be reported.
///
/// ```
/// let source = "operator_set <ir_version: 10, domain: \"d\", opset_version: 1>\n\
///               <since_version: 1> operator A (T x) => (U y) where T: {float}";
/// let checked = onnx_text::check_operator_set(source, &Default::default());
/// let message = "`U` is neither a type nor a type variable of the operator";
/// assert_eq!(checked.diagnostics[0].message, message);
/// ```
pub fn check_operator_set(source: &str, options: &VerifyOptions) -> Parsed<CheckedSet> {
    if let Some(diagnostic) = too_large(source) {
        let nothing = CheckedSet { syntax: Syntax::default(), set: OperatorSet::new() };
        return Parsed::new(nothing, vec![diagnostic]);
    }
    let Parsed { value: syntax, mut diagnostics } = parse::parse_operator_set(source);
    let mut lowered = lower_operator_set(source, &syntax);
    diagnostics.append(&mut lowered.diagnostics);
    signature::document(&mut lowered.value);
    let LoweredSet { set, mut signatures } = lowered.value;
    if options.level > Level::Syntax && !diagnostics.iter().any(Diagnostic::is_error) {
        // A signature may be in the documentation still.
        let Parsed { value: documented, diagnostics: mut found } = crate::signatures(&set);
        if signatures.list.iter().any(Option::is_none) {
            signatures = documented;
        }
        found.extend(verify_operator_set(&set, &signatures, options));
        let map = OpsetMap::new(source, &syntax.tree, &set);
        let put = |place: &mut Place| {
            if let Place::Entity(entity) = *place {
                *place = map.span(entity).map_or(Place::Nowhere, Place::Source);
            }
        };
        for diagnostic in &mut found {
            put(&mut diagnostic.primary.place);
            diagnostic.related.iter_mut().for_each(|label| put(&mut label.place));
        }
        diagnostics.append(&mut found);
    }
    keep_certain(source, &mut diagnostics, |text| {
        let Parsed { value: syntax, mut diagnostics } = parse::parse_operator_set(text);
        diagnostics.append(&mut lower_operator_set(text, &syntax).diagnostics);
        diagnostics
    });
    parse::sort(&mut diagnostics);
    Parsed::new(CheckedSet { syntax, set }, diagnostics)
}
