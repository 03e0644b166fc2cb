//! The graphs of a training as executables: state and inputs go in, outputs and new state come out.

use super::state::{Variable, stored};
use onnx_exec::{CompileOptions, Executable, RunOptions, Value, compile};
use onnx_ir::diag::{Diagnostic, Place};
use onnx_ir::pass::{JoinedStep, dead_code, join_training};
use onnx_ir::{
    Body, BodyId, DimValue, Entry, GraphId, Initializer, Model, Name, Port, TypeId, Value as ValueData,
    ValueDef, ValueId,
};
use onnx_ops::schema::Registry;

/// An executable whose inputs are variables of the training and inputs of the caller.
pub(super) struct Program<'r> {
    pub(super) executable: Executable<'r>,
    /// The graph that was joined, for the places of findings.
    joined: Option<JoinedStep>,
    /// The variable that each input is.
    variables: Vec<Option<usize>>,
    /// Positions of outputs with the variables that they replace.
    updates: Vec<(usize, usize)>,
}

/// The results of a program.
pub(super) struct Computed {
    /// Outputs that no binding names.
    pub(super) outputs: Vec<(String, Value)>,
    /// New values of variables.
    pub(super) updates: Vec<(usize, Value)>,
}

/// The results of a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Purpose {
    /// All outputs, of which some replace variables.
    Update,
    /// Outputs that replace no variable.
    Evaluate,
}

impl<'r> Program<'r> {
    /// The initialization of a training; `None` if it has no graph. Names that it does not define are those of initializers: of
    /// variables, whose values are those that earlier initializations have assigned, and of constants.
    pub(super) fn initialization(
        model: &Model,
        registry: &'r Registry,
        training: usize,
        variables: &[Variable],
        options: &CompileOptions,
    ) -> Result<Option<Self>, Vec<Diagnostic>> {
        let info = &model.training[training];
        let Some(body) = info.initialization else { return Ok(None) };
        // The copy shares what tensors store.
        let mut alone = model.clone();
        alone.training.clear();
        alone.main = Some(body);
        let visible =
            |variable: &&Variable| Some(variable.body) == model.main || Some(variable.body) == info.algorithm;
        for name in unbound(&alone, body) {
            let text = &model.names[name];
            match variables.iter().filter(visible).find(|variable| variable.name == *text) {
                Some(variable) => bind_input(&mut alone, body, name, variable),
                None => bind_constant(&mut alone, body, name, [model.main, info.algorithm])?,
            }
        }
        let executable = compile(&alone, registry, options)?;
        let algorithm = info.algorithm;
        Ok(Some(Program::new(executable, None, variables, algorithm, &info.initialization_bindings, model)))
    }

    /// The algorithm of a training, joined with the main graph; `None` if it has no graph.
    pub(super) fn step(
        model: &Model,
        registry: &'r Registry,
        training: usize,
        variables: &[Variable],
        purpose: Purpose,
        options: &CompileOptions,
    ) -> Result<Option<Self>, Vec<Diagnostic>> {
        let Some(mut joined) = join_training(model, training) else { return Ok(None) };
        let info = &model.training[training];
        let visible =
            variables.iter().filter(|v| Some(v.body) == model.main || Some(v.body) == info.algorithm);
        let body = joined.body;
        visible.for_each(|variable| make_input(&mut joined.model, body, variable));
        // States are inputs now, and what only bindings name is not needed.
        joined.model.training.clear();
        if purpose == Purpose::Evaluate {
            let is_bound = |port: &Port| info.update_bindings.iter().any(|entry| entry.value == port.name);
            if let Some(root) = joined.model.bodies[body].root() {
                joined.model.bodies[body].graphs[root].outputs.retain(|port| !is_bound(port));
            }
            dead_code(&mut joined.model, registry);
        }
        match compile(&joined.model, registry, options) {
            Ok(executable) => {
                let bindings = &info.update_bindings;
                let algorithm = info.algorithm;
                Ok(Some(Program::new(executable, Some(joined), variables, algorithm, bindings, model)))
            }
            Err(mut found) => {
                joined.relocate(&mut found);
                Err(found)
            }
        }
    }

    /// The main graph alone.
    pub(super) fn inference(
        model: &Model,
        registry: &'r Registry,
        variables: &[Variable],
        options: &CompileOptions,
    ) -> Result<Self, Vec<Diagnostic>> {
        let mut alone = model.clone();
        alone.training.clear();
        if let Some(main) = model.main {
            let own = variables.iter().filter(|variable| variable.body == main);
            own.for_each(|variable| make_input(&mut alone, main, variable));
        }
        let executable = compile(&alone, registry, options)?;
        Ok(Program::new(executable, None, variables, None, &[], model))
    }

    fn new(
        executable: Executable<'r>,
        joined: Option<JoinedStep>,
        variables: &[Variable],
        algorithm: Option<BodyId>,
        bindings: &[Entry],
        model: &Model,
    ) -> Self {
        let names = executable.model();
        let visible = |name: &str| {
            variables.iter().position(|variable| {
                variable.name == name
                    && (Some(variable.body) == model.main || Some(variable.body) == algorithm)
            })
        };
        let inputs = executable.inputs().iter().map(|port| visible(names.text(port.name))).collect();
        let output = |name: &str| executable.outputs().iter().position(|port| names.text(port.name) == name);
        let update =
            |entry: &Entry| Some((output(model.text(entry.value))?, visible(model.text(entry.key))?));
        let updates = bindings.iter().filter_map(update).collect();
        Program { executable, joined, variables: inputs, updates }
    }

