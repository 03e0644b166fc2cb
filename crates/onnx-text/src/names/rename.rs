//! Renames a name of a text by edits.

use super::{NameId, NameKind, NameRole, Spelling, TextNames};
use crate::identifier::{is_identifier, name_text, quote};
use onnx_ir::diag::{Edit, Span};
use std::fmt;

/// Why a name cannot be changed.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum RenameError {
    /// The name has no definition in the text: an operator of a standard, an attribute of it, a value that nothing defines.
    NotDefined(String),
    /// The new name is empty.
    Empty,
    /// Something else that is visible where this is has the name.
    Taken {
        /// The new name.
        name: String,
        /// Where the other one is.
        place: Span,
    },
    /// The name is a word of a formula, and the new one is not an identifier.
    NotIdentifier(String),
}

impl fmt::Display for RenameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RenameError::NotDefined(name) => write!(f, "`{name}` is not defined in this text"),
            RenameError::Empty => write!(f, "a name must have a character"),
            RenameError::Taken { name, .. } => write!(f, "the name `{name}` is taken"),
            RenameError::NotIdentifier(name) => {
                write!(f, "`{name}` is not an identifier, but a formula of a dimension has the name")
            }
        }
    }
}

impl std::error::Error for RenameError {}

/// The edits that give a name another spelling, in the order of the text.
///
/// ```
/// use onnx_text::{TextNames, parse_model, rename_in_text};
///
/// let text = "g (float[N] x) => (float[N] y) { y = Relu(x) }";
/// let names = TextNames::new(text, &parse_model(text).value.tree);
/// let x = names.at(12).unwrap().name;
/// let edits = rename_in_text(text, &names, x, "layer/in").unwrap();
/// assert_eq!((edits.len(), edits[0].text.as_str()), (2, "\"layer/in\""));
/// assert!(rename_in_text(text, &names, x, "y").is_err());
/// ```
///
/// # Errors
///
/// The name is not defined in the text, or the new one would mean something else.
pub fn rename_in_text(
    source: &str,
    names: &TextNames,
    name: NameId,
    new: &str,
) -> Result<Vec<Edit>, RenameError> {
    let old = names.text(source, name);
    if !names.is_defined(name) {
        return Err(RenameError::NotDefined(old.into_owned()));
    }
    if new.is_empty() {
        return Err(RenameError::Empty);
    }
    if old == new {
        return Ok(Vec::new());
    }
    if let Some(other) = taken(source, names, name, new) {
        let place = names.occurrences(other).next().map_or(Span::default(), |occurrence| occurrence.span);
        return Err(RenameError::Taken { name: new.to_owned(), place });
    }
    let spelled = name_text(new);
    let mut edits = Vec::new();
    for occurrence in names.occurrences(name) {
        let text = match occurrence.spelling {
            Spelling::Name => spelled.clone(),
            Spelling::String => {
                let mut text = String::new();
                quote(new, &mut text);
                text
            }
            Spelling::Word if is_identifier(new) => new.to_owned(),
            Spelling::Word => return Err(RenameError::NotIdentifier(new.to_owned())),
        };
        edits.push(Edit { span: occurrence.span, text });
    }
    edits.dedup_by(|next, before| next.span == before.span);
    Ok(edits)
}

/// Another name with this text that is visible where this one is, or the other way round.
fn taken(source: &str, names: &TextNames, name: NameId, new: &str) -> Option<NameId> {
    let info = *names.info(name);
    names.ids().find(|&other| {
        let its = names.info(other);
        let meets = names.is_within(its.scope, info.scope) || names.is_within(info.scope, its.scope);
        let is_rival = match info.kind {
            // Calls of the function would be calls of the operator.
            NameKind::Function => matches!(its.kind, NameKind::Function | NameKind::Operator),
            kind => its.kind == kind && its.owner == info.owner,
        };
        other != name && is_rival && meets && names.text(source, other) == new
    })
}

