//! The `#!` lines of a file: directives.

use super::passes;
use super::values::{Tolerance, literal};
use onnx_exec::Value;
use onnx_ir::diag::Level;
use onnx_text::{Fixes, Profile};

/// One `#!` line.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Directive {
    Check(Level),
    /// `check --profile reference`
    CheckReference(Level),
    Render(Level),
    Json(Level),
    Fix(Level, Fixes),
    Fmt,
    /// `fmt --expand`: formats the text without expressions.
    Expand,
    Print {
        profile: Profile,
        elide: Option<usize>,
        metadata: bool,
    },
    Roundtrip,
    Infer,
    /// Prints the schedule.
    Schedule,
    /// Reports nodes that a runtime does not support.
    Target(String),
    /// Runs a pass.
    Pass(passes::PassDirective),
    /// A finding without a place, as `error[E0303]: message`.
    Finds(String),
    /// Runs the model.
    Run,
    /// An input of `run`.
    Input(String, Value),
    /// Inputs of `run` from a file; `name` for a file with one array.
    Inputs {
        name: Option<String>,
        file: String,
    },
    /// Takes the model from this file.
    Model(String),
    /// Inputs, outputs, operator sets and operators.
    Interface,
    /// Names for selecting tests.
    Tags(Vec<String>),
    /// Compares the outputs.
    Expect(Expected),
}

/// The expected outputs of a model.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Expected {
    /// This output has this value.
    Value { name: String, value: Value, tolerance: Tolerance },
    /// The outputs in a file have its values.
    File { file: String, tolerance: Tolerance },
    /// Passes do not change them.
    SameAsBefore,
    /// Another model has the same outputs for the same inputs.
    SameAs { file: String, tolerance: Tolerance },
    /// ONNX Runtime computes the same.
    SameAsOnnxRuntime { tolerance: Tolerance },
}

impl Directive {
    /// The other program that it starts.
    pub(crate) fn program(&self) -> Option<&'static str> {
        match self {
            Directive::Expect(Expected::SameAsOnnxRuntime { .. }) => Some("Python with ONNX Runtime"),
            Directive::Expect(
                Expected::Value { .. }
                | Expected::File { .. }
                | Expected::SameAsBefore
                | Expected::SameAs { .. },
            )
            | Directive::Render(_)
            | Directive::Json(_)
            | Directive::Fix(..)
            | Directive::Fmt
            | Directive::Expand
            | Directive::Print { .. }
            | Directive::Infer
            | Directive::Schedule
            | Directive::Pass(_)
            | Directive::Interface
            | Directive::Check(_)
            | Directive::CheckReference(_)
            | Directive::Roundtrip
            | Directive::Target(_)
            | Directive::Finds(_)
            | Directive::Run
            | Directive::Input(..)
            | Directive::Inputs { .. }
            | Directive::Model(_)
            | Directive::Tags(_) => None,
        }
    }

    /// Whether it has an output for a snapshot or `# CHECK:` lines.
    pub(crate) fn has_output(&self) -> bool {
        match self {
            Directive::Render(_)
            | Directive::Json(_)
            | Directive::Fix(..)
            | Directive::Fmt
            | Directive::Expand
            | Directive::Print { .. }
            | Directive::Infer
            | Directive::Schedule
            | Directive::Pass(_)
            | Directive::Interface => true,
            Directive::Check(_)
            | Directive::CheckReference(_)
            | Directive::Roundtrip
            | Directive::Target(_)
            | Directive::Finds(_)
            | Directive::Run
            | Directive::Input(..)
            | Directive::Inputs { .. }
            | Directive::Model(_)
            | Directive::Tags(_)
            | Directive::Expect(_) => false,
        }
    }
}

/// The first words of directives.
const VERBS: [&str; 22] = [
    "check",
    "render",
    "json",
    "fix",
    "fmt",
    "print",
    "roundtrip",
    "infer",
    "schedule",
    "lower",
    "target",
    "pass",
    "inline",
    "outline",
    "finds",
    "run",
    "input",
    "expect",
    "convert-opset",
    "interface",
    "model",
    "tags",
];

