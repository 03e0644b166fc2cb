//! Codes of attributes (E04..).

super::codes! { ATTRIBUTES, Spec:
    /// An attribute has no name, or no type.
    ///
    /// Without the type, a reader has to guess the kind of the value, and a reference to a parameter of a
    /// function has no type at all. The type is required from IR version 2 on. Source: IR.md, Attributes.
    ///
    /// ```text
    /// <ir_version: 10, opset_import: ["": 21, "l": 1]>
    /// g (float[N] x) => (float[N] y) { y = l.Op <a = attribute {type = 99, f = 1.0}> (x) }
    /// ```
    /// ```text
    /// <ir_version: 10, opset_import: ["": 21, "l": 1]>
    /// g (float[N] x) => (float[N] y) { y = l.Op <a = attribute {type = 1, f = 1.0}> (x) }
    /// ```
    Error ATTR_NAME_TYPE = "E0401", "attr-name-type", "A01";

    /// The value of an attribute does not have the attribute's type, or there are two values.
    ///
    /// The `type` field selects the one field that holds the value; readers that use another field see another
    /// value. Clear the other field. Source: IR.md, Attributes.
    ///
    /// ```text
    /// <ir_version: 10, opset_import: ["": 21, "l": 1]>
    /// g (float[N] x) => (float[N] y) { y = l.Op <a = attribute {type = 2, f = 1.0}> (x) }
    /// ```
    /// ```text
    /// <ir_version: 10, opset_import: ["": 21, "l": 1]>
    /// g (float[N] x) => (float[N] y) { y = l.Op <a = attribute {type = 1, f = 1.0}> (x) }
    /// ```
    Error ATTR_VALUE_FIELD = "E0402", "attr-value-field", "A02";

    /// An attribute has no value.
    ///
    /// Tensors, graphs, sparse tensors and types have no default. A number or string without a value reads as
    /// zero or as the empty string, which is a warning. Lists may be empty. Source: onnx.proto,
    /// AttributeProto.
    ///
    /// ```text
    /// <ir_version: 10, opset_import: ["": 21, "l": 1]>
    /// g (float[N] x) => (float[N] y) { y = l.Op <a = attribute {type = 4}> (x) }
    /// ```
    /// ```text
    /// <ir_version: 10, opset_import: ["": 21, "l": 1]>
    /// g (float[N] x) => (float[N] y) { y = l.Op <a = float[1] {0}> (x) }
    /// ```
    Error ATTR_NO_VALUE = "E0403", "attr-no-value", "A03";

    /// An attribute refers to a parameter outside of a function.
    ///
    /// `@name` stands for an attribute parameter of the function around it; a graph has none. Write the
    /// value. Source: IR.md, Attributes.
    ///
    /// ```text
    /// g (float[N] x) => (float[N] y) { y = LeakyRelu <alpha: float = @a> (x) }
    /// ```
    /// ```text
    /// g (float[N] x) => (float[N] y) { y = LeakyRelu <alpha = 0.1> (x) }
    /// ```
    Error ATTR_REF_OUTSIDE_FUNCTION = "E0404", "attr-ref-outside-function", "A04";

    /// An attribute is both a reference and a value.
    ///
    /// The call of the function provides the value, so a second one contradicts it. Remove one of them. Source:
    /// IR.md, Attributes.
    ///
    /// ```text
    /// <ir_version: 10, opset_import: ["": 21, "l": 1]> g (float[N] x) => (float[N] y) { y = l.f(x) }
    /// <domain: "l", opset_import: ["": 21]> f <p> (a) => (b) { b = LeakyRelu <alpha = attribute {type = 1, ref_attr_name = p, f = 1.0}> (a) }
    /// ```
    /// ```text
    /// <ir_version: 10, opset_import: ["": 21, "l": 1]> g (float[N] x) => (float[N] y) { y = l.f(x) }
    /// <domain: "l", opset_import: ["": 21]> f <p> (a) => (b) { b = LeakyRelu <alpha: float = @p> (a) }
    /// ```
    Error ATTR_REF_WITH_VALUE = "E0405", "attr-ref-with-value", "A05";

    /// An attribute refers to a parameter that its function does not declare, or with another type.
    ///
    /// No call can pass a value for it. Declare the parameter in `<…>` after the name of the function, or correct
    /// the reference. Source: IR.md, Functions.
    ///
    /// ```text
    /// <ir_version: 10, opset_import: ["": 21, "l": 1]> g (float[N] x) => (float[N] y) { y = l.f(x) }
    /// <domain: "l", opset_import: ["": 21]> f (v) => (w) { w = LeakyRelu <alpha: float = @zzz> (v) }
    /// ```
    /// ```text
    /// <ir_version: 10, opset_import: ["": 21, "l": 1]> g (float[N] x) => (float[N] y) { y = l.f <a = 0.1> (x) }
    /// <domain: "l", opset_import: ["": 21]> f <a> (v) => (w) { w = LeakyRelu <alpha: float = @a> (v) }
    /// ```
    Error ATTR_REF_UNDECLARED = "E0406", "attr-ref-undeclared", "A06";

    /// A string attribute is not UTF-8.
    ///
    /// String attributes must be UTF-8 text. Some custom operators store binary data in
    /// them, which some tools cannot print or convert; a tensor of uint8 holds it safely. Source: IR.md,
    /// Attributes.
    ///
    /// ```text
    /// <ir_version: 10, opset_import: ["": 21, "l": 1]>
    /// g (float[N] x) => (float[N] y) { y = l.Op <a = b"a\xff"> (x) }
    /// ```
    /// ```text
    /// <ir_version: 10, opset_import: ["": 21, "l": 1]>
    /// g (float[N] x) => (float[N] y) { y = l.Op <a = uint8[2] {97, 255}> (x) }
    /// ```
    Warning ATTR_STRING_NOT_UTF8 = "W0407", "attr-string-not-utf8", "A07";

    /// A node has an attribute twice.
    ///
    /// Readers disagree on which of the two counts. Remove one. Source: IR.md, Attributes.
    ///
    /// ```text
    /// g (float[N] x) => (float[N] y) { y = LeakyRelu <alpha = 0.1, alpha = 0.2> (x) }
    /// ```
    /// ```text
    /// g (float[N] x) => (float[N] y) { y = LeakyRelu <alpha = 0.2> (x) }
    /// ```
    Error ATTRIBUTE_REPEATED = "E0408", "attribute-repeated", "S09";

    /// An attribute of a number or string type has no value.
    ///
    /// A float, integer or string without a value is read as 0 or the empty string, because the format omits zero
    /// values. Write the value. Source: onnx.proto, AttributeProto.
    ///
    /// ```text
    /// <ir_version: 10, opset_import: ["": 21, "l": 1]>
    /// g (float[N] x) => (float[N] y) { y = l.Op <a = attribute {type = 1}> (x) }
    /// ```
    /// ```text
    /// <ir_version: 10, opset_import: ["": 21, "l": 1]>
    /// g (float[N] x) => (float[N] y) { y = l.Op <a = 0.0> (x) }
    /// ```
    Warning ATTR_ZERO_OMITTED = "W0409", "attr-zero-omitted";
}
