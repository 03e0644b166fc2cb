//! Codes of tensors whose data is in another file (E06..).

super::codes! { EXTERNAL, Spec:
    /// An external tensor has no `location`.
    ///
    /// Add the path of its file, relative to the model's folder. Source: ExternalData.md.
    ///
    /// ```text
    /// g (float[2] x) => (float[2] y) <float[2] w = ["offset": "0"]> { y = Add(x, w) }
    /// ```
    /// ```text
    /// g (float[2] x) => (float[2] y) <float[2] w = ["location": "w.bin"]> { y = Add(x, w) }
    /// ```
    Error LOCATION_MISSING = "E0601", "location-missing", "X01";

    /// External data is outside of the model's folder.
    ///
    /// A model that refers to `/etc/passwd` or `../x` could make a program read any file of its user. `location`
    /// must be a relative path without `..`. A drive letter (`C:x`) is such a path on Windows, and a NUL character ends the path for
    /// readers in C, so that they read another file than the one that was checked. Move the file beside the model. Source:
    /// ExternalDataSecurity.md.
    ///
    /// ```text
    /// g (float[2] x) => (float[2] y) <float[2] w = ["location": "../w.bin"]> { y = Add(x, w) }
    /// ```
    /// ```text
    /// g (float[2] x) => (float[2] y) <float[2] w = ["location": "w.bin"]> { y = Add(x, w) }
    /// ```
    Error LOCATION_OUTSIDE = "E0602", "location-outside", "X02";

    /// The file of external data does not exist or is not a regular file.
    ///
    /// Move it to the path in `location`, relative to the model. Source: ExternalData.md.
    Error LOCATION_NOT_A_FILE = "E0603", "location-not-a-file", "X03";

    /// The path of external data goes through a link.
    ///
    /// A symbolic or hard link can point outside of the model's folder. Copy the file instead.
    /// Source: ExternalDataSecurity.md.
    Error LOCATION_LINK = "E0604", "location-link", "X04";

    /// An external tensor has values inside the model as well.
    ///
    /// Readers disagree on which of the two counts. Remove the inline values, or store the tensor in the model.
    /// Source: IR.md, External Tensor Data.
    ///
    /// ```text
    /// g (float[1] x) => (float[1] y) <float[1] w = {float_data: [1], external_data: ["location": "w.bin"], data_location: 1}> { y = Add(x, w) }
    /// ```
    /// ```text
    /// g (float[1] x) => (float[1] y) <float[1] w = ["location": "w.bin"]> { y = Add(x, w) }
    /// ```
    Error EXTERNAL_WITH_INLINE = "E0605", "external-with-inline", "X05";

    /// `offset` or `length` of external data is not a number of bytes.
    ///
    /// Both must be non-negative decimal numbers that fit in 64 bits. Source: ExternalData.md.
    ///
    /// ```text
    /// g (float[2] x) => (float[2] y) <float[2] w = ["location": "w.bin", "offset": "-4"]> { y = Add(x, w) }
    /// ```
    /// ```text
    /// g (float[2] x) => (float[2] y) <float[2] w = ["location": "w.bin", "offset": "4096"]> { y = Add(x, w) }
    /// ```
    Error OFFSET_LENGTH_SYNTAX = "E0606", "offset-length-syntax", "X06";

    /// External data ends after the end of its file.
    ///
    /// `offset` plus `length` must be within the file. The file is truncated, or belongs to another model.
    /// Source: ExternalDataSecurity.md.
    Error RANGE_BEYOND_FILE = "E0607", "range-beyond-file", "X07";

    /// External data has another size than the tensor.
    ///
    /// `length`, or the rest of the file if it is missing, must be the number of bytes that shape and element
    /// type need. Source: ExternalData.md.
    Error LENGTH_VS_SHAPE = "E0608", "length-vs-shape", "X08";

    /// External data is not aligned to a page.
    ///
    /// Tensors at multiples of 4096 (65536 on Windows) can be mapped into memory separately. Source:
    /// ExternalData.md.
    ///
    /// ```text
    /// g (float[2] x) => (float[2] y) <float[2] w = ["location": "w.bin", "offset": "4"]> { y = Add(x, w) }
    /// ```
    /// ```text
    /// g (float[2] x) => (float[2] y) <float[2] w = ["location": "w.bin", "offset": "4096"]> { y = Add(x, w) }
    /// ```
    Warning(Strict) OFFSET_ALIGNMENT = "W0609", "offset-alignment", "X09";

    /// The checksum of external data is wrong.
    ///
    /// `checksum` is the SHA-1 of the file in 40 hexadecimal digits. The file has changed, or belongs to
    /// another model. Source: ExternalData.md.
    Error CHECKSUM = "E0610", "checksum", "X10";

    /// An entry of `external_data` is unknown, repeated, or on a tensor that is not external.
    ///
    /// Keys are `location`, `offset`, `length` and `checksum`, each once. Other entries are ignored by
    /// readers. Source: ExternalData.md.
    ///
    /// ```text
    /// g (float[2] x) => (float[2] y) <float[2] w = ["location": "w.bin", "ofset": "4096"]> { y = Add(x, w) }
    /// ```
    /// ```text
    /// g (float[2] x) => (float[2] y) <float[2] w = ["location": "w.bin", "offset": "4096"]> { y = Add(x, w) }
    /// ```
    Warning EXTERNAL_KEYS = "W0611", "external-keys", "X11";

    /// A tensor of strings is external.
    ///
    /// The file holds the layout of `raw_data`, which strings do not have. Keep strings in the model. Source:
    /// ExternalData.md.
    ///
    /// ```text
    /// g (string[2] x) => (string[2] y) <string[2] w = ["location": "w.bin"]> { y = StringConcat(x, w) }
    /// ```
    /// ```text
    /// g (string[2] x) => (string[2] y) <string[2] w = {"a", "b"}> { y = StringConcat(x, w) }
    /// ```
    Error EXTERNAL_STRINGS = "E0612", "external-strings", "X12";

    /// The path of external data is not portable.
    ///
    /// A backslash has a meaning on one system only, and a leading `#` makes the reference
    /// read the path as a memory address and skip its checks. Use a plain path with `/`. Source:
    /// onnx.proto, external_data.
    ///
    /// ```text
    /// g (float[2] x) => (float[2] y) <float[2] w = ["location": "#w"]> { y = Add(x, w) }
    /// ```
    /// ```text
    /// g (float[2] x) => (float[2] y) <float[2] w = ["location": "w.bin"]> { y = Add(x, w) }
    /// ```
    Warning LOCATION_PORTABILITY = "W0613", "location-portability", "X13";

    /// An entry of external data occurs twice, with different values.
    ///
    /// Some readers use the first one and some the last one, so a model could show one file and use another.
    /// Keep the correct one. Source: ExternalData.md.
    ///
    /// ```text
    /// g (float[2] x) => (float[2] y) <float[2] w = ["location": "w.bin", "location": "v.bin"]> { y = Add(x, w) }
    /// ```
    /// ```text
    /// g (float[2] x) => (float[2] y) <float[2] w = ["location": "w.bin"]> { y = Add(x, w) }
    /// ```
    Error EXTERNAL_KEY_TWICE = "E0614", "external-key-twice", "X14";
}
