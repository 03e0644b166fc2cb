//! The declared interface of a model: values against the types of inputs, and sizes against the symbols of dimensions.

use super::Program;
use crate::options::{RunOptions, Warn};
use crate::tensor::OutputMemory;
use foldhash::{HashMap, HashMapExt as _};
use onnx_ir::diag::{Diagnostic, Entity, Place, code, counted, did_you_mean};
use onnx_ir::{
    BodyId, DimValue, ElemType, GraphId, Model, Name, Port, TensorType, TypeId, TypeKind, ValueId, type_text,
};
use onnx_kernels::{Value, extents_fit};
use smallvec::SmallVec;
use std::sync::atomic::{AtomicBool, Ordering};

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

impl Program<'_> {
    /// The place of an input or output in the model that was compiled.
    fn place(&self, port: PortId) -> Place {
        let Some((body, graph)) = self.interface else { return Place::Nowhere };
        match port {
            PortId::Input(i) => Entity::Input(body, graph, index(i)).into(),
            PortId::Output(i) => Entity::Output(body, graph, index(i)).into(),
            PortId::Inner(i) => self.declared[i].place.into(),
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
            let why = format!("the model has {}, not {}", counted(ports.len(), "input"), inputs.len());
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

    /// Checks memory for an output against its declared type.
    pub(crate) fn ensure_output_memory(
        &self,
        at: usize,
        memory: &OutputMemory,
    ) -> Result<(), Box<Diagnostic>> {
        let Some(ty) = self.outputs()[at].ty else { return Ok(()) };
        let is_fit = match &self.model.types[ty].kind {
            TypeKind::Tensor(declared) | TypeKind::SparseTensor(declared) => {
                extents_fit(memory.elem(), memory.dims(), declared)
            }
            TypeKind::Unset | TypeKind::Opaque { .. } => true,
            TypeKind::Sequence(_) | TypeKind::Optional(_) | TypeKind::Map { .. } => false,
        };
        if is_fit { Ok(()) } else { Err(self.other_memory(at, &type_text(&self.model, ty), memory)) }
    }

    /// The finding for memory that does not fit its output.
    pub(crate) fn other_memory(&self, at: usize, is: &str, memory: &OutputMemory) -> Box<Diagnostic> {
        let (name, given) = (self.model.text(self.outputs()[at].name), memory.type_text());
        let why = format!("output `{name}` is {is}, but the memory for it is {given}");
        Box::new(Diagnostic::new(&code::RUN_FAILED, self.place(PortId::Output(at)), why))
    }

    /// The finding for a call with arguments that do not make sense.
    pub(crate) fn misused(&self, why: &str) -> Box<Diagnostic> {
        Box::new(Diagnostic::new(&code::RUN_FAILED, Place::Nowhere, why))
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

/// A declared value: an input or output by its position, or a value inside the main graph by its position in `declared`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PortId {
    Input(usize),
    Output(usize),
    Inner(usize),
}

/// A tensor inside the main graph whose declared type has symbols.
pub(crate) struct DeclaredValue {
    value: ValueId,
    ty: TypeId,
    /// The declaration in the model that was compiled.
    place: Entity,
}

/// The declarations with symbols in the `value_info` of a graph, by name.
pub(crate) fn declarations(model: &Model, (body, graph): (BodyId, GraphId)) -> HashMap<Name, Entity> {
    let has_symbols = |port: &Port| match port.ty.map(|ty| &model.types[ty].kind) {
        Some(TypeKind::Tensor(declared)) => {
            declared.shape.iter().flatten().any(|dim| matches!(dim.value, DimValue::Param(_)))
        }
        _ => false,
    };
    let ports = model.bodies[body].graphs[graph].value_info.iter().enumerate();
    let symbolic = ports.filter(|(_, port)| has_symbols(port));
    symbolic.filter_map(|(i, port)| Some((port.name?, Entity::ValueInfo(body, graph, index(i))))).collect()
}

/// The values that these declarations are about, in the graph that is run.
pub(crate) fn declared(
    model: &Model,
    (body, graph): (BodyId, GraphId),
    declarations: &HashMap<Name, Entity>,
) -> Vec<DeclaredValue> {
    let ports = model.bodies[body].graphs[graph].value_info.iter();
    let declared = |port: &Port| {
        let place = *declarations.get(&port.name?)?;
        Some(DeclaredValue { value: port.value?, ty: port.ty?, place })
    };
    ports.filter_map(declared).collect()
}

fn index(i: usize) -> u32 {
    u32::try_from(i).unwrap_or(u32::MAX)
}

/// The sizes of symbols in one run: the first of each, and the value that has it. Collected only for a caller that hears warnings.
pub(crate) struct SymbolSizes<'x, 'r> {
    program: &'x Program<'r>,
    /// Whether sizes that differ have been reported by an earlier run.
    is_warned: &'x AtomicBool,
    warn: Option<&'x Warn<'x>>,
    seen: SmallVec<[(Name, usize, PortId); 8]>,
    /// The values inside the graph that have declared symbols.
    inner: HashMap<ValueId, usize>,
}

impl<'x, 'r> SymbolSizes<'x, 'r> {
    pub(crate) fn new(
        program: &'x Program<'r>,
        is_warned: &'x AtomicBool,
        options: &'x RunOptions<'x>,
    ) -> Self {
        let warn = options.warn.filter(|_| !is_warned.load(Ordering::Relaxed));
        let mut inner = HashMap::new();
        if warn.is_some() {
            inner.extend(program.declared.iter().enumerate().map(|(i, declared)| (declared.value, i)));
        }
        SymbolSizes { program, is_warned, warn, seen: SmallVec::new(), inner }
    }

    /// Tensors computed by the nodes of a graph: those of the main graph may have declared types.
    pub(crate) fn results<'t>(
        &mut self,
        graph: GraphId,
        tensors: impl Iterator<Item = (ValueId, &'t [usize])>,
    ) {
        if self.warn.is_none() || self.inner.is_empty() || graph != self.program.root {
            return;
        }
        for (value, dims) in tensors {
            let Some(&i) = self.inner.get(&value) else { continue };
            if let TypeKind::Tensor(declared) = &self.program.model.types[self.program.declared[i].ty].kind {
                self.tensor(declared, dims, PortId::Inner(i));
            }
        }
    }

    pub(crate) fn inputs(&mut self, inputs: &[Option<Value>]) {
        if self.warn.is_some() {
            let ports = self.program.inputs().iter().zip(inputs).enumerate();
            ports.for_each(|(i, (port, value))| self.port(port, value.as_ref(), PortId::Input(i)));
        }
    }

    pub(crate) fn outputs(&mut self, outputs: &[Value]) {
        if self.warn.is_some() {
            let ports = self.program.outputs().iter().zip(outputs).enumerate();
            ports.for_each(|(i, (port, value))| self.port(port, Some(value), PortId::Output(i)));
        }
    }

    fn port(&mut self, port: &Port, value: Option<&Value>, id: PortId) {
        if let (Some(ty), Some(value)) = (port.ty, value) {
            self.value(ty, value, id);
        }
    }

    fn value(&mut self, ty: TypeId, value: &Value, id: PortId) {
        let model = &self.program.model;
        match (&model.types[ty].kind, value) {
            (TypeKind::Tensor(declared) | TypeKind::SparseTensor(declared), Value::Tensor(tensor)) => {
                self.tensor(declared, tensor.dims(), id);
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

    fn tensor(&mut self, declared: &TensorType, dims: &[usize], id: PortId) {
        let dims = declared.shape.iter().flatten().zip(dims);
        dims.for_each(|(dim, &extent)| self.dim(dim.value, extent, id));
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
        let x = self.program;
        let Some(warn) = self.warn.take().filter(|_| !self.is_warned.swap(true, Ordering::Relaxed)) else {
            return;
        };
        let of = |port: PortId| match port {
            PortId::Input(i) => format!("input `{}`", x.model.text(x.inputs()[i].name)),
            PortId::Output(i) => format!("output `{}`", x.model.text(x.outputs()[i].name)),
            PortId::Inner(i) => format!("`{}`", x.value_name(x.declared[i].value)),
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
