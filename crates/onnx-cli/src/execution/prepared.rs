//! A model to run: read with its external weights, and prepared.

use crate::args::limits::LimitArgs;
use crate::execution::inputs::InputArgs;
use crate::input::operators::{Operators, OpsetArgs};
use crate::input::{Form, Input, Loaded};
use crate::read_files;
use crate::session::findings;
use crate::session::progress::{Work, count_bytes, weight_bytes};
use crate::session::{Reported, Session, Status};
use anyhow::bail;
use onnx_exec::{CompileOptions, Executable, RunOptions, Value, compile};
use onnx_ir::diag::{Diagnostic, Level};
use onnx_ir::{Model, VerifyOptions};
use onnx_ops::schema::Registry;
use onnx_proto::external::{Folder, Which, internalize, is_stored_outside};
use onnxtxt::Purpose;
use std::cell::Cell;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// A model with all its weights.
pub(crate) struct Prepared {
    pub(crate) input: Input,
    pub(crate) loaded: Loaded,
    /// The model before its external weights were read, if it has any.
    without_weights: Option<Model>,
    operators: Operators,
    /// Whether [`admit`](Self::admit) has been called.
    is_admitted: Cell<bool>,
}

impl Prepared {
    /// Reads a model and its external weights. Problems are reported.
    pub(crate) fn open(path: &Path, opset: &OpsetArgs, session: &mut Session) -> anyhow::Result<Prepared> {
        let work = Work::begin(session, format!("reading {}", path.display()));
        let operators = opset.load(session)?;
        let input = Input::open(path)?;
        input.ensure_model()?;
        let mut loaded = input.load();
        if loaded.is_partial() {
            findings::report(session, &loaded, &loaded.diagnostics);
            return Err(Reported(Status::Findings).into());
        }
        let mut without_weights = None;
        if is_stored_outside(&loaded.model) {
            // Copies only names and nodes: tensor data is shared.
            without_weights = Some(loaded.model.clone());
            let Some(path) = &input.path else {
                bail!("the model has external weights, which cannot be found for stdin")
            };
            read_files::note_external(&loaded.model, path);
            let is_summed = input.form == Form::Text;
            let mut folder = Folder::of(path);
            work.now_bytes(format!("reading the weights of {}", path.display()), weight_bytes(&loaded.model));
            let found = internalize(&mut loaded.model, Which::All, &mut |model, tensor, entity| {
                let bytes = folder.load(model, tensor, entity, is_summed)?;
                count_bytes(bytes.len() as u64);
                Ok(bytes)
            });
            read_files::note_read(&folder);
            if !found.is_empty() {
                findings::report(session, &loaded, &found);
                return Err(Reported(Status::Findings).into());
            }
        }
        Ok(Prepared { input, loaded, without_weights, operators, is_admitted: Cell::new(false) })
    }

