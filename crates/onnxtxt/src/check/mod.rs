//! Checks of files as `onnxtxt check` makes them, for programs that show findings themselves, such as editors.
//!
//! | | |
//! | --- | --- |
//! | [`CheckOptions::check`] | a model with all its findings: of the file, the model, other runtimes and the external data |
//! | [`Filter`], [`CodePattern`] | which findings are reported, and which of them are errors |
//! | [`CheckOptions::fix`] | a text with fixes applied until none is left |
//! | [`group_lints`], [`bound`] | lists for people: a frequent lint becomes one entry, and at most a hundred findings of a kind are shown |
//!
//! ```
//! use onnxtxt::check::{CheckOptions, Filter, Fixes};
//! use onnxtxt::File;
//!
//! let text = "<ir_version: 10, opset_import: [\"\" 21]>\ng (float[N] x) => (float[N] y) { y = Relu(x) }";
//! let file = File::new("model.onnxtxt".to_owned(), None, text.into());
//! let options = CheckOptions::default();
//! let loaded = options.check(&file);
//! assert_eq!(options.filter.apply(loaded.diagnostics.clone()).len(), 1);
//!
//! let fixed = options.fix(&file, Fixes::Safe).expect("the file is a model as text");
//! assert!(fixed.text.contains("[\"\": 21]"));
//!
//! // Findings that are ignored are not fixed either.
//! let ignore = vec!["E01".parse().expect("codes begin with this")];
//! let options = CheckOptions { filter: Filter { ignore, ..Filter::default() }, ..CheckOptions::default() };
//! assert!(options.filter.apply(loaded.diagnostics).is_empty());
//! assert_eq!(options.fix(&file, Fixes::Safe).map(|fixed| fixed.fixed), Some(0));
//! ```

mod filter;
mod listing;

pub use filter::{CodePattern, Filter, UnknownCode};
pub use listing::{Bounded, Grouped, LintGroup, MAX_LINTS_LISTED, MAX_OF_KIND_LISTED, bound, group_lints};
pub use onnx_ops::targets::TargetRuntime;
pub use onnx_text::{Fixed, Fixes, Readers};

use crate::{File, Form, Loaded};
use onnx_ir::diag::{Diagnostic, Parsed};
use onnx_ir::{Model, VerifyOptions};
use onnx_ops::infer::Facts;
use onnx_ops::opset::registry_of;
use onnx_ops::schema::Registry;
use onnx_ops::targets;
use onnx_proto::FileKind;
use onnx_proto::external::{Folder, external_tensors};
use onnx_text::{TextKind, apply_fixes, sniff_text};

/// The checks of a file, and the findings to report.
#[derive(Clone, Debug, Default)]
pub struct CheckOptions<'r> {
    /// The level of the check, and which of its findings are reported.
    pub filter: Filter,
    /// The parsers that must accept a text.
    pub readers: Readers,
    /// Runtimes for which nodes that they do not support are reported.
    pub targets: Vec<&'static TargetRuntime>,
    /// Whether external data is compared with the checksums in the model. That of a text always is: it may belong to another text.
    pub verify_checksums: bool,
    /// The known operators; `None`: those that the model may use ([`Loaded::registry`]).
    pub registry: Option<&'r Registry>,
}

