//! [`Trainer`]: the state of a training, and the steps that change it.

use super::derived_seed;
use super::program::{Computed, Program, Purpose};
use super::state::{State, Variable, is_alike, load, not_finite, store, stored};
use onnx_exec::{CompileOptions, RunOptions, Tensor, Value};
use onnx_ir::diag::{Diagnostic, Entity, Level, Place, code, did_you_mean};
use onnx_ir::{BodyId, Entry, Model, Name, Port, VerifyOptions, verify};
use onnx_ops::check::ensure_clear;
use onnx_ops::schema::Registry;
use std::sync::OnceLock;

/// How a model is trained.
#[derive(Clone, Default)]
pub struct TrainOptions<'o> {
    /// How the graphs are prepared.
    pub compile: CompileOptions,
    /// How the graphs are run. Random operators without a seed of their own draw from `run.seed` and the number of the step, so that
    /// two trainings with one seed are the same.
    pub run: RunOptions<'o>,
    /// The position of the only algorithm that a step runs; all of them in order, if `None`. Initializations are run in any case.
    pub algorithm: Option<usize>,
}

impl TrainOptions<'_> {
    fn runs(&self, algorithm: usize) -> bool {
        self.algorithm.is_none_or(|only| only == algorithm)
    }
}

/// A model in training.
pub struct Trainer<'r> {
    model: Model,
    registry: &'r Registry,
    options: TrainOptions<'r>,
    variables: Vec<Variable>,
    initializations: Vec<Program<'r>>,
    algorithms: Vec<Program<'r>>,
    /// Prepared for the first evaluation.
    evaluations: OnceLock<Vec<Program<'r>>>,
    /// Prepared for the first inference.
    inference: OnceLock<Program<'r>>,
    step: u64,
}

/// Inputs or outputs by name.
type Named = Vec<(String, Value)>;

/// Distinguishes the seeds of initializations from those of steps.
const INITIALIZATION: u64 = u64::MAX;

impl<'r> Trainer<'r> {
    /// Prepares the graphs of a model's training: its initializations, and its algorithms joined with the main graph. The graphs for
    /// [`evaluate`](Self::evaluate) and [`infer`](Self::infer) are prepared when these are called first. The state is what the model
    /// stores. External data has to be in place.
    ///
    /// # Errors
    ///
    /// The model has no training, or bindings that do not fit; its meaning is unclear, unless `compile.unchecked` allows it; or
    /// everything that stands in the way of running a graph.
    pub fn new(
        model: &Model,
        registry: &'r Registry,
        options: &TrainOptions<'r>,
    ) -> Result<Self, Vec<Diagnostic>> {
        check(model)?;
        if !options.compile.unchecked {
            ensure_clear(model, registry)?;
        }
        let variables = variables(model)?;
        // The graphs are parts of what has been checked.
        let mut options = options.clone();
        options.compile.unchecked = true;
        let compile = &options.compile;
        let (mut initializations, mut algorithms) = (Vec::new(), Vec::new());
        for i in 0..model.training.len() {
            initializations.extend(Program::initialization(model, registry, i, &variables, compile)?);
            if options.runs(i) {
                algorithms.extend(Program::step(model, registry, i, &variables, Purpose::Update, compile)?);
            }
        }
        Ok(Trainer {
            model: model.clone(),
            registry,
            options,
            variables,
            initializations,
            algorithms,
            evaluations: OnceLock::new(),
            inference: OnceLock::new(),
            step: 0,
        })
    }

    /// Resets the state to what the model stores, then to what the initializations compute; those are run in order, and the
    /// bindings of each are applied at once when it has run. The number of steps becomes zero.
    ///
    /// # Errors
    ///
    /// A graph cannot be run, or computes a value of another type than the initializer has, or one that is infinite or NaN. Then
    /// nothing has changed.
    pub fn initialize(&mut self) -> Result<(), Box<Diagnostic>> {
        let mut values: Vec<Value> = self.variables.iter().map(|v| v.stored.clone().into()).collect();
        for (i, program) in (0u64..).zip(&self.initializations) {
            let options = self.run_options(&[INITIALIZATION, i]);
            let computed = program.run(&values, &[], &options)?;
            self.update(&mut values, computed.updates)?;
        }
        self.set(values)?;
        self.step = 0;
        Ok(())
    }

