//! Codes of operator sets in files of their own (E11..).

super::codes! { OPSETS, Spec:
    /// The header of an operator set lacks something, or says what cannot be.
    ///
    /// A set begins with the magic `ONNXOPSET`, and states the IR version of the file and its own version, both of
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
    /// The version is that of the set from which on the operator is as the file says; the first is 1. The status is
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
    /// Which of them a node means is up to the reader. Remove one, or correct its version.
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

    /// An operator is newer than the set that has it.
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

    /// The signature of an operator does not make sense.
    ///
    /// Inputs, outputs, attributes and type variables have distinct names; a word that is no type is a variable of the
    /// `where` below; what takes several values comes last; the numbers of inputs that a header allows are among those
    /// that the inputs allow.
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

    /// A function of a set does not fit the operator that it defines, or defines none.
    ///
    /// Its inputs, outputs and attributes are those of the operator of its name, in the same order. A function that
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
    /// By the specification a set is what one version of it has, and the name of an operator stands in it once. This
    /// program takes sets with a history, too; others may not. Source: IR.md, Operator Sets.
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
    /// Nodes that use it cannot be checked, and nothing is known of the types of their results.
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

    /// The documentation of an operator begins with a signature that cannot be read.
    ///
    /// A file in the wire format has the signature of an operator at the head of its documentation, as a block of code
    /// in the language `onnxtxt` (see `grammar/opsets.md`). This one has mistakes, has the name of another operator, or
    /// says more than a signature does. It is kept as documentation, and the operator has no signature.
    Warning SIGNATURE_UNREADABLE = "W1112", "signature-unreadable";

    /// A function in the file of an operator set defines no operator of it.
    ///
    /// No node can reach it: a set offers its operators. Add the operator, or remove the function.
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
