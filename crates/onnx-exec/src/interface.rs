//! The declared interface of a model: values against the types of inputs, and sizes against the symbols of dimensions.

use crate::compile::Executable;
use crate::run::RunOptions;
use crate::tensor::Tensor;
use crate::value::Value;
use onnx_ir::diag::{Diagnostic, Entity, Place, code, did_you_mean};
use onnx_ir::{DimValue, ElemType, Model, Name, Port, TensorType, TypeId, TypeKind, type_text};
use smallvec::SmallVec;
use std::sync::atomic::Ordering;

impl Value {
    /// Whether the value has a type. A dimension that is not a number fits every size; so does a negative one, which some producers
    /// write for an unknown size.
    pub fn fits(&self, model: &Model, ty: TypeId) -> bool {
        match (&model.types[ty].kind, self) {
            (TypeKind::Tensor(declared) | TypeKind::SparseTensor(declared), Value::Tensor(tensor)) => {
                tensor_fits(tensor, declared)
            }
            (TypeKind::Sequence(Some(inner)), Value::Sequence(values)) => {
                values.iter().all(|value| value.fits(model, *inner))
            }
            (TypeKind::Optional(Some(inner)), Value::Optional(Some(value))) => value.fits(model, *inner),
            (TypeKind::Optional(Some(inner)), Value::Tensor(_) | Value::Sequence(_)) => {
                self.fits(model, *inner)
            }
            (TypeKind::Map { .. }, Value::Map(_))
            | (TypeKind::Optional(_), Value::Optional(_))
            | (TypeKind::Sequence(None), Value::Sequence(_))
            | (TypeKind::Unset | TypeKind::Opaque { .. }, _) => true,
            (
                TypeKind::Tensor(_)
                | TypeKind::SparseTensor(_)
                | TypeKind::Sequence(_)
                | TypeKind::Optional(_)
                | TypeKind::Map { .. },
                _,
            ) => false,
        }
    }

    /// The type in the syntax of types: `float[2,3]`.
    pub fn type_text(&self) -> String {
        match self {
            Value::Tensor(tensor) => tensor.type_text(),
            Value::Sequence(values) => match values.first() {
                Some(first) => format!("seq({})", first.type_text()),
                None => "an empty sequence".to_owned(),
            },
            Value::Map(map) => format!("map({}, …)", map.keys.elem().name().unwrap_or("?")),
            Value::Optional(Some(value)) => format!("optional({})", value.type_text()),
            Value::Optional(None) => "an empty optional".to_owned(),
        }
    }
}

fn tensor_fits(tensor: &Tensor, declared: &TensorType) -> bool {
    let fits = |(dim, extent): (&onnx_ir::Dim, &usize)| match dim.value {
        DimValue::Value(expected @ 0..) => usize::try_from(expected) == Ok(*extent),
        DimValue::Value(_) | DimValue::Param(_) | DimValue::Unknown => true,
    };
    declared.elem.is_none_or(|elem| elem == tensor.elem())
        && declared
            .shape
            .as_ref()
            .is_none_or(|shape| shape.len() == tensor.rank() && shape.iter().zip(tensor.dims()).all(fits))
}

/// The finding for a value that does not have the declared type of an input of this name.
pub fn misfit(model: &Model, name: &str, ty: TypeId, value: &Value, place: Place) -> Option<Diagnostic> {
    if value.fits(model, ty) {
        return None;
    }
    let message = format!("input `{name}` is {}, expected {}", value.type_text(), type_text(model, ty));
    let diagnostic = Diagnostic::new(&code::RUN_FAILED, place, message);
    let (TypeKind::Tensor(declared), Value::Tensor(tensor)) = (&model.types[ty].kind, value) else {
        return Some(diagnostic);
    };
    let is_numeric = |elem: ElemType| elem != ElemType::STRING && elem.name().is_some();
    let other = declared.elem.filter(|&elem| elem != tensor.elem());
    Some(match (other, &declared.shape) {
        (Some(elem), _) if is_numeric(elem) && is_numeric(tensor.elem()) => {
            diagnostic.help(format!("convert its elements to {}", elem.name().unwrap_or("?")))
        }
        (None, Some(shape)) if shape.len() != tensor.rank() => {
            diagnostic.help(format!("pass a tensor of rank {}, not {}", shape.len(), tensor.rank()))
        }
        _ => diagnostic,
    })
}

