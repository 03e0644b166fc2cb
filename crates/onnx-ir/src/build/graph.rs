//! Builds graphs by values, for programs that construct models.
//!
//! Calls return values, so a program needs no table of names. Generated names are unique in the end, whatever names the program
//! introduces later, also in nested graphs.

use super::{BodyBuilder, NewNode, NodeHost, NodeSpec};
use crate::body::{Body, Graph, Port, Value, ValueDef};
use crate::entity::PrimaryMap;
use crate::ids::{BodyId, FunctionId, NodeId, TypeId, ValueId};
use crate::model::{Function, Header, Model, OpsetImport};
use crate::names::{Name, Names};
use crate::tensor::Tensor;
use crate::types::{DimValue, ElemType, TensorType, TypeKind};
use foldhash::fast::RandomState;
use hashbrown::HashSet;

/// Builds the main graph of a model, or a function, from values.
///
/// ```
/// use onnx_ir::{ElemType, GraphBuilder, Model, Tensor};
///
/// let mut model = Model::of_opset(21);
/// // g (float[N,2] x) => (float[N,1] y) <float[2,1] w = {1, -1}> { matmul = MatMul(x, w)  y = Relu(matmul) }
/// let mut b = GraphBuilder::main(&mut model, "g");
/// let n = b.symbol("N");
/// let (input, output) = (b.tensor_type(ElemType::FLOAT, [n, 2.into()]), b.tensor_type(ElemType::FLOAT, [n, 1.into()]));
/// let x = b.input("x", input);
/// let w = b.initializer("w", Tensor::new([2, 1], vec![1f32, -1.0]));
/// let product = b.op("MatMul", [x, w]);
/// let y = b.op("Relu", [product]);
/// b.output("y", y, output);
/// b.finish();
/// assert!(onnx_ir::verify(&model, &onnx_ir::VerifyOptions::default()).is_empty());
/// ```
///
/// Graphs in nodes are built by [`NewNode::graph`]; a value of an enclosing graph is an operand there like any other.
pub struct GraphBuilder<'m> {
    b: BodyBuilder<'m>,
    target: BuildTarget<'m>,
    /// Values whose names are made up.
    made: Vec<ValueId>,
}

/// The destination of the body.
enum BuildTarget<'m> {
    Main(&'m mut Option<BodyId>),
    Function {
        functions: &'m mut PrimaryMap<FunctionId, Function>,
        imports: Vec<OpsetImport>,
        domain: Name,
        name: Name,
    },
}

impl<'m> GraphBuilder<'m> {
    /// Begins the main graph of a model.
    pub fn main(model: &'m mut Model, name: &str) -> Self {
        let Model { names, types, bodies, main, .. } = model;
        let name = names.intern(name);
        let mut b = BodyBuilder::of_parts(names, types, bodies);
        b.begin_graph(Some(name), None);
        GraphBuilder { b, target: BuildTarget::Main(main), made: Vec::new() }
    }

    /// Begins a function of a model. It imports the operator sets that the model imports by now.
    pub fn function(model: &'m mut Model, domain: &str, name: &str) -> Self {
        let Model { names, types, bodies, functions, header, .. } = model;
        let (domain, name) = (names.intern(domain), names.intern(name));
        let imports = header.opset_imports.clone();
        let mut b = BodyBuilder::of_parts(names, types, bodies);
        b.begin_graph(None, None);
        GraphBuilder {
            b,
            target: BuildTarget::Function { functions, imports, domain, name },
            made: Vec::new(),
        }
    }

    /// A symbolic dimension, equal wherever it occurs in the model.
    pub fn symbol(&mut self, name: &str) -> DimValue {
        DimValue::Param(self.b.name(name))
    }

    /// The type of a tensor. Numbers and [symbols](Self::symbol) are dimensions.
    pub fn tensor_type(
        &mut self,
        elem: ElemType,
        dims: impl IntoIterator<Item = impl Into<DimValue>>,
    ) -> TypeId {
        self.b.types.tensor(elem, dims.into_iter().map(Into::into))
    }

