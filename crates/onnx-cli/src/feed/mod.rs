//! What a model is given to run: values from files, or made up, held against the declared types.

mod cast;
pub(crate) mod files;
mod fits;
pub(crate) mod npy;
mod random;

pub(crate) use fits::tensor_type;

use crate::ready::Ready;
use crate::session::Session;
use anyhow::{Context as _, bail, ensure};
use fits::Extents;
use onnx_exec::{Executable, Random, Value};
use onnx_ir::diag::{Entity, Place, code, did_you_mean};
use onnx_ir::{Diagnostic, DimValue, Model, Port};
use std::path::Path;

/// Where the inputs of a model come from.
#[derive(Clone, clap::Args)]
pub(crate) struct FeedArgs {
    /// Inputs: FILE.npz, NAME=FILE.npy, NAME=FILE.pb, or a folder with input_0.pb, input_1.pb …; may be repeated
    #[arg(short, long = "input", value_name = "IN")]
    inputs: Vec<String>,
    /// The extent of a symbol in the types of inputs, such as N=1; may be repeated
    #[arg(short = 'D', long = "dim", value_name = "N=1")]
    dims: Vec<String>,
    /// Make up inputs that are not given: floats between 0 and 1, integers 0 or 1
    #[arg(long)]
    random: bool,
    /// Convert inputs to the element types that the model declares, as `Cast` does
    #[arg(long)]
    cast: bool,
    /// What random inputs and random operators draw from
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub(crate) seed: u64,
}

/// Inputs of a model in order; `None` where it has a value of its own. Or what is wrong with them.
pub(crate) type Fed = Result<Vec<Option<Value>>, Vec<Diagnostic>>;

impl FeedArgs {
    /// The same, where what is not given is made up in any case.
    pub(crate) fn or_random(&self) -> FeedArgs {
        FeedArgs { random: true, ..self.clone() }
    }

    /// The inputs for a model.
    pub(crate) fn values(
        &self,
        ready: &Ready,
        executable: &Executable<'_>,
        session: &Session,
    ) -> anyhow::Result<Fed> {
        let model = executable.model();
        let mut feed = Feed {
            model,
            ports: executable.inputs(),
            has_default: executable.inputs().iter().map(|port| executable.has_default(port)).collect(),
            values: vec![None; executable.inputs().len()],
        };
        for given in &self.inputs {
            feed.take(given, session)?;
        }
        let mut extents = Extents::default();
        for dim in &self.dims {
            let (symbol, extent) = dim.split_once('=').context("-D takes NAME=NUMBER")?;
            let extent = extent.parse().with_context(|| format!("`{extent}` is no extent"))?;
            match model.names.find(symbol).filter(|_| feed.symbols().any(|known| known == symbol)) {
                Some(name) => extents.set(name, extent, format!("of -D {dim}")),
                None => {
                    bail!("no input has the symbol `{symbol}` in its type{}", like(symbol, feed.symbols()))
                }
            }
        }
        if self.cast {
            feed.cast();
        }
        let found = feed.check(ready, &mut extents);
        if !found.is_empty() {
            return Ok(Err(found));
        }
        if self.random {
            feed.make_up(&extents, &mut Random::new(self.seed))?;
        }
        let missing = feed.missing(ready);
        Ok(if missing.is_empty() { Ok(feed.values) } else { Err(missing) })
    }
}

/// `: did you mean …?`
fn like<'a>(wanted: &str, known: impl Iterator<Item = &'a str>) -> String {
    did_you_mean(wanted, known).map(|like| format!(": did you mean `{like}`?")).unwrap_or_default()
}

/// The inputs of another model: those of the same names.
pub(crate) fn again(
    of: &Executable<'_>,
    values: &[Option<Value>],
    other: &Executable<'_>,
) -> anyhow::Result<Vec<Option<Value>>> {
    let name = |executable: &Executable<'_>, port: &Port| executable.model().text(port.name).to_owned();
    let given = |port: &Port| {
        let wanted = name(other, port);
        let known = of.inputs().iter().position(|port| name(of, port) == wanted);
        match known.and_then(|i| values[i].clone()) {
            None if !other.has_default(port) => {
                bail!("the other model has the input `{wanted}`, this one has not")
            }
            found => Ok(found),
        }
    };
    other.inputs().iter().map(given).collect()
}

struct Feed<'m> {
    model: &'m Model,
    ports: &'m [Port],
    has_default: Vec<bool>,
    values: Vec<Option<Value>>,
}

