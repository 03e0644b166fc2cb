//! Agreement of nouns with their numbers: messages are written for many, `the model has {n} inputs`, and the singular of
//! a count of one is made in one place.

/// Nouns that messages count, in the plural and the singular.
const NOUNS: &[(&str, &str)] = &[
    ("algorithms", "algorithm"),
    ("arguments", "argument"),
    ("arrays", "array"),
    ("attributes", "attribute"),
    ("axes", "axis"),
    ("bands", "band"),
    ("batches", "batch"),
    ("bits", "bit"),
    ("blocks", "block"),
    ("boxes", "box"),
    ("branches", "branch"),
    ("bytes", "byte"),
    ("calls", "call"),
    ("channels", "channel"),
    ("characters", "character"),
    ("classes", "class"),
    ("coefficients", "coefficient"),
    ("columns", "column"),
    ("comments", "comment"),
    ("devices", "device"),
    ("dimensions", "dimension"),
    ("directions", "direction"),
    ("elements", "element"),
    ("entries", "entry"),
    ("errors", "error"),
    ("examples", "example"),
    ("experts", "expert"),
    ("features", "feature"),
    ("fields", "field"),
    ("files", "file"),
    ("findings", "finding"),
    ("functions", "function"),
    ("graphs", "graph"),
    ("groups", "group"),
    ("heads", "head"),
    ("images", "image"),
    ("indices", "index"),
    ("initializers", "initializer"),
    ("inputs", "input"),
    ("integers", "integer"),
    ("intercepts", "intercept"),
    ("items", "item"),
    ("iterations", "iteration"),
    ("keys", "key"),
    ("labels", "label"),
    ("lengths", "length"),
    ("levels", "level"),
    ("lines", "line"),
    ("lists", "list"),
    ("mistakes", "mistake"),
    ("models", "model"),
    ("names", "name"),
    ("nodes", "node"),
    ("numbers", "number"),
    ("offsets", "offset"),
    ("operators", "operator"),
    ("outputs", "output"),
    ("pads", "pad"),
    ("parameters", "parameter"),
    ("parts", "part"),
    ("places", "place"),
    ("points", "point"),
    ("positions", "position"),
    ("regions", "region"),
    ("results", "result"),
    ("rows", "row"),
    ("samples", "sample"),
    ("scales", "scale"),
    ("scores", "score"),
    ("sequences", "sequence"),
    ("shards", "shard"),
    ("sizes", "size"),
    ("slices", "slice"),
    ("stages", "stage"),
    ("states", "state"),
    ("steps", "step"),
    ("strings", "string"),
    ("symbols", "symbol"),
    ("targets", "target"),
    ("tensors", "tensor"),
    ("tokens", "token"),
    ("types", "type"),
    ("values", "value"),
    ("vectors", "vector"),
    ("versions", "version"),
    ("warnings", "warning"),
    ("weights", "weight"),
    ("windows", "window"),
    ("words", "word"),
];

/// Verbs after such a noun.
const VERBS: &[(&str, &str)] =
    &[("are", "is"), ("differ", "differs"), ("do", "does"), ("have", "has"), ("were", "was")];

/// Brings nouns, and verbs right after them, into agreement with the number 1: `1 inputs are` is `1 input is`. Names in backticks
/// stay as they are, and so do numbers that are the end of a range or a ratio: `0 to 1 inputs`, `1 of 1 outputs`.
///
/// ```
/// use onnx_ir::diag::agree;
/// assert_eq!(agree("the model has 1 inputs, not 21 inputs".into()), "the model has 1 input, not 21 inputs");
/// ```
#[must_use]
pub fn agree(text: String) -> String {
    let mut at = 0;
    let mut out = String::new();
    while let Some(found) = text[at..].find("1 ") {
        let one = at + found;
        let (before, after) = (&text[..one], &text[one + 2..]);
        out.push_str(&text[at..one + 2]);
        at = one + 2;
        if !is_one(before) {
            continue;
        }
        let Some((noun, singular)) = begins(after, NOUNS) else { continue };
        out.push_str(singular);
        at += noun.len();
        if let Some((verb, singular)) = text[at..].strip_prefix(' ').and_then(|rest| begins(rest, VERBS)) {
            out.push(' ');
            out.push_str(singular);
            at += 1 + verb.len();
        }
    }
    if at == 0 {
        return text;
    }
    out.push_str(&text[at..]);
    out
}

/// Whether a 1 after this text is a number by itself, outside of backticks, that a noun agrees with.
fn is_one(before: &str) -> bool {
    let is_part = before
        .ends_with(|c: char| c.is_alphanumeric() || matches!(c, '.' | ',' | '-' | '_' | '`' | '/' | ':'));
    let is_quoted = before.bytes().filter(|&b| b == b'`').count() % 2 == 1;
    let word = before.trim_end().rsplit(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    !is_part && !is_quoted && !matches!(word, "to" | "or" | "of" | "than" | "version" | "axis" | "and")
}

/// The pair of a table whose plural the text begins with, as a whole word.
fn begins(text: &str, table: &[(&'static str, &'static str)]) -> Option<(&'static str, &'static str)> {
    let end = text.find(|c: char| !c.is_ascii_lowercase()).unwrap_or(text.len());
    let i = table.binary_search_by_key(&&text[..end], |(plural, _)| *plural).ok()?;
    // `1 inputs_of`, `1 inputs-and`
    (!text[end..].starts_with(['_', '-'])).then_some(table[i])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_singular() {
        let cases = [
            ("the model has 1 inputs, not 2", "the model has 1 input, not 2"),
            ("1 elements are given", "1 element is given"),
            ("1 indices for 21 values", "1 index for 21 values"),
            ("3 nodes and 11 inputs", "3 nodes and 11 inputs"),
            ("expects 0 to 1 inputs", "expects 0 to 1 inputs"),
            ("1 of 1 outputs are computed", "1 of 1 outputs are computed"),
            ("input `1 inputs` has 1 rows", "input `1 inputs` has 1 row"),
            ("0.1 bytes, -1 bytes, 1,001 bytes", "0.1 bytes, -1 bytes, 1,001 bytes"),
            ("(1 bytes)", "(1 byte)"),
            ("1 input", "1 input"),
            ("a 1 b", "a 1 b"),
            ("1 ", "1 "),
        ];
        for (text, expected) in cases {
            assert_eq!(agree(text.to_owned()), expected);
        }
    }

    #[test]
    fn the_tables_are_in_order() {
        assert!(NOUNS.is_sorted() && VERBS.is_sorted());
    }
}