    /// The type of a tensor of unknown rank.
    pub fn unranked_type(&mut self, elem: ElemType) -> TypeId {
        self.b.types.intern(TypeKind::Tensor(TensorType { elem: Some(elem), shape: None }).into())
    }

    /// Adds an input to the graph. Those of functions have no types.
    pub fn input(&mut self, name: &str, ty: impl Into<Option<TypeId>>) -> ValueId {
        let name = self.b.name(name);
        self.b.input(name, ty.into())
    }

    /// Adds an initializer. In a function, which has none, it is a `Constant`.
    pub fn initializer(&mut self, name: &str, tensor: Tensor) -> ValueId {
        if let BuildTarget::Function { .. } = self.target {
            return self.node("Constant").tensor("value", tensor).output(name);
        }
        let name = Some(self.b.name(name));
        self.b.initializer(Tensor { name, ..tensor })
    }

    /// Adds an initializer whose name is made up.
    pub fn constant(&mut self, tensor: Tensor) -> ValueId {
        if let BuildTarget::Function { .. } = self.target {
            return self.node("Constant").tensor("value", tensor).value();
        }
        let name = self.b.names.fresh("constant");
        let value = self.b.initializer(Tensor { name: Some(name), ..tensor });
        self.b.hide(name);
        self.made.push(value);
        value
    }

    /// Adds a node of ai.onnx and returns its only result.
    pub fn op(&mut self, op: &str, inputs: impl IntoIterator<Item = impl Into<Option<ValueId>>>) -> ValueId {
        self.node(op).inputs(inputs).value()
    }

    /// Begins a node, to be completed by the methods of [`NewNode`].
    pub fn node(&mut self, op: &str) -> NewNode<'_, Self> {
        NewNode::begin(self, op)
    }

    /// Adds an output to the graph: a value, under a given name.
    ///
    /// If the value has a name already, because the program named it, or because it is an output or comes from an enclosing
    /// graph, an `Identity` provides it under the new name.
    pub fn output(&mut self, name: &str, value: ValueId, ty: impl Into<Option<TypeId>>) -> ValueId {
        let name = self.b.name(name);
        let Value { name: old, def } = self.b.filling.body.values[value];
        let at = self.made.iter().rposition(|&made| made == value);
        let is_computed = matches!(def, ValueDef::Output(..)) && self.b.is_here(def);
        let value = match at {
            _ if old == name => value,
            Some(at) if is_computed => {
                self.made.remove(at);
                self.b.filling.body.values[value].name = name;
                value
            }
            Some(_) | None => self.node("Identity").input(value).output_of(name),
        };
        let port = Port { name: Some(name), value: Some(value), ty: ty.into(), ..Port::default() };
        self.b.current_graph().outputs.push(port);
        value
    }

    /// Declares the type of a value that is neither an input nor an output.
    pub fn value_info(&mut self, value: ValueId, ty: TypeId) {
        let port = Port { value: Some(value), ty: Some(ty), ..Port::default() };
        self.b.current_graph().value_info.push(port);
    }

    /// The graph that is being built, for its documentation and metadata.
    pub fn graph(&mut self) -> &mut Graph {
        self.b.current_graph()
    }

    /// The names of the model.
    pub fn names(&mut self) -> &mut Names {
        self.b.names
    }

    /// Ends the graph, and adds it to the model.
    pub fn finish(mut self) -> BodyId {
        self.name_apart();
        self.b.end_graph();
        let body = self.b.finish();
        match self.target {
            BuildTarget::Main(main) => *main = Some(body),
            BuildTarget::Function { functions, imports, domain, name } => {
                _ = functions.push(Function {
                    name: Some(name),
                    domain: Some(domain),
                    overload: None,
                    attributes: Vec::new(),
                    attribute_defaults: Vec::new(),
                    opset_imports: imports,
                    doc: None,
                    metadata: Vec::new(),
                    body,
                });
            }
        }
        body
    }

    /// Renames generated names that the program has used since, and updates declarations.
    fn name_apart(&mut self) {
        let Body { graphs, values, tensors, .. } = &mut self.b.filling.body;
        let made: HashSet<ValueId, RandomState> = self.made.iter().copied().collect();
        let given: HashSet<Name, RandomState> =
            values.iter().filter(|(id, _)| !made.contains(id)).map(|(_, value)| value.name).collect();
        for &value in &self.made {
            let value = &mut values[value];
            if given.contains(&value.name) {
                let stem = self.b.names[value.name].to_owned();
                value.name = self.b.names.fresh(&stem);
            }
        }
        for graph in graphs.values_mut() {
            for port in &mut graph.value_info {
                port.name = port.value.map(|value| values[value].name).or(port.name);
            }
            for initializer in &graph.initializers {
                tensors[initializer.tensor].name = Some(values[initializer.value].name);
            }
        }
    }
}

