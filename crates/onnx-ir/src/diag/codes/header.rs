//! Codes of the header: operator sets, metadata, and what each IR version allows (E03..).

super::codes! { HEADER, Spec:
    /// The bytes are not a complete model.
    ///
    /// A binary model is one ModelProto in protobuf wire format of less than 2 GiB. The file is corrupt,
    /// truncated, or of another format. Download or export it again; store weights beyond 2 GiB as external data. Source: the
    /// protobuf encoding.
    Error(Syntax) MODEL_UNDECODABLE = "E0301", "model-undecodable", "M01";

    /// `ir_version` is missing or unknown.
    ///
    /// It determines the rules for the rest of the model: at least 1, at most the newest known version (14). Write the
    /// version that the model was exported for; a newer version needs a newer program. Source:
    /// IR.md, Models.
    ///
    /// ```text
    /// <ir_version: 99, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { y = Relu(x) }
    /// ```
    /// ```text
    /// <ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { y = Relu(x) }
    /// ```
    Error IR_VERSION = "E0302", "ir-version", "M02";

    /// The model has no graph.
    ///
    /// Without a graph there is nothing to run. The file may be truncated, or contain only functions. Source:
    /// IR.md, Models.
    ///
    /// ```text
    /// #@ onnxtxt 1
    /// #@ unset: ["graph"]
    /// g () => () {}
    /// ```
    /// ```text
    /// g (float[N] x) => (float[N] y) { y = Relu(x) }
    /// ```
    Error GRAPH_MISSING = "E0303", "graph-missing", "M03";

    /// The header does not identify the producer of the model.
    ///
    /// A model that is to be shared should have its producer, the producer's version, and a domain, so that a problem
    /// can be traced. Add `producer_name`, `producer_version` and `domain`. Domains, those of operator sets too, are
    /// reversed DNS names, so that names of two authors differ. Source: IR.md, Models; onnx.proto, ModelProto.
    ///
    /// ```text
    /// <ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { y = Relu(x) }
    /// ```
    /// ```text
    /// <ir_version: 10, opset_import: ["": 21], producer_name: "me", producer_version: "1", domain: "org.me">
    /// g (float[N] x) => (float[N] y) { y = Relu(x) }
    /// ```
    Warning(Strict) HEADER_RECOMMENDED = "W0304", "header-recommended", "M04";

    /// A name or text is not UTF-8.
    ///
    /// Protobuf fields of type `string` must be UTF-8. Some readers reject the model, others replace the bytes
    /// and may then merge two names into one. Encode the string in UTF-8. Source: the protobuf language guide,
    /// `string`.
    ///
    /// ```text
    /// <ir_version: 10, opset_import: ["": 21], producer_name: b"a\xff">
    /// g (float[N] x) => (float[N] y) { y = Relu(x) }
    /// ```
    /// ```text
    /// <ir_version: 10, opset_import: ["": 21], producer_name: "aµ">
    /// g (float[N] x) => (float[N] y) { y = Relu(x) }
    /// ```
    Error STRING_NOT_UTF8 = "E0305", "string-not-utf8", "M05"
        => "names and texts are compared byte by byte";

    /// The file contains a field that the format does not define.
    ///
    /// It comes from a newer version of the format, or from corruption; many tools drop it when they write the
    /// model. This program keeps it. Source: Versioning.md, IR versioning.
    Warning UNKNOWN_FIELD = "W0306", "unknown-field", "M06";

    /// The model does not import an operator set.
    ///
    /// The semantics of an operator depend on the version of its set, so from IR version 3 on a model must import at
    /// least one. Add `opset_import`. Source: IR.md, Operator Sets.
    ///
    /// ```text
    /// <ir_version: 10> g (float[N] x) => (float[N] y) { y = Relu(x) }
    /// ```
    /// ```text
    /// <ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { y = Relu(x) }
    /// ```
    Error OPSET_MISSING = "E0311", "opset-missing", "O01";

    /// A model below IR version 3 imports operator sets.
    ///
    /// The field was added in IR version 3; before, version 1 of the default set is implied. Raise
    /// `ir_version`. Source: onnx.proto, Version.
    ///
    /// ```text
    /// <ir_version: 2, opset_import: ["": 9]> g (float[N] x) => (float[N] y) { y = Relu(x) }
    /// ```
    /// ```text
    /// <ir_version: 4, opset_import: ["": 9]> g (float[N] x) => (float[N] y) { y = Relu(x) }
    /// ```
    Error OPSET_BEFORE_IR3 = "E0312", "opset-before-ir3", "O02"
        => "the import states the version";

    /// A domain is imported twice.
    ///
    /// Readers disagree on which import counts: the highest version, or the last. `""` and `"ai.onnx"` are
    /// one domain. Remove one. Source: onnx.proto, ModelProto.opset_import.
    ///
    /// ```text
    /// <ir_version: 10, opset_import: ["": 13, "": 21]> g (float[N] x) => (float[N] y) { y = Relu(x) }
    /// ```
    /// ```text
    /// <ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { y = Relu(x) }
    /// ```
    Warning OPSET_DUPLICATE = "W0313", "opset-duplicate", "O03";

    /// An operator set is imported in a version that does not exist.
    ///
    /// Versions begin at 1, fit 32 bits, and those of the built-in domains end at the newest that is
    /// published; operators of later versions are unknown. Import a version that exists. Source:
    /// IR.md, Models.
    ///
    /// ```text
    /// <ir_version: 10, opset_import: ["": 0]> g (float[N] x) => (float[N] y) { y = Relu(x) }
    /// ```
    /// ```text
    /// <ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { y = Relu(x) }
    /// ```
    Error OPSET_VERSION = "E0314", "opset-version", "O04";

    /// A node uses a domain that the model does not import.
    ///
    /// The import determines the version of the operator. Add the domain to `opset_import`, or correct
    /// it. The first node of each domain is reported. In a function, the same error is E0808. Source: IR.md,
    /// Operator Sets.
    ///
    /// ```text
    /// <ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { y = com.acme.Op(x) }
    /// ```
    /// ```text
    /// <ir_version: 10, opset_import: ["": 21, "com.acme": 1]> g (float[N] x) => (float[N] y) { y = com.acme.Op(x) }
    /// ```
    Error DOMAIN_NOT_IMPORTED = "E0315", "domain-not-imported", "O05";

    /// The IR version is older than the imported operator set.
    ///
    /// Each operator set was released with an IR version; readers that know only the IR version of the model may
    /// not know the operators. Raise `ir_version`. Source: Versioning.md, Released Versions.
    ///
    /// ```text
    /// <ir_version: 3, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { y = Relu(x) }
    /// ```
    /// ```text
    /// <ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { y = Relu(x) }
    /// ```
    Warning OPSET_NEEDS_NEWER_IR = "W0316", "opset-needs-newer-ir", "O06";

    /// A metadata key occurs twice in one list.
    ///
    /// `metadata_props` is a map: readers disagree on which of two values counts. Remove one. Source: IR.md,
    /// Models.
    ///
    /// ```text
    /// <ir_version: 10, opset_import: ["": 21], metadata_props: ["org.k": "1", "org.k": "2"]>
    /// g (float[N] x) => (float[N] y) { y = Relu(x) }
    /// ```
    /// ```text
    /// <ir_version: 10, opset_import: ["": 21], metadata_props: ["org.k": "1", "org.l": "2"]>
    /// g (float[N] x) => (float[N] y) { y = Relu(x) }
    /// ```
    Error METADATA_REPEATED = "E0321", "metadata-repeated", "D01"
        => "no computation depends on metadata";

    /// A metadata key of the model has no prefix.
    ///
    /// Keys other than the standard ones should begin with a reverse-DNS name, so that two tools never write the same
    /// key. Source: IR.md, Other Metadata.
    ///
    /// ```text
    /// <ir_version: 10, opset_import: ["": 21], metadata_props: ["mykey": "1"]>
    /// g (float[N] x) => (float[N] y) { y = Relu(x) }
    /// ```
    /// ```text
    /// <ir_version: 10, opset_import: ["": 21], metadata_props: ["org.me.mykey": "1"]>
    /// g (float[N] x) => (float[N] y) { y = Relu(x) }
    /// ```
    Warning(Strict) METADATA_UNQUALIFIED = "W0322", "metadata-unqualified", "D02";

    /// Image metadata has a value that is not defined, or is missing.
    ///
    /// `Image.BitmapPixelFormat`, `Image.ColorSpaceGamma` and `Image.NominalPixelRange` have listed values,
    /// in any case, and are required if an input or output is denoted `IMAGE`. Source: MetadataProps.md.
    ///
    /// ```text
    /// <ir_version: 10, opset_import: ["": 21], metadata_props: ["Image.BitmapPixelFormat": "Purple"]>
    /// g (float[N] x) => (float[N] y) { y = Relu(x) }
    /// ```
    /// ```text
    /// <ir_version: 10, opset_import: ["": 21], metadata_props: ["Image.BitmapPixelFormat": "Rgb8"]>
    /// g (float[N] x) => (float[N] y) { y = Relu(x) }
    /// ```
    Warning IMAGE_METADATA = "W0323", "image-metadata", "D03";

    /// `model_version` is negative.
    ///
    /// It counts up from 0; a value above 4294967295 is read as MAJOR.MINOR.PATCH in 16, 16 and 32 bits, and a negative
    /// one has a MAJOR of 32768 or more, which is rarely meant. Source: Versioning.md, Serializing SemVer.
    ///
    /// ```text
    /// <ir_version: 10, opset_import: ["": 21], model_version: -5> g (float[N] x) => (float[N] y) { y = Relu(x) }
    /// ```
    /// ```text
    /// <ir_version: 10, opset_import: ["": 21], model_version: 5> g (float[N] x) => (float[N] y) { y = Relu(x) }
    /// ```
    Warning MODEL_VERSION = "W0324", "model-version", "D04";

    /// An initializer is not a graph input, in IR version 3 or below.
    ///
    /// Up to IR version 3, an initializer is the default of the input of the same name. Declare the input, or raise
    /// `ir_version` to 4. Source: IR.md, Nodes.
    ///
    /// ```text
    /// <ir_version: 3, opset_import: ["": 8]>
    /// g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }
    /// ```
    /// ```text
    /// <ir_version: 3, opset_import: ["": 8]> g (float[2] x, float[2] w = {1, 2}) => (float[2] y) { y = Add(x, w) }
    /// ```
    Error IR3_INITIALIZERS = "E0331", "ir3-initializers", "V01"
        => "an initializer that is not an input is a constant, as in later versions";

    /// An input of a nested graph follows one that is an initializer, in IR version 3 or below.
    ///
    /// The node passes values by position, so inputs with an initializer must come last, and an input that the node
    /// passes has no use for one. Reorder the inputs, or remove the initializer. Source: IR.md, Nodes.
    ///
    /// ```text
    /// <ir_version: 3, opset_import: ["": 8]> g (int64 n, bool c, float[1] x) => (float[1] y) { y = Loop(n, c, x)
    ///   <body = b (int64 i, bool k, float[1] w = {1}, float[1] a) => (bool k2, float[1] o)
    ///     { k2 = Identity(k) o = Add(a, w) }> }
    /// ```
    /// ```text
    /// <ir_version: 3, opset_import: ["": 8]> g (int64 n, bool c, float[1] x) => (float[1] y) { y = Loop(n, c, x)
    ///   <body = b (int64 i, bool k, float[1] a, float[1] w = {1}) => (bool k2, float[1] o)
    ///     { k2 = Identity(k) o = Add(a, w) }> }
    /// ```
    Error IR3_SUBGRAPH_INITIALIZERS = "E0332", "ir3-subgraph-initializers", "V02";

    /// An element type is newer than the IR version.
    ///
    /// A reader of this IR version does not know the type. Raise `ir_version`: bfloat16 was added in 4,
    /// the four float8 types in 9, int4 and uint4 in 10, float4e2m1 in 11, float8e8m0 in 12, int2 and
    /// uint2 in 13, the float6 types in 14. The first use of each type is reported. Source: onnx.proto,
    /// Version.
    ///
    /// ```text
    /// <ir_version: 8, opset_import: ["": 19]>
    /// g (float[1] x) => (float[1] y) <float8e5m2[1] w = {1.0}> { t = Cast<to = 1>(w) y = Add(x, t) }
    /// ```
    /// ```text
    /// <ir_version: 9, opset_import: ["": 19]>
    /// g (float[1] x) => (float[1] y) <float8e5m2[1] w = {1.0}> { t = Cast<to = 1>(w) y = Add(x, t) }
    /// ```
    Error DATA_TYPE_VS_IR = "E0333", "data-type-vs-ir", "V03"
        => "element types have the same meaning in every IR version that has them";

    /// A kind of type is newer than the IR version.
    ///
    /// Sequences and maps were added in IR version 6 (earlier in ai.onnx.ml), optionals and sparse
    /// tensors in 8, opaque types outside of ai.onnx.ml in 14. Raise `ir_version`. Source: IR.md, Standard
    /// data types.
    ///
    /// ```text
    /// <ir_version: 7, opset_import: ["": 12, "l": 1]> g (optional(float[N]) x) => (float[N] y) { y = l.Op(x) }
    /// ```
    /// ```text
    /// <ir_version: 8, opset_import: ["": 15, "l": 1]> g (optional(float[N]) x) => (float[N] y) { y = l.Op(x) }
    /// ```
    Warning TYPE_KIND_VS_IR = "W0334", "type-kind-vs-ir", "V04";

    /// Functions, or a part of them, are newer than the IR version.
    ///
    /// Functions were added in IR version 8, defaults of their attributes in 9, `overload` and their
    /// `value_info` in 10. Older readers ignore them. Raise `ir_version`. Source: onnx.proto, Version.
    ///
    /// ```text
    /// <ir_version: 7, opset_import: ["": 12, "l": 1]> g (float[N] x) => (float[N] y) { y = l.f(x) }
    /// <domain: "l", opset_import: ["": 12]> f (a) => (b) { b = Relu(a) }
    /// ```
    /// ```text
    /// <ir_version: 8, opset_import: ["": 12, "l": 1]> g (float[N] x) => (float[N] y) { y = l.f(x) }
    /// <domain: "l", opset_import: ["": 12]> f (a) => (b) { b = Relu(a) }
    /// ```
    Warning FUNCTIONS_VS_IR = "W0335", "functions-vs-ir", "V05";

    /// A field is newer than the IR version.
    ///
    /// Domains of nodes were added in IR version 3, quantization annotations in 5, sparse initializers and
    /// attributes in 6, `training_info` in 7, `metadata_props` outside of the model in 10, device
    /// configurations in 11. Raise `ir_version`. Source: onnx.proto, Version.
    ///
    /// ```text
    /// #@ onnxtxt 1
    /// <ir_version: 9, opset_import: ["": 20]> g (float[N] x) => (float[N] y) {
    ///   #@ metadata_props: ["org.k": "1"]
    ///   y = Relu(x)
    /// }
    /// ```
    /// ```text
    /// #@ onnxtxt 1
    /// <ir_version: 10, opset_import: ["": 20]> g (float[N] x) => (float[N] y) {
    ///   #@ metadata_props: ["org.k": "1"]
    ///   y = Relu(x)
    /// }
    /// ```
    Warning FIELDS_VS_IR = "W0336", "fields-vs-ir", "V06";
}
