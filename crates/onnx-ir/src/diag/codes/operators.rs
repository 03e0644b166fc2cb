//! Codes of nodes against the signatures of their operators, and of inferred types and shapes (E10..).

super::codes! { OPERATORS, Types:
    /// A node names an operator that its domain does not have, or not in the imported version.
    ///
    /// The version of the operator set decides: an operator that a later version brought does not exist in an
    /// earlier one. Either the name is misspelt or the import is too old. Source: IR.md, Operators.
    ///
    /// ```text
    /// g (float[N] x) => (float[N] y) { y = Rleu(x) }
    /// ```
    /// ```text
    /// g (float[N] x) => (float[N] y) { y = Relu(x) }
    /// ```
    Error OP_UNKNOWN = "E1001", "op-unknown", "S01";

    /// The operator is deprecated in the imported version.
    ///
    /// From the version that deprecates it on, an operator may not be used; runtimes drop it. Import an older
    /// version, or use what replaced it. Source: Versioning.md.
    ///
    /// ```text
    /// <ir_version: 10, opset_import: ["": 11]>
    /// g (float[1,1,2,2] x, float[4] s) => (float[A,B,C,D] y) { y = Upsample(x, s) }
    /// ```
    /// ```text
    /// <ir_version: 10, opset_import: ["": 9]>
    /// g (float[1,1,2,2] x, float[4] s) => (float[A,B,C,D] y) { y = Upsample(x, s) }
    /// ```
    Error OP_DEPRECATED = "E1002", "op-deprecated", "S02";

    /// The operator is one of the experimental ones that were removed long ago.
    ///
    /// ATen, Affine, ConstantFill, Crop, DynamicSlice, GRUUnit, GivenTensorFill, ImageScaler, ParametricSoftplus,
    /// Scale and ScaledTanh never had a version of their own. Few runtimes know them, and nothing is known of
    /// their signatures here. Source: the reference checker's list.
    ///
    /// ```text
    /// g (float[N] x) => (float[N] y) { y = Scale<scale = 2.0>(x) }
    /// ```
    /// ```text
    /// g (float[N] x, float s) => (float[N] y) { y = Mul(x, s) }
    /// ```
    Warning OP_REMOVED = "W1003", "op-removed", "S03";

    /// A node has more or fewer inputs or outputs than its operator.
    ///
    /// Trailing optional parameters may be left out, a variadic one stands for any number of values from its
    /// minimum on. Source: IR.md, Nodes.
    ///
    /// ```text
    /// g (float[N] x) => (float[N] y) { y = Relu(x, x) }
    /// ```
    /// ```text
    /// g (float[N] x) => (float[N] y) { y = Relu(x) }
    /// ```
    Error ARITY = "E1004", "arity", "S04";

    /// The empty name stands for a parameter that is not optional.
    ///
    /// Only optional inputs and outputs can be left out, and no place of a variadic one can; nor may the call of a function
    /// leave out what an operator in it needs. Source: IR.md, Static Optional.
    ///
    /// ```text
    /// g (float[N] x) => (float[N] y) { y = Add("", x) }
    /// ```
    /// ```text
    /// g (float[N] x) => (float[N] y) { high = Constant<value_float = 1.0>() y = Clip(x, "", high) }
    /// ```
    Error PARAMETER_EMPTY = "E1005", "parameter-empty", "S05";

    /// An attribute that the operator does not have in this version.
    ///
    /// Attributes whose names begin with two underscores are exempt. Source: the signatures of the operators.
    ///
    /// ```text
    /// g (float[N] x) => (float[N] y) { y = Relu<alpha = 0.1>(x) }
    /// ```
    /// ```text
    /// g (float[N] x) => (float[N] y) { y = LeakyRelu<alpha = 0.1>(x) }
    /// ```
    Error ATTR_UNKNOWN = "E1006", "attr-unknown", "S06";

    /// An attribute has another type than the operator says.
    ///
    /// In text, `1` is an integer and `1.0` a float; a list of one element is written `[1]`. Source: the
    /// signatures of the operators.
    ///
    /// ```text
    /// g (float[N] x) => (float[N] y) { y = LeakyRelu<alpha = 1>(x) }
    /// ```
    /// ```text
    /// g (float[N] x) => (float[N] y) { y = LeakyRelu<alpha = 1.0>(x) }
    /// ```
    Error ATTR_WRONG_TYPE = "E1007", "attr-wrong-type", "S07";

    /// An attribute that the operator requires is not there.
    ///
    /// ```text
    /// g (float[N] x) => (int64[N] y) { y = Cast(x) }
    /// ```
    /// ```text
    /// g (float[N] x) => (int64[N] y) { y = Cast<to = 7>(x) }
    /// ```
    Error ATTR_REQUIRED = "E1008", "attr-required", "S08";

    /// An attribute's value is not one that the operator takes.
    ///
    /// Some attributes name one of a few modes, some are axes of an input, some must be positive; some exclude
    /// each other. Source: the documentation of each operator.
    ///
    /// ```text
    /// g (float[1,1,5,5] x, float[1,1,3,3] w) => (float[A,B,C,D] y) { y = Conv<auto_pad = "FOO">(x, w) }
    /// ```
    /// ```text
    /// g (float[1,1,5,5] x, float[1,1,3,3] w) => (float[A,B,C,D] y) { y = Conv<auto_pad = "VALID">(x, w) }
    /// ```
    Error ATTR_VALUE = "E1010", "attr-value", "S10";

    /// A value has a type that the operator does not take there.
    ///
    /// A parameter allows a set of types, which grows with the versions of the operator: a newer operator set may
    /// take what this one does not; else insert a `Cast`. Source: the signatures of the operators.
    ///
    /// ```text
    /// g (bool[N] x) => (bool[N] y) { y = Add(x, x) }
    /// ```
    /// ```text
    /// g (int32[N] x) => (int32[N] y) { y = Add(x, x) }
    /// ```
    Error TYPE_NOT_ALLOWED = "E1011", "type-not-allowed", "S11";

    /// Two values that must have one type have two.
    ///
    /// Parameters that share a type variable have the same type; ONNX converts nothing by itself. Insert a `Cast`.
    /// Source: IR.md, Operators.
    ///
    /// ```text
    /// g (float[N] x, int32[N] z) => (float[N] y) { y = Add(x, z) }
    /// ```
    /// ```text
    /// g (float[N] x, int32[N] z) => (float[N] y) { c = Cast<to = 1>(z) y = Add(x, c) }
    /// ```
    Error TYPE_CONFLICT = "E1012", "type-conflict", "S12";

    /// A declared type is not the one that the node gives.
    ///
    /// Outputs and entries of `value_info` say what a value is; the operators say it too, and win. Source: IR.md,
    /// Graphs.
    ///
    /// ```text
    /// g (float[N] x) => (int64[N] y) { y = Relu(x) }
    /// ```
    /// ```text
    /// g (float[N] x) => (float[N] y) { y = Relu(x) }
    /// ```
    Error DECLARED_TYPE = "E1013", "declared-type-conflict", "S13";

    /// A declared shape is not the one that the node gives.
    ///
    /// Ranks agree, and so does every dimension that is a number in both. A symbol says nothing that could be
    /// wrong. Source: ShapeInference.md.
    ///
    /// ```text
    /// g (float[2,3] x) => (float[2] y) { y = Relu(x) }
    /// ```
    /// ```text
    /// g (float[2,3] x) => (float[2,N] y) { y = Relu(x) }
    /// ```
    Error DECLARED_SHAPE = "E1014", "declared-shape-conflict", "S14";

    /// Shapes do not fit the operator or one another.
    ///
    /// Dimensions that meet are equal, or one of them is 1 where the operator broadcasts; ranks are those that the
    /// operator takes. Source: Broadcasting.md and the documentation of each operator.
    ///
    /// ```text
    /// g (float[2,3] x, float[4] z) => (float[A,B] y) { y = Add(x, z) }
    /// ```
    /// ```text
    /// g (float[2,3] x, float[3] z) => (float[A,B] y) { y = Add(x, z) }
    /// ```
    Error SHAPE_PRECONDITION = "E1015", "op-shape-precondition", "S15";

    /// A constant that is an input of an operator is not a value that it takes.
    ///
    /// The target of a `Reshape` has as many elements as its input, axes lie within the rank, the sizes of a
    /// `Split` add up. Source: the documentation of each operator.
    ///
    /// ```text
    /// g (float[2,3] x) => (float[A] y) <int64[1] s = {5}> { y = Reshape(x, s) }
    /// ```
    /// ```text
    /// g (float[2,3] x) => (float[A] y) <int64[1] s = {6}> { y = Reshape(x, s) }
    /// ```
    Error CONSTANT_INPUT = "E1016", "constant-input-value", "S16";

    /// A nested graph does not take or give what its node passes or wants.
    ///
    /// The branches of an `If` have no inputs and as many outputs as the node; the body of a `Loop` takes the
    /// number of the iteration, the condition and the carried values. Source: the documentation of each operator.
    ///
    /// ```text
    /// g (bool c, float[N] x) => (float[N] y) {
    ///   y = If(c) <then_branch = a () => (p, q) { p = Relu(x) q = Abs(x) }, else_branch = b () => (r) { r = Abs(x) }>
    /// }
    /// ```
    /// ```text
    /// g (bool c, float[N] x) => (float[N] y) {
    ///   y = If(c) <then_branch = a () => (p) { p = Relu(x) }, else_branch = b () => (r) { r = Abs(x) }>
    /// }
    /// ```
    Error SUBGRAPH_SIGNATURE = "E1017", "subgraph-signature", "S17";

    /// Nothing is known of an imported domain, so its nodes go unchecked.
    ///
    /// Types and shapes are not known behind such a node. Give the signatures of the domain in an operator-set
    /// document (`--opset FILE`), or define its operators as functions of the model.
    ///
    /// ```text
    /// <ir_version: 10, opset_import: ["": 21, "com.acme": 1]>
    /// g (float[N] x) => (float[N] y) { y = com.acme.Op(x) }
    /// ```
    /// ```text
    /// g (float[N] x) => (float[N] y) { y = Relu(x) }
    /// ```
    Warning DOMAIN_UNCHECKED = "W1018", "domain-unchecked", "O07";

    /// A function imports another version of a domain than the model, and an operator that it uses differs.
    ///
    /// Runtimes load one version of a domain. Where each operator of the body is the same in both versions, that
    /// is no problem. Source: onnx.proto, ModelProto.functions.
    ///
    /// ```text
    /// <ir_version: 10, opset_import: ["": 21, "l": 1]>
    /// g (float[N] x) => (float[N] y) { y = l.f(x) }
    /// <domain: "l", opset_import: ["": 12]>
    /// f (a) => (b) { b = Relu(a) }
    /// ```
    /// ```text
    /// <ir_version: 10, opset_import: ["": 21, "l": 1]>
    /// g (float[N] x) => (float[N] y) { y = l.f(x) }
    /// <domain: "l", opset_import: ["": 14]>
    /// f (a) => (b) { b = Relu(a) }
    /// ```
    Error FUNCTION_OPSET_CONFLICT = "E1019", "function-opset-conflict", "F09";

    /// A function has the domain and name of a standard operator.
    ///
    /// Which of the two runs is left to the runtime. Give the function a domain of its own. Source: onnx.proto,
    /// ModelProto.functions.
    ///
    /// ```text
    /// <ir_version: 10, opset_import: ["": 21]>
    /// g (float[N] x) => (float[N] y) { y = Relu(x) }
    /// <domain: "", opset_import: ["": 21]>
    /// Relu (a) => (b) { b = Abs(a) }
    /// ```
    /// ```text
    /// <ir_version: 10, opset_import: ["": 21, "l": 1]>
    /// g (float[N] x) => (float[N] y) { y = l.Relu(x) }
    /// <domain: "l", opset_import: ["": 21]>
    /// Relu (a) => (b) { b = Abs(a) }
    /// ```
    Warning FUNCTION_SHADOWS_OPERATOR = "W1020", "function-shadows-operator", "F12";

    /// Inference stopped before the end of the model.
    ///
    /// Functions that call functions can stand for more nodes than anybody could look at: thirty that each call
    /// the next one twice are a billion. What lies behind the limit (`onnxtxt limits`) has no types here.
    Warning INFERENCE_LIMIT = "W1021", "inference-limit";

    /// A runtime that was asked for (`check --target`) does not take an operator, a version of it, or its types.
    ///
    /// The tables of runtimes say what they know by name, and where that is known for which versions and element types. That
    /// a node is not told of does not promise that it runs. `onnxtxt inline --schema` expands operators that a function
    /// defines, and `onnxtxt pass convert-opset=N` brings a model to another version. Source: the heads of the tables in
    /// `crates/onnx-ops/targets`.
    Error TARGET_UNSUPPORTED = "E1022", "target-unsupported";
}
