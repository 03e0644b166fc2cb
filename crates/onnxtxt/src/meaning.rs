//! Operations on models that need operator knowledge: checking, inference, compiling.

use crate::complete::check_text;
use crate::loaded::Loaded;
#[cfg(feature = "run")]
use onnx_exec::{CompileOptions, Executable, compile};
use onnx_ir::diag::{Diagnostic, Level};
use onnx_ir::{Model, VerifyOptions};
use onnx_ops::infer::{InferOptions, apply, infer};
use onnx_ops::opset::registry_of;
use onnx_ops::schema::Registry;
use onnx_text::Readers;
use std::collections::BTreeMap;

/// The part of a model that is going to be run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// The main graph.
    Inference,
    /// The main graph with its training.
    Training,
}

impl Loaded {
    /// The operators that the model may use: those of ONNX, and those of other known domains that it imports.
    pub fn registry(&self) -> &'static Registry {
        registry_of(&self.model)
    }

    /// All findings about the file and the model up to a level, in the order of the text. The levels are nested.
    #[must_use]
    pub fn check(&self, level: Level) -> Vec<Diagnostic> {
        let options = VerifyOptions { level, ..VerifyOptions::default() };
        let judge = |model: &Model| onnx_ops::check::check(model, registry_of(model), &options);
        if self.syntax().is_some() {
            return check_text(Readers::Ours, self.file().text(), level, judge).diagnostics;
        }
        let mut found = self.diagnostics.clone();
        if level > Level::Syntax && !found.iter().any(Diagnostic::is_error) {
            found.extend(judge(&self.model));
        }
        found
    }

    /// Decides whether the model may be run. Errors that break a rule but leave one meaning ([`Code::clear`](onnx_ir::diag::Code))
    /// are returned, to be mentioned: runtimes run such models.
    ///
    /// # Errors
    ///
    /// All errors that make the meaning unclear.
    pub fn ensure_clear(&self, purpose: Purpose) -> Result<Vec<Diagnostic>, Vec<Diagnostic>> {
        let options = VerifyOptions { level: Level::Types, ..VerifyOptions::default() };
        let judge = |model: &Model| onnx_ops::check::check(model, registry_of(model), &options);
        self.ensure_clear_by(&self.model, purpose, judge)
    }

    /// Decides whether a model that was made of this one may be run, with other checks.
    ///
    /// # Errors
    ///
    /// All errors that make the meaning unclear.
    pub fn ensure_clear_by(
        &self,
        model: &Model,
        purpose: Purpose,
        judge: impl Fn(&Model) -> Vec<Diagnostic>,
    ) -> Result<Vec<Diagnostic>, Vec<Diagnostic>> {
        let mut found = self.diagnostics.clone();
        if !found.iter().any(Diagnostic::is_error) {
            found.extend(match purpose {
                Purpose::Inference if !model.training.is_empty() => {
                    // Copies only names and nodes: tensor data is shared.
                    let mut main = model.clone();
                    main.training.clear();
                    judge(&main)
                }
                Purpose::Inference | Purpose::Training => judge(model),
            });
        }
        onnx_ops::check::clear_errors(found)
    }

    /// Infers the types and shapes of all values and declares them in the model. Returns findings about contradictions.
    pub fn infer(&mut self) -> Vec<Diagnostic> {
        self.infer_with(&InferOptions::default())
    }

    /// [`infer`](Self::infer) with options.
    pub fn infer_with(&mut self, options: &InferOptions) -> Vec<Diagnostic> {
        let mut inference = infer(&self.model, self.registry(), options);
        apply(&mut self.model, &mut inference.facts);
        inference.diagnostics
    }

    #[cfg(feature = "run")]
    /// Compiles the model, including its external weights. A model whose meaning is unclear is refused
    /// ([`ensure_clear`](Self::ensure_clear)), unless the options say otherwise.
    ///
    /// ```
    /// use onnxtxt::CompileOptions;
    ///
    /// let compiled = |nodes: &str| {
    ///     let text = format!(r#"<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) {{ {nodes} }}"#);
    ///     onnxtxt::parse(&text).compile(&CompileOptions::default()).map(|_| ()).map_err(|found| found[0].code.id)
    /// };
    /// assert_eq!(compiled("y = Neg(t) t = Abs(x)"), Ok(())); // not in order, but clear
    /// assert_eq!(compiled("y = Neg(t) t = Abs(y)"), Err("E0213"));
    /// ```
    ///
    /// # Errors
    ///
    /// All reasons why it cannot be run, such as unclear meaning, unreadable weights and unknown operators.
    pub fn compile(&mut self, options: &CompileOptions) -> Result<Executable<'static>, Vec<Diagnostic>> {
        if !options.unchecked {
            self.ensure_clear(Purpose::Inference)?;
        }
        self.compile_unchecked(options)
    }

    #[cfg(feature = "run")]
    /// Compiles the model in spite of its errors.
    ///
    /// # Errors
    ///
    /// All reasons why it cannot be run, such as parts that could not be read, unreadable weights and unknown operators.
    pub fn compile_unchecked(
        &mut self,
        options: &CompileOptions,
    ) -> Result<Executable<'static>, Vec<Diagnostic>> {
        let mut found = self.lost_parts();
        if found.is_empty() {
            found = self.load_weights();
        }
        if !found.is_empty() {
            return Err(found);
        }
        let options =
            CompileOptions { unchecked: true, release: Some(onnx_proto::file::release), ..options.clone() };
        compile(&self.model, self.registry(), &options)
    }
}

/// The rules that errors break, on one line: `E0202 (node-order, 3 times), E0702 (io-shape-missing)`.
#[must_use]
pub fn broken_rules(errors: &[Diagnostic]) -> String {
    let mut counts: BTreeMap<&str, (&str, usize)> = BTreeMap::new();
    errors.iter().for_each(|error| counts.entry(error.code.id).or_insert((error.code.name, 0)).1 += 1);
    let rule = |(id, (name, count)): (&str, (&str, usize))| match count {
        1 => format!("{id} ({name})"),
        _ => format!("{id} ({name}, {count} times)"),
    };
    counts.into_iter().map(rule).collect::<Vec<_>>().join(", ")
}
