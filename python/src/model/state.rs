//! A model that several views and threads share: a lock, and what says whether views are still valid.

use crate::finding::{Finding, refused, stale};
use crate::session::interruptible;
use onnx_ir::diag::{Diagnostic, Level};
use onnx_ir::pass::compact;
use onnx_ir::{BodyId, GraphId, Model, NodeId, Uses, ValueId};
use onnx_ops::opset::registry_of;
use onnx_ops::targets;
use onnx_proto::external::is_stored_outside;
use onnxtxt::check::CheckOptions;
use onnxtxt::{File, Form, Loaded};
use pyo3::prelude::*;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock, TryLockError};

/// A model with its lock.
pub(crate) struct Shared {
    state: RwLock<State>,
}

/// A part of a model that an edit has removed.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Removed {
    Node(BodyId, NodeId),
    Value(BodyId, ValueId),
}

/// The model and what has happened to it.
pub(crate) struct State {
    loaded: Loaded,
    /// Increases when ids become invalid.
    generation: u64,
    /// The method that made ids invalid last.
    rewriter: &'static str,
    /// Whether the model differs from the file, so that ids may not be in the order of the text.
    is_edited: bool,
    /// How often it was changed.
    changes: u64,
    removed: HashMap<Removed, String>,
    /// The uses of each body, as of the last edit.
    uses: Mutex<HashMap<BodyId, Arc<Uses>>>,
    /// The model with its external weights, and findings about those that cannot be read.
    with_weights: Mutex<Option<Arc<WithWeights>>>,
}

type WithWeights = (Loaded, Vec<Diagnostic>);

impl Shared {
    pub(crate) fn new(loaded: Loaded) -> Arc<Shared> {
        let state = State {
            loaded,
            generation: 0,
            rewriter: "",
            is_edited: false,
            changes: 0,
            removed: HashMap::new(),
            uses: Mutex::default(),
            with_weights: Mutex::default(),
        };
        Arc::new(Shared { state: RwLock::new(state) })
    }

    /// Reads the model. `read` calls no Python code, because that might wait for the lock.
    pub(crate) fn read<R>(&self, py: Python<'_>, read: impl FnOnce(&State) -> R) -> R {
        loop {
            match self.state.try_read() {
                Ok(state) => return read(&state),
                Err(TryLockError::Poisoned(state)) => return read(&state.into_inner()),
                // Another thread changes the model, for which it may need what this thread holds.
                Err(TryLockError::WouldBlock) => py.detach(|| drop(self.state.read())),
            }
        }
    }

    /// Reads the model for a longer time, without the lock of the interpreter.
    pub(crate) fn read_long<R: Send>(&self, py: Python<'_>, read: impl FnOnce(&State) -> R + Send) -> R {
        py.detach(|| read(&self.state.read().unwrap_or_else(PoisonError::into_inner)))
    }

    /// Reads the model for a longer time; Ctrl-C ends the work.
    pub(crate) fn read_watched<R: Send>(
        &self,
        py: Python<'_>,
        read: impl FnOnce(&State) -> R + Send,
    ) -> PyResult<R> {
        interruptible(py, || read(&self.state.read().unwrap_or_else(PoisonError::into_inner)))
    }

    /// Changes the model, without the lock of the interpreter. Ctrl-C ends the work wherever it looks, so the model must be as it was
    /// until then.
    pub(crate) fn write_watched<R: Send>(
        &self,
        py: Python<'_>,
        write: impl FnOnce(&mut State) -> R + Send,
    ) -> PyResult<R> {
        interruptible(py, || write(&mut self.state.write().unwrap_or_else(PoisonError::into_inner)))
    }

    /// Changes the model, without the lock of the interpreter.
    pub(crate) fn write<R: Send>(&self, py: Python<'_>, write: impl FnOnce(&mut State) -> R + Send) -> R {
        py.detach(|| write(&mut self.state.write().unwrap_or_else(PoisonError::into_inner)))
    }

    /// A model of its own with the same content.
    pub(crate) fn copy(&self, py: Python<'_>) -> Arc<Shared> {
        let (loaded, is_edited) = self.read_long(py, |state| (state.loaded.clone(), state.is_edited));
        let copy = Shared::new(loaded);
        copy.write(py, |state| state.is_edited = is_edited);
        copy
    }

    /// A copy of the model, with the data of its tensors shared.
    pub(crate) fn snapshot(&self, py: Python<'_>) -> Loaded {
        self.read_long(py, |state| state.loaded.clone())
    }
}

impl State {
    pub(crate) fn loaded(&self) -> &Loaded {
        &self.loaded
    }

    pub(crate) fn model(&self) -> &Model {
        &self.loaded.model
    }

    pub(crate) fn generation(&self) -> u64 {
        self.generation
    }

    /// Whether the model differs from the file that it was read from.
    pub(crate) fn is_edited(&self) -> bool {
        self.is_edited
    }

