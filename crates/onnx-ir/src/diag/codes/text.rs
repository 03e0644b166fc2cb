//! Codes of the text: what lexer, parser and lowering report (E01..).

super::codes! { TEXT, Syntax:
    /// The parser met something that cannot stand here.
    ///
    /// The message says what was found and what would fit. If a bracket was left open, a second place shows it.
    Error UNEXPECTED_TOKEN = "E0101", "unexpected-token";

    /// A comma, `=` or `=>` is left out.
    ///
    /// ```onnxtxt
    /// g (float[N] x float[N] z) => (float[N] y) { y = Add(x, z) }
    /// ```
    /// ```onnxtxt
    /// g (float[N] x, float[N] z) => (float[N] y) { y = Add(x, z) }
    /// ```
    Error MISSING_PUNCTUATION = "E0102", "missing-punctuation";

    /// A comma has nothing behind or before it.
    ///
    /// A comma separates two items; statements need none between them. Only a list of operands or results may have
    /// empty items (`Clip(x, , max)`), which stand for optional ones that are left out.
    Error STRAY_PUNCTUATION = "E0103", "stray-punctuation";

    /// A bracket is never closed, or closed by one of another kind.
    ///
    /// The finding is where the list or block ends, the second place where it was opened.
    Error UNCLOSED_BRACKET = "E0104", "unclosed-bracket";

    /// A string has no closing quote.
    ///
    /// Strings may span lines, so a missing quote would swallow the rest of the file; the string that probably lacks
    /// it is read up to the end of its line.
    Error UNTERMINATED_STRING = "E0105", "unterminated-string";

    /// A number is not written as the syntax asks.
    ///
    /// Integers are decimal (`31`, not `0x1F`); an exponent has digits (`1e0`, not `1e`); names do not begin with a
    /// digit.
    Error BAD_NUMBER = "E0106", "bad-number";

    /// A name has characters other than letters, digits and `_`.
    ///
    /// Such names are legal, and most exporters write them; in text they are quoted.
    ///
    /// ```onnxtxt
    /// g (float[N] x) => (float[N] y) { /l/T = Abs(x) y = Relu(/l/T) }
    /// ```
    /// ```onnxtxt
    /// g (float[N] x) => (float[N] y) { "/l/T" = Abs(x) y = Relu("/l/T") }
    /// ```
    Error NAME_NEEDS_QUOTES = "E0107", "name-needs-quotes";

    /// A character that is not part of the syntax.
    Error STRAY_CHARACTER = "E0108", "stray-character";

    /// Brackets nest deeper than the limit.
    ///
    /// Protobuf decoders stop at 32 nested graphs, so no model that others can read needs more. The limit keeps hostile
    /// text from exhausting the stack; `onnxtxt limits` prints it.
    Error NESTING_TOO_DEEP = "E0109", "nesting-too-deep";

    /// A header, record or annotation has a key that means nothing there.
    ///
    /// ```onnxtxt
    /// <ir_versoin: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { y = Relu(x) }
    /// ```
    /// ```onnxtxt
    /// <ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { y = Relu(x) }
    /// ```
    Error UNKNOWN_KEY = "E0110", "unknown-key";

    /// A value is of a kind that cannot stand here: a string where a number belongs, a list where a name does.
    Error WRONG_KIND = "E0111", "wrong-kind";

    /// A number does not fit: an integer beyond 64 bits, a version beyond its field.
    Error NUMBER_OUT_OF_RANGE = "E0112", "number-out-of-range";

    /// No type has this name.
    ///
    /// Element types: `float` `double` `float16` `bfloat16`, `int8` … `int64`, `uint8` … `uint64`, `bool`, `string`,
    /// `complex64` `complex128`, `float8e4m3fn` `float8e4m3fnuz` `float8e5m2` `float8e5m2fnuz` `float8e8m0`,
    /// `float6e2m3` `float6e3m2` `float4e2m1`, `int4` `uint4` `int2` `uint2`. Around them: `seq(T)`, `optional(T)`,
    /// `map(K, T)`, `sparse_tensor(T)`, `opaque(domain, name)`.
    Error UNKNOWN_TYPE = "E0113", "unknown-type";

    /// A tensor has more or fewer elements than its shape asks for.
    ///
    /// ```onnxtxt
    /// g (float[3] x) => (float[3] y) <float[3] w = {1, 2}> { y = Add(x, w) }
    /// ```
    /// ```onnxtxt
    /// g (float[3] x) => (float[3] y) <float[3] w = {1, 2, 3}> { y = Add(x, w) }
    /// ```
    /// A complex element is two numbers. To write a tensor that is wrong in this way on purpose, name its field:
    /// `{float_data: [1, 2]}`.
    Error ELEMENT_COUNT = "E0114", "element-count";

    /// An element does not fit the element type: `300` for `int8`, `-1` for `uint8`, `2` for `bool`.
    Error ELEMENT_OUT_OF_RANGE = "E0115", "element-out-of-range";

    /// A key is given twice where it may be given once.
    Error REPEATED_KEY = "E0116", "repeated-key";

    /// An attribute's value does not fit its stated type, or the elements of a list are of different kinds.
    Error ATTRIBUTE_MISMATCH = "E0117", "attribute-mismatch";

    /// An annotation uses a shared string that the file does not have.
    ///
    /// `$3` stands for the string that a line such as `#@ strings: [3: "…"]` gives.
    Error UNKNOWN_SHARED_STRING = "E0118", "unknown-shared-string";

    /// The file is not UTF-8 text.
    Error NOT_UTF8 = "E0119", "not-utf8";

    /// The file is larger than the limit of 4 GiB of text.
    Error SOURCE_TOO_LARGE = "E0120", "source-too-large";

    /// A tensor needs a type of fixed shape: dimensions that are numbers.
    Error TENSOR_SHAPE = "E0122", "tensor-shape";

    /// A text has so many mistakes that the rest of it was not read.
    ///
    /// Most likely it is no ONNX text at all, or was damaged.
    Error TOO_MANY_MISTAKES = "E0123", "too-many-mistakes";

    /// The first line asks for annotations of a version that this program does not know.
    ///
    /// `#@ onnxtxt 1` is the only one so far; a newer program may have written the file.
    Error UNKNOWN_VERSION = "E0124", "unknown-annotation-version";

    /// Something is spelt as another language has it.
    ///
    /// Strings have double quotes, comments begin with `#`, an arrow is `=>`, truth is 1 or 0. Attributes stand in
    /// `<…>`, elements of a tensor in `{…}`, lists of an attribute in `[…]`.
    ///
    /// ```onnxtxt
    /// <ir_version: 10, opset_import: ["": 21]>
    /// g (float[N] x) -> (float[N] y) { y = Relu(x) }
    /// ```
    /// ```onnxtxt
    /// <ir_version: 10, opset_import: ["": 21]>
    /// g (float[N] x) => (float[N] y) { y = Relu(x) }
    /// ```
    Error FOREIGN_SPELLING = "E0126", "foreign-spelling";

    /// The text ends in the middle of something.
    ///
    /// Brackets are open at its end, and the statement before it is not complete: the file was probably truncated. Other
    /// places show the innermost brackets that are open.
    Error CUT_OFF = "E0127", "cut-off";

    /// A file that was asked for cannot be opened or read.
    ///
    /// It does not exist, is a folder, or may not be read. The exit status is 2.
    Error FILE_UNREADABLE = "E0131", "file-unreadable";

    /// A string has a backslash before a character that needs none.
    ///
    /// In a string of the ONNX syntax `\c` means `c` for every character, so `\n` is the letter `n`, not a line break.
    /// Write a line break as itself, or use a byte string, in which `\n` and `\x00` mean what they do in most
    /// languages: `b"first\nsecond"`.
    Warning ESCAPE_IS_LITERAL = "W0101", "escape-is-literal";

    /// A list of tensors, graphs, types or references in brackets.
    ///
    /// The reference parser reads such a list and discards it without a word. It is kept here; written in braces,
    /// `{float[2] {1, 2}}`, the reference refuses the text instead of changing the model.
    Warning LIST_DISCARDED = "W0102", "list-discarded";

    /// Elements of a packed type in single braces.
    ///
    /// Types of fewer than 8 bits are stored several to a byte. The reference parser stores such a literal one element
    /// to an entry, so `int4[3] {1, 2, 3}` reads back as other numbers. In double braces, `{{1, 2, 3}}`, the elements
    /// are packed here and the text is refused there.
    Warning PACKED_ELEMENTS = "W0103", "packed-elements";

    /// An attribute refers to a parameter of the function and does not say its type.
    ///
    /// The reference reads it so, and its checker refuses the model: where more than the syntax is checked, this is E0401.
    /// Write the type, as in `alpha: float = @a`.
    Warning UNTYPED_REFERENCE = "W0104", "untyped-reference";

    /// The profile `reference` has no way to say something of the model.
    ///
    /// Text of this profile holds nothing but what the reference parser reads, so annotations and extended forms are
    /// left out. Each loss is listed; the default profile loses nothing.
    Warning NOT_EXPRESSIBLE = "W0106", "not-expressible";

    /// A comment that should allow warnings names none, or is not understood.
    ///
    /// `# onnxtxt: allow(unused)` above a statement, or behind it, allows a warning there; `# onnxtxt: allow-file(unused)`
    /// before the first statement allows it in the file. Codes are said by id, name or rule. Errors cannot be allowed.
    ///
    /// ```text
    /// # onnxtxt: allow-file(unusde)
    /// <ir_version: 10, opset_import: ["": 21]>
    /// g (float[N] x) => (float[N] y) { y = Relu(x) dead = Abs(x) }
    /// ```
    /// ```text
    /// # onnxtxt: allow-file(unused)
    /// <ir_version: 10, opset_import: ["": 21]>
    /// g (float[N] x) => (float[N] y) { y = Relu(x) dead = Abs(x) }
    /// ```
    Warning(Strict) ALLOW_UNKNOWN = "W0107", "allow-unknown";

    /// A comment allows a warning that is not there.
    ///
    /// What it was for has been mended, or is elsewhere. Remove it: it would hide the next mistake.
    ///
    /// ```text
    /// # onnxtxt: allow-file(unused)
    /// <ir_version: 10, opset_import: ["": 21]>
    /// g (float[N] x) => (float[N] y) { y = Relu(x) }
    /// ```
    /// ```text
    /// <ir_version: 10, opset_import: ["": 21]>
    /// g (float[N] x) => (float[N] y) { y = Relu(x) }
    /// ```
    Warning(Strict) ALLOW_UNUSED = "W0108", "allow-unused";

    /// The reference parser accepts a spelling that is probably a mistake.
    ///
    /// A dot in front of an operator says that its domain is the one without a name, which is ai.onnx. A complex element has two
    /// numbers, a real and an imaginary part; with one number for each element, the reference stores a tensor that is too short.
    ///
    /// ```text
    /// g (float[N] x) => (float[N] y) { y = .Relu(x) }
    /// ```
    /// ```text
    /// g (float[N] x) => (float[N] y) { y = Relu(x) }
    /// ```
    Warning ODD_SPELLING = "W0109", "odd-spelling";

    /// Integers in a tensor of `float16`, `bfloat16` or another narrow float, where they look like values.
    ///
    /// An integer in such a list is a bit pattern, as the reference parser reads it: `1` of a `float16` is 6e-8. All elements
    /// of this list are small integers, which as bit patterns are numbers next to zero. A number with a point or an exponent is
    /// a value. Zeros in front, `00001`, say that bit patterns are meant.
    ///
    /// ```onnxtxt
    /// <ir_version: 10, opset_import: ["": 21]>
    /// g (float16[3] x) => (float16[3] y) <float16[3] w = {1, 2, 3}> { y = Add(x, w) }
    /// ```
    /// ```onnxtxt
    /// <ir_version: 10, opset_import: ["": 21]>
    /// g (float16[3] x) => (float16[3] y) <float16[3] w = {1.0, 2.0, 3.0}> { y = Add(x, w) }
    /// ```
    Warning BIT_PATTERNS_LIKE_VALUES = "W0130", "bit-patterns-like-values";
}