impl NodeHost for GraphBuilder<'_> {
    fn begin(&mut self, op: &str) -> NodeId {
        let op = Some(self.b.name(op));
        self.b.begin_node(NodeSpec { op, ..NodeSpec::default() }, [])
    }

    fn parts(&mut self) -> (&mut Names, &mut Body) {
        (self.b.names, &mut self.b.filling.body)
    }

    fn output(&mut self, node: NodeId, name: Option<&str>, stem: &str) -> ValueId {
        let (name, is_made) = match name {
            Some(name) => (self.b.name(name), false),
            None => (self.b.names.fresh(stem), true),
        };
        let at = u32::try_from(self.b.filling.body.nodes[node].outputs.len())
            .expect("a node has fewer than 2^32 outputs");
        let value = self.b.filling.body.values.push(Value { name, def: ValueDef::Output(node, at) });
        self.b.filling.body.nodes[node].outputs.push(Some(value));
        self.made.extend(is_made.then_some(value));
        value
    }
}

impl<'m> NewNode<'_, GraphBuilder<'m>> {
    /// Adds a graph as an attribute: what `fill` adds to the builder is in it.
    ///
    /// ```
    /// # use onnx_ir::{GraphBuilder, Model};
    /// # let mut model = Model::new();
    /// # let mut b = GraphBuilder::main(&mut model, "g");
    /// # let [c, x] = ["c", "x"].map(|name| b.input(name, None));
    /// let y = b
    ///     .node("If")
    ///     .input(c)
    ///     .graph("then_branch", "positive", |b| {
    ///         let y = b.op("Neg", [x]);
    ///         b.output("a", y, None);
    ///     })
    ///     .graph("else_branch", "negative", |b| _ = b.output("b", x, None))
    ///     .value();
    /// # b.output("y", y, None);
    /// # b.finish();
    /// ```
    pub fn graph(self, attr: &str, name: &str, fill: impl FnOnce(&mut GraphBuilder<'m>)) -> Self {
        let builder = &mut *self.host;
        let name = builder.b.name(name);
        let graph = builder.b.begin_graph(Some(name), Some(self.id));
        fill(builder);
        builder.b.end_graph();
        self.attr(attr, graph)
    }

    fn output_of(self, name: Name) -> ValueId {
        let text = self.host.b.names[name].to_owned();
        self.output(&text)
    }
}

impl Model {
    /// A model without a graph that imports this version of ai.onnx, and has the IR version that came with it.
    pub fn of_opset(version: i64) -> Model {
        let mut model = Model::new();
        let ir_version = crate::releases::min_ir_version("", version).unwrap_or(crate::releases::NEWEST_IR);
        let import = OpsetImport { domain: Some(Name::empty()), version: Some(version) };
        model.header =
            Header { ir_version: Some(ir_version), opset_imports: vec![import], ..Header::default() };
        model
    }

