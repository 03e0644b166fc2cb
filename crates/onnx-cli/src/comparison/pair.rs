//! Two models that are run with the same inputs: by `compare`, `verify` and `simplify --verify`.

use crate::args::limits::LimitArgs;
use crate::comparison::tolerance::ToleranceArgs;
use crate::execution::inputs::InputArgs;
use crate::execution::prepared::Prepared;
use crate::input::operators::OpsetArgs;
use crate::output::results::Results;
use crate::session::Session;
use anyhow::{anyhow, bail};
use onnx_exec::{Executable, RunOptions, Value};
use onnx_ir::{Model, Port};
use onnxtxt::compare::{Tolerance, inputs_for};
use std::path::{Path, PathBuf};

/// How two models are read, run and compared.
#[derive(clap::Args)]
pub(crate) struct PairArgs {
    #[command(flatten)]
    pub(crate) inputs: InputArgs,
    #[command(flatten)]
    tolerance: ToleranceArgs,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
    #[command(flatten)]
    opset: OpsetArgs,
}

/// The files of two models.
#[derive(clap::Args)]
pub(crate) struct PairFiles {
    /// The model
    #[arg(value_name = "A")]
    one: PathBuf,
    /// Another model with inputs of the same names, or `ort`: the same model in ONNX Runtime
    #[arg(value_name = "B|ort", required_unless_present = "with", conflicts_with = "with")]
    other: Option<PathBuf>,
    /// Another way to give B
    #[arg(long, value_name = "B|ort")]
    with: Option<PathBuf>,
}

/// The first model, with the inputs of both.
pub(crate) struct First<'m> {
    pub(crate) executable: Executable<'m>,
    pub(crate) inputs: Vec<Option<Value>>,
    pub(crate) options: RunOptions<'static>,
}

impl PairArgs {
    /// Reads a model with its weights.
    pub(crate) fn open(&self, path: &Path, session: &mut Session) -> anyhow::Result<Prepared> {
        Prepared::open(path, &self.opset, session)
    }

    /// Reads both models. The second one is `None` if it is the first one in ONNX Runtime.
    pub(crate) fn open_both(
        &self,
        files: &PairFiles,
        session: &mut Session,
    ) -> anyhow::Result<(Prepared, Option<Prepared>)> {
        let one = self.open(&files.one, session)?;
        let other = match files.other.as_deref().or(files.with.as_deref()) {
            Some(other) if other == Path::new("ort") => None,
            Some(path) => Some(self.open(path, session)?),
            None => bail!("no model to compare with: add B or `--with B`"),
        };
        Ok((one, other))
    }

    /// The first model with its inputs, random ones where none are given. Problems are reported.
    pub(crate) fn first<'m>(&self, model: &'m Prepared, session: &mut Session) -> anyhow::Result<First<'m>> {
        let options = self.limits.options(self.inputs.seed, &model.loaded.model);
        let (executable, inputs) =
            model.with_inputs(&self.limits, &self.inputs.or_random(), &options, session)?;
        Ok(First { executable, inputs, options })
    }

    /// The allowed differences between results of these models: those of the one with the lowest precision.
    pub(crate) fn tolerance<'m>(&self, models: impl IntoIterator<Item = &'m Model>) -> Tolerance {
        self.tolerance.tolerance().for_models(models)
    }
}

impl First<'_> {
    /// The inputs, by name, for another model.
    pub(crate) fn inputs_for(&self, other: &Executable<'_>) -> anyhow::Result<Vec<Option<Value>>> {
        inputs_for(&self.executable, &self.inputs, other).map_err(|found| anyhow!(found.message))
    }

    /// The values of the inputs by name, for ONNX Runtime.
    pub(crate) fn named_inputs(&self) -> Results {
        let name = |port: &Port| self.executable.model().text(port.name).to_owned();
        let given = self.executable.inputs().iter().map(name).zip(self.inputs.iter().cloned());
        given.filter_map(|(name, value)| Some((name, value?))).collect()
    }
}
