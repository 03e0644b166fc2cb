//! `--opset FILE`: additional operators.

use crate::input::Input;
use crate::session::{Reported, Session, Status};
use anyhow::bail;
use onnx_ir::diag::{Diagnostic, Level};
use onnx_ir::{Model, VerifyOptions, normalize_domain};
use onnx_ops::opset::{self, contributed_sets};
use onnx_ops::schema::{Registry, Schema};
use std::collections::HashSet;
use std::path::PathBuf;

/// Where additional operators are described.
#[derive(clap::Args)]
pub(crate) struct OpsetArgs {
    /// Operator set in any format, with signatures and functions of its operators; may be repeated
    #[arg(long = "opset", value_name = "FILE")]
    sets: Vec<PathBuf>,
}

/// The known operators.
pub(crate) enum Operators {
    /// The built-in ones.
    BuiltIn,
    /// The built-in ones and those of operator-set files.
    Loaded {
        /// All operators.
        registry: Box<Registry>,
        /// Domain and name of those of operator-set files.
        ours: HashSet<(String, String)>,
    },
}

impl OpsetArgs {
    /// Whether an operator set is given.
    pub(crate) fn is_given(&self) -> bool {
        !self.sets.is_empty()
    }

    /// Reads the operator sets. Errors in one of them are reported.
    pub(crate) fn load(&self, session: &mut Session) -> anyhow::Result<Operators> {
        if self.sets.is_empty() {
            return Ok(Operators::BuiltIn);
        }
        let mut sets = Vec::new();
        for path in &self.sets {
            let input = Input::open(path)?;
            let Some(file) = input.operator_set() else { bail!("{} is not an operator set", input.name) };
            let options = VerifyOptions { level: Level::Spec, payloads: true };
            let mut found = file.check(&input, &options);
            found.retain(Diagnostic::is_error);
            file.report(session, &input, &found);
            if !found.is_empty() {
                return Err(Reported(Status::Findings).into());
            }
            sets.push(opset::load(file.set));
        }
        let registry =
            Registry::with_sets(contributed_sets().map(|set| set as &opset::LoadedSet).chain(&sets));
        let ours = sets.iter().flat_map(|set| &set.schemas).map(key).collect();
        Ok(Operators::Loaded { registry: Box::new(registry), ours })
    }
}

impl Operators {
    /// The operators for a model.
    pub(crate) fn of(&self, model: &Model) -> &Registry {
        match self {
            Operators::BuiltIn => opset::registry_of(model),
            Operators::Loaded { registry, .. } => registry,
        }
    }

    /// The operators, if operator-set files are given.
    pub(crate) fn loaded(&self) -> Option<&Registry> {
        match self {
            Operators::BuiltIn => None,
            Operators::Loaded { registry, .. } => Some(registry),
        }
    }

    /// Whether an operator is from an operator-set file.
    pub(crate) fn is_ours(&self, schema: &Schema) -> bool {
        match self {
            Operators::BuiltIn => false,
            Operators::Loaded { ours, .. } => ours.contains(&key(schema)),
        }
    }

    /// All operators.
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