/// The names for selecting a test.
///
/// # Errors
///
/// An invalid directive.
pub fn tags(text: &str) -> Result<Vec<String>, String> {
    let tags = parse(text)?.into_iter().filter_map(|(_, directive)| match directive {
        Directive::Tags(names) => Some(names),
        _ => None,
    });
    Ok(tags.flatten().collect())
}

/// The `#!` lines in the leading comments of a file, with their numbers.
pub(crate) fn parse(text: &str) -> Result<Vec<(usize, Directive)>, String> {
    let head = text.lines().take_while(|line| line.starts_with('#') || line.trim().is_empty());
    let mut directives = Vec::new();
    for (number, line) in (1..).zip(head) {
        if let Some(line) = line.strip_prefix("#!") {
            directives.push((number, directive(line).map_err(|why| format!("line {number}: {why}"))?));
        }
    }
    match Ok(directives) {
        Ok(none) if none.is_empty() => Err("the file has no directive (`#! check`)".to_owned()),
        other => other,
    }
}

fn directive(line: &str) -> Result<Directive, String> {
    let mut words = line.split_whitespace();
    let unknown = |word: &str| format!("unknown option or value `{word}` in a directive");
    let verb = words.next().unwrap_or_default();
    // Directives with a free text.
    if verb == "finds" {
        return Ok(Directive::Finds(line.trim().trim_start_matches("finds").trim().to_owned()));
    }
    let rest: Vec<&str> = words.clone().collect();
    let argument = line.trim().strip_prefix(verb).unwrap_or_default().trim();
    match verb {
        "input" => return input(argument),
        "expect" => return expected(argument).map(Directive::Expect),
        "model" if argument.is_empty() => return Err("`#! model` needs a file".to_owned()),
        "model" => return Ok(Directive::Model(argument.to_owned())),
        "tags" => return Ok(Directive::Tags(rest.iter().map(|&tag| tag.to_owned()).collect())),
        _ => {}
    }
    if let ("target", [name]) = (verb, &rest[..]) {
        return Ok(Directive::Target((*name).to_owned()));
    }
    if let Some(step) = passes::parse(verb, &rest) {
        return step.map(Directive::Pass);
    }
    if !VERBS.contains(&verb) {
        return Err(unknown_verb(verb));
    }
    // Directives with options.
    let (mut fixes, mut expands) = (Fixes::Safe, false);
    let (mut level, mut profile, mut elide, mut metadata) = (Level::Types, Profile::Onnx, None, true);
    while let Some(word) = words.next() {
        let mut value = || words.next().unwrap_or_default();
        match (verb, word) {
            ("check" | "render" | "json" | "fix", "--level") => {
                level = match value() {
                    "syntax" => Level::Syntax,
                    "spec" => Level::Spec,
                    "types" => Level::Types,
                    "strict" => Level::Strict,
                    other => return Err(unknown(other)),
                }
            }
            ("check" | "print", "--profile") => {
                profile = match value() {
                    "onnx" => Profile::Onnx,
                    "extended" => Profile::Extended,
                    "reference" => Profile::Reference,
                    other => return Err(unknown(other)),
                }
            }
            ("print", "--elide") => {
                elide = Some(value().parse().map_err(|_| "`--elide` expects a number".to_owned())?);
            }
            ("fmt", "--expand") => expands = true,
            ("fix", "--unsafe") => fixes = Fixes::Unsafe,
            ("print", "--no-metadata") => metadata = false,
            _ => return Err(unknown(word)),
        }
    }
    // The options of each verb.
    match verb {
        "check" => match profile {
            Profile::Onnx => Ok(Directive::Check(level)),
            Profile::Reference => Ok(Directive::CheckReference(level)),
            _ => Err(unknown("--profile extended")),
        },
        "render" => Ok(Directive::Render(level)),
        "json" => Ok(Directive::Json(level)),
        "fix" => Ok(Directive::Fix(level, fixes)),
        "fmt" if expands => Ok(Directive::Expand),
        "fmt" => Ok(Directive::Fmt),
        "print" => Ok(Directive::Print { profile, elide, metadata }),
        "roundtrip" => Ok(Directive::Roundtrip),
        "infer" => Ok(Directive::Infer),
        "schedule" | "lower" => Ok(Directive::Schedule),
        "run" => Ok(Directive::Run),
        "interface" => Ok(Directive::Interface),
        other => Err(unknown_verb(other)),
    }
}

