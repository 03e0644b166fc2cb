//! Codes of nodes against the signatures of their operators, and of inferred types and shapes (E10..).

super::codes! { OPERATORS, Types:
    /// A node uses an operator that its domain does not have in the imported version.
    ///
    /// The version of the operator set decides: an operator that was added in a later version does not exist in an
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
    /// From the version that deprecates it on, an operator must not be used; runtimes drop it, unless the version defines it once
    /// more. Import an older version, or use the operator that replaces it. Source: Versioning.md.
    ///
    /// ```text
    /// <ir_version: 10, opset_import: ["": 18]>
    /// g (float[1,2,3] x, float[1] s, float[1] b) => (float[1,2,3] y) { y = GroupNormalization<num_groups = 1>(x, s, b) }
    /// ```
    /// ```text
    /// <ir_version: 10, opset_import: ["": 21]>
    /// g (float[1,2,3] x, float[2] s, float[2] b) => (float[1,2,3] y) { y = GroupNormalization<num_groups = 1>(x, s, b) }
    /// ```
    Error OP_DEPRECATED = "E1002", "op-deprecated", "S02"
        => "the version that deprecates an operator says what it computes, or it is not run";

    /// The operator is one of the experimental ones that were removed long ago.
    ///
    /// ATen, Affine, ConstantFill, Crop, DynamicSlice, GRUUnit, GivenTensorFill, ImageScaler, ParametricSoftplus,
    /// Scale and ScaledTanh never had a released version. Few runtimes support them, and their signatures are
    /// unknown. Source: the reference checker's list.
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
    /// Trailing optional parameters may be omitted; a variadic one accepts any number of values from its
    /// minimum on. Source: IR.md, Nodes.
    ///
    /// ```text
    /// g (float[N] x) => (float[N] y) { y = Relu(x, x) }
    /// ```
    /// ```text
    /// g (float[N] x) => (float[N] y) { y = Relu(x) }
    /// ```
    Error ARITY = "E1004", "arity", "S04";

    /// A required parameter is omitted.
    ///
    /// Only optional inputs and outputs can be omitted (written as the empty name), not variadic ones; nor may the call of a function
    /// omit an input that an operator in it requires. Source: IR.md, Static Optional.
    ///
    /// ```text
    /// g (float[N] x) => (float[N] y) { y = Add("", x) }
    /// ```
    /// ```text
    /// g (float[N] x) => (float[N] y) { high = Constant<value_float = 1.0>() y = Clip(x, "", high) }
    /// ```
    Error PARAMETER_EMPTY = "E1005", "parameter-empty", "S05";

    /// The operator does not have this attribute in this version.
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

    /// The type of an attribute does not match the operator.
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

    /// A required attribute is missing.
    ///
    /// ```text
    /// g (float[N] x) => (int64[N] y) { y = Cast(x) }
    /// ```
    /// ```text
    /// g (float[N] x) => (int64[N] y) { y = Cast<to = 7>(x) }
    /// ```
    Error ATTR_REQUIRED = "E1008", "attr-required", "S08";

    /// The value of an attribute is not valid for the operator.
    ///
    /// Some attributes are one of a few modes, some are axes of an input, some must be positive; some exclude
    /// each other. Source: the documentation of each operator.
    ///
    /// ```text
    /// g (float[1,1,5,5] x, float[1,1,3,3] w) => (float[A,B,C,D] y) { y = Conv<auto_pad = "FOO">(x, w) }
    /// ```
    /// ```text
    /// g (float[1,1,5,5] x, float[1,1,3,3] w) => (float[A,B,C,D] y) { y = Conv<auto_pad = "VALID">(x, w) }
    /// ```
    Error ATTR_VALUE = "E1010", "attr-value", "S10";

    /// The operator does not accept the type of an operand.
    ///
    /// A parameter accepts a set of types, which grows with the versions of the operator: a newer operator set may
    /// accept the type; otherwise insert a `Cast`. Source: the signatures of the operators.
    ///
    /// ```text
    /// g (bool[N] x) => (bool[N] y) { y = Add(x, x) }
    /// ```
    /// ```text
    /// g (int32[N] x) => (int32[N] y) { y = Add(x, x) }
    /// ```
    Error TYPE_NOT_ALLOWED = "E1011", "type-not-allowed", "S11";

    /// Two operands that must have the same type do not.
    ///
    /// Parameters that share a type variable must have the same type; ONNX has no implicit conversions. Insert a `Cast`.
    /// Source: IR.md, Operators.
    ///
    /// ```text
    /// g (float[N] x, int32[N] z) => (float[N] y) { y = Add(x, z) }
    /// ```
    /// ```text
    /// g (float[N] x, int32[N] z) => (float[N] y) { c = Cast<to = 1>(z) y = Add(x, c) }
    /// ```
    Error TYPE_CONFLICT = "E1012", "type-conflict", "S12";

    /// A declared type is not the type of the value.
    ///
    /// Outputs and entries of `value_info` declare types, which must agree with the inferred ones. Source: IR.md,
    /// Graphs.
    ///
    /// ```text
    /// g (float[N] x) => (int64[N] y) { y = Relu(x) }
    /// ```
    /// ```text
    /// g (float[N] x) => (float[N] y) { y = Relu(x) }
    /// ```
    Error DECLARED_TYPE = "E1013", "declared-type-conflict", "S13";

    /// A declared shape is not the shape of the value.
    ///
    /// Ranks must agree, and so must every dimension that is a number in both. A symbol cannot be
    /// wrong. Source: ShapeInference.md.
    ///
    /// ```text
    /// g (float[2,3] x) => (float[2] y) { y = Relu(x) }
    /// ```
    /// ```text
    /// g (float[2,3] x) => (float[2,N] y) { y = Relu(x) }
    /// ```
    Error DECLARED_SHAPE = "E1014", "declared-shape-conflict", "S14"
        => "the operators determine the shape that is computed";

    /// Shapes do not match the operator or one another.
    ///
    /// Corresponding dimensions must be equal, or one of them 1 if the operator broadcasts; ranks must be those that the
    /// operator accepts. Source: Broadcasting.md and the documentation of each operator.
    ///
    /// ```text
    /// g (float[2,3] x, float[4] z) => (float[A,B] y) { y = Add(x, z) }
    /// ```
    /// ```text
    /// g (float[2,3] x, float[3] z) => (float[A,B] y) { y = Add(x, z) }
    /// ```
    Error SHAPE_PRECONDITION = "E1015", "op-shape-precondition", "S15";

    /// A constant input has a value that is not valid for the operator.
    ///
    /// The target of a `Reshape` must have as many elements as its input, axes must be within the rank, the sizes of a
    /// `Split` must add up to the axis. Source: the documentation of each operator.
    ///
    /// ```text
    /// g (float[2,3] x) => (float[A] y) <int64[1] s = {5}> { y = Reshape(x, s) }
    /// ```
    /// ```text
    /// g (float[2,3] x) => (float[A] y) <int64[1] s = {6}> { y = Reshape(x, s) }
    /// ```
    Error CONSTANT_INPUT = "E1016", "constant-input-value", "S16";

    /// The inputs or outputs of a nested graph do not match its node.
    ///
    /// The branches of an `If` have no inputs and as many outputs as the node; the inputs of the body of a `Loop` are the
    /// iteration number, the condition and the carried values. Source: the documentation of each operator.
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

    /// An imported domain is unknown, so its nodes are not checked.
    ///
    /// The types and shapes of the results of such a node are unknown. Declare the signatures of the domain in an operator-set
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
    /// is not a problem. Source: onnx.proto, ModelProto.functions.
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
    /// Runtimes disagree on which of the two runs. Give the function a domain of its own. Source: onnx.proto,
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
    /// Functions that call functions can expand to too many nodes to analyze: thirty that each call
    /// the next one twice are a billion. Values beyond the limit (`onnxtxt limits`) have no inferred types.
    Warning INFERENCE_LIMIT = "W1021", "inference-limit";

    /// A requested runtime (`check --target`) does not support an operator, a version of it, or its types.
    ///
    /// The tables of runtimes list the supported operators and, if known, versions and element types. That
    /// a node is not reported does not guarantee that it runs. `onnxtxt inline --schema` expands operators that a function
    /// defines, and `onnxtxt pass convert-opset=N` converts a model to another version. Source: the headers of the tables in
    /// `crates/onnx-ops/targets`.
    Error TARGET_UNSUPPORTED = "E1022", "target-unsupported";

    /// A dimension that is declared with a symbol can have only one size.
    ///
    /// Weights, attributes or other types determine it. The symbol suggests that other sizes work; write the number. Where exporters
    /// leave such symbols, `onnxtxt set-shape -D H=3` replaces them.
    ///
    /// ```text
    /// <ir_version: 10, opset_import: ["": 21]>
    /// g (float[N,H] x) => (float[N,2] y)
    /// <float[3,2] w = {1, 2, 3, 4, 5, 6}>
    /// { y = MatMul(x, w) }
    /// ```
    /// ```text
    /// <ir_version: 10, opset_import: ["": 21]>
    /// g (float[N,3] x) => (float[N,2] y)
    /// <float[3,2] w = {1, 2, 3, 4, 5, 6}>
    /// { y = MatMul(x, w) }
    /// ```
    Warning SYMBOL_FIXED = "W1023", "symbol-fixed";
}