    /// Whether the model has graphs that compute initial values.
    pub fn has_initialization(&self) -> bool {
        !self.initializations.is_empty()
    }

    /// Makes a step: runs the algorithms in order, and replaces the state by what the bindings of each name when it has run. Returns
    /// the outputs that replace nothing, each once.
    ///
    /// # Errors
    ///
    /// An input is missing or unknown, a graph cannot be run, or computes a value of another type than the initializer has, or the
    /// training diverges: a part of the state that was finite would become infinite or NaN. Then nothing has changed.
    pub fn step(&mut self, inputs: &[(&str, Value)]) -> Result<Named, Box<Diagnostic>> {
        self.known(inputs, &self.algorithms)?;
        let mut values = self.values();
        let mut outputs = Vec::new();
        for (i, program) in (0u64..).zip(&self.algorithms) {
            let options = self.run_options(&[self.step, i]);
            let computed = program.run(&values, inputs, &options)?;
            add(&mut outputs, computed.outputs);
            self.update(&mut values, computed.updates)?;
        }
        self.set(values)?;
        self.step += 1;
        Ok(outputs)
    }

    /// Computes what a step would return, and changes nothing: losses of data that the model is not trained with.
    ///
    /// # Errors
    ///
    /// An input is missing or unknown, or a graph cannot be run.
    pub fn evaluate(&self, inputs: &[(&str, Value)]) -> Result<Named, Box<Diagnostic>> {
        self.known(inputs, &self.algorithms)?;
        let values = self.values();
        let mut outputs = Vec::new();
        for (i, program) in (0u64..).zip(self.evaluations()?) {
            let Computed { outputs: new, .. } =
                program.run(&values, inputs, &self.run_options(&[self.step, i]))?;
            add(&mut outputs, new);
        }
        Ok(outputs)
    }

    /// Runs the main graph with the state of now.
    ///
    /// # Errors
    ///
    /// An input is missing or unknown, or the graph cannot be run.
    pub fn infer(&self, inputs: &[(&str, Value)]) -> Result<Named, Box<Diagnostic>> {
        let inference = self.inference()?;
        self.known(inputs, std::slice::from_ref(inference))?;
        let options = self.run_options(&[self.step]);
        Ok(inference.run(&self.values(), inputs, &options)?.outputs)
    }

    /// The inputs of a step, each with the model that has its type.
    pub fn inputs(&self) -> Vec<(&Model, &Port)> {
        let mut all: Vec<(&Model, &Port)> = Vec::new();
        for program in &self.algorithms {
            let model = program.executable.model();
            for port in program.inputs() {
                let name = model.text(port.name);
                if !all.iter().any(|(of, known)| of.text(known.name) == name) {
                    all.push((model, port));
                }
            }
        }
        all
    }