impl TextNames {
    /// Whether the text defines the name, so that it can be renamed.
    #[must_use]
    pub fn is_defined(&self, name: NameId) -> bool {
        self.info(name).kind != NameKind::Domain
            && self.occurrences(name).any(|occurrence| occurrence.role == NameRole::Definition)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::apply;
    use crate::parse_model;

    fn renamed(text: &str, from: &str, new: &str) -> Result<String, RenameError> {
        let names = TextNames::new(text, &parse_model(text).value.tree);
        let at = u32::try_from(text.find(from).unwrap()).unwrap();
        let name = names.at(at).unwrap_or_else(|| panic!("no name at `{from}`")).name;
        let edits = rename_in_text(text, &names, name, new)?;
        Ok(apply(text, [&edits[..]]).0)
    }

    /// Each row: a text, where the name is, the new name, and what of the text changes.
    #[test]
    fn every_occurrence_is_renamed_and_nothing_else() {
        let call = r#"<opset_import: ["": 21, "l": 1]> g (float[N] x) => (float[N] y) { y = l.F <a = 1> (x) }
            <domain: "l", opset_import: ["": 21]> F <a> (x) => (y) { y = Elu <alpha = @a> (x) }"#;
        let nested = "g (bool c, float[N] x) => (float[N] y) { y = If (c) <
            then_branch = t () => (float[N] z) { z = Abs(x) }, else_branch = e () => (float[N] z) { z = Neg(x) }> }";
        let rows = [
            ("g (float[N] x) => (float[N] y) { y = Relu(x) }", "x)", "z", ["x", "x"].as_slice()),
            ("g (float[N] x) => (float[\"N+1\"] y) { y = D(x) }", "N]", "M", &["N", "N"]),
            (nested, "x)", "w", &["x", "x", "x"]),
            (nested, "z) { z = Abs", "w", &["z", "z"]),
            (call, "F <a = 1", "G", &["F", "F"]),
            (call, "a = 1", "b", &["a", "a", "a"]),
        ];
        for (text, from, new, changed) in rows {
            let after = renamed(text, from, new).unwrap_or_else(|error| panic!("{from}: {error}"));
            let names = |text: &str| TextNames::new(text, &parse_model(text).value.tree).all().len();
            assert_eq!(names(text), names(&after), "{after}");
            let differing: Vec<&str> =
                words(text).zip(words(&after)).filter(|(a, b)| a != b).map(|(a, _)| a).collect();
            assert_eq!(differing, changed, "{after}");
        }
    }

    fn words(text: &str) -> impl Iterator<Item = &str> {
        text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty())
    }

    #[test]
    fn names_that_are_taken_or_not_defined_are_refused() {
        let text = "g (float[N] x) => (float[M] y) { y = Relu(q) }";
        let error = |from, new| renamed(text, from, new).unwrap_err().to_string();
        assert_eq!(error("x)", "y"), "the name `y` is taken");
        assert_eq!(error("N", "M"), "the name `M` is taken");
        assert_eq!(error("Relu", "Elu"), "`Relu` is not defined in this text");
        assert_eq!(error("q)", "x"), "`q` is not defined in this text");
        assert_eq!(error("x)", ""), "a name must have a character");
        let formula = "g (float[N] x) => (float[\"2*N\"] y) { y = D(x) }";
        assert!(matches!(renamed(formula, "N", "a b"), Err(RenameError::NotIdentifier(_))));
    }

    #[test]
    fn quantization_and_training_have_names_of_values() {
        let text = r#"#@ onnxtxt 1
            #@ quantization_annotation: {tensor_name: "x", quant_parameter_tensor_names: ["SCALE_TENSOR": "s"]}
            g (float[N] x) => (float[N] y) <float s = {1}> { y = Relu(x) }"#;
        assert_eq!(renamed(text, "x) =>", "v").unwrap().matches('v').count(), 3 + text.matches('v').count());
        let text = r#"<training_info: {algorithm: a () => (float w2) { w2 = Neg(w) }, update_binding: ["w": "w2"]}>
            g (float x) => (float y) <float w = {1}> { y = Mul(x, w) }"#;
        assert!(renamed(text, "w = {", "q").unwrap().contains(r#"["q": "w2"]"#));
        assert!(renamed(text, "w2)", "q").unwrap().contains(r#"["w": "q"]"#));
    }
}
