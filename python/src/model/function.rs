//! Functions of a model.

use super::PyModel;
use super::graph::PyGraph;
use super::header::{entries, pairs, pairs_of, proxy};
use super::node::optional_name;
use super::state::{Shared, State};
use onnx_ir::{Body, EntityId as _, Function, FunctionId, Graph, Model, OpsetImport};
use onnx_text::{RaiseOptions, print_function};
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyMappingProxy, PyTuple};
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};
use std::sync::Arc;

/// A function of a model: an operator that the model defines itself.
#[pyclass(name = "Function", module = "onnxtxt", frozen, weakref)]
#[derive(Clone)]
pub(crate) struct PyFunction {
    shared: Arc<Shared>,
    generation: u64,
    function: FunctionId,
}

impl PyFunction {
    fn get<'s>(&self, state: &'s State) -> PyResult<&'s Function> {
        state.ensure_generation(self.generation, "function")?;
        Ok(&state.model().functions[self.function])
    }

    fn read<R>(&self, py: Python<'_>, read: impl FnOnce(&Model, &Function) -> R) -> PyResult<R> {
        self.shared.read(py, |state| {
            let function = self.get(state)?;
            Ok(read(state.model(), function))
        })
    }

    fn set(&self, py: Python<'_>, set: impl FnOnce(&mut Model, FunctionId) + Send) -> PyResult<()> {
        self.shared.write(py, |state| {
            self.get(state)?;
            set(state.edit()?, self.function);
            Ok(())
        })
    }
}

#[pymethods]
impl PyFunction {
    /// The name, which nodes have as their `op_type`.
    #[getter]
    fn name(&self, py: Python<'_>) -> PyResult<String> {
        self.read(py, |model, function| model.text(function.name).to_owned())
    }

    /// The domain of the function.
    #[getter]
    fn domain(&self, py: Python<'_>) -> PyResult<String> {
        self.read(py, |model, function| model.text(function.domain).to_owned())
    }

    /// Which overload it is; `""` if there is only one.
    #[getter]
    fn overload(&self, py: Python<'_>) -> PyResult<String> {
        self.read(py, |model, function| model.text(function.overload).to_owned())
    }

    /// The names of attribute parameters without a default, as a tuple.
    #[getter]
    fn attribute_names<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let names = self.read(py, |model, function| {
            function.attributes.iter().map(|&name| model.names[name].to_owned()).collect::<Vec<_>>()
        })?;
        PyTuple::new(py, names)
    }

    /// The versions of the operator sets that the function imports, by domain, as a read-only mapping. Assign a dict to change it.
    #[getter]
    fn opset_imports<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyMappingProxy>> {
        let imports = self.read(py, |model, function| {
            let import = |import: &OpsetImport| (model.text(import.domain).to_owned(), import.version);
            function.opset_imports.iter().map(import).collect::<Vec<_>>()
        })?;
        proxy(py, imports)
    }

    #[setter]
    fn set_opset_imports(&self, py: Python<'_>, imports: &Bound<'_, PyAny>) -> PyResult<()> {
        let imports = pairs_of::<i64>(imports)?;
        self.set(py, |model, function| {
            let import = |(domain, version): (String, i64)| OpsetImport {
                domain: Some(model.names.intern(&domain)),
                version: Some(version),
            };
            model.functions[function].opset_imports = imports.into_iter().map(import).collect();
        })
    }

    /// The documentation of the function.
    #[getter]
    fn doc_string(&self, py: Python<'_>) -> PyResult<String> {
        self.read(py, |model, function| model.text(function.doc).to_owned())
    }

    #[setter]
    fn set_doc_string(&self, py: Python<'_>, doc_string: &str) -> PyResult<()> {
        self.set(py, |model, function| model.functions[function].doc = optional_name(model, doc_string))
    }

    /// The metadata of the function as a read-only mapping. Assign a dict to change it.
    #[getter]
    fn metadata<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyMappingProxy>> {
        proxy(py, self.read(py, |model, function| pairs(model, &function.metadata))?)
    }

    #[setter]
    fn set_metadata(&self, py: Python<'_>, metadata: &Bound<'_, PyAny>) -> PyResult<()> {
        let metadata = pairs_of::<String>(metadata)?;
        self.set(py, |model, function| model.functions[function].metadata = entries(model, metadata))
    }

    /// The body, whose inputs and outputs are those of the function.
    #[getter]
    fn graph(&self, py: Python<'_>) -> PyResult<Option<PyGraph>> {
        let place =
            self.read(py, |model, function| Some((function.body, model.bodies[function.body].root()?)))?;
        Ok(place.map(|(body, graph)| PyGraph::new(&self.shared, self.generation, body, graph)))
    }

    /// Removes the function; calls of it stay.
    ///
    /// >>> model = onnxtxt.parse('<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { h = Neg(x) y = Relu(h) }')
    /// >>> function = model.add_function("my", "Twice")
    /// >>> function.remove()
    /// >>> model.functions
    /// ()
    fn remove(&self, py: Python<'_>) -> PyResult<()> {
        self.shared.write(py, |state| {
            self.get(state)?;
            let id = self.function;
            // Ids of other functions change: views are found again by their names.
            let model = state.edit()?;
            let functions = std::mem::take(&mut model.functions);
            for (other, function) in functions.iter() {
                if other != id {
                    model.functions.push(function.clone());
                }
            }
            let loaded = state.loaded().clone();
            state.replace(loaded, "Function.remove");
            Ok(())
        })
    }

    /// The function as text.
    ///
    /// >>> model = onnxtxt.parse('<ir_version: 10, opset_import: ["": 21, "my": 1]> g (float[N] x) => (float[N] y) { y = my.Twice(x) } <domain: "my", opset_import: ["": 21]> Twice (a) => (b) { b = Add(a, a) }')
    /// >>> print(model.functions[0].text())
    /// <domain: "my", opset_import: ["": 21]>
    /// Twice (a) => (b)
    /// {
    ///     b = Add(a, a)
    /// }
    fn text(&self, py: Python<'_>) -> PyResult<String> {
        self.read(py, |model, _| print_function(model, self.function, &RaiseOptions::default()))
    }

    fn __str__(&self, py: Python<'_>) -> PyResult<String> {
        self.text(py)
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        match self.shared.read(py, |state| self.name_in(state)) {
            Ok(name) => format!("<onnxtxt.Function {name}>"),
            Err(_) => "<onnxtxt.Function that was removed>".to_owned(),
        }
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<PyFunction>().is_ok_and(|other| {
            let other = other.get();
            Arc::ptr_eq(&self.shared, &other.shared)
                && (self.generation, self.function) == (other.generation, other.function)
        })
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (Arc::as_ptr(&self.shared).addr(), self.generation, self.function.index()).hash(&mut hasher);
        hasher.finish()
    }
}

