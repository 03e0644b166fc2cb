//! Prepares the inputs of a run: values from files or random ones, checked against the declared types.

#[cfg(test)]
mod any_bytes;
pub(crate) mod cast;
pub(crate) mod files;
pub(crate) mod fits;
pub(crate) mod named;
mod random;
pub(crate) mod safe;
mod set;

use crate::args::sizes;
use crate::execution::prepared::Prepared;
use crate::session::Session;
use anyhow::{bail, ensure};
use fits::Extents;
use onnx_exec::{Executable, Failure, Random, Value};
use onnx_ir::Model;
use onnx_ir::diag::{Diagnostic, Entity, Place, did_you_mean};
use onnxtxt::edit::SetShape;
use set::InputSet;
use std::path::Path;

/// Options for the inputs of a model.
#[derive(Clone, clap::Args)]
pub(crate) struct InputArgs {
    /// Inputs: FILE.npz, NAME=FILE.npy, NAME=FILE.pb, or a folder with input_0.pb, input_1.pb …; may be repeated. Of several
    /// `=`, the one after the longest name of an input counts; `x=./1=x.npy` is a file for `x` in any case
    #[arg(short, long = "input", value_name = "IN")]
    inputs: Vec<String>,
    /// Size of a symbolic dimension or an expression in input types, such as N=1; may be repeated
    #[arg(short = 'D', long = "dim", value_name = "N=1", value_parser = sizes::size)]
    dims: Vec<(String, i64)>,
    /// Shape of an input, such as x=1,261, if its type does not determine it; may be repeated
    #[arg(long = "shape", value_name = "x=1,261", value_parser = sizes::shape)]
    shapes: Vec<(String, Vec<String>)>,
    /// Generate missing inputs at random: floats between 0 and 1, integers 0 or 1
    #[arg(long)]
    random: bool,
    /// Convert inputs to the element types that the model declares, as `Cast` does
    #[arg(long)]
    cast: bool,
    /// Seed of random inputs and random operators
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub(crate) seed: u64,
}

/// The inputs of a model in order, `None` for those with a default, or the problems with them.
pub(crate) type InputValues = Result<Vec<Option<Value>>, Vec<Diagnostic>>;

impl InputArgs {
    /// Whether the command line says what the model is given.
    pub(crate) fn is_given(&self) -> bool {
        self.random || !self.inputs.is_empty()
    }

    /// The sizes and shapes of inputs that the command line says.
    pub(crate) fn sizes(&self) -> SetShape {
        SetShape { sizes: self.dims.clone(), shapes: self.shapes.clone(), ..SetShape::default() }
    }

    /// Returns the arguments with `--random`.
    pub(crate) fn or_random(&self) -> InputArgs {
        InputArgs { random: true, ..self.clone() }
    }

    /// Returns the arguments with these files as the only inputs.
    pub(crate) fn of_files(&self, files: &[String]) -> InputArgs {
        InputArgs { inputs: files.to_vec(), ..self.clone() }
    }

    /// The inputs for a model.
    pub(crate) fn values(
        &self,
        prepared: &Prepared,
        executable: &Executable<'_>,
        session: &Session,
    ) -> anyhow::Result<InputValues> {
        let model = executable.model();
        let mut set = InputSet {
            model,
            ports: executable.inputs(),
            has_default: executable.inputs().iter().map(|port| executable.has_default(port)).collect(),
            values: vec![None; executable.inputs().len()],
            shapes: vec![None; executable.inputs().len()],
        };
        for given in &self.inputs {
            if let Err(error) = set.take(given, session) {
                return Ok(Err(vec![beyond(error, Place::Nowhere)?]));
            }
        }
        let mut extents = Extents::default();
        for (text, extent) in &self.dims {
            let symbols: Vec<String> = set.symbols().flat_map(fits::symbols_of).collect();
            let is_known = |symbol: &String| symbols.contains(symbol);
            ensure!(
                set.symbols().any(|known| known == *text) || fits::symbols_of(text).iter().all(is_known),
                "no input type contains the dimension `{text}`{}",
                like(text, symbols.iter().map(String::as_str))
            );
            ensure_agrees(&mut extents, text, usize::try_from(*extent)?, &format!("-D {text}={extent}"))?;
        }
        for (name, dims) in &self.shapes {
            set.take_shape(name, dims, &mut extents)?;
        }
        if self.cast {
            set.cast();
        }
        let found = set.check(prepared, &mut extents);
        if !found.is_empty() {
            return Ok(Err(found));
        }
        if self.random {
            set.imply(prepared, &mut extents);
        }
        if self.random
            && let Err((i, error)) = set.make_up(&mut extents, &mut Random::new(self.seed))
        {
            return Ok(Err(vec![beyond(error, place(prepared, i))?]));
        }
        let missing = set.missing(prepared);
        Ok(if missing.is_empty() { Ok(set.values) } else { Err(missing) })
    }
}

/// The value of a file of which nothing is declared, and its name, if the file has one.
pub(crate) fn file(path: &Path) -> anyhow::Result<(Value, Option<String>)> {
    files::named(path, &Model::default(), None)
}

/// The finding for an input that takes more memory than the run may.
fn beyond(error: anyhow::Error, place: Place) -> anyhow::Result<Diagnostic> {
    match error.chain().find_map(|cause| cause.downcast_ref::<Failure>()) {
        Some(why) if why.is_limit() => Ok(Diagnostic::new(why.code(), place, format!("{error:#}"))),
        Some(_) | None => Err(error),
    }
}

/// `: did you mean …?`
fn like<'a>(requested: &str, known: impl Iterator<Item = &'a str>) -> String {
    did_you_mean(requested, known).map(|like| format!(": did you mean `{like}`?")).unwrap_or_default()
}

/// Adds the size from an argument, and fails if it contradicts earlier ones.
fn ensure_agrees(extents: &mut Extents, text: &str, extent: usize, argument: &str) -> anyhow::Result<()> {
    let known = extents.get(text);
    let source = extents.source(text);
    if extents.set(text, extent, argument.to_owned()) {
        return Ok(());
    }
    match known {
        Some(known) if source == argument => {
            bail!("{argument} is impossible: `{text}` cannot be {known} and {extent}")
        }
        Some(known) => bail!("{argument} contradicts {source}: `{text}` is {known}"),
        None if source.is_empty() => bail!("{argument} is impossible: `{text}` cannot be {extent}"),
        None => bail!("{argument} contradicts {source}"),
    }
}

/// The place of an input in the user's file.
fn place(prepared: &Prepared, i: usize) -> Place {
    let model = &prepared.loaded.model;
    let root = model.main.and_then(|body| Some((body, model.bodies[body].root()?)));
    match (root, u32::try_from(i)) {
        (Some((body, graph)), Ok(i)) => Entity::Input(body, graph, i).into(),
        _ => Place::Nowhere,
    }
}