    /// Whether the model stores a value for an input of a step.
    pub fn has_default(&self, input: &str) -> bool {
        let has = |program: &Program<'_>| {
            let executable = &program.executable;
            let mut ports = executable.inputs().iter();
            let port = ports.find(|port| executable.model().text(port.name) == input);
            port.is_none_or(|port| executable.has_default(port))
        };
        self.algorithms.iter().all(has)
    }

    /// The seed that random operators draw from.
    pub fn seed(&self) -> u64 {
        self.options.run.seed
    }

    /// Changes the seed, before a step or the initialization.
    pub fn set_seed(&mut self, seed: u64) {
        self.options.run.seed = seed;
    }

    /// The number of steps that have been made.
    pub fn steps(&self) -> u64 {
        self.step
    }

    /// A variable of the state.
    pub fn variable(&self, name: &str) -> Option<&Tensor> {
        self.variables.iter().find(|variable| variable.name == name).map(|variable| &variable.value)
    }

    /// The state, which shares its tensors with this trainer.
    pub fn state(&self) -> State {
        let variables = self.variables.iter().map(|v| (v.name.clone(), v.value.clone())).collect();
        State { step: self.step, variables }
    }

    /// Continues from a state that was saved.
    ///
    /// # Errors
    ///
    /// It lacks a variable, or has one that is unknown or of another type. Then nothing has changed.
    pub fn load_state(&mut self, state: &State) -> Result<(), Vec<Diagnostic>> {
        load(&mut self.variables, state)?;
        self.step = state.step;
        Ok(())
    }

    /// The model with the state as its initializers. Everything else is that of the model that was given, ids of nodes included.
    ///
    /// # Errors
    ///
    /// There is not enough memory.
    pub fn into_model(self) -> Result<Model, Vec<Diagnostic>> {
        let Trainer { model, variables, .. } = self;
        with_state(model, &variables)
    }

    /// The same, to continue with the training afterwards.
    ///
    /// # Errors
    ///
    /// There is not enough memory.
    pub fn model(&self) -> Result<Model, Vec<Diagnostic>> {
        with_state(self.model.clone(), &self.variables)
    }

    /// The algorithms without updates.
    fn evaluations(&self) -> Result<&[Program<'r>], Box<Diagnostic>> {
        if let Some(made) = self.evaluations.get() {
            return Ok(made);
        }
        let (model, compile) = (&self.model, &self.options.compile);
        let mut made = Vec::new();
        for i in (0..model.training.len()).filter(|i| self.options.runs(*i)) {
            let program = Program::step(model, self.registry, i, &self.variables, Purpose::Evaluate, compile);
            made.extend(program.map_err(first)?);
        }
        Ok(self.evaluations.get_or_init(|| made))
    }

    /// The main graph alone.
    fn inference(&self) -> Result<&Program<'r>, Box<Diagnostic>> {
        if let Some(made) = self.inference.get() {
            return Ok(made);
        }
        let made = Program::inference(&self.model, self.registry, &self.variables, &self.options.compile);
        let made = made.map_err(first)?;
        Ok(self.inference.get_or_init(|| made))
    }

    fn run_options(&self, numbers: &[u64]) -> RunOptions<'r> {
        RunOptions { seed: derived_seed(self.options.run.seed, numbers), ..self.options.run.clone() }
    }

    fn values(&self) -> Vec<Value> {
        self.variables.iter().map(|variable| variable.value.clone().into()).collect()
    }

    /// Replaces values by new ones of the same types.
    fn update(&self, values: &mut [Value], updates: Vec<(usize, Value)>) -> Result<(), Box<Diagnostic>> {
        for (at, new) in updates {
            let variable = &self.variables[at];
            let fits = new.tensor().is_ok_and(|tensor| is_alike(tensor, &variable.value));
            if !fits {
                let is = new.tensor().map_or_else(|_| new.kind().to_owned(), onnx_exec::Tensor::type_text);
                let (name, requested) = (&variable.name, variable.value.type_text());
                let message =
                    format!("training assigns a value of type `{is}` to `{name}` of type `{requested}`");
                return Err(failed(message));
            }
            if let Ok(new) = new.tensor()
                && let Some(what) = not_finite(new)
                && values[at].tensor().is_ok_and(|old| not_finite(old).is_none())
            {
                let message = format!("`{}` becomes {what} in step {}", variable.name, self.step + 1);
                let found = failed(format!("{message}: the training diverges"));
                return Err(Box::new(
                    found.help("lower the learning rate, or look for such numbers in the data"),
                ));
            }
            values[at] = new;
        }
        Ok(())
    }

    fn set(&mut self, values: Vec<Value>) -> Result<(), Box<Diagnostic>> {
        let tensors: Result<Vec<Tensor>, _> = values.iter().map(|value| value.tensor().cloned()).collect();
        let tensors = tensors.map_err(|why| failed(why.to_string()))?;
        for (variable, tensor) in self.variables.iter_mut().zip(tensors) {
            variable.value = tensor;
        }
        Ok(())
    }

    /// Whether all inputs are known.
    fn known(&self, inputs: &[(&str, Value)], programs: &[Program<'_>]) -> Result<(), Box<Diagnostic>> {
        let names =
            || programs.iter().flat_map(|p| p.inputs().map(|port| p.executable.model().text(port.name)));
        for (name, _) in inputs {
            if !names().any(|known| known == *name) {
                let mut diagnostic = failed(format!("the training has no input `{name}`"));
                diagnostic.help = did_you_mean(name, names()).map(|like| format!("did you mean `{like}`?"));
                return Err(diagnostic);
            }
        }
        Ok(())
    }
}