impl<'m> Feed<'m> {
    fn name(&self, i: usize) -> &'m str {
        self.model.text(self.ports[i].name)
    }

    fn names(&self) -> impl Iterator<Item = &'m str> + use<'_, 'm> {
        (0..self.ports.len()).map(|i| self.name(i))
    }

    fn find(&self, name: &str) -> Option<usize> {
        self.names().position(|known| known == name)
    }

    /// The symbols in the types of inputs.
    fn symbols(&self) -> impl Iterator<Item = &'m str> + use<'m> {
        let model = self.model;
        let kinds = self.ports.iter().filter_map(move |port| Some(&model.types[port.ty?].kind));
        let dims = kinds.filter_map(|kind| match kind {
            onnx_ir::TypeKind::Tensor(tensor) => tensor.shape.as_ref(),
            _ => None,
        });
        dims.flatten().filter_map(move |dim| match dim.value {
            DimValue::Param(name) => Some(&model.names[name]),
            DimValue::Unknown | DimValue::Value(_) => None,
        })
    }

    /// Takes the values of one argument.
    fn take(&mut self, given: &str, session: &Session) -> anyhow::Result<()> {
        let path = Path::new(given);
        if let Some((name, file)) = given.split_once('=')
            && (self.find(name).is_some() || !path.exists())
        {
            let Some(i) = self.find(name) else {
                bail!("the model has no input `{name}`{}", like(name, self.names()));
            };
            self.values[i] = Some(files::read(Path::new(file), self.model, self.ports[i].ty)?);
            return Ok(());
        }
        if path.is_dir() {
            let set = files::set(path, "input", self.model, self.ports, |i| self.has_default[i])?;
            ensure!(set.iter().any(Option::is_some), "there is no input_0.pb in {given}");
            self.values.iter_mut().zip(set).for_each(|(value, read)| *value = read.or(value.take()));
            return Ok(());
        }
        if npy::is_archive(path) {
            return self.take_archive(path, session);
        }
        // One value: by its own name, or for the one input that needs one.
        let needed: Vec<usize> =
            (0..self.ports.len()).filter(|&i| !self.has_default[i] && self.values[i].is_none()).collect();
        let only = if let [only] = needed[..] { Some(only) } else { None };
        let (value, name) = files::named(path, self.model, only.and_then(|i| self.ports[i].ty))?;
        let Some(i) = name.and_then(|name| self.find(&name)).or(only) else {
            bail!("say which input {given} is for: NAME={given}");
        };
        self.values[i] = Some(value);
        Ok(())
    }

    fn take_archive(&mut self, path: &Path, session: &Session) -> anyhow::Result<()> {
        let cannot = || format!("cannot read {}", path.display());
        let bytes = onnx_proto::file::open(path).with_context(cannot)?;
        let wanted = |name: &str| files::elem(self.model, self.ports[self.find(name)?].ty);
        let mut others = Vec::new();
        let arrays = npy::read_all(&bytes, wanted).with_context(cannot)?;
        ensure!(
            arrays.iter().any(|(name, _)| self.find(name).is_some()) || self.ports.is_empty(),
            "no array in {} has the name of an input: {}",
            path.display(),
            self.names().collect::<Vec<_>>().join(", ")
        );
        for (name, tensor) in arrays {
            match self.find(&name) {
                Some(i) => self.values[i] = Some(tensor.into()),
                None => others.push(format!("`{name}`")),
            }
        }
        if !others.is_empty() {
            session.note(&format!("no input has the name of {} in {}", others.join(", "), path.display()));
        }
        Ok(())
    }

    /// Converts tensors to the declared element types, where that can be done.
    fn cast(&mut self) {
        for (i, port) in self.ports.iter().enumerate() {
            let declared = port.ty.and_then(|ty| fits::elem(self.model, ty));
            if let (Some(Value::Tensor(tensor)), Some(to)) = (&self.values[i], declared)
                && tensor.elem() != to
                && let Some(converted) = cast::cast(&Value::Tensor(tensor.clone()), to)
            {
                self.values[i] = Some(converted);
            }
        }
    }

    /// What does not go with the declared types.
    fn check(&self, ready: &Ready, extents: &mut Extents) -> Vec<Diagnostic> {
        let given = self.values.iter().enumerate().filter_map(|(i, value)| Some((i, value.as_ref()?)));
        given
            .filter_map(|(i, value)| {
                extents.check(self.model, self.name(i), self.ports[i].ty?, value, place(ready, i))
            })
            .collect()
    }

    /// Fills in what is missing.
    fn make_up(&mut self, extents: &Extents, random: &mut Random) -> anyhow::Result<()> {
        for i in 0..self.ports.len() {
            if self.values[i].is_some() || self.has_default[i] {
                continue;
            }
            let name = self.name(i);
            let extent = |dim: &onnx_ir::Dim| match dim.value {
                DimValue::Value(n) => usize::try_from(n).with_context(|| format!("an extent is {n}")),
                DimValue::Param(symbol) => extents.get(symbol).with_context(|| {
                    let symbol = &self.model.names[symbol];
                    format!("the symbol `{symbol}` in its type has no extent: give it with -D {symbol}=1")
                }),
                DimValue::Unknown => bail!("its type has an extent `?`: give the input with -i {name}=FILE"),
            };
            let all = |shape: &[onnx_ir::Dim]| shape.iter().map(extent).collect();
            let value = match self.ports[i].ty {
                Some(ty) => random::value(self.model, ty, all, random),
                None => Err(anyhow::anyhow!("it has no type: give it with -i {name}=FILE")),
            };
            self.values[i] = Some(value.with_context(|| format!("input `{name}`"))?);
        }
        Ok(())
    }

    /// What is told of inputs that are still missing.
    fn missing(&self, ready: &Ready) -> Vec<Diagnostic> {
        let missing = (0..self.ports.len()).filter(|&i| self.values[i].is_none() && !self.has_default[i]);
        let told = |i| {
            let message = format!("input `{}` is not given", self.name(i));
            let help = "give inputs with `-i`, or let them be made up with `--random`";
            Diagnostic::new(&code::RUN_FAILED, place(ready, i), message).help(help)
        };
        missing.map(told).collect()
    }
}

/// An input in the file of the user.
fn place(ready: &Ready, i: usize) -> Place {
    let model = &ready.loaded.model;
    let root = model.main.and_then(|body| Some((body, model.bodies[body].root()?)));
    match (root, u32::try_from(i)) {
        (Some((body, graph)), Ok(i)) => Entity::Input(body, graph, i).into(),
        _ => Place::Nowhere,
    }
}
