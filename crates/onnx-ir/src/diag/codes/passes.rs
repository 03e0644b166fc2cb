//! Codes of passes that cannot change a model as requested (E15..).

super::codes! { PASSES, Spec:
    /// Inlining would exceed the limit of nodes.
    ///
    /// Functions that call others several times expand to bodies that double with each level: thirty small functions can
    /// expand to a billion nodes. Nothing was changed. Inline only some functions or fewer levels of calls, or raise the
    /// limit.
    Error INLINE_TOO_LARGE = "E1501", "inline-too-large";

    /// A function imports another version of a domain than its caller, and one of its operators may differ.
    ///
    /// A function has imports of its own, but a graph has one version of each domain. If an operator is not the same
    /// in both versions, the body of the function would have another meaning in place of the call. The call is kept.
    Error INLINE_OPSET = "E1502", "inline-opset";

    /// A call passes on an attribute parameter for which the callee has a default.
    ///
    /// If the outer parameter is not given, the default of the callee applies. After inlining there would be neither,
    /// and the operator's own default would apply. The call is kept. Give the outer parameter the same default.
    Error INLINE_DEFAULT = "E1503", "inline-default";

    /// Inlining loses a device configuration of a call.
    ///
    /// Shardings refer to the inputs and outputs of a node, and the nodes that replace a call have others.
    /// In a function, ranks may be unknown: a sharding of an axis that the tensor of this call does not have is dropped.
    Warning INLINE_LOST = "W1504", "inline-lost";

    /// A path between selected nodes leads through a node that is not selected.
    ///
    /// The function would depend on its own result. Select that node as well, or fewer nodes.
    Error OUTLINE_PATH = "E1505", "outline-path";

    /// The selected nodes cannot become a function.
    ///
    /// A function needs nodes of one graph and at least one result, and cannot have quantization annotations
    /// of its values.
    Error OUTLINE_SELECTION = "E1506", "outline-selection";

    /// A node cannot be converted to another version of its operator set.
    ///
    /// The other version has no equivalent operator, attribute, input or type, or the conversion needs a constant that
    /// is computed when the model runs. Nothing was changed. Replace the node, or choose a version in between.
    Error CONVERT_NODE = "E1507", "convert-node";

    /// The model cannot be converted to the requested version of an operator set.
    ///
    /// The version is unknown or older than the oldest supported one, or the model does not import the domain.
    Error CONVERT_VERSION = "E1508", "convert-version";

    /// The requested part of a graph cannot be extracted.
    ///
    /// The outputs of the part depend on values that are neither computed in it nor among its inputs, or an input of the part is
    /// not used by its outputs, or its type is neither declared nor inferred. Nothing was changed. Name the inputs
    /// that the message lists, or other outputs.
    Error EXTRACT_CUT = "E1509", "extract-cut";

    /// Renaming would give two things the same name.
    ///
    /// Values of different names would get one name, or a symbol of a dimension would become the symbol of another
    /// dimension. Nothing was changed. Choose another name, or rename the other thing as well.
    Error RENAME_CLASH = "E1510", "rename-clash";

    /// The requested shape does not match an input of the model.
    ///
    /// The shape has another rank than the model declares, or the input is not a tensor. Nothing was changed.
    Error SET_SHAPE = "E1511", "set-shape";

    /// The model has no metadata to remove.
    ///
    /// The header of the model has no entry of `metadata_props` with this key. Nothing was changed.
    Error METADATA_KEY = "E1512", "metadata-key";

    /// Weights were asked for that a model does not have.
    ///
    /// A file has a weight that the model does not have, or one of another type or shape, or the model's version of `Cast` does not
    /// know the type that weights would be stored in. Nothing was changed.
    Error WEIGHTS = "E1513", "weights-do-not-fit";

    /// Two models cannot be joined as was asked for.
    ///
    /// An output that should become an input does not exist or has another type, no output has the name of an input, or the
    /// models mean different operators or functions by one name. Nothing was changed.
    Error CONCAT = "E1514", "concat";

    /// A node `Gradient` cannot be expanded into ordinary operators.
    ///
    /// `expand-gradient` needs a derivative of every node between `xs` and `y`. An operator may have none (it draws random
    /// numbers, or works on strings), or the pass may need to know more of the node: its element type, the rank of an operand.
    /// The node stays. `docs/gradient.md` lists what each operator has.
    Error GRADIENT_UNDEFINED = "E1515", "gradient-undefined";

    /// A model cannot be made trainable as was asked for.
    ///
    /// It has a training already, no output is a tensor of floats that the loss can be computed from, no weight is left to be trained,
    /// or its operator set is too old. Nothing was changed.
    Error TRAINABLE = "E1520", "trainable";
}
