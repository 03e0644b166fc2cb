//! The inputs of a model while they are collected: from files, by shapes, and at random.

use super::fits::{self, Extents};
use super::{cast, ensure_agrees, files, like, named, place, random};
use crate::execution::prepared::Prepared;
use crate::npy::{self, Wanted};
use crate::output::numbers::count;
use crate::read_files::Unreadable;
use crate::session::Session;
use anyhow::{Context as _, bail, ensure};
use onnx_exec::arrays::{array_elem, from_arrays};
use onnx_exec::{Random, Value};
use onnx_ir::diag::{Diagnostic, code};
use onnx_ir::{DimValue, ElemType, Model, Port};
use onnx_ops::check::fixed_symbols;
use onnx_ops::infer::{InferOptions, infer};
use std::path::Path;

/// The inputs of a model, as far as they are known.
pub(super) struct InputSet<'m> {
    pub(super) model: &'m Model,
    pub(super) ports: &'m [Port],
    pub(super) has_default: Vec<bool>,
    pub(super) values: Vec<Option<Value>>,
    /// The shapes from the command line.
    pub(super) shapes: Vec<Option<Vec<usize>>>,
}

/// `-D N=1`, quoted where a shell requires it.
fn dim_argument(symbol: &str) -> String {
    let is_plain = symbol.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '-'));
    if is_plain { format!("-D {symbol}=1") } else { format!("-D '{symbol}=1'") }
}

impl<'m> InputSet<'m> {
    /// Takes the shape of an input: `x=1,261`.
    pub(super) fn take_shape(
        &mut self,
        name: &str,
        dims: &[String],
        extents: &mut Extents,
    ) -> anyhow::Result<()> {
        let argument = &format!("{name}={}", dims.join(","));
        let Some(i) = self.find(name) else {
            bail!("the model has no input `{name}`{}", like(name, self.names()));
        };
        let size = |dim: &String| {
            let size = dim.parse::<usize>().ok();
            size.with_context(|| format!("invalid size `{dim}`: expected a non-negative integer"))
        };
        let shape: Vec<usize> = dims.iter().map(size).collect::<Result<_, _>>()?;
        if let Some(earlier) = self.shapes[i].as_ref().filter(|earlier| **earlier != shape) {
            let earlier: Vec<String> = earlier.iter().map(usize::to_string).collect();
            bail!("--shape {argument} contradicts --shape {name}={}", earlier.join(","));
        }
        if let Some(Value::Tensor(tensor)) = &self.values[i] {
            ensure!(
                tensor.dims() == shape,
                "--shape {argument} contradicts the given input of shape {:?}",
                tensor.dims()
            );
        }
        let kind = self.ports[i].ty.map(|ty| &self.model.types[ty].kind);
        if let Some(onnx_ir::TypeKind::Tensor(onnx_ir::TensorType { shape: Some(declared), .. })) = kind {
            ensure!(
                declared.len() == shape.len(),
                "--shape {argument} has {}, but the type of the input has {}",
                count(shape.len(), "size"),
                declared.len()
            );
            for (dim, &extent) in declared.iter().zip(&shape) {
                match dim.value {
                    DimValue::Unknown | DimValue::Value(..0) => {}
                    DimValue::Value(n) => {
                        let agrees = usize::try_from(n) == Ok(extent);
                        ensure!(
                            agrees,
                            "--shape {argument} has size {extent}, but the type of the input has {n}"
                        );
                    }
                    DimValue::Param(text) => {
                        let argument = format!("--shape {argument}");
                        ensure_agrees(extents, &self.model.names[text], extent, &argument)?;
                    }
                }
            }
        }
        self.shapes[i] = Some(shape);
        Ok(())
    }

    /// The sizes of symbols that can have only one, for inputs to be generated.
    pub(super) fn imply(&self, prepared: &Prepared, extents: &mut Extents) {
        let is_open = |i: usize| {
            let ty = self.ports[i].ty.map(|ty| &self.model.types[ty].kind);
            let Some(onnx_ir::TypeKind::Tensor(tensor)) = ty else { return false };
            tensor.shape.iter().flatten().any(|dim| matches!(dim.value, DimValue::Param(_)))
        };
        if !(0..self.ports.len()).any(|i| self.is_made_up(i) && self.shapes[i].is_none() && is_open(i)) {
            return;
        }
        let mut inference = infer(self.model, prepared.registry(), &InferOptions::default());
        for fixed in fixed_symbols(self.model, &mut inference.facts) {
            let symbol = &self.model.names[fixed.symbol];
            if let (None, Ok(number)) = (extents.get(symbol), usize::try_from(fixed.number)) {
                extents.imply(symbol, number);
            }
        }
    }