    /// The prepared model, or everything that prevents running it; whether it may be run is for [`admit`](Self::admit).
    pub(crate) fn executable(&self, options: &CompileOptions) -> Result<Executable<'_>, Vec<Diagnostic>> {
        let model = &self.loaded.model;
        let options = CompileOptions { release: Some(packed), ..options.clone() };
        compile(model, self.operators.of(model), &options)
    }

    /// The prepared model if it may be run, with the limits of a run, where problems are reported.
    pub(crate) fn compiled(
        &self,
        limits: &LimitArgs,
        options: &RunOptions<'_>,
        session: &mut Session,
    ) -> anyhow::Result<Executable<'_>> {
        self.admit(Purpose::Inference, limits, session)?;
        let compile_options = limits.compile_options(&|text| session.note(text));
        let work = Work::begin(session, "");
        work.now_bytes(format!("preparing {}", self.input.name), weight_bytes(&self.loaded.model));
        let compiled = options.within(|| self.executable(&compile_options));
        drop(work);
        compiled.map_err(|found| self.reported(session, &found))
    }

    /// The prepared model and its inputs, where problems are reported.
    pub(crate) fn with_inputs(
        &self,
        limits: &LimitArgs,
        given: &InputArgs,
        options: &RunOptions<'_>,
        session: &mut Session,
    ) -> anyhow::Result<(Executable<'_>, Vec<Option<Value>>)> {
        let executable = self.compiled(limits, options, session)?;
        match options.within(|| given.values(self, &executable, session))? {
            Ok(inputs) => Ok((executable, inputs)),
            Err(found) => Err(self.reported(session, &found)),
        }
    }

    /// The operators that the model is about.
    pub(crate) fn registry(&self) -> &Registry {
        self.operators.of(&self.loaded.model)
    }

    /// The operators for a model that was made of this one.
    pub(crate) fn registry_for(&self, changed: &Model) -> &Registry {
        self.operators.of(changed)
    }

    /// Ensures that the meaning of the model is clear, unless it is to be run in spite of its errors. Errors that leave it clear are
    /// mentioned once, others are reported.
    pub(crate) fn admit(
        &self,
        purpose: Purpose,
        limits: &LimitArgs,
        session: &mut Session,
    ) -> anyhow::Result<()> {
        if limits.unchecked || self.is_admitted.replace(true) {
            return Ok(());
        }
        let options = VerifyOptions { level: Level::Types, ..VerifyOptions::default() };
        let judge = |model: &Model| onnx_ops::check::check(model, self.operators.of(model), &options);
        let model = self.without_weights.as_ref().unwrap_or(&self.loaded.model);
        let work = Work::begin(session, format!("checking {}", self.input.name));
        let judged = self.loaded.ensure_clear_by(model, purpose, judge);
        drop(work);
        match judged {
            Ok(clear) => session.tolerated(&self.input.name, &clear),
            Err(unclear) => {
                self.report(session, &unclear);
                let has_fixes = unclear.iter().any(|error| !error.fixes.is_empty());
                session.note(match has_fixes && self.input.form == Form::Text {
                    true => {
                        "`onnxtxt check --fix --unsafe-fixes` applies the fixes; `--unchecked` runs the model in spite of its errors"
                    }
                    false => "`onnxtxt check` shows all problems; `--unchecked` runs the model in spite of its errors",
                });
                return Err(Reported(Status::Findings).into());
            }
        }
        Ok(())
    }

    /// Reads the weights beside this file into a model that was made of it.
    pub(crate) fn load_weights(&self, model: &mut Model) -> Vec<Diagnostic> {
        let Some(path) = self.input.path.as_deref().filter(|_| is_stored_outside(model)) else {
            return Vec::new();
        };
        let mut folder = Folder::of(path);
        let is_summed = self.input.form == Form::Text;
        internalize(model, Which::All, &mut |model, tensor, entity| {
            folder.load(model, tensor, entity, is_summed)
        })
    }

    /// The error that ends a command, after showing what stands in the way.
    pub(crate) fn reported(&self, session: &mut Session, found: &[Diagnostic]) -> anyhow::Error {
        Reported(self.report(session, found)).into()
    }

    /// Shows what stands in the way at its places in the file.
    pub(crate) fn report(&self, session: &mut Session, found: &[Diagnostic]) -> Status {
        findings::report(session, &self.loaded, found);
        Status::Findings
    }
}

/// Counts weights that are packed, and releases the pages of their files.
fn packed(part: &[u8]) {
    count_bytes(part.len() as u64);
    onnx_proto::file::release(part);
}

/// Warnings of runs, which may come from any thread.
#[derive(Default)]
pub(crate) struct Warnings(Mutex<Vec<Diagnostic>>);

impl Warnings {
    pub(crate) fn add(&self, warning: Diagnostic) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(warning);
    }

    /// Shows the warnings at their places in the file.
    pub(crate) fn report(self, prepared: &Prepared, session: &mut Session) {
        let warnings = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        findings::report(session, &prepared.loaded, &warnings);
    }
}
