//! Codes of operator sets in files of their own (E11..).

super::codes! { OPSETS, Spec:
    /// The header of an operator set is incomplete or invalid.
    ///
    /// A set begins with the magic `ONNXOPSET`, and has the IR version of the file and its own version, both of
    /// which count from 1. Source: IR.md, Operator Sets.
    ///
    /// ```text
    /// operator_set <ir_version: 10, domain: "com.acme">
    /// <since_version: 1> operator Twice (T x) => (T y) where T: {float}
    /// ```
    /// ```text
    /// operator_set <ir_version: 10, domain: "com.acme", opset_version: 1>
    /// <since_version: 1> operator Twice (T x) => (T y) where T: {float}
    /// ```
    Error OPSET_HEADER = "E1101", "opset-header";

    /// An operator of a set has no name, no version, or a status that does not exist.
    ///
    /// The version is that of the set in which the operator got this definition; the first is 1. The status is
    /// `stable` or `experimental`. Source: IR.md, Operator Sets.
    ///
    /// ```text
    /// operator_set <ir_version: 10, domain: "com.acme", opset_version: 1>
    /// operator Twice (T x) => (T y) where T: {float}
    /// ```
    /// ```text
    /// operator_set <ir_version: 10, domain: "com.acme", opset_version: 1>
    /// <since_version: 1> operator Twice (T x) => (T y) where T: {float}
    /// ```
    Error OPERATOR_FIELDS = "E1102", "operator-fields";

    /// Two operators of a set have the same name and the same version.
    ///
    /// Readers disagree on which of them a node means. Remove one, or correct its version.
    ///
    /// ```text
    /// operator_set <ir_version: 10, domain: "com.acme", opset_version: 2>
    /// <since_version: 1> operator Twice (T x) => (T y) where T: {float}
    /// <since_version: 1> operator Twice (T x) => (T y) where T: {float, double}
    /// ```
    /// ```text
    /// operator_set <ir_version: 10, domain: "com.acme", opset_version: 2>
    /// <since_version: 1> operator Twice (T x) => (T y) where T: {float}
    /// <since_version: 2> operator Twice (T x) => (T y) where T: {float, double}
    /// ```
    Error OPERATOR_REPEATED = "E1103", "operator-repeated";

    /// An operator is newer than its operator set.
    ///
    /// No model that imports this version of the set could use it. Raise `opset_version`, or correct `since_version`.
    ///
    /// ```text
    /// operator_set <ir_version: 10, domain: "com.acme", opset_version: 1>
    /// <since_version: 2> operator Twice (T x) => (T y) where T: {float}
    /// ```
    /// ```text
    /// operator_set <ir_version: 10, domain: "com.acme", opset_version: 2>
    /// <since_version: 2> operator Twice (T x) => (T y) where T: {float}
    /// ```
    Error OPERATOR_TOO_NEW = "E1104", "operator-too-new";

    /// The signature of an operator is invalid.
    ///
    /// Inputs, outputs, attributes and type variables must have distinct names; a name that is not a type must be a variable of the
    /// `where` clause; a variadic parameter must come last; the numbers of inputs in a header must be among those
    /// that the signature allows.
    ///
    /// ```text
    /// operator_set <ir_version: 10, domain: "com.acme", opset_version: 1>
    /// <since_version: 1> operator Twice (T x) => (U y) where T: {float}
    /// ```
    /// ```text
    /// operator_set <ir_version: 10, domain: "com.acme", opset_version: 1>
    /// <since_version: 1> operator Twice (T x) => (U y) where T: {float}, U: {int64}
    /// ```
    Error OPERATOR_SIGNATURE = "E1105", "operator-signature";

    /// A function of a set does not match the operator that it defines.
    ///
    /// Its inputs, outputs and attributes must be those of the operator of the same name, in the same order. A function that
    /// defines an operator can be written as the body of it, where they cannot differ.
    ///
    /// ```text
    /// operator_set <ir_version: 10, domain: "com.acme", opset_version: 1>
    /// <since_version: 1> operator Twice (T x) => (T y) where T: {float}
    /// <domain: "com.acme", opset_import: ["": 21]> Twice (a, b) => (y) { y = Add(a, b) }
    /// ```
    /// ```text
    /// operator_set <ir_version: 10, domain: "com.acme", opset_version: 1>
    /// <since_version: 1, opset_import: ["": 21]> operator Twice (T x) => (T y) where T: {float} { y = Add(x, x) }
    /// ```
    Error OPERATOR_FUNCTION = "E1106", "operator-function";

    /// A set has an operator in several versions.
    ///
    /// According to the specification, a set has one version, and the name of an operator occurs in it once. This
    /// program accepts sets with several versions, too; others may not. Source: IR.md, Operator Sets.
    ///
    /// ```text
    /// operator_set <ir_version: 10, domain: "com.acme", opset_version: 2>
    /// <since_version: 1> operator Twice (T x) => (T y) where T: {float}
    /// <since_version: 2> operator Twice (T x) => (T y) where T: {float, double}
    /// ```
    /// ```text
    /// operator_set <ir_version: 10, domain: "com.acme", opset_version: 2>
    /// <since_version: 2> operator Twice (T x) => (T y) where T: {float, double}
    /// ```
    Warning(Strict) OPERATOR_VERSIONS = "W1110", "operator-versions";

    /// An operator of a set has no signature.
    ///
    /// Nodes that use it cannot be checked, and the types of their results are unknown.
    ///
    /// ```text
    /// operator_set <ir_version: 10, domain: "com.acme", opset_version: 1>
    /// <since_version: 1> operator Twice
    /// ```
    /// ```text
    /// operator_set <ir_version: 10, domain: "com.acme", opset_version: 1>
    /// <since_version: 1> operator Twice (T x) => (T y) where T: {float}
    /// ```
    Warning(Strict) OPERATOR_UNSIGNED = "W1111", "operator-unsigned";

    /// The documentation of an operator begins with an unreadable signature.
    ///
    /// A file in the wire format has the signature of an operator at the start of its documentation, as a code block
    /// in the language `onnxtxt` (see `grammar/opsets.md`). This one has errors, has the name of another operator, or
    /// contains more than a signature. It is kept as documentation, and the operator has no signature.
    Warning SIGNATURE_UNREADABLE = "W1112", "signature-unreadable";

    /// A function in the file of an operator set does not define an operator of the set.
    ///
    /// No node can use it: a set exports only operators. Add the operator, or remove the function.
    ///
    /// ```text
    /// operator_set <ir_version: 10, domain: "com.acme", opset_version: 1>
    /// <since_version: 1> operator Twice (T x) => (T y) where T: {float}
    /// <domain: "com.acme", opset_import: ["": 21]> Double (a) => (y) { y = Add(a, a) }
    /// ```
    /// ```text
    /// operator_set <ir_version: 10, domain: "com.acme", opset_version: 1>
    /// <since_version: 1> operator Twice (T x) => (T y) where T: {float}
    /// ```
    Warning FUNCTION_OF_NO_OPERATOR = "W1113", "function-of-no-operator";
}