    /// Fails if inputs to be generated have unknown sizes, and lists all of them.
    fn ensure_closed(&self, extents: &mut Extents) -> anyhow::Result<()> {
        let (mut symbols, mut open) = (Vec::<String>::new(), Vec::new());
        for i in (0..self.ports.len()).filter(|&i| self.is_made_up(i) && self.shapes[i].is_none()) {
            let Some(ty) = self.ports[i].ty else { continue };
            let onnx_ir::TypeKind::Tensor(tensor) = &self.model.types[ty].kind else { continue };
            let dims = tensor.shape.iter().flatten();
            let is_open =
                dims.clone().any(|dim| matches!(dim.value, DimValue::Unknown | DimValue::Value(..0)));
            if is_open || tensor.shape.is_none() {
                let sizes = dims.clone().map(|dim| match dim.value {
                    DimValue::Value(n @ 0..) => n.to_string(),
                    DimValue::Param(text) => extents.get(&self.model.names[text]).unwrap_or(1).to_string(),
                    DimValue::Unknown | DimValue::Value(_) => "1".to_owned(),
                });
                let sizes = sizes.collect::<Vec<_>>().join(",");
                open.push((onnx_ir::type_text(self.model, ty), format!("--shape {}={sizes}", self.name(i))));
                continue;
            }
            for dim in dims {
                let DimValue::Param(text) = dim.value else { continue };
                let text = &self.model.names[text];
                if extents.get(text).is_none() {
                    let unknown = extents.unknown_symbols(text);
                    let source = extents.source(text);
                    ensure!(
                        !unknown.is_empty() || source.is_empty(),
                        "{source} is impossible: dimension `{text}` of input `{}` would not be a non-negative integer",
                        self.name(i)
                    );
                    let unknown = if unknown.is_empty() { vec![text.to_owned()] } else { unknown };
                    symbols.extend(
                        unknown.into_iter().filter(|symbol| !symbols.contains(symbol)).collect::<Vec<_>>(),
                    );
                }
            }
        }
        let mut said = Vec::new();
        if !symbols.is_empty() {
            let names: Vec<String> = symbols.iter().map(|symbol| format!("`{symbol}`")).collect();
            let arguments: Vec<String> = symbols.iter().map(|symbol| dim_argument(symbol)).collect();
            said.push(format!(
                "input types have {} of unknown size: add {}",
                names.join(", "),
                arguments.join(" ")
            ));
        }
        if !open.is_empty() {
            let (types, arguments): (Vec<String>, Vec<String>) = open.into_iter().unzip();
            said.push(format!("the shape of {} is unknown: add {}", types.join(", "), arguments.join(" ")));
        }
        ensure!(said.is_empty(), "{}", said.join("; "));
        Ok(())
    }

    fn is_made_up(&self, i: usize) -> bool {
        self.values[i].is_none() && !self.has_default[i]
    }

