//! Codes of names, single assignment, order and scoping (E02..).

super::codes! { NAMES, Spec:
    /// A graph has no name.
    ///
    /// Every graph, nested ones too, must have a name: tools refer to graphs by name. Add a name.
    /// Source: IR.md, Graphs.
    ///
    /// ```text
    /// "" (float[N] x) => (float[N] y) { y = Relu(x) }
    /// ```
    /// ```text
    /// g (float[N] x) => (float[N] y) { y = Relu(x) }
    /// ```
    Error GRAPH_NAME = "E0201", "graph-name", "G01"
        => "no computation depends on the name of a graph";

    /// A node reads a value that a later node produces.
    ///
    /// Nodes are listed in the order in which they can run: a producer before its readers. Runtimes that
    /// rely on the order would read a value that is not computed yet. Move the producer up. A cycle, which has no
    /// order, is E0213. In a function, the same error is E0806. Source: IR.md, Nodes.
    ///
    /// ```text
    /// g (float[N] x) => (float[N] y) { y = Relu(t) t = Abs(x) }
    /// ```
    /// ```text
    /// g (float[N] x) => (float[N] y) { t = Abs(x) y = Relu(t) }
    /// ```
    Error NODE_ORDER = "E0202", "node-order", "G02"
        => "every value has one definition, so that the order in which nodes can run follows from what they read";

    /// A node reads a name that nothing defines.
    ///
    /// An operand must be a graph input, an initializer, the output of a node, or such a value of an enclosing
    /// graph. Only the first use of an undefined name is reported. Correct the name, or define the value; an
    /// omitted optional operand is written `""`. Source: IR.md, Nodes.
    ///
    /// ```text
    /// g (float[N] x) => (float[N] y) { y = Add(x, nowhere) }
    /// ```
    /// ```text
    /// g (float[N] x) => (float[N] y) { y = Add(x, x) }
    /// ```
    Error VALUE_UNDEFINED = "E0203", "value-undefined", "G03";

    /// A name is defined a second time in one graph.
    ///
    /// Graphs are in single-assignment form: a name stands for one value, so that reading it is never
    /// ambiguous. Give one of the two values another name. An initializer may repeat a graph input (it is its
    /// default value). In a function, the same error is E0806. Source: IR.md, Names Within a Graph.
    ///
    /// ```text
    /// g (float[N] x) => (float[N] y) { y = Relu(x) y = Abs(x) }
    /// ```
    /// ```text
    /// g (float[N] x) => (float[N] y) { t = Relu(x) y = Abs(t) }
    /// ```
    Error VALUE_REDEFINED = "E0204", "value-redefined", "G04";

    /// A graph output is not a value of its graph.
    ///
    /// An output of a graph must be one of its inputs, initializers or node outputs. Correct the name, or
    /// produce the value. Source: IR.md, Graphs.
    ///
    /// ```text
    /// g (float[N] x) => (float[N] y, float[N] z) { y = Relu(x) }
    /// ```
    /// ```text
    /// g (float[N] x) => (float[N] y, float[N] z) { y = Relu(x) z = Abs(x) }
    /// ```
    Error GRAPH_OUTPUT = "E0205", "graph-output", "G05";

    /// An entry of `value_info` does not describe an inner value of the graph, or the same value as another entry.
    ///
    /// Such entries may be left over from edits; readers keep either of two, or neither. Remove the entry. Names
    /// of entries must be distinct, and each describes a value of the graph that is neither input nor output
    /// (those carry their own type). Source: onnx.proto, GraphProto.value_info.
    ///
    /// ```text
    /// g (float[N] x) => (float[N] y) <float[N] t, float[N] t> { t = Abs(x) y = Relu(t) }
    /// ```
    /// ```text
    /// g (float[N] x) => (float[N] y) <float[N] t> { t = Abs(x) y = Relu(t) }
    /// ```
    Warning(Strict) VALUE_INFO_NAMES = "W0206", "value-info-names", "G06";

    /// An input, output or initializer has no name.
    ///
    /// The empty name marks an omitted operand, so nothing can read such a value. Name it, or remove
    /// it. Source: IR.md, Names Within a Graph.
    ///
    /// ```text
    /// g (float[N] x, float[N] "") => (float[N] y) { y = Relu(x) }
    /// ```
    /// ```text
    /// g (float[N] x, float[N] unused) => (float[N] y) { y = Relu(x) }
    /// ```
    Error VALUE_NAME_EMPTY = "E0207", "value-name-empty", "G07"
        => "nothing can read a value without a name";

    /// Two initializers of a graph have one name.
    ///
    /// Names must be distinct over dense and sparse initializers together; which of two counts would depend on the
    /// reader. Rename or remove one. Source: onnx.proto, GraphProto.initializer.
    ///
    /// ```text
    /// g (float[1] x) => (float[1] y) <float[1] w = {1}, float[1] w = {2}> { y = Add(x, w) }
    /// ```
    /// ```text
    /// g (float[1] x) => (float[1] y) <float[1] w = {1}, float[1] v = {2}> { y = Sum(x, w, v) }
    /// ```
    Error INITIALIZER_REPEATED = "E0208", "initializer-repeated", "G08";

    /// An initializer does not match the declaration of its name.
    ///
    /// The initializer of a graph input is its default value, so it must have the element type of the input and a
    /// shape that matches the declared one. Correct whichever is wrong. Source: IR.md, Graphs.
    ///
    /// ```text
    /// g (float[3] w) => (float[3] y) <float[2] w = {1, 2}> { y = Relu(w) }
    /// ```
    /// ```text
    /// g (float[2] w) => (float[2] y) <float[2] w = {1, 2}> { y = Relu(w) }
    /// ```
    Error INITIALIZER_VS_DECLARED = "E0209", "initializer-vs-declared", "G09";

    /// A node has no outputs.
    ///
    /// Operators have no side effects, so a node without outputs computes nothing. Remove it, or name an
    /// output. Source: IR.md, Nodes.
    ///
    /// ```text
    /// g (float[N] x) => (float[N] y) { y = Relu(x) = Print(x) }
    /// ```
    /// ```text
    /// g (float[N] x) => (float[N] y) { y = Relu(x) }
    /// ```
    Error NODE_WITHOUT_OUTPUT = "E0210", "node-without-output", "G10";

    /// A definition is never used.
    ///
    /// Unused nodes, initializers, graph inputs, imports and functions
    /// cost space and time, and often indicate a mistake. A graph without outputs computes nothing.
    /// Remove what is unused. This is a lint: the specification allows it.
    ///
    /// ```text
    /// g (float[N] x) => (float[N] y) { y = Relu(x) dead = Abs(x) }
    /// ```
    /// ```text
    /// g (float[N] x) => (float[N] y) { y = Relu(x) }
    /// ```
    Warning(Strict) UNUSED = "W0211", "unused", "G11";

    /// Graphs are nested too deep.
    ///
    /// Protobuf decoders stop at 100 nested messages, which is 32 levels of graphs: other tools could not
    /// read the model at all. Deeper levels are not checked. Move inner graphs into functions. Source: the
    /// recursion limit of protobuf.
    Error NESTING_DEPTH = "E0212", "nesting-depth", "G12";

    /// A node needs its own result.
    ///
    /// Its inputs depend on its outputs, directly or through other nodes, so that no order of the nodes computes them. Read
    /// another value in one of these nodes; values that change from one iteration to the next are carried by a `Loop`. In a
    /// function, the same error is E0806. Source: IR.md, Nodes.
    ///
    /// ```text
    /// g (float[N] x) => (float[N] y) { t = Add(x, u) u = Abs(t) y = Relu(u) }
    /// ```
    /// ```text
    /// g (float[N] x) => (float[N] y) { t = Add(x, x) u = Abs(t) y = Relu(u) }
    /// ```
    Error NODE_CYCLE = "E0213", "node-cycle";

    /// A node in a nested graph defines a name of the enclosing graph.
    ///
    /// Nested graphs read values of the enclosing graphs by name, so an inner definition would hide an outer one.
    /// Rename the inner value. Source: IR.md, Nodes.
    ///
    /// ```text
    /// g (bool c, float[N] x) => (float[N] y) { t = Abs(x) y = If(c)
    ///   <then_branch = a () => (t) { t = Relu(x) }, else_branch = b () => (q) { q = Abs(t) }> }
    /// ```
    /// ```text
    /// g (bool c, float[N] x) => (float[N] y) { t = Abs(x) y = If(c)
    ///   <then_branch = a () => (p) { p = Relu(x) }, else_branch = b () => (q) { q = Abs(t) }> }
    /// ```
    Error SHADOW_BY_NODE = "E0221", "shadow-by-node", "N01";

    /// An input or initializer of a nested graph has a name of the enclosing graph.
    ///
    /// The inner value hides the outer one. The specification forbids it, but models in use do it and
    /// runtimes use the inner value, so it is a warning. Rename the inner value. Source: IR.md, Nodes.
    ///
    /// ```text
    /// g (bool c, float[1] x) => (float[1] y) { y = If(c)
    ///   <then_branch = a () => (p) <float[1] x = {1}> { p = Relu(x) }, else_branch = b () => (q) { q = Abs(x) }> }
    /// ```
    /// ```text
    /// g (bool c, float[1] x) => (float[1] y) { y = If(c)
    ///   <then_branch = a () => (p) <float[1] w = {1}> { p = Relu(w) }, else_branch = b () => (q) { q = Abs(x) }> }
    /// ```
    Warning SHADOW_BY_INPUT_OR_INITIALIZER = "W0222", "shadow-by-input-or-initializer", "N02";

    /// A nested graph returns a value of an enclosing graph.
    ///
    /// A nested graph must return values that it defines itself. Pass an outer value through an `Identity` node.
    /// Source: IR.md, Graphs.
    ///
    /// ```text
    /// g (bool c, float[N] x) => (float[N] y) { s = Abs(x) y = If(c)
    ///   <then_branch = a () => (s) {}, else_branch = b () => (q) { q = Relu(x) }> }
    /// ```
    /// ```text
    /// g (bool c, float[N] x) => (float[N] y) { s = Abs(x) y = If(c)
    ///   <then_branch = a () => (p) { p = Identity(s) }, else_branch = b () => (q) { q = Relu(x) }> }
    /// ```
    Error SUBGRAPH_OUTPUT_FROM_OUTSIDE = "E0223", "subgraph-output-from-outside", "N03";

    /// A name is both input and initializer of a nested graph.
    ///
    /// From IR version 4 on, inputs of a nested graph get their values from its node and have no defaults.
    /// Make the constant an initializer only. Source: IR.md, Nodes.
    ///
    /// ```text
    /// g (int64 n, bool c, float[1] x) => (float[1] y) { y = Loop(n, c, x)
    ///   <body = b (int64 i, bool k, float[1] a = {1}) => (bool k2, float[1] o) { k2 = Identity(k) o = Relu(a) }> }
    /// ```
    /// ```text
    /// g (int64 n, bool c, float[1] x) => (float[1] y) { y = Loop(n, c, x)
    ///   <body = b (int64 i, bool k, float[1] a) => (bool k2, float[1] o) { k2 = Identity(k) o = Relu(a) }> }
    /// ```
    Error SUBGRAPH_INPUT_IS_INITIALIZER = "E0224", "subgraph-input-is-initializer", "N04";

    /// A function reads a value of the graph that calls it.
    ///
    /// A function has its own scope: it reads only its inputs and the values of its nodes, so that every call
    /// of it means the same. Make the value an input of the function. Source: IR.md, Functions.
    ///
    /// ```text
    /// <ir_version: 10, opset_import: ["": 21, "l": 1]>
    /// g (float[N] x) => (float[N] y) { t = Abs(x) y = l.f(x) }
    /// <domain: "l", opset_import: ["": 21]> f (a) => (b) { b = Add(a, t) }
    /// ```
    /// ```text
    /// <ir_version: 10, opset_import: ["": 21, "l": 1]>
    /// g (float[N] x) => (float[N] y) { t = Abs(x) y = l.f(x, t) }
    /// <domain: "l", opset_import: ["": 21]> f (a, t) => (b) { b = Add(a, t) }
    /// ```
    Error FUNCTION_SCOPE_CLOSED = "E0225", "function-scope-closed", "N05";

    /// A name is not a C identifier, or the name of a graph is not unique.
    ///
    /// Names should consist of letters, digits and underscores and not begin with a digit; names of graphs are
    /// distinct in a model, for tools that refer to them. Most producers violate this, and readers accept it. Of
    /// names that are not identifiers, those of operators and attributes too, the first of each graph is reported, and
    /// those of functions and their parameters. Equal names of nodes have a code of their own, `node-name-repeated`.
    /// Source: IR.md, Names Within a Graph.
    ///
    /// ```text
    /// g (float[N] "layer/0:in put") => (float[N] y) { y = Relu("layer/0:in put") }
    /// ```
    /// ```text
    /// g (float[N] layer_0) => (float[N] y) { y = Relu(layer_0) }
    /// ```
    Warning(Strict) NAME_HYGIENE = "W0226", "name-hygiene", "N06";

    /// A quantization annotation refers to a tensor that the graph does not have, or repeats a tensor or key.
    ///
    /// The annotated tensor and the tensors of its parameters must be values of the graph; a tensor is annotated
    /// once, with each key once. Source: onnx.proto, TensorAnnotation.
    ///
    /// ```text
    /// #@ onnxtxt 1
    /// <ir_version: 10, opset_import: ["": 21]>
    /// #@ quantization_annotation: [{tensor_name: "ghost"}]
    /// g (float[N] x) => (float[N] y) { y = Relu(x) }
    /// ```
    /// ```text
    /// #@ onnxtxt 1
    /// <ir_version: 10, opset_import: ["": 21]>
    /// #@ quantization_annotation: [{tensor_name: "x"}]
    /// g (float[N] x) => (float[N] y) { y = Relu(x) }
    /// ```
    Error QUANTIZATION_ANNOTATION = "E0231", "quantization-annotation", "Z01"
        => "annotations describe values and do not change them";

    /// A graph lists an output twice.
    ///
    /// It then returns the same value twice under one name, which runtimes treat differently. Remove one, or copy
    /// the value with `Identity`. Source: IR.md, Graphs.
    ///
    /// ```text
    /// g (float[N] x) => (float[N] y, float[N] y) { y = Relu(x) }
    /// ```
    /// ```text
    /// g (float[N] x) => (float[N] y, float[N] z) { y = Relu(x) z = Identity(y) }
    /// ```
    Warning OUTPUT_REPEATED = "W0232", "output-repeated";

    /// A quantization annotation has a key that is not standard.
    ///
    /// The keys are `SCALE_TENSOR` and `ZERO_POINT_TENSOR`; readers ignore others. Source: onnx.proto,
    /// TensorAnnotation.
    ///
    /// ```text
    /// #@ onnxtxt 1
    /// #@ quantization_annotation: [{tensor_name: "x", quant_parameter_tensor_names: ["SCALE": "y"]}]
    /// g (float[N] x) => (float[N] y) { y = Relu(x) }
    /// ```
    /// ```text
    /// #@ onnxtxt 1
    /// #@ quantization_annotation: [{tensor_name: "x", quant_parameter_tensor_names: ["SCALE_TENSOR": "y"]}]
    /// g (float[N] x) => (float[N] y) { y = Relu(x) }
    /// ```
    Warning QUANTIZATION_KEY = "W0233", "quantization-key";

    /// Two nodes of one graph have the same name.
    ///
    /// Names of nodes that are not empty are distinct in a graph or function. What the model computes does not depend on
    /// them, but tools find nodes by them, and ONNX Runtime refuses to load such a model: with `check --target ort`, it is an
    /// error. Rename one, or leave the name out. Nodes of different graphs may have the same name. Source: IR.md, Names
    /// Within a Graph.
    ///
    /// ```text
    /// g (float[N] x) => (float[N] y) { [n] t = Relu(x) [n] y = Abs(t) }
    /// ```
    /// ```text
    /// g (float[N] x) => (float[N] y) { [n] t = Relu(x) [n_1] y = Abs(t) }
    /// ```
    Warning NODE_NAME_REPEATED = "W0234", "node-name-repeated";
}
