//! Operations on models that need operator knowledge: checking, inference, compiling.

use crate::loaded::Loaded;
#[cfg(feature = "run")]
use onnx_exec::{CompileOptions, Executable, compile};
use onnx_ir::diag::{Diagnostic, Level};
use onnx_ir::{Model, VerifyOptions};
use onnx_ops::infer::{InferOptions, apply, infer};
use onnx_ops::opset::registry_of;
use onnx_ops::schema::Registry;

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
            return onnx_text::check_with(self.file().text(), level, judge).diagnostics;
        }
        let mut found = self.diagnostics.clone();
        if level > Level::Syntax && !self.is_partial() {
            found.extend(judge(&self.model));
        }
        found
    }

    /// Infers the types and shapes of all values and declares them in the model. Returns findings about contradictions.
    pub fn infer(&mut self) -> Vec<Diagnostic> {
        let mut inference = infer(&self.model, self.registry(), &InferOptions::default());
        apply(&mut self.model, &mut inference.facts);
        inference.diagnostics
    }

    #[cfg(feature = "run")]
    /// Compiles the model, including its external weights.
    ///
    /// # Errors
    ///
    /// All reasons why it cannot be run, such as unreadable weights and unknown operators.
    pub fn compile(&mut self, options: &CompileOptions) -> Result<Executable<'static>, Vec<Diagnostic>> {
        let found = self.load_weights();
        if !found.is_empty() {
            return Err(found);
        }
        let options = CompileOptions { release: Some(onnx_proto::file::release), ..options.clone() };
        compile(&self.model, self.registry(), &options)
    }
}
