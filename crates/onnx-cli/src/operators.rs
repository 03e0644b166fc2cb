//! `--opset FILE`: operators that the program does not know by itself.

use crate::input::Input;
use crate::session::{Session, Status};
use anyhow::bail;
use onnx_ir::{Diagnostic, Level, Model, VerifyOptions};
use onnx_ops::opset::{self, contributed_sets};
use onnx_ops::schema::Registry;
use std::path::PathBuf;

/// Where operators are described.
#[derive(clap::Args)]
pub(crate) struct OpsetArgs {
    /// An operator set, in any form: what its operators take and give, and the functions that define them; may be repeated
    #[arg(long = "opset", value_name = "FILE")]
    sets: Vec<PathBuf>,
}

/// The operators that are known.
pub(crate) enum Operators {
    /// Those that the program has.
    BuiltIn,
    /// With those of documents.
    Loaded(Box<Registry>),
}

impl OpsetArgs {
    /// Reads the documents. `Err` of a status: one of them has errors, which have been reported.
    pub(crate) fn load(&self, session: &mut Session) -> anyhow::Result<Result<Operators, Status>> {
        if self.sets.is_empty() {
            return Ok(Ok(Operators::BuiltIn));
        }
        let mut sets = Vec::new();
        for path in &self.sets {
            let input = Input::open(path)?;
            let Some(file) = input.operator_set() else { bail!("{} is no operator set", input.name) };
            let options = VerifyOptions { level: Level::Spec, payloads: true };
            let mut found = file.check(&input, &options);
            found.retain(Diagnostic::is_error);
            file.report(session, &input, &found);
            if !found.is_empty() {
                return Ok(Err(Status::Findings));
            }
            sets.push(opset::load(file.set));
        }
        let registry = Registry::with_sets(contributed_sets().map(|set| set as &opset::Loaded).chain(&sets));
        Ok(Ok(Operators::Loaded(Box::new(registry))))
    }
}

impl Operators {
    /// The operators that a model is about.
    pub(crate) fn of(&self, model: &Model) -> &Registry {
        match self {
            Operators::BuiltIn => opset::registry_of(model),
            Operators::Loaded(registry) => registry,
        }
    }

    /// All of them.
    pub(crate) fn all(&self) -> &Registry {
        match self {
            Operators::BuiltIn => opset::whole_registry(),
            Operators::Loaded(registry) => registry,
        }
    }
}