    /// Imports a version of a domain, in place of the one that the model imports.
    pub fn import(&mut self, domain: &str, version: i64) {
        let normalized = crate::model::normalize_domain(domain);
        let at = (self.header.opset_imports.iter())
            .position(|import| crate::model::normalize_domain(self.text(import.domain)) == normalized);
        match at {
            Some(at) => self.header.opset_imports[at].version = Some(version),
            None => {
                let domain = Some(self.names.intern(domain));
                self.header.opset_imports.push(OpsetImport { domain, version: Some(version) });
            }
        }
    }
}

impl From<i64> for DimValue {
    fn from(size: i64) -> Self {
        DimValue::Value(size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{VerifyOptions, verify};

    fn names(model: &Model, body: BodyId) -> Vec<&str> {
        model.bodies[body].values.values().map(|value| &model.names[value.name]).collect()
    }

    fn errors(model: &Model) -> Vec<String> {
        verify(model, &VerifyOptions::default())
            .iter()
            .filter(|d| d.is_error())
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn made_up_names_give_way_to_those_of_the_program() {
        let mut model = Model::of_opset(21);
        let mut b = GraphBuilder::main(&mut model, "g");
        let ty = b.tensor_type(ElemType::FLOAT, [2]);
        let x = b.input("x", ty);
        let first = b.op("Relu", [x]);
        let second = b.op("Relu", [first]);
        // The program's own `relu` is introduced later, in a nested graph.
        let c = b.initializer("relu_1", Tensor::scalar(true));
        let third = b
            .node("If")
            .input(c)
            .graph("then_branch", "then", |b| {
                let inner = b.node("Neg").input(second).output("relu");
                b.output("relu", inner, ty);
            })
            .graph("else_branch", "else", |b| _ = b.output("other", second, ty))
            .value();
        b.output("y", third, ty);
        let body = b.finish();
        assert_eq!(names(&model, body), ["x", "relu_2", "relu_1_1", "relu_1", "relu", "other", "y"]);
        assert_eq!(errors(&model), [] as [String; 0]);
    }

    #[test]
    fn an_output_that_has_a_name_is_passed_on() {
        let mut model = Model::of_opset(21);
        let mut b = GraphBuilder::main(&mut model, "g");
        let ty = b.tensor_type(ElemType::FLOAT, [2]);
        let x = b.input("x", ty);
        let y = b.op("Neg", [x]);
        b.output("y", y, ty);
        b.output("z", y, ty);
        b.output("w", x, ty);
        let body = b.finish();
        let ops: Vec<&str> = model.walk_main().map(|node| node.op()).collect();
        assert_eq!(ops, ["Neg", "Identity", "Identity"]);
        assert_eq!(names(&model, body), ["x", "y", "z", "w"]);
        assert_eq!(errors(&model), [] as [String; 0]);
    }

    #[test]
    fn functions_have_constants_for_initializers() {
        let mut model = Model::of_opset(21);
        model.import("local", 1);
        let mut b = GraphBuilder::function(&mut model, "local", "Half");
        let x = b.input("x", None);
        let half = b.constant(Tensor::scalar(0.5f32));
        let y = b.op("Mul", [x, half]);
        b.output("y", y, None);
        b.finish();
        let mut b = GraphBuilder::main(&mut model, "g");
        let ty = b.tensor_type(ElemType::FLOAT, [2]);
        let x = b.input("x", ty);
        let y = b.node("Half").domain("local").input(x).value();
        let unused = b.constant(Tensor::list(vec![1i64, 2]));
        let sum = b.op("Cast", [unused]);
        b.value_info(sum, ty);
        b.output("y", y, ty);
        b.finish();
        assert_eq!(errors(&model), [] as [String; 0]);
        let function = model.functions.values().next().expect("a function");
        let ops: Vec<&str> = model.walk_nodes(function.body).map(|node| node.op()).collect();
        assert_eq!(ops, ["Constant", "Mul"]);
    }
}
