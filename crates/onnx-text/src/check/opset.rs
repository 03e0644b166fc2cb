//! Checks a text with an operator set.

use crate::ast;
use crate::lower::{LoweredSet, lower_operator_set};
use crate::map::OpsetMap;
use crate::parse::{self, Parsed};
use onnx_ir::diag::{Diagnostic, Place, code};
use onnx_ir::{Level, OperatorSet, VerifyOptions, verify_operator_set};

/// A parsed and checked operator set.
#[derive(Clone, Debug)]
pub struct CheckedSet {
    /// The tree and the comments; its diagnostics have been moved to [`diagnostics`](Self::diagnostics).
    pub parsed: Parsed<ast::OperatorSet>,
    /// The set, as far as it could be read.
    pub set: OperatorSet,
    /// Findings, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
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
pub fn check_operator_set(source: &str, options: &VerifyOptions) -> CheckedSet {
    if u32::try_from(source.len()).is_err() {
        let message = "the text is larger than 4 GiB";
        let diagnostics = vec![Diagnostic::new(&code::SOURCE_TOO_LARGE, Place::Nowhere, message)];
        return CheckedSet { parsed: parse::parse_operator_set(""), set: OperatorSet::new(), diagnostics };
    }
    let mut parsed = parse::parse_operator_set(source);
    let LoweredSet { set, mut signatures, diagnostics: mut lowered } = lower_operator_set(source, &parsed);
    let mut diagnostics = std::mem::take(&mut parsed.diagnostics);
    diagnostics.append(&mut lowered);
    if options.level > Level::Syntax && !diagnostics.iter().any(Diagnostic::is_error) {
        // A signature may be in the documentation still.
        let (documented, mut found) = crate::signatures(&set);
        if signatures.list.iter().any(Option::is_none) {
            signatures = documented;
        }
        found.extend(verify_operator_set(&set, &signatures, options));
        let map = OpsetMap::new(source, &parsed.tree, &set);
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
    parse::sort(&mut diagnostics);
    CheckedSet { parsed, set, diagnostics }
}