/// Whether a text is the name of a file with values.
fn is_file_of_values(text: &str) -> bool {
    [".npz", ".npy", ".pb"].iter().any(|end| text.ends_with(end)) && !text.contains(['{', '\n'])
}

/// `float[2] x = {1, 2}`, `inputs.npz`, or `x = x.npy`.
fn input(text: &str) -> Result<Directive, String> {
    if !is_file_of_values(text) {
        return literal(text).map(|(name, value)| Directive::Input(name, value));
    }
    let (name, file) = match text.split_once(" = ") {
        Some((name, file)) => (Some(name.trim().to_owned()), file.trim()),
        None => (None, text),
    };
    Ok(Directive::Inputs { name, file: file.to_owned() })
}

/// `float[2] y = {1, 2} rtol=1e-3`, `outputs.npz`, `same as before the pass`, `same as other.onnx`, or `same as onnxruntime`.
fn expected(text: &str) -> Result<Expected, String> {
    if text == "same as before the pass" {
        return Ok(Expected::SameAsBefore);
    }
    let mut tolerance = Tolerance::default();
    let (rest, tolerances) = split_tolerances(text);
    for word in tolerances.split_whitespace().rev() {
        let (field, number) = match word.split_once('=') {
            Some(("rtol", number)) => (&mut tolerance.relative, number),
            Some((_, number)) => (&mut tolerance.absolute, number),
            None => continue,
        };
        let number: f64 = number.parse().map_err(|_| format!("the tolerance `{word}` is not a number"))?;
        if number.is_nan() || number < 0.0 {
            return Err(format!("the tolerance `{word}` must not be negative"));
        }
        *field = number;
    }
    match rest.strip_prefix("same as ").map(str::trim) {
        Some("onnxruntime") => return Ok(Expected::SameAsOnnxRuntime { tolerance }),
        Some(file) => return Ok(Expected::SameAs { file: file.to_owned(), tolerance }),
        None => {}
    }
    if is_file_of_values(rest) {
        return Ok(Expected::File { file: rest.to_owned(), tolerance });
    }
    let (name, value) = literal(rest)?;
    Ok(Expected::Value { name, value, tolerance })
}

/// Splits the text of an expectation from the tolerances that follow it.
pub(super) fn split_tolerances(text: &str) -> (&str, &str) {
    let mut rest = text;
    while let Some((front, word)) = rest.rsplit_once(char::is_whitespace)
        && ["rtol=", "atol="].iter().any(|field| word.starts_with(field))
    {
        rest = front.trim_end();
    }
    text.split_at(rest.len())
}

/// The file of a line `#! expect FILE`.
pub(super) fn file_of_values(line: &str) -> Option<&str> {
    let text = line.strip_prefix("#!")?.trim_start().strip_prefix("expect")?;
    let file = split_tolerances(text.trim()).0;
    is_file_of_values(file).then_some(file)
}

fn unknown_verb(verb: &str) -> String {
    let near = VERBS.iter().map(|known| (distance(verb, known), known)).min();
    match near {
        Some((distance, known)) if distance <= 2 => {
            format!("unknown directive `{verb}`: did you mean `{known}`?")
        }
        _ => format!("unknown directive `{verb}`: expected one of {}", VERBS.join(", ")),
    }
}

/// The edit distance of two words.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().take(40).enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}
