//! The context of a directive that runs.

use super::Case;
use super::directives::Directive;
use super::run::sound;
use crate::Loaded;
use onnx_ir::Model;

/// A test, its directives, and the line of the running one.
#[derive(Clone, Copy)]
pub(crate) struct Context<'c> {
    pub(crate) case: &'c Case,
    pub(crate) directives: &'c [(usize, Directive)],
    /// From 1.
    pub(crate) line: usize,
}

impl<'c> Context<'c> {
    /// The file with the model, if the test itself has none.
    pub(crate) fn file(&self) -> Option<&'c str> {
        self.directives.iter().find_map(|(_, directive)| match directive {
            Directive::Model(file) => Some(file.as_str()),
            _ => None,
        })
    }

    /// The model of the test, which must parse without errors.
    pub(crate) fn model(&self) -> Result<Model, String> {
        match self.file() {
            None => Ok(sound(&self.case.text)?.model),
            Some(file) => Ok(self.open(file)?.model),
        }
    }

    /// The model of a file beside the test, with its weights.
    pub(crate) fn open(&self, file: &str) -> Result<Loaded, String> {
        let mut loaded = self.case.host.model(file)?;
        let found = loaded.load_weights();
        loaded.diagnostics.extend(found);
        match loaded.diagnostics.iter().find(|diagnostic| diagnostic.is_error()) {
            None => Ok(loaded),
            Some(first) => Err(format!("`{file}` has an error: {first}")),
        }
    }

    /// The lines with `# CHECK:` for the output of this directive: those below it, up to the next directive with an output, and
    /// those above all such directives.
    pub(crate) fn checked_lines(&self) -> impl Iterator<Item = (usize, &'c str)> + use<'c> {
        let outputs = self.directives.iter().filter(|(_, directive)| directive.has_output());
        let outputs: Vec<usize> = outputs.map(|(line, _)| *line).collect();
        let this = self.line;
        (1..).zip(self.case.text.lines()).filter(move |(number, _)| {
            outputs.iter().rfind(|line| *line < number).is_none_or(|line| *line == this)
        })
    }
}
