//! Codes of model-local functions and their calls (E08..).

super::codes! { FUNCTIONS, Spec:
    /// A function has no name, or no domain.
    ///
    /// Calls refer to it by both. A function in the default domain would look like a standard operator. Source:
    /// onnx.proto, FunctionProto.
    ///
    /// ```text
    /// <ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { y = Relu(x) }
    /// <opset_import: ["": 21]> f (a) => (b) { b = Relu(a) }
    /// ```
    /// ```text
    /// <ir_version: 10, opset_import: ["": 21, "l": 1]> g (float[N] x) => (float[N] y) { y = l.f(x) }
    /// <domain: "l", opset_import: ["": 21]> f (a) => (b) { b = Relu(a) }
    /// ```
    Error FUNCTION_IDENTITY = "E0801", "function-identity", "F01";

    /// Two functions have the same domain, name and overload.
    ///
    /// Readers disagree on which of them a call means. Remove one, or give it an `overload`. Source: IR.md,
    /// Functions.
    ///
    /// ```text
    /// <ir_version: 10, opset_import: ["": 21, "l": 1]> g (float[N] x) => (float[N] y) { y = l.f(x) }
    /// <domain: "l", opset_import: ["": 21]> f (a) => (b) { b = Relu(a) }
    /// <domain: "l", opset_import: ["": 21]> f (a) => (b) { b = Abs(a) }
    /// ```
    /// ```text
    /// <ir_version: 10, opset_import: ["": 21, "l": 1]> g (float[N] x) => (float[N] y) { y = l.f(x) }
    /// <domain: "l", opset_import: ["": 21]> f (a) => (b) { b = Relu(a) }
    /// <domain: "l", opset_import: ["": 21], overload: "v2"> f (a) => (b) { b = Abs(a) }
    /// ```
    Error FUNCTION_REPEATED = "E0802", "function-repeated", "F02";

    /// A function calls itself, directly or through others.
    ///
    /// Functions are expanded to their bodies, and such a body would be infinite. Calls in nested graphs
    /// count too. Use Loop or Scan. Each group of functions that call each other is reported once. Source:
    /// onnx.proto, ModelProto.functions.
    ///
    /// ```text
    /// <ir_version: 10, opset_import: ["": 21, "l": 1]> g (float[N] x) => (float[N] y) { y = l.f(x) }
    /// <domain: "l", opset_import: ["": 21, "l": 1]> f (a) => (b) { b = l.f(a) }
    /// ```
    /// ```text
    /// <ir_version: 10, opset_import: ["": 21, "l": 1]> g (float[N] x) => (float[N] y) { y = l.f(x) }
    /// <domain: "l", opset_import: ["": 21]> f (a) => (b) { b = Relu(a) }
    /// ```
    Error FUNCTION_RECURSION = "E0803", "function-recursion", "F03";

    /// Functions call each other in too long a chain, or there are too many of them.
    ///
    /// The limits are those of the reference, 100 calls and 10000 functions: otherwise, a small model could
    /// expand to any size. Source: the reference checker.
    Error FUNCTION_LIMITS = "E0804", "function-limits", "F04";

    /// An input, output or attribute of a function is listed twice.
    ///
    /// Arguments would be ambiguous. `attribute` and `attribute_proto` share one set of names. Source:
    /// IR.md, Functions.
    ///
    /// ```text
    /// <ir_version: 10, opset_import: ["": 21, "l": 1]> g (float[N] x) => (float[N] y) { y = l.f(x) }
    /// <domain: "l", opset_import: ["": 21]> f (a, a) => (b) { b = Relu(a) }
    /// ```
    /// ```text
    /// <ir_version: 10, opset_import: ["": 21, "l": 1]> g (float[N] x) => (float[N] y) { y = l.f(x) }
    /// <domain: "l", opset_import: ["": 21]> f (a, c) => (b) { b = Relu(a) }
    /// ```
    Error FUNCTION_FORMALS_REPEATED = "E0805", "function-formals-repeated", "F05";

    /// The nodes of a function are out of order, or define a name twice.
    ///
    /// Function bodies follow the rules of graphs: see E0202 and E0204. Source: IR.md, Functions.
    ///
    /// ```text
    /// <ir_version: 10, opset_import: ["": 21, "l": 1]> g (float[N] x) => (float[N] y) { y = l.f(x) }
    /// <domain: "l", opset_import: ["": 21]> f (a) => (b) { b = Relu(t) t = Abs(a) }
    /// ```
    /// ```text
    /// <ir_version: 10, opset_import: ["": 21, "l": 1]> g (float[N] x) => (float[N] y) { y = l.f(x) }
    /// <domain: "l", opset_import: ["": 21]> f (a) => (b) { t = Abs(a) b = Relu(t) }
    /// ```
    Error FUNCTION_BODY = "E0806", "function-body", "F06";

    /// An output of a function is not defined in it.
    ///
    /// An output must be an input of the function or an output of one of its nodes. Source: IR.md, Functions.
    ///
    /// ```text
    /// <ir_version: 10, opset_import: ["": 21, "l": 1]> g (float[N] x) => (float[N] y) { y = l.f(x) }
    /// <domain: "l", opset_import: ["": 21]> f (a) => (b) { c = Relu(a) }
    /// ```
    /// ```text
    /// <ir_version: 10, opset_import: ["": 21, "l": 1]> g (float[N] x) => (float[N] y) { y = l.f(x) }
    /// <domain: "l", opset_import: ["": 21]> f (a) => (c) { c = Relu(a) }
    /// ```
    Error FUNCTION_OUTPUT_UNDEFINED = "E0807", "function-output-undefined", "F07";

    /// A function does not import a domain that its nodes use, or imports one twice.
    ///
    /// The imports of the model do not apply to functions. The first node of each domain is reported. Source:
    /// onnx.proto, FunctionProto.opset_import.
    ///
    /// ```text
    /// <ir_version: 10, opset_import: ["": 21, "l": 1]> g (float[N] x) => (float[N] y) { y = l.f(x) }
    /// <domain: "l"> f (a) => (b) { b = Relu(a) }
    /// ```
    /// ```text
    /// <ir_version: 10, opset_import: ["": 21, "l": 1]> g (float[N] x) => (float[N] y) { y = l.f(x) }
    /// <domain: "l", opset_import: ["": 21]> f (a) => (b) { b = Relu(a) }
    /// ```
    Error FUNCTION_IMPORTS = "E0808", "function-imports", "F08";

    /// A call does not match the signature of the function.
    ///
    /// A call can have at most as many inputs and outputs as the function, and only attributes that the function
    /// declares. Source: IR.md, Nodes.
    ///
    /// ```text
    /// <ir_version: 10, opset_import: ["": 21, "l": 1]> g (float[N] x) => (float[N] y) { y = l.f(x, x, x) }
    /// <domain: "l", opset_import: ["": 21]> f (a) => (b) { b = Relu(a) }
    /// ```
    /// ```text
    /// <ir_version: 10, opset_import: ["": 21, "l": 1]> g (float[N] x) => (float[N] y) { y = l.f(x) }
    /// <domain: "l", opset_import: ["": 21]> f (a) => (b) { b = Relu(a) }
    /// ```
    Error CALL_SIGNATURE = "E0810", "call-signature", "F10";

    /// A node calls a function that the model does not have.
    ///
    /// A node with an overload, or of a custom domain for which the model has functions, is a call of one of
    /// them. Correct the name or the overload, or add the function. Source: IR.md, Functions.
    ///
    /// ```text
    /// <ir_version: 10, opset_import: ["": 21, "l": 1]> g (float[N] x) => (float[N] y) { y = l.f:v2(x) }
    /// <domain: "l", opset_import: ["": 21]> f (a) => (b) { b = Relu(a) }
    /// ```
    /// ```text
    /// <ir_version: 10, opset_import: ["": 21, "l": 1]> g (float[N] x) => (float[N] y) { y = l.f(x) }
    /// <domain: "l", opset_import: ["": 21]> f (a) => (b) { b = Relu(a) }
    /// ```
    Error CALL_UNRESOLVED = "E0811", "call-unresolved", "F11";

    /// An entry of a function's `value_info` describes a value that does not occur in it, or the same value as another
    /// entry.
    ///
    /// It may be left over from an edit. Remove it. Source: onnx.proto, FunctionProto.value_info.
    ///
    /// ```text
    /// <ir_version: 10, opset_import: ["": 21, "l": 1]> g (float[N] x) => (float[N] y) { y = l.f(x) }
    /// <domain: "l", opset_import: ["": 21]> f (a) => (b) <float[N] ghost> { b = Relu(a) }
    /// ```
    /// ```text
    /// <ir_version: 10, opset_import: ["": 21, "l": 1]> g (float[N] x) => (float[N] y) { y = l.f(x) }
    /// <domain: "l", opset_import: ["": 21]> f (a) => (b) <float[N] t> { t = Abs(a) b = Relu(t) }
    /// ```
    Error FUNCTION_VALUE_INFO = "E0813", "function-value-info", "F13"
        => "no computation depends on an entry for a value that does not exist";

    /// The default of a function's attribute is invalid.
    ///
    /// It must have a name, a type and a value of that type, and must not be a reference. Source: onnx.proto,
    /// FunctionProto.attribute_proto.
    ///
    /// ```text
    /// <ir_version: 10, opset_import: ["": 21, "l": 1]> g (float[N] x) => (float[N] y) { y = l.f(x) }
    /// <domain: "l", opset_import: ["": 21]> f <p = attribute {type = 1}> (a) => (b) { b = LeakyRelu <alpha: float = @p> (a) }
    /// ```
    /// ```text
    /// <ir_version: 10, opset_import: ["": 21, "l": 1]> g (float[N] x) => (float[N] y) { y = l.f(x) }
    /// <domain: "l", opset_import: ["": 21]> f <p: float = 0.1> (a) => (b) { b = LeakyRelu <alpha: float = @p> (a) }
    /// ```
    Error FUNCTION_DEFAULT_ATTRIBUTE = "E0814", "function-default-attribute", "F14";
}