fn with_state(mut model: Model, variables: &[Variable]) -> Result<Model, Vec<Diagnostic>> {
    for variable in variables {
        store(&mut model, variable).map_err(|why| {
            let message = format!("`{}`: {why}", variable.name);
            vec![Diagnostic::new(why.code(), Place::Nowhere, message)]
        })?;
    }
    Ok(model)
}

/// The first of several findings.
fn first(found: Vec<Diagnostic>) -> Box<Diagnostic> {
    let first = found.into_iter().next();
    first.map_or_else(|| failed("the graph cannot be prepared".to_owned()), Box::new)
}

fn failed(message: String) -> Box<Diagnostic> {
    Box::new(Diagnostic::new(&code::RUN_FAILED, Place::Nowhere, message))
}

/// Adds outputs; of two with one name, that of the later algorithm is kept.
fn add(outputs: &mut Named, new: Named) {
    for (name, value) in new {
        match outputs.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => *known = value,
            None => outputs.push((name, value)),
        }
    }
}

/// Whether the model has a training whose bindings fit.
fn check(model: &Model) -> Result<(), Vec<Diagnostic>> {
    if model.training.iter().all(|training| training.algorithm.is_none()) {
        let message = "the model has no training algorithm";
        let help = "make one with `onnxtxt trainable`";
        return Err(vec![Diagnostic::new(&code::CANNOT_RUN, Place::Nowhere, message).help(help)]);
    }
    let mut found = verify(model, &VerifyOptions { level: Level::Spec, payloads: false });
    let codes = [
        code::TRAINING_BINDINGS.id,
        code::TRAINING_INITIALIZATION.id,
        code::TRAINING_GRAPHS.id,
        code::TRAINING_BINDING_TYPE.id,
    ];
    found.retain(|diagnostic| diagnostic.is_error() && codes.contains(&diagnostic.code.id));
    if found.is_empty() { Ok(()) } else { Err(found) }
}

/// The initializers that bindings name: those of the main graph in its order, then those of each algorithm.
fn variables(model: &Model) -> Result<Vec<Variable>, Vec<Diagnostic>> {
    let (mut all, mut found) = (Vec::<Variable>::new(), Vec::new());
    let is_bound = |entries: &[Entry], name: Name| entries.iter().any(|entry| entry.key == Some(name));
    let mut take = |body: BodyId, is_state: &dyn Fn(Name) -> bool, place: Place| {
        let b = &model.bodies[body];
        let Some(root) = b.root() else { return };
        let graph = &b.graphs[root];
        let dense = graph.initializers.iter().map(|init| init.value);
        let sparse = graph.sparse_initializers.iter().map(|init| init.value);
        for name in dense.chain(sparse).map(|value| b.values[value].name).filter(|name| is_state(*name)) {
            let text = &model.names[name];
            if all.iter().any(|known| known.name == text) {
                let message = format!("two graphs of the training have a state `{text}`");
                found.push(Diagnostic::new(&code::TRAINING_BINDINGS, place, message));
                continue;
            }
            match stored(model, body, name) {
                Some(Ok(tensor)) => {
                    all.push(Variable { name: text.to_owned(), body, stored: tensor.clone(), value: tensor })
                }
                Some(Err(why)) => {
                    found.push(Diagnostic::new(why.code(), place, format!("initializer `{text}`: {why}")));
                }
                None => {}
            }
        }
    };
    if let Some(main) = model.main {
        let is_state = |name: Name| {
            let mut infos = model.training.iter();
            infos.any(|info| {
                is_bound(&info.update_bindings, name) || is_bound(&info.initialization_bindings, name)
            })
        };
        take(main, &is_state, Place::Nowhere);
    }
    for (i, info) in (0u32..).zip(&model.training) {
        let Some(algorithm) = info.algorithm else { continue };
        let is_state = |name: Name| {
            is_bound(&info.update_bindings, name) || is_bound(&info.initialization_bindings, name)
        };
        take(algorithm, &is_state, Entity::Training(i).into());
    }
    if found.is_empty() { Ok(all) } else { Err(found) }
}