impl PyFunction {
    /// `domain.name:overload`
    fn name_in(&self, state: &State) -> PyResult<String> {
        let (model, function) = (state.model(), self.get(state)?);
        let (domain, overload) = (model.text(function.domain), model.text(function.overload));
        let dot = if domain.is_empty() { "" } else { "." };
        let colon = if overload.is_empty() { "" } else { ":" };
        Ok(format!("{domain}{dot}{}{colon}{overload}", model.text(function.name)))
    }
}

#[pymethods]
impl PyModel {
    /// The functions of the model, as a tuple.
    #[getter]
    fn functions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let (generation, ids) = self
            .shared
            .read(py, |state| (state.generation(), state.model().functions.ids().collect::<Vec<_>>()));
        PyTuple::new(
            py,
            ids.into_iter().map(|function| PyFunction { shared: self.shared.clone(), generation, function }),
        )
    }

    /// The function of a name: `name`, `domain.name` or `domain.name:overload`. Raises `KeyError` if there is none.
    ///
    /// >>> model = onnxtxt.parse('<ir_version: 10, opset_import: ["": 21, "my": 1]> g (float[N] x) => (float[N] y) { y = my.Twice(x) } <domain: "my", opset_import: ["": 21]> Twice (a) => (b) { b = Add(a, a) }')
    /// >>> model.function_named("my.Twice").graph.nodes[0].op_type
    /// 'Add'
    fn function_named(&self, py: Python<'_>, name: &str) -> PyResult<PyFunction> {
        let found = self.shared.read(py, |state| {
            let model = state.model();
            let function = model.functions.ids().find(|&id| onnx_ir::pass::is_function(model, id, name));
            function.map(|function| (state.generation(), function))
        });
        let Some((generation, function)) = found else { return Err(PyKeyError::new_err(name.to_owned())) };
        Ok(PyFunction { shared: self.shared.clone(), generation, function })
    }

    /// Adds an empty function, which imports what the model imports, and returns it: `function.graph` gets its inputs, nodes and outputs. The
    /// model imports the domain of the function.
    ///
    /// Raises `ValueError` if the model has such a function already.
    ///
    /// >>> model = onnxtxt.parse('<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { h = Neg(x) y = Relu(h) }')
    /// >>> function = model.add_function("my", "Twice")
    /// >>> a = function.graph.add_input("a")
    /// >>> b = function.graph.add_output(function.graph.append("Add", [a, a]).output)
    /// >>> function
    /// <onnxtxt.Function my.Twice>
    #[pyo3(signature = (domain, name, *, attributes = Vec::new(), overload = ""))]
    fn add_function(
        &self,
        py: Python<'_>,
        domain: &str,
        name: &str,
        attributes: Vec<String>,
        overload: &str,
    ) -> PyResult<PyFunction> {
        let (generation, function) = self.shared.write(py, |state| {
            let is_there = state.model().functions.values().any(|known| {
                let text = |name| state.model().text(name);
                (text(known.domain), text(known.name), text(known.overload)) == (domain, name, overload)
            });
            if is_there {
                return Err(PyValueError::new_err(format!(
                    "the model has a function `{domain}.{name}` already"
                )));
            }
            let model = state.edit()?;
            let opset_imports = model.header.opset_imports.clone();
            let is_imported = model.opset_version(&opset_imports, domain).is_some();
            if !is_imported {
                model.import(domain, 1);
            }
            let mut body = Body::default();
            body.graphs.push(Graph::default());
            let body = model.bodies.push(body);
            let function = Function {
                name: Some(model.names.intern(name)),
                domain: Some(model.names.intern(domain)),
                overload: optional_name(model, overload),
                attributes: attributes.iter().map(|name| model.names.intern(name)).collect(),
                attribute_defaults: Vec::new(),
                opset_imports,
                doc: None,
                metadata: Vec::new(),
                body,
            };
            Ok((state.generation(), state.edit()?.functions.push(function)))
        })?;
        Ok(PyFunction { shared: self.shared.clone(), generation, function })
    }
}
