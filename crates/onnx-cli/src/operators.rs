//! `--opset FILE`: operators that the program does not know by itself.

use crate::input::Input;
use crate::session::{Session, Status};
use anyhow::bail;
use onnx_ir::{Diagnostic, Level, Model, VerifyOptions, normalize_domain};
use onnx_ops::opset::{self, contributed_sets};
use onnx_ops::schema::{Registry, Schema};
use std::collections::HashSet;
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
    Loaded {
        /// All of them.
        registry: Box<Registry>,
        /// Domain and name of those of the documents.
        ours: HashSet<(String, String)>,
    },
}

impl OpsetArgs {
    /// Whether there is a document.
    pub(crate) fn is_given(&self) -> bool {
        !self.sets.is_empty()
    }

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
        let ours = sets.iter().flat_map(|set| &set.schemas).map(key).collect();
        Ok(Ok(Operators::Loaded { registry: Box::new(registry), ours }))
    }
}

impl Operators {
    /// The operators that a model is about.
    pub(crate) fn of(&self, model: &Model) -> &Registry {
        match self {
            Operators::BuiltIn => opset::registry_of(model),
            Operators::Loaded { registry, .. } => registry,
        }
    }

    /// Whether an operator is one of a document.
    pub(crate) fn is_ours(&self, schema: &Schema) -> bool {
        match self {
            Operators::BuiltIn => false,
            Operators::Loaded { ours, .. } => ours.contains(&key(schema)),
        }
    }

    /// All of them.
    pub(crate) fn all(&self) -> &Registry {
        match self {
            Operators::BuiltIn => opset::whole_registry(),
            Operators::Loaded { registry, .. } => registry,
        }
    }
}

fn key(schema: &Schema) -> (String, String) {
    (normalize_domain(&schema.domain).to_owned(), schema.name.to_string())
}
