//! Codes of declared types and shapes (E07..).

super::codes! { TYPES, Spec:
    /// An input of the main graph has no type.
    ///
    /// Callers need to know what to pass. Only nested graphs and functions may omit types. An output without a type is E0713.
    /// Source: IR.md, Graphs.
    ///
    /// ```text
    /// g (x) => (float[N] y) { y = Relu(x) }
    /// ```
    /// ```text
    /// g (float[N] x) => (float[N] y) { y = Relu(x) }
    /// ```
    Error IO_TYPE_MISSING = "E0701", "io-type-missing", "Y01";

    /// A tensor input or output of the main graph has no rank.
    ///
    /// Dimensions may be unknown (`?` or a name), but the rank is required. `float` is a scalar and
    /// `float[]` a tensor of unknown rank. Source: IR.md, Static tensor shapes.
    ///
    /// ```text
    /// g (float[] x) => (float[N] y) { y = Relu(x) }
    /// ```
    /// ```text
    /// g (float[N] x) => (float[N] y) { y = Relu(x) }
    /// ```
    Error IO_SHAPE_MISSING = "E0702", "io-shape-missing", "Y02"
        => "a tensor of any rank is expected or returned";

    /// A type has no element type, or one that does not exist.
    ///
    /// Every tensor type, inside sequences and optionals too, has an element type of the enumeration. In
    /// `value_info` a missing one is a warning: upstream's version converter leaves it unset. Source:
    /// onnx.proto, TypeProto.Tensor.
    ///
    /// ```text
    /// g (elem_type(99)[N] x) => (float[N] y) { y = Relu(x) }
    /// ```
    /// ```text
    /// g (float[N] x) => (float[N] y) { y = Relu(x) }
    /// ```
    Error ELEM_TYPE_INVALID = "E0703", "elem-type-invalid", "Y03";

    /// A type is incomplete.
    ///
    /// It must have a kind and, at every level, what the kind needs: the element type of a sequence or
    /// optional, key and value type of a map, the name of an opaque type. Source: onnx.proto, TypeProto.
    ///
    /// ```text
    /// <ir_version: 14, opset_import: ["": 21]> g (opaque() x) => (opaque() y) { y = Identity(x) }
    /// ```
    /// ```text
    /// <ir_version: 14, opset_import: ["": 21]> g (opaque(blob) x) => (opaque(blob) y) { y = Identity(x) }
    /// ```
    Error TYPE_INCOMPLETE = "E0704", "type-incomplete", "Y04";

    /// A map has keys that are neither integers nor strings.
    ///
    /// Only these can be compared exactly. Source: onnx.proto, TypeProto.Map.
    ///
    /// ```text
    /// g (map(float, float[N]) x) => (float[N] y) { y = DictVectorizer(x) }
    /// ```
    /// ```text
    /// g (map(int64, float[N]) x) => (float[N] y) { y = DictVectorizer(x) }
    /// ```
    Error MAP_KEY_TYPE = "E0705", "map-key-type", "Y05";

    /// An optional has an invalid element type.
    ///
    /// It can hold a tensor, sparse tensor, sequence or map, but not another optional or an opaque type. Source:
    /// IR.md, Input / Output Data Types.
    ///
    /// ```text
    /// g (optional(optional(float[N])) x) => (bool y) { y = OptionalHasElement(x) }
    /// ```
    /// ```text
    /// g (optional(float[N]) x) => (bool y) { y = OptionalHasElement(x) }
    /// ```
    Error OPTIONAL_CONTENT = "E0706", "optional-content", "Y06";

    /// A dimension is negative.
    ///
    /// Some producers write -1 for an unknown dimension, and readers accept it. Write `?` or a name.
    /// The first of each graph is reported. Source: IR.md, Tensor Definition.
    ///
    /// ```text
    /// g (float[-1] x) => (float[N] y) { y = Relu(x) }
    /// ```
    /// ```text
    /// g (float[N] x) => (float[N] y) { y = Relu(x) }
    /// ```
    Warning DIM_NEGATIVE = "W0707", "dim-negative", "Y07";

    /// The name of a dimension is neither a C identifier nor a formula of such names.
    ///
    /// Dimensions are named like variables; the name is not empty: leave an unknown one unset. `N*2` and the like, which exporters and
    /// `infer` write, are read as formulas (`grammar/dimensions.md`); other readers treat them as names.
    /// The first of each graph is reported. Source: IR.md, Static tensor shapes.
    ///
    /// ```text
    /// g (float["batch size"] x) => (float["batch size"] y) { y = Relu(x) }
    /// ```
    /// ```text
    /// g (float[M] x) => (float["M*2"] y) { y = Concat <axis = 0> (x, x) }
    /// ```
    Warning(Strict) DIM_PARAM_NAME = "W0708", "dim-param-name", "Y08";

    /// The name of a dimension has two different sizes.
    ///
    /// A name has the same size wherever it occurs in the model, nested graphs included. Use another name for
    /// one of them. Source: IR.md, Static tensor shapes.
    ///
    /// ```text
    /// g (float[N] a, float[N] b) => (float[N] y) <float[2] a = {1, 2}, float[3] b = {1, 2, 3}> { y = Relu(a) }
    /// ```
    /// ```text
    /// g (float[N] a, float[M] b) => (float[N] y) <float[2] a = {1, 2}, float[3] b = {1, 2, 3}> { y = Relu(a) }
    /// ```
    Error DIM_PARAM_CONTRADICTION = "E0709", "dim-param-contradiction", "Y09"
        => "no computation depends on the names of dimensions";

    /// A denotation is not one of the standard ones.
    ///
    /// Types are denoted TENSOR, IMAGE, AUDIO or TEXT, and dimensions DATA_BATCH, DATA_CHANNEL, DATA_TIME,
    /// DATA_FEATURE, FILTER_IN_CHANNEL, FILTER_OUT_CHANNEL or FILTER_SPATIAL. Others have no defined
    /// meaning. Source: TypeDenotation.md, DimensionDenotation.md.
    ///
    /// ```text
    /// #@ onnxtxt 1
    /// g (
    ///   #@ denotation: ["": "PICTURE"]
    ///   float[N] x
    /// ) => (float[N] y) { y = Relu(x) }
    /// ```
    /// ```text
    /// #@ onnxtxt 1
    /// g (
    ///   #@ denotation: ["": "TEXT"]
    ///   float[N] x
    /// ) => (float[N] y) { y = Relu(x) }
    /// ```
    Warning DENOTATION = "W0710", "denotation", "Y10";

    /// A stored sequence, map or optional is inconsistent.
    ///
    /// Its element kind must be the kind of what is stored; a map has keys of an integer type or
    /// strings, in one field, and as many as values. Such files are inputs and outputs of a model, not
    /// models. Source: onnx-data.proto.
    ///
    /// ```text
    /// map(int64) m = {keys = [1, 2], values = seq(tensor) [float {0.5}]}
    /// ```
    /// ```text
    /// map(int64) m = {keys = [1, 2], values = seq(tensor) [float {0.5}, float {0.25}]}
    /// ```
    Error VALUE_PROTOS = "E0711", "value-protos", "Y11";

    /// An output of the main graph has no type.
    ///
    /// Callers need to know what they get. Only nested graphs and functions may omit types. Source: IR.md, Graphs.
    ///
    /// ```text
    /// g (float[N] x) => (y) { y = Relu(x) }
    /// ```
    /// ```text
    /// g (float[N] x) => (float[N] y) { y = Relu(x) }
    /// ```
    Error OUTPUT_TYPE_MISSING = "E0713", "output-type-missing"
        => "the operators determine the type that is computed";

    /// A type without content is written where it could be omitted.
    ///
    /// The interface of a nested graph and the entries of `value_info` need no type. One without a kind or an element
    /// type means the same as no type, but some readers reject it. Omit the type. Source: onnx.proto, TypeProto.
    Warning TYPE_UNSET = "W0712", "type-unset";
}
