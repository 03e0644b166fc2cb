//! Codes of the text: what lexer, parser and lowering report (E01..).

super::codes! { TEXT, Syntax:
    /// The parser found an unexpected token.
    ///
    /// The message says what was found and what was expected. If a bracket was left open, a second label shows it.
    Error UNEXPECTED_TOKEN = "E0101", "unexpected-token";

    /// A comma, `=` or `=>` is missing.
    ///
    /// ```onnxtxt
    /// g (float[N] x float[N] z) => (float[N] y) { y = Add(x, z) }
    /// ```
    /// ```onnxtxt
    /// g (float[N] x, float[N] z) => (float[N] y) { y = Add(x, z) }
    /// ```
    Error MISSING_PUNCTUATION = "E0102", "missing-punctuation";

    /// A comma has no item before or after it.
    ///
    /// A comma separates two items; statements need none between them. Only a list of operands or results may have
    /// empty items (`Clip(x, , max)`), which stand for omitted optional ones.
    Error STRAY_PUNCTUATION = "E0103", "stray-punctuation";

    /// A bracket is never closed, or closed by one of another kind.
    ///
    /// The finding is at the end of the list or block, a second label where it was opened.
    Error UNCLOSED_BRACKET = "E0104", "unclosed-bracket";

    /// A string has no closing quote.
    ///
    /// Strings may span lines, so a missing quote would swallow the rest of the file; the string that probably lacks
    /// it is read up to the end of its line.
    Error UNTERMINATED_STRING = "E0105", "unterminated-string";

    /// A number is malformed.
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
    /// Protobuf decoders stop at 32 nested graphs, so no portable model needs more. The limit keeps hostile
    /// text from exhausting the stack; `onnxtxt limits` prints it.
    Error NESTING_TOO_DEEP = "E0109", "nesting-too-deep";

    /// A header, record or annotation has an unknown key.
    ///
    /// ```onnxtxt
    /// <ir_versoin: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { y = Relu(x) }
    /// ```
    /// ```onnxtxt
    /// <ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { y = Relu(x) }
    /// ```
    Error UNKNOWN_KEY = "E0110", "unknown-key";

    /// A value has the wrong kind: a string where a number is expected, a list where a name is expected.
    Error WRONG_KIND = "E0111", "wrong-kind";

    /// A number is out of range: an integer of more than 64 bits, a version that exceeds its field.
    Error NUMBER_OUT_OF_RANGE = "E0112", "number-out-of-range";

    /// No type has this name.
    ///
    /// Element types: `float` `double` `float16` `bfloat16`, `int8` … `int64`, `uint8` … `uint64`, `bool`, `string`,
    /// `complex64` `complex128`, `float8e4m3fn` `float8e4m3fnuz` `float8e5m2` `float8e5m2fnuz` `float8e8m0`,
    /// `float6e2m3` `float6e3m2` `float4e2m1`, `int4` `uint4` `int2` `uint2`. Around them: `seq(T)`, `optional(T)`,
    /// `map(K, T)`, `sparse_tensor(T)`, `opaque(domain, name)`.
    Error UNKNOWN_TYPE = "E0113", "unknown-type";

    /// A tensor has more or fewer elements than its shape needs.
    ///
    /// ```onnxtxt
    /// g (float[3] x) => (float[3] y) <float[3] w = {1, 2}> { y = Add(x, w) }
    /// ```
    /// ```onnxtxt
    /// g (float[3] x) => (float[3] y) <float[3] w = {1, 2, 3}> { y = Add(x, w) }
    /// ```
    /// A complex element is two numbers. To write such a tensor on purpose, name its field:
    /// `{float_data: [1, 2]}`.
    Error ELEMENT_COUNT = "E0114", "element-count";

    /// An element is out of range for the element type: `300` for `int8`, `-1` for `uint8`, `2` for `bool`.
    Error ELEMENT_OUT_OF_RANGE = "E0115", "element-out-of-range";

    /// A key is given twice.
    Error REPEATED_KEY = "E0116", "repeated-key";

    /// An attribute's value does not have its declared type, or the elements of a list have different types.
    Error ATTRIBUTE_MISMATCH = "E0117", "attribute-mismatch";

    /// An annotation uses a shared string that the file does not have.
    ///
    /// `$3` stands for the string that a line such as `#@ strings: [3: "…"]` defines.
    Error UNKNOWN_SHARED_STRING = "E0118", "unknown-shared-string";

    /// The file is not UTF-8 text.
    Error NOT_UTF8 = "E0119", "not-utf8";

    /// The file is larger than the limit of 4 GiB of text.
    Error SOURCE_TOO_LARGE = "E0120", "source-too-large";

    /// A tensor needs a type of fixed shape: dimensions that are numbers.
    Error TENSOR_SHAPE = "E0122", "tensor-shape";

    /// A text has too many errors: the rest of it was not read.
    ///
    /// Most likely, it is not ONNX text at all, or it is corrupt.
    Error TOO_MANY_MISTAKES = "E0123", "too-many-mistakes";

    /// The first line names an unknown version of annotations.
    ///
    /// `#@ onnxtxt 1` is the only one so far; a newer program may have written the file.
    Error UNKNOWN_VERSION = "E0124", "unknown-annotation-version";

    /// The spelling is that of another language.
    ///
    /// Strings have double quotes, comments begin with `#`, an arrow is `=>`, booleans are 1 or 0. Attributes are written in
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

    /// The text is truncated.
    ///
    /// Brackets are open at its end, and the last statement is incomplete. Further
    /// labels show the innermost open brackets.
    Error CUT_OFF = "E0127", "cut-off";

    /// A file cannot be opened or read.
    ///
    /// It does not exist, is a folder, or may not be read. The exit status is 2.
    Error FILE_UNREADABLE = "E0131", "file-unreadable";

    /// A string has an unnecessary backslash.
    ///
    /// In a string of the ONNX syntax `\c` means `c` for every character, so `\n` is the letter `n`, not a line break.
    /// Write a line break as itself, or use a byte string, in which `\n` and `\x00` mean what they do in most
    /// languages: `b"first\nsecond"`.
    Warning ESCAPE_IS_LITERAL = "W0101", "escape-is-literal";

    /// A list of tensors, graphs, types or references is in brackets.
    ///
    /// The reference parser silently discards such a list. This parser keeps it; written in braces,
    /// `{float[2] {1, 2}}`, the reference rejects the text instead of changing the model.
    Warning LIST_DISCARDED = "W0102", "list-discarded";

    /// Elements of a packed type are in single braces.
    ///
    /// Types of fewer than 8 bits are stored several to a byte. The reference parser stores such a literal with one element
    /// per entry, so `int4[3] {1, 2, 3}` is read as other numbers. In double braces, `{{1, 2, 3}}`, the elements
    /// are packed by this parser, and rejected by the reference.
    Warning PACKED_ELEMENTS = "W0103", "packed-elements";

    /// An attribute refers to a parameter of the function without a type.
    ///
    /// The reference parser accepts this, but its checker rejects the model: beyond the level `syntax`, this is E0401.
    /// Write the type, as in `alpha: float = @a`.
    Warning UNTYPED_REFERENCE = "W0104", "untyped-reference";

    /// The profile `reference` cannot express a part of the model.
    ///
    /// Text of this profile contains only what the reference parser accepts, so annotations and extended syntax are
    /// omitted. Each loss is listed; the default profile loses nothing.
    Warning NOT_EXPRESSIBLE = "W0106", "not-expressible";

    /// A comment that should allow warnings names an unknown code, or is malformed.
    ///
    /// `# onnxtxt: allow(unused)` above or after a statement allows a warning there; `# onnxtxt: allow-file(unused)`
    /// before the first statement allows it in the file. Codes are given by id, name or rule. Errors cannot be allowed.
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

    /// A comment allows a warning that does not occur.
    ///
    /// The warning has been fixed, or occurs elsewhere. Remove the comment: it would hide the next mistake.
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
    /// A dot before an operator selects the domain without a name, which is ai.onnx. A complex element has two
    /// numbers, a real and an imaginary part; with one number per element, the reference stores a tensor that is too short.
    ///
    /// ```text
    /// g (float[N] x) => (float[N] y) { y = .Relu(x) }
    /// ```
    /// ```text
    /// g (float[N] x) => (float[N] y) { y = Relu(x) }
    /// ```
    Warning ODD_SPELLING = "W0109", "odd-spelling";

    /// Bit patterns in a tensor of `float16`, `bfloat16` or another narrow float look like values.
    ///
    /// An integer in such a list is a bit pattern, as the reference parser reads it: `1` of a `float16` is 6e-8. All elements
    /// of this list are small integers, which as bit patterns are numbers close to zero. A number with a point or an exponent is
    /// a value. Leading zeros, `00001`, confirm that bit patterns are intended.
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

    /// The reference parser rejects a part of the text.
    ///
    /// Comments that begin with `//` and empty angle brackets are accepted by onnxtxt alone, and nothing needs them: they are
    /// always reported. `check --profile reference` also reports extended syntax, which some models need: quoted operators,
    /// byte strings, lists in braces, double braces, records, sparse tensors and more. `onnxtxt print --profile reference`
    /// writes a text without it, and lists what is lost.
    ///
    /// ```onnxtxt
    /// <ir_version: 10, opset_import: ["": 21]> // a comment
    /// g (float[N] x) => (float[N] y) { y = Relu(x) }
    /// ```
    /// ```onnxtxt
    /// <ir_version: 10, opset_import: ["": 21]> # a comment
    /// g (float[N] x) => (float[N] y) { y = Relu(x) }
    /// ```
    Warning BEYOND_REFERENCE = "W0132", "beyond-reference";
}