impl Executable<'_> {
    /// The place of an input or output in the model that was compiled.
    fn place(&self, port: PortId) -> Place {
        let Some((body, graph)) = self.interface else { return Place::Nowhere };
        match port {
            PortId::Input(i) => Entity::Input(body, graph, index(i)).into(),
            PortId::Output(i) => Entity::Output(body, graph, index(i)).into(),
        }
    }

    /// Checks values against the declared inputs, in order: their number, kinds, element types, ranks and sizes.
    ///
    /// # Errors
    ///
    /// The first value that is missing or does not fit.
    pub(crate) fn ensure_inputs(&self, inputs: &[Option<Value>]) -> Result<(), Box<Diagnostic>> {
        let ports = self.inputs();
        if inputs.len() > ports.len() {
            let why = format!("the model has {} inputs, not {}", ports.len(), inputs.len());
            return Err(Box::new(Diagnostic::new(&code::RUN_FAILED, Place::Nowhere, why)));
        }
        for (i, port) in ports.iter().enumerate() {
            let (name, place) = (self.model.text(port.name), self.place(PortId::Input(i)));
            let found = match inputs.get(i).and_then(Option::as_ref) {
                Some(value) => port.ty.and_then(|ty| misfit(&self.model, name, ty, value, place)),
                None if port.value.is_none() || self.has_default(port) => None,
                None => {
                    let why = format!("input `{name}` is not given");
                    Some(Diagnostic::new(&code::RUN_FAILED, place, why))
                }
            };
            if let Some(found) = found {
                return Err(Box::new(found));
            }
        }
        Ok(())
    }

    /// The finding for a name that no input has.
    pub(crate) fn no_input(&self, name: &str) -> Box<Diagnostic> {
        let names = || self.inputs().iter().map(|port| self.model.text(port.name));
        let help = match did_you_mean(name, names()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("its inputs are {}", names().collect::<Vec<_>>().join(", ")),
        };
        let help = (names().count() > 0).then_some(help);
        let why = format!("the model has no input `{name}`");
        Box::new(Diagnostic::new(&code::RUN_FAILED, Place::Nowhere, why).maybe_help(help))
    }
}

/// An input or output, by its position.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum PortId {
    Input(usize),
    Output(usize),
}

fn index(i: usize) -> u32 {
    u32::try_from(i).unwrap_or(u32::MAX)
}

/// The sizes of symbols in one run: the first of each, and the value that has it. Collected only for a caller that hears warnings.
pub(crate) struct SymbolSizes<'x, 'r> {
    executable: &'x Executable<'r>,
    warn: Option<&'x super::run::Warn<'x>>,
    seen: SmallVec<[(Name, usize, PortId); 8]>,
}

impl<'x, 'r> SymbolSizes<'x, 'r> {
    pub(crate) fn new(executable: &'x Executable<'r>, options: &'x RunOptions<'x>) -> Self {
        let is_warned = executable.is_warned.load(Ordering::Relaxed);
        SymbolSizes { executable, warn: options.warn.filter(|_| !is_warned), seen: SmallVec::new() }
    }

    pub(crate) fn inputs(&mut self, inputs: &[Option<Value>]) {
        if self.warn.is_some() {
            let ports = self.executable.inputs().iter().zip(inputs).enumerate();
            ports.for_each(|(i, (port, value))| self.port(port, value.as_ref(), PortId::Input(i)));
        }
    }

    pub(crate) fn outputs(&mut self, outputs: &[Value]) {
        if self.warn.is_some() {
            let ports = self.executable.outputs().iter().zip(outputs).enumerate();
            ports.for_each(|(i, (port, value))| self.port(port, Some(value), PortId::Output(i)));
        }
    }

    fn port(&mut self, port: &Port, value: Option<&Value>, id: PortId) {
        if let (Some(ty), Some(value)) = (port.ty, value) {
            self.value(ty, value, id);
        }
    }

    fn value(&mut self, ty: TypeId, value: &Value, id: PortId) {
        let model = &self.executable.model;
        match (&model.types[ty].kind, value) {
            (TypeKind::Tensor(declared) | TypeKind::SparseTensor(declared), Value::Tensor(tensor)) => {
                let dims = declared.shape.iter().flatten().zip(tensor.dims());
                dims.for_each(|(dim, &extent)| self.dim(dim.value, extent, id));
            }
            (TypeKind::Sequence(Some(inner)), Value::Sequence(values)) => {
                values.iter().for_each(|value| self.value(*inner, value, id));
            }
            (TypeKind::Optional(Some(inner)), Value::Optional(Some(value))) => self.value(*inner, value, id),
            (TypeKind::Optional(Some(inner)), Value::Tensor(_) | Value::Sequence(_)) => {
                self.value(*inner, value, id);
            }
            _ => {}
        }
    }