impl CheckOptions<'_> {
    /// Reads and checks a file. All findings up to the level of the filter are in [`Loaded::diagnostics`], in the order of the text;
    /// [`Filter::apply`] selects those to report.
    #[must_use]
    pub fn check(&self, file: &File) -> Loaded {
        Loaded::judged_for(self.readers, file, self.filter.level, |model| self.judge(file, model).0)
    }

    /// The findings about the model of a file, without those of reading it, and what inference has found out: nothing below the level of
    /// types.
    #[must_use]
    pub fn judge(&self, file: &File, model: &Model) -> (Vec<Diagnostic>, Option<Facts>) {
        let options = VerifyOptions { level: self.filter.level, ..VerifyOptions::default() };
        let registry = self.registry.unwrap_or_else(|| registry_of(model));
        let (mut found, facts) = onnx_ops::check::check_with_facts(model, registry, &options);
        found.extend(self.targets.iter().flat_map(|target| targets::check(model, registry, target)));
        targets::drop_repeated(&mut found);
        found.extend(self.external_data(file, model));
        (found, facts)
    }

    /// Applies the fixes of reported findings, checks the text again, and so on until there are none. Fixes that overlap are applied
    /// one after the other, and a round after which less of the text can be read is undone. `None`: the file is not a model as text.
    #[must_use]
    pub fn fix(&self, file: &File, fixes: Fixes) -> Option<Fixed> {
        if !is_text_of_model(file) {
            return None;
        }
        let mut changed = file.clone();
        Some(apply_fixes(file.text(), fixes, |text| {
            changed.bytes = text.to_owned().into();
            let all = self.check(&changed).diagnostics;
            let reported = self.filter.apply(all.clone());
            // Findings that are not reported are not fixed, but they tell whether the text could be read.
            let unfixed = all.into_iter().map(|found| Diagnostic { fixes: Vec::new(), ..found });
            Parsed::new((), reported.into_iter().chain(unfixed).collect())
        }))
    }

    /// The findings about the external data of a model.
    fn external_data(&self, file: &File, model: &Model) -> Vec<Diagnostic> {
        let Some(path) = &file.path else { return Vec::new() };
        let is_summed = self.verify_checksums || file.form == Form::Text;
        let mut folder = Folder::of(path);
        let check = |(tensor, entity)| folder.check(model, tensor, entity, is_summed);
        external_tensors(model).into_iter().flat_map(check).collect()
    }
}

/// Whether a file is a model as text, and not a value, an operator set or a part of a model.
fn is_text_of_model(file: &File) -> bool {
    let is_text = file.form == Form::Text && file.kind == FileKind::Model && file.no_text().is_none();
    is_text && sniff_text(file.text()) == TextKind::Model
}

#[cfg(test)]
mod tests {
    use super::*;
    use onnx_ir::diag::code;

    fn file(text: &str) -> File {
        File::new("m.onnxtxt".to_owned(), None, text.to_owned().into())
    }

    #[test]
    fn only_models_as_text_are_fixed() {
        let options = CheckOptions::default();
        let model =
            "<ir_version: 10, opset_import: [\"\" 21]> g (float[N] x) => (float[N] y) { y = Relu(x) }";
        assert_eq!(options.fix(&file(model), Fixes::Safe).map(|fixed| fixed.fixed), Some(1));
        for other in ["float[2] {1, 2}", "y = Relu(x)"] {
            assert_eq!(options.fix(&file(other), Fixes::Unsafe), None, "{other}");
        }
        let model = onnx_proto::write(&crate::parse(model).model).unwrap();
        let binary = File::new("m.onnx".to_owned(), None, model.into());
        assert_eq!((binary.form, options.fix(&binary, Fixes::Safe)), (Form::Binary, None));
    }

    /// Safe and unsafe fixes, and findings that are not selected.
    #[test]
    fn fixes_are_those_of_reported_findings() {
        let text =
            "<ir_version: 10, opset_import: [\"\": 21]>\ng (float[N] x) => (float[N] y) { y = Relu(xx) }";
        let fixed = |options: &CheckOptions<'_>, fixes| options.fix(&file(text), fixes).unwrap().fixed;
        let all = CheckOptions::default();
        assert_eq!((fixed(&all, Fixes::Safe), fixed(&all, Fixes::Unsafe)), (0, 1));
        let select = vec!["E0101".parse().unwrap()];
        let filter = Filter { select, ..Filter::default() };
        assert_eq!(fixed(&CheckOptions { filter, ..all }, Fixes::Unsafe), 0);
    }

    #[test]
    fn nodes_that_other_runtimes_refuse_are_found() {
        let text =
            "<ir_version: 10, opset_import: [\"\": 21]>\ng (float[N] x) => (float[N] y) { y = Det(x) }";
        let of = |targets| {
            let options = CheckOptions { targets, ..CheckOptions::default() };
            let found = options.check(&file(text)).diagnostics;
            found.iter().filter(|found| found.code == &code::TARGET_UNSUPPORTED).count()
        };
        assert_eq!(of(Vec::new()), 0);
        assert_eq!(of(vec![TargetRuntime::find("tract").unwrap()]), 1);
    }
}
