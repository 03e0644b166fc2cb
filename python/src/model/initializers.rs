//! The initializers of a graph, by name.

use super::graph::PyGraph;
use super::operand::{initializer, like_others};
use super::state::{Removed, State};
use super::tensor::{array_of, stored};
use super::value::find_value;
use onnx_ir::{ElemType, Initializer, Payload, Tensor, ValueDef};
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyList;

/// The initializers of a graph: a mapping from names to arrays.
///
/// Arrays share the memory of the model and cannot be written: assign a new one. Assigning to a new name adds an initializer; deleting one
/// that is read raises `ValueError`.
#[pyclass(name = "Initializers", module = "onnxtxt", frozen)]
pub(crate) struct PyInitializers {
    graph: PyGraph,
}

impl PyInitializers {
    pub(crate) fn new(graph: PyGraph) -> PyInitializers {
        PyInitializers { graph }
    }

    /// The position of an initializer.
    fn position(&self, state: &State, name: &str) -> PyResult<Option<(usize, Initializer)>> {
        let (graph, model) = (self.graph.get(state)?, state.model());
        let values = &model.bodies[self.graph.body()].values;
        let Some(named) = model.names.find(name) else { return Ok(None) };
        let mut all = graph.initializers.iter().copied().enumerate();
        Ok(all.find(|(_, known)| values[known.value].name == named))
    }

    fn names(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.graph.shared().read(py, |state| {
            let (graph, model) = (self.graph.get(state)?, state.model());
            let values = &model.bodies[self.graph.body()].values;
            Ok(graph
                .initializers
                .iter()
                .map(|known| model.names[values[known.value].name].to_owned())
                .collect())
        })
    }
}

#[pymethods]
impl PyInitializers {
    fn __getitem__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let shared = self.graph.shared();
        match shared.read(py, |state| self.position(state, name))? {
            Some((_, known)) => array_of(py, shared, self.graph.body(), known.tensor),
            None => Err(PyKeyError::new_err(name.to_owned())),
        }
    }

    /// The array of a name, or `default`.
    ///
    /// >>> model = onnxtxt.parse('<ir_version: 10, opset_import: ["": 21]> g (float[2] x) => (float[2] y) <float[2] w = {3, 4}> { y = Add(x, w) }')
    /// >>> model.graph.initializers.get("w"), model.graph.initializers.get("b")
    /// (array([3., 4.], dtype=float32), None)
    #[pyo3(signature = (name, default = None))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        if self.__contains__(py, name)? { self.__getitem__(py, name).map(Some) } else { Ok(default) }
    }

    fn __setitem__(&self, py: Python<'_>, name: &str, array: &Bound<'_, PyAny>) -> PyResult<()> {
        let tensor = stored(array)?;
        let (body, graph) = (self.graph.body(), self.graph.id());
        self.graph.shared().write(py, |state| {
            if let Some((_, known)) = self.position(state, name)? {
                let place = &mut state.edit()?.bodies[body].tensors[known.tensor];
                let extra = place.extra.take().map(|mut extra| {
                    (extra.location, extra.external, extra.segment) = (None, Vec::new(), None);
                    extra
                });
                let field = place.data.first().map(Payload::field);
                *place = Tensor { name: place.name, extra, ..tensor };
                // Where the old elements were.
                if let (Some(field), [Payload::Entries { field: new, .. }]) = (field, &mut place.data[..])
                    && place.elem.and_then(ElemType::field) == Some(field)
                    && place
                        .elem
                        .and_then(ElemType::bits)
                        .is_some_and(|bits| field.entry_size() * 8 == bits as usize)
                {
                    *new = field;
                }
                return Ok(());
            }
            let existing = find_value(state.model(), body, name);
            if let Some(value) = existing {
                // An input gets a default.
                if state.model().bodies[body].values[value].def != ValueDef::Input(graph) {
                    let message = format!(
                        "a value has the name `{name}` already, which is not an initializer of the graph"
                    );
                    return Err(PyValueError::new_err(message));
                }
                let model = state.edit()?;
                let tensor = like_others(model, tensor);
                let b = &mut model.bodies[body];
                let tensor = b.tensors.push(Tensor { name: Some(b.values[value].name), ..tensor });
                b.graphs[graph].initializers.push(Initializer { value, tensor });
                return Ok(());
            }
            let model = state.edit()?;
            let name = model.names.intern(name);
            initializer(model, body, graph, name, tensor);
            Ok(())
        })
    }

    fn __delitem__(&self, py: Python<'_>, name: &str) -> PyResult<()> {
        let (body, graph) = (self.graph.body(), self.graph.id());
        self.graph.shared().write(py, |state| {
            let Some((at, known)) = self.position(state, name)? else {
                return Err(PyKeyError::new_err(name.to_owned()));
            };
            let is_input = matches!(state.model().bodies[body].values[known.value].def, ValueDef::Input(_));
            if !is_input && !state.uses(body).is_unused(known.value) {
                let message = format!("initializer `{name}` is read: replace its uses before it is removed");
                return Err(PyValueError::new_err(message));
            }
            let b = &mut state.edit()?.bodies[body];
            b.graphs[graph].initializers.remove(at);
            if !is_input {
                b.values[known.value].def = ValueDef::Unbound(graph);
                b.graphs[graph].value_info.retain(|port| port.value != Some(known.value));
                state.note_removed(Removed::Value(body, known.value), format!("initializer `{name}`"));
            }
            Ok(())
        })
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.graph.shared().read(py, |state| Ok(self.graph.get(state)?.initializers.len()))
    }

    fn __contains__(&self, py: Python<'_>, name: &str) -> PyResult<bool> {
        self.graph.shared().read(py, |state| Ok(self.position(state, name)?.is_some()))
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(PyList::new(py, self.names(py)?)?.try_iter()?.into_any())
    }

    /// The names of the initializers.
    ///
    /// >>> model = onnxtxt.parse('<ir_version: 10, opset_import: ["": 21]> g (float[2] x) => (float[2] y) <float[2] w = {3, 4}> { y = Add(x, w) }')
    /// >>> model.graph.initializers.keys()
    /// ['w']
    fn keys(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.names(py)
    }

    /// The arrays, in the order of the names.
    ///
    /// >>> model = onnxtxt.parse('<ir_version: 10, opset_import: ["": 21]> g (float[2] x) => (float[2] y) <float[2] w = {3, 4}> { y = Add(x, w) }')
    /// >>> model.graph.initializers.values()
    /// [array([3., 4.], dtype=float32)]
    fn values<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        self.names(py)?.iter().map(|name| self.__getitem__(py, name)).collect()
    }

    /// Pairs of names and arrays.
    ///
    /// >>> model = onnxtxt.parse('<ir_version: 10, opset_import: ["": 21]> g (float[2] x) => (float[2] y) <float[2] w = {3, 4}> { y = Add(x, w) }')
    /// >>> model.graph.initializers.items()
    /// [('w', array([3., 4.], dtype=float32))]
    fn items<'py>(&self, py: Python<'py>) -> PyResult<Vec<(String, Bound<'py, PyAny>)>> {
        let item = |name: String| {
            let array = self.__getitem__(py, &name)?;
            Ok((name, array))
        };
        self.names(py)?.into_iter().map(item).collect()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("<onnxtxt.Initializers {}>", self.names(py)?.join(", ")))
    }
}