    /// The inputs that the caller gives.
    pub(super) fn inputs(&self) -> impl Iterator<Item = &Port> {
        let ports = self.executable.inputs().iter().zip(&self.variables);
        ports.filter(|(_, variable)| variable.is_none()).map(|(port, _)| port)
    }

    /// Runs the graph. Inputs that it does not have are left out.
    pub(super) fn run(
        &self,
        variables: &[Value],
        inputs: &[(&str, Value)],
        options: &RunOptions<'_>,
    ) -> Result<Computed, Box<Diagnostic>> {
        let model = self.executable.model();
        let ports = self.executable.inputs().iter().zip(&self.variables);
        let values = ports.map(|(port, variable)| match variable {
            Some(variable) => variables.get(*variable).cloned(),
            None => {
                let name = model.text(port.name);
                inputs.iter().find(|(given, _)| *given == name).map(|(_, value)| value.clone())
            }
        });
        let results = self.executable.run(values.collect(), options).map_err(|mut found| {
            if let Some(joined) = &self.joined {
                joined.relocate(std::slice::from_mut(&mut found));
            }
            found
        })?;
        let updates = (self.updates.iter())
            .filter_map(|&(output, variable)| Some((variable, results.get(output)?.clone())))
            .collect();
        let ports = self.executable.outputs().iter().zip(results).enumerate();
        let outputs = ports
            .filter(|(at, _)| !self.updates.iter().any(|(output, _)| output == at))
            .map(|(_, (port, value))| (model.text(port.name).to_owned(), value))
            .collect();
        Ok(Computed { outputs, updates })
    }
}

/// The names that a body reads and does not define.
fn unbound(model: &Model, body: BodyId) -> Vec<Name> {
    let values = model.bodies[body].values.values();
    values.filter(|value| matches!(value.def, ValueDef::Unbound(_))).map(|value| value.name).collect()
}

/// The values of a name that nothing defines become those of the root graph.
fn define(b: &mut Body, name: Name, def: impl Fn(GraphId) -> ValueDef) -> Option<(GraphId, ValueId)> {
    let root = b.root()?;
    let is_it =
        |(_, value): &(ValueId, &ValueData)| value.name == name && matches!(value.def, ValueDef::Unbound(_));
    let (value, _) = b.values.iter().find(is_it)?;
    b.values[value].def = def(root);
    Some((root, value))
}

/// Makes an input of a name that the root graph of a body does not define.
fn bind_input(model: &mut Model, body: BodyId, name: Name, variable: &Variable) {
    let ty = type_of(model, variable);
    let b = &mut model.bodies[body];
    if let Some((root, value)) = define(b, name, ValueDef::Input) {
        let port = Port { name: Some(name), value: Some(value), ty: Some(ty), ..Port::default() };
        b.graphs[root].inputs.push(port);
    }
}

/// Makes an initializer of such a name, with the value that one of these bodies stores.
fn bind_constant(
    model: &mut Model,
    body: BodyId,
    name: Name,
    holders: [Option<BodyId>; 2],
) -> Result<(), Vec<Diagnostic>> {
    let stored = holders.into_iter().flatten().find_map(|holder| stored(model, holder, name));
    let Some(stored) = stored else { return Ok(()) };
    let tensor = stored.and_then(|tensor| tensor.to_stored()).map_err(|why| {
        let message = format!("`{}`: {why}", &model.names[name]);
        vec![Diagnostic::new(why.code(), Place::Nowhere, message)]
    })?;
    let b = &mut model.bodies[body];
    if let Some((root, value)) = define(b, name, ValueDef::Initializer) {
        let tensor = b.tensors.push(onnx_ir::Tensor { name: Some(name), ..tensor });
        b.graphs[root].initializers.push(Initializer { value, tensor });
    }
    Ok(())
}

fn type_of(model: &mut Model, variable: &Variable) -> TypeId {
    let dims = variable.value.dims().iter().map(|&d| DimValue::Value(i64::try_from(d).unwrap_or(i64::MAX)));
    model.types.tensor(variable.value.elem(), dims)
}

/// Makes an input of an initializer of the root graph of a body.
fn make_input(model: &mut Model, body: BodyId, variable: &Variable) {
    let Some(name) = model.names.find(&variable.name) else { return };
    let ty = type_of(model, variable);
    let b = &mut model.bodies[body];
    let Some(root) = b.root() else { return };
    let values = &b.values;
    let graph = &mut b.graphs[root];
    let dense = graph.initializers.iter().position(|init| values[init.value].name == name);
    let sparse = graph.sparse_initializers.iter().position(|init| values[init.value].name == name);
    let value = match (dense, sparse) {
        (Some(at), _) => graph.initializers.remove(at).value,
        (None, Some(at)) => graph.sparse_initializers.remove(at).value,
        (None, None) => return,
    };
    graph.value_info.retain(|port| port.value != Some(value));
    if !graph.inputs.iter().any(|port| port.value == Some(value)) {
        graph.inputs.push(Port { name: Some(name), value: Some(value), ty: Some(ty), ..Port::default() });
    }
    b.values[value].def = ValueDef::Input(root);
}