    fn name(&self, i: usize) -> &'m str {
        self.model.text(self.ports[i].name)
    }

    fn names(&self) -> impl Iterator<Item = &'m str> + use<'_, 'm> {
        (0..self.ports.len()).map(|i| self.name(i))
    }

    fn find(&self, name: &str) -> Option<usize> {
        let mut names = self.names();
        names
            .position(|known| known == name)
            .or_else(|| self.names().position(|known| npy::member(known) == name))
    }

    /// The symbols in the types of inputs.
    pub(super) fn symbols(&self) -> impl Iterator<Item = &'m str> + use<'m> {
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

    /// Adds the values of one argument.
    pub(super) fn take(&mut self, given: &str, session: &Session) -> anyhow::Result<()> {
        let path = Path::new(given);
        if let Some((name, file)) = named::split(given, |name| self.find(name).is_some())
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
            ensure!(set.iter().any(Option::is_some), "no input_0.pb in {given}");
            self.values.iter_mut().zip(set).for_each(|(value, read)| *value = read.or(value.take()));
            return Ok(());
        }
        if npy::is_archive(path) {
            return self.take_archive(path, session);
        }
        // A single value is for the input with its name, or for the only input that needs one.
        let needed: Vec<usize> =
            (0..self.ports.len()).filter(|&i| !self.has_default[i] && self.values[i].is_none()).collect();
        let only = if let [only] = needed[..] { Some(only) } else { None };
        let (value, name) = files::named(path, self.model, only.and_then(|i| self.ports[i].ty))?;
        let Some(i) = name.and_then(|name| self.find(&name)).or(only) else {
            bail!("name the input for {given}: NAME={given}");
        };
        self.values[i] = Some(value);
        Ok(())
    }

    fn take_archive(&mut self, path: &Path, session: &Session) -> anyhow::Result<()> {
        let cannot = || Unreadable::new(path);
        crate::read_files::note(path);
        let bytes = onnx_proto::file::open(path).with_context(cannot)?;
        let requested =
            |name: &str| if self.may_read(name) { Wanted::As(self.elem_of(name)) } else { Wanted::No };
        let npy::Arrays { read: mut arrays, skipped } =
            npy::read_all(&bytes, requested).with_context(cannot)?;
        let mut is_any = self.ports.is_empty();
        for (i, port) in self.ports.iter().enumerate() {
            let mut take = |name: &str| {
                let member = npy::member(name);
                let at = arrays.iter().position(|(known, _)| *known == name || *known == member)?;
                Some(arrays.remove(at).1)
            };
            if let Some(value) = from_arrays(self.model, port.ty, self.name(i), &mut take)? {
                self.values[i] = Some(value);
                is_any = true;
            }
        }
        ensure!(
            is_any,
            "no array in {} is named like an input: {}",
            path.display(),
            self.names().collect::<Vec<_>>().join(", ")
        );
        let left = arrays.iter().map(|(name, _)| name);
        let others: Vec<String> = left.chain(&skipped).map(|name| format!("`{name}`")).collect();
        if !others.is_empty() {
            session.note(&format!("no input is named like {} in {}", others.join(", "), path.display()));
        }
        Ok(())
    }

    /// Whether an array of an archive may be an input, or a part of one (`x.0`).
    fn may_read(&self, array: &str) -> bool {
        let is_of = |name: &str| {
            array.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        self.names().any(|name| is_of(name) || is_of(&npy::member(name)))
    }

    /// The declared element type of an array of an archive: of an input, or of a part of one.
    fn elem_of(&self, array: &str) -> Option<ElemType> {
        if let Some(i) = self.find(array) {
            return files::elem(self.model, self.ports[i].ty);
        }
        let rest = |name: &str| array.strip_prefix(name).or_else(|| array.strip_prefix(&npy::member(name)));
        (0..self.ports.len()).find_map(|i| array_elem(self.model, self.ports[i].ty?, rest(self.name(i))?))
    }

    /// Converts tensors to the declared element types, if possible.
    pub(super) fn cast(&mut self) {
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

    /// The values that do not match the declared types.
    pub(super) fn check(&self, prepared: &Prepared, extents: &mut Extents) -> Vec<Diagnostic> {
        let given = self.values.iter().enumerate().filter_map(|(i, value)| Some((i, value.as_ref()?)));
        given
            .filter_map(|(i, value)| {
                extents.check(self.model, self.name(i), self.ports[i].ty?, value, place(prepared, i))
            })
            .collect()
    }

    /// Generates missing inputs.
    pub(super) fn make_up(
        &mut self,
        extents: &mut Extents,
        random: &mut Random,
    ) -> Result<(), (usize, anyhow::Error)> {
        self.ensure_closed(extents).map_err(|error| (0, error))?;
        for i in 0..self.ports.len() {
            if !self.is_made_up(i) {
                continue;
            }
            let name = self.name(i);
            let mut extent = |dim: &onnx_ir::Dim| match dim.value {
                DimValue::Value(n) => usize::try_from(n).with_context(|| format!("negative size {n}")),
                DimValue::Param(symbol) => {
                    let symbol = &self.model.names[symbol];
                    extents.get(symbol).with_context(|| format!("the size of `{symbol}` is unknown"))
                }
                DimValue::Unknown => bail!("its type has an unknown dimension `?`: add --shape {name}=…"),
            };
            let all = |shape: &[onnx_ir::Dim]| shape.iter().map(&mut extent).collect();
            let value = match self.ports[i].ty {
                Some(ty) => random::value(self.model, ty, self.shapes[i].as_deref(), all, random),
                None => Err(anyhow::anyhow!("it has no type: pass it with -i {name}=FILE")),
            };
            let value = value.with_context(|| format!("input `{name}`")).map_err(|error| (i, error))?;
            self.values[i] = Some(value);
        }
        Ok(())
    }

    /// The findings for inputs that are missing.
    pub(super) fn missing(&self, prepared: &Prepared) -> Vec<Diagnostic> {
        let missing = (0..self.ports.len()).filter(|&i| self.values[i].is_none() && !self.has_default[i]);
        let reported = |i| {
            let name = self.name(i);
            let message = format!("input `{name}` is not given");
            let help = format!("pass it with `-i {name}=FILE.npy`, or generate inputs with `--random`");
            Diagnostic::new(&code::RUN_FAILED, place(prepared, i), message).help(help)
        };
        missing.map(reported).collect()
    }
}