    /// The model for an edit that keeps ids. A model of which parts could not be read is refused, because an edit would lose them.
    pub(crate) fn edit(&mut self) -> PyResult<&mut Model> {
        if !self.is_edited {
            let lost = self.loaded.lost_parts();
            if !lost.is_empty() {
                return Err(refused(&self.loaded, &lost));
            }
            let model = std::mem::take(&mut self.loaded.model);
            self.loaded = self.loaded.became(model);
            self.is_edited = true;
        }
        self.forget();
        Ok(&mut self.loaded.model)
    }

    /// The model for a change of the places of its weights.
    pub(crate) fn loaded_mut(&mut self) -> &mut Loaded {
        self.forget();
        &mut self.loaded
    }

    /// Replaces the model by what `rewriter` made of it. Views of the old one become invalid.
    pub(crate) fn replace(&mut self, loaded: Loaded, rewriter: &'static str) {
        self.loaded = loaded;
        self.generation += 1;
        self.rewriter = rewriter;
        self.is_edited = true;
        self.removed.clear();
        self.forget();
    }

    /// How often the model was changed.
    pub(crate) fn changes(&self) -> u64 {
        self.changes
    }

    /// Forgets what is known about the model as it was.
    fn forget(&mut self) {
        self.changes += 1;
        self.uses.get_mut().unwrap_or_else(PoisonError::into_inner).clear();
        *self.with_weights.get_mut().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// The model with its external weights, which are mapped, and findings about those that cannot be read.
    pub(crate) fn with_weights(&self) -> Arc<WithWeights> {
        let mut known = self.with_weights.lock().unwrap_or_else(PoisonError::into_inner);
        let load = || {
            let mut loaded = self.loaded.clone();
            let found = loaded.load_weights();
            Arc::new((loaded, found))
        };
        known.get_or_insert_with(load).clone()
    }

    /// Replaces the model by one that is read from its file as it is now.
    pub(crate) fn reread(&mut self, loaded: Loaded, rewriter: &'static str) {
        self.replace(loaded, rewriter);
        self.is_edited = false;
    }

    /// Records that a part was removed; `name` says which.
    pub(crate) fn note_removed(&mut self, removed: Removed, name: String) {
        self.removed.insert(removed, name);
    }

    /// Fails if ids of this generation are not valid any more.
    pub(crate) fn ensure_generation(&self, generation: u64, what: &str) -> PyResult<()> {
        if generation == self.generation {
            return Ok(());
        }
        let rewriter = self.rewriter;
        Err(stale(format!("the model was rewritten by {rewriter}(): get the {what} from the model again")))
    }

    /// Fails if a part was removed.
    pub(crate) fn ensure_there(&self, removed: Removed) -> PyResult<()> {
        let Some(name) = self.removed.get(&removed) else { return Ok(()) };
        Err(stale(format!("{name} was removed from the model")))
    }

    /// The uses of the values of a body.
    pub(crate) fn uses(&self, body: BodyId) -> Arc<Uses> {
        let mut known = self.uses.lock().unwrap_or_else(PoisonError::into_inner);
        known.entry(body).or_insert_with(|| Arc::new(Uses::of(&self.loaded.model.bodies[body]))).clone()
    }

    /// The graph that lists a node.
    pub(crate) fn graph_of(&self, body: BodyId, node: NodeId) -> Option<GraphId> {
        // A short graph is searched faster than all uses are found.
        let b = &self.loaded.model.bodies[body];
        let root = b.root()?;
        if b.nodes.len() < 64 && b.graphs[root].nodes.contains(&node) {
            return Some(root);
        }
        self.uses(body).graph_of(node)
    }

    /// A model to check and to render findings about: one whose ids are in the order of its text.
    pub(crate) fn in_order(&self) -> Loaded {
        if !self.is_edited {
            return self.loaded.clone();
        }
        if self.loaded.file().form == Form::Text {
            // The comments of a text can allow findings, and its lines are those that the user knows.
            let file = self.loaded.file();
            let text = self.loaded.text_as_laid_out();
            let mut file = File::new(file.name.clone(), file.path.clone(), text.into());
            file.form = Form::Text;
            return file.load();
        }
        let mut model = self.loaded.model.clone();
        compact(&mut model);
        self.loaded.became(model)
    }

    /// The findings that options ask for.
    pub(crate) fn check(&self, options: &CheckOptions<'_>) -> Vec<Finding> {
        let edited = if self.is_edited { Some(self.in_order()) } else { None };
        let loaded = edited.as_ref().unwrap_or(&self.loaded);
        let is_in_file =
            loaded.file().form == Form::Text || !self.is_edited && is_stored_outside(&loaded.model);
        if is_in_file {
            let checked = options.check(loaded.file());
            let found = options.filter.apply(checked.diagnostics.clone());
            return Finding::all(&checked, &found);
        }
        let mut found = loaded.check(options.filter.level);
        if options.filter.level > Level::Syntax && !loaded.is_partial() {
            let of = |target: &&_| targets::check(&loaded.model, registry_of(&loaded.model), target);
            found.extend(options.targets.iter().flat_map(of));
        }
        Finding::all(loaded, &options.filter.apply(found))
    }
}