    fn dim(&mut self, dim: DimValue, extent: usize, id: PortId) {
        let DimValue::Param(symbol) = dim else { return };
        match self.seen.iter().find(|(known, ..)| *known == symbol) {
            None if symbol.is_empty() => {}
            None => self.seen.push((symbol, extent, id)),
            Some(&(_, first, by)) if first != extent => self.warn(symbol, (first, by), (extent, id)),
            Some(_) => {}
        }
    }

    /// Warns once for each executable: exporters use one symbol for sizes that differ, and runtimes accept that.
    fn warn(&mut self, symbol: Name, (first, by): (usize, PortId), (second, id): (usize, PortId)) {
        let x = self.executable;
        let Some(warn) = self.warn.take().filter(|_| !x.is_warned.swap(true, Ordering::Relaxed)) else {
            return;
        };
        let of = |port: PortId| match port {
            PortId::Input(i) => format!("input `{}`", x.model.text(x.inputs()[i].name)),
            PortId::Output(i) => format!("output `{}`", x.model.text(x.outputs()[i].name)),
        };
        let symbol = &x.model.names[symbol];
        let message = match by == id {
            true => format!("dimension `{symbol}` of {} is {first} and {second}", of(id)),
            false => format!("dimension `{symbol}` is {first} in {} and {second} in {}", of(by), of(id)),
        };
        let warning = Diagnostic::new(&code::SYMBOL_SIZES, x.place(id), message)
            .help("give dimensions of different sizes different names");
        warn(if by == id {
            warning
        } else {
            warning.related(x.place(by), format!("`{symbol}` is {first} here"))
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compile::{CompileOptions, compile};
    use onnx_ops::schema::Registry;
    use std::sync::Mutex;
    use std::time::{Duration, Instant};

    fn executable(graph: &str) -> Executable<'static> {
        let text = format!("<ir_version: 10, opset_import: [\"\": 21]> g {graph}");
        let model = onnx_text::read_model(&text).value;
        compile(&model, Registry::builtin(), &CompileOptions::default()).expect("it can be run")
    }

    fn floats(dims: &[usize]) -> Value {
        Tensor::zeros(ElemType::FLOAT, dims).expect("it is small").into()
    }

    fn ints(dims: &[usize]) -> Value {
        Tensor::zeros(ElemType::INT64, dims).expect("it is small").into()
    }

    /// Every way to run a model refuses the same values with the same message.
    #[test]
    fn values_that_do_not_fit_are_refused_by_every_entry() {
        let strings = || Value::from(Tensor::of_strings(&[1], vec!["a".to_owned()]).expect("it is small"));
        let optional = |value: Option<Value>| Value::Optional(value.map(std::sync::Arc::new));
        let cases: &[(&str, Value, &str)] = &[
            ("float[2]", floats(&[2]), ""),
            ("float[2]", floats(&[5]), "input `x` is float[5], expected float[2]"),
            (
                "float[2]",
                ints(&[2]),
                "input `x` is int64[2], expected float[2] (convert its elements to float)",
            ),
            (
                "float[2]",
                ints(&[3, 4]),
                "input `x` is int64[3,4], expected float[2] (convert its elements to float)",
            ),
            ("float[2]", strings(), "input `x` is string[1], expected float[2]"),
            (
                "float[2]",
                floats(&[]),
                "input `x` is float, expected float[2] (pass a tensor of rank 1, not 0)",
            ),
            (
                "float[2]",
                Value::sequence(vec![floats(&[2])]),
                "input `x` is seq(float[2]), expected float[2]",
            ),
            ("float[N,3]", floats(&[7, 3]), ""),
            ("float[N,?]", floats(&[0, 9]), ""),
            ("float[-1]", floats(&[4]), ""),
            (
                "float[N]",
                floats(&[1, 1]),
                "input `x` is float[1,1], expected float[N] (pass a tensor of rank 1, not 2)",
            ),
            ("float[]", floats(&[1, 2, 3]), ""),
            ("seq(float[N])", Value::sequence(Vec::new()), ""),
            ("seq(float[N])", Value::sequence(vec![floats(&[1]), floats(&[2])]), ""),
            (
                "seq(float[N])",
                Value::sequence(vec![floats(&[1]), floats(&[])]),
                "input `x` is seq(float[1]), expected seq(float[N])",
            ),
            ("seq(float[N])", floats(&[1]), "input `x` is float[1], expected seq(float[N])"),
            ("optional(float[2])", optional(Some(floats(&[2]))), ""),
            ("optional(float[2])", optional(None), ""),
            ("optional(float[2])", floats(&[2]), ""),
            ("optional(float[2])", floats(&[3]), "input `x` is float[3], expected optional(float[2])"),
        ];
        let options = RunOptions::default();
        for (ty, value, expected) in cases {
            let executable = executable(&format!("({ty} x) => ({ty} y) {{ y = Identity(x) }}"));
            let given = || vec![Some(value.clone())];
            let mut outputs = Vec::new();
            let done = [
                executable.run(given(), &options).map(|_| ()),
                executable.run_into(given(), &mut outputs, &options),
                executable
                    .inputs_by_name([("x", value.clone())])
                    .and_then(|all| executable.run(all, &options))
                    .map(|_| ()),
                executable.schedule(given(), &options).map(|_| ()),
            ];
            for done in done {
                let message = done.map_or_else(|found| found.to_string(), |()| String::new());
                let message = message.strip_prefix("error[E1603]: ").unwrap_or(&message);
                assert_eq!(message, *expected, "{ty}");
            }
            if let Value::Tensor(tensor) = value {
                let prepared = executable.prepare(&[Some((tensor.elem(), tensor.dims()))], &options);
                assert_eq!(prepared.is_ok(), expected.is_empty(), "{ty}");
            }
        }
    }

    #[test]
    fn missing_inputs_are_named_and_unknown_ones_have_help() {
        let x =
            executable("(float[2] left, float[2] right = {1, 2}) => (float[2] y) { y = Add(left, right) }");
        let run =
            |inputs| x.run(inputs, &RunOptions::default()).map(|_| ()).map_err(|found| found.to_string());
        let missing = Err("error[E1603]: input `left` is not given".to_owned());
        assert_eq!((run(Vec::new()), run(vec![None, Some(floats(&[2]))])), (missing.clone(), missing));
        assert_eq!(run(vec![Some(floats(&[2]))]), Ok(()));
        let by_name =
            |name: &str| x.inputs_by_name([(name, floats(&[2]))]).map_err(|found| found.to_string());
        let unknown = |name: &str, help: &str| {
            assert_eq!(by_name(name), Err(format!("error[E1603]: the model has no input `{name}` ({help})")));
        };
        unknown("lefd", "did you mean `left`?");
        unknown("z", "its inputs are left, right");
    }

    #[test]
    fn sizes_of_a_symbol_that_differ_are_one_warning_of_an_executable() {
        let x = executable("(float[N] a, float[N] b) => (float[N] y) { y = Abs(a) z = Abs(b) }");
        let heard = Mutex::new(Vec::new());
        let warn = |warning: Diagnostic| heard.lock().expect("no thread panics").push(warning.message);
        let options = RunOptions { warn: Some(&warn), ..RunOptions::default() };
        let run = |a, b| x.run(vec![Some(floats(&[a])), Some(floats(&[b]))], &options).map(|_| ());
        let heard = |done: Result<(), Box<Diagnostic>>| {
            assert_eq!(done, Ok(()));
            std::mem::take(&mut *heard.lock().expect("no thread panics"))
        };
        assert_eq!(heard(run(2, 2)), [""; 0]);
        assert_eq!(heard(run(2, 3)), ["dimension `N` is 2 in input `a` and 3 in input `b`"]);
        assert_eq!(heard(run(2, 4)), [""; 0]);
    }

    /// The check is much faster than the smallest run.
    #[test]
    fn the_check_of_inputs_takes_less_than_a_microsecond() {
        let x = executable(
            "(float[N,3,H,W] a, float[N,3,H,W] b, int64[N] c, float[3] d) => (float[N,3,H,W] y) { y = Add(a, b) }",
        );
        let inputs = [floats(&[1, 3, 2, 2]), floats(&[1, 3, 2, 2]), ints(&[1]), floats(&[3])].map(Some);
        let batch = || {
            let start = Instant::now();
            (0..100).for_each(|_| assert!(x.ensure_inputs(std::hint::black_box(&inputs)).is_ok()));
            start.elapsed() / 100
        };
        let least = (0..200).map(|_| batch()).min().unwrap_or(Duration::MAX);
        let most = if cfg!(debug_assertions) { Duration::from_micros(5) } else { Duration::from_micros(1) };
        assert!(least < most, "{least:?}");
    }
}
