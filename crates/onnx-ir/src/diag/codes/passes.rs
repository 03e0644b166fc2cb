//! Codes of passes: what a change of a model could not do (E15..).

super::codes! { PASSES, Spec:
    /// Inlining would make more nodes than the limit.
    ///
    /// Functions that call others several times stand for bodies that double with each step: thirty small functions can
    /// stand for a billion nodes. Nothing was changed. Inline only some functions or fewer steps of calls, or raise the
    /// limit.
    Error INLINE_TOO_LARGE = "E1501", "inline-too-large";

    /// A function imports another version of a domain than what calls it, and an operator of it may differ.
    ///
    /// A function brings imports of its own, a graph has one version of each domain. Where an operator is not the same
    /// in both versions, the body of the function would mean something else in place of the call. The call stays.
    Error INLINE_OPSET = "E1502", "inline-opset";

    /// A call passes on an attribute parameter for which the function that is called has a default.
    ///
    /// If the outer parameter is not given, the default counts. In the body in place of the call there would be neither,
    /// and the operator's own default would count. The call stays. Give the outer parameter the same default.
    Error INLINE_DEFAULT = "E1503", "inline-default";

    /// Something that is said of devices has no place in the nodes that come in place of a call.
    ///
    /// How devices share a node is said of its inputs and outputs, and the nodes that come in place of a call have others.
    /// Within a function, ranks may be unknown: a sharding of an axis that the tensor of this call does not have is left out.
    Warning INLINE_LOST = "W1504", "inline-lost";

    /// Nodes that are to become a function need each other by way of a node that is not selected.
    ///
    /// The function would need its own result. Select the node as well, or fewer nodes.
    Error OUTLINE_PATH = "E1505", "outline-path";

    /// The selected nodes cannot become a function.
    ///
    /// A function is made of nodes of one graph, gives at least one result, and has no place for quantization annotations
    /// of the values in it.
    Error OUTLINE_SELECTION = "E1506", "outline-selection";

    /// A node cannot be brought to another version of its operator set.
    ///
    /// The other version has no operator, attribute, input or type that says the same, or it has to be known before the
    /// model runs what this node computes. Nothing was changed. Replace the node, or choose a version in between.
    Error CONVERT_NODE = "E1507", "convert-node";

    /// There is no way to the wanted version of an operator set.
    ///
    /// The version is not known, lies before those that models are brought to, or the model does not import the domain.
    Error CONVERT_VERSION = "E1508", "convert-version";

    /// A part of a graph cannot be cut out where it was asked for.
    ///
    /// The outputs of the part need values that are neither computed in it nor among its inputs, or an input of the part is
    /// of no use for its outputs, or has no type that is declared or can be inferred. Nothing was changed. Name the inputs
    /// that the message lists, or other outputs.
    Error EXTRACT_CUT = "E1509", "extract-cut";

    /// Two things would have the same name after renaming.
    ///
    /// Values of different names would become one name, or a symbol of a dimension would become one that means another
    /// dimension. Nothing was changed. Choose another name, or rename the other thing as well.
    Error RENAME_CLASH = "E1510", "rename-clash";

    /// A shape was asked for that an input of the model cannot have.
    ///
    /// The shape has another rank than the model declares, or the input is not a tensor. Nothing was changed.
    Error SET_SHAPE = "E1511", "set-shape";

    /// There is no metadata to remove.
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
}
