//! `onnxtxt info`: summarizes a model on one screen.
//!
//! The problems are those that `check` finds. Of the weights of a mapped file, only those with restricted values are read.

mod json;

use crate::input::Input;
use crate::input::document::Document;
use crate::input::operators::OpsetArgs;
use crate::output;
use crate::output::numbers::{bytes, count, grouped};
use crate::session::findings;
use crate::session::{Session, Status};
use onnx_ir::diag::{Diagnostic, Level, counted};
use onnx_ir::semver::Version;
use onnx_ir::{Model, OpsetImport, Payload, Port, Tensor, VerifyOptions, normalize_domain};
use onnx_proto::external::external_tensors;
use onnx_text::RaiseOptions;
use onnxtxt::check::CheckOptions;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::path::PathBuf;

/// Show a summary of a model, on one screen
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  onnxtxt info model.onnx
  onnxtxt info --format json model.onnx    for programs")]
pub(crate) struct Args {
    /// The model; - is stdin
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    opset: OpsetArgs,
}

/// Maximum number of lines of a list.
const MAX_LINES: usize = 12;
/// Maximum number of characters of a line of documentation or metadata.
const LINE: usize = 100;

pub(crate) fn run(args: &Args, session: &mut Session) -> anyhow::Result<Status> {
    let input = Input::open(&args.file)?;
    let size = input.bytes.len() as u64;
    // A file that is not a model: its kind and content.
    if let Some(document) = input.document() {
        let options = VerifyOptions { level: Level::Types, ..VerifyOptions::default() };
        let found = document.check(&input, &options);
        if session.wants_json() {
            let text = json::document(&input, &document, Problems::of(&found));
            output::to_stdout(|out| out.write_all(text.as_bytes()))?;
            document.report(session, &input, document.diagnostics());
            return Ok(Status::of(!document.is_partial()));
        }
        let mut text = match &document {
            Document::Value(_) => {
                format!("{}: value as {}, {}\n", input.name, input.form.name(), bytes(size))
            }
            Document::OperatorSet(_) => {
                format!("{}: operator set as {}, {}\n", input.name, input.form.name(), bytes(size))
            }
            Document::Part(_) => {
                let kind = input.kind.name();
                format!("{}: {kind} as {}, {}\n", input.name, input.form.name(), bytes(size))
            }
        };
        match &document {
            Document::Value(value) => {
                let options =
                    RaiseOptions { elide: Some(MAX_LINES), visible: true, ..RaiseOptions::default() };
                text += &value.text(&options);
            }
            Document::Part(part) => {
                let options =
                    RaiseOptions { elide: Some(MAX_LINES), visible: true, ..RaiseOptions::default() };
                let whole = part.text(&options);
                let lines: Vec<&str> = whole.lines().collect();
                lines.iter().take(MAX_LINES).for_each(|line| text += &format!("{line}\n"));
                if let more @ 1.. = lines.len().saturating_sub(MAX_LINES) {
                    text += &format!("… {}\n", count(more, "more line"));
                }
            }
            Document::OperatorSet(set) => {
                for (title, content) in set.rows() {
                    let lines: Vec<String> = content.lines().map(wrap).collect();
                    row(&mut text, title, &lines.join("\n"));
                }
            }
        }
        row(&mut text, "problems", &problems(&input, &found));
        output::to_people(&text)?;
        document.report(session, &input, document.diagnostics());
        return Ok(Status::of(!document.is_partial()));
    }
    // A model: what is in it, and the number of its problems.
    let operators = args.opset.load(session)?;
    let options = CheckOptions { registry: operators.loaded(), ..CheckOptions::default() };
    let loaded = options.check(&input);
    let wants_json = session.wants_json();
    let mut out = format!("{}: model as {}, {}\n", input.name, input.form.name(), bytes(size));
    describe(&loaded.model, &mut out);
    row(&mut out, "problems", &problems(&input, &loaded.diagnostics));
    if wants_json {
        out = json::model(&input, &loaded.model, Problems::of(&loaded.diagnostics));
    }
    output::to_people(&out)?;
    // Findings about the model itself are left to `check`.
    let (of_file, _): (Vec<_>, Vec<_>) =
        loaded.diagnostics.iter().cloned().partition(|d| d.code.level == Level::Syntax);
    findings::report(session, &loaded, &of_file);
    Ok(Status::of(!of_file.iter().any(Diagnostic::is_error)))
}

fn row(out: &mut String, title: &str, text: &str) {
    let mut lines = text.lines();
    _ = writeln!(out, "  {title:<12}{}", lines.next().unwrap_or_default());
    for line in lines {
        _ = writeln!(out, "  {:<12}{line}", "");
    }
}

fn describe(model: &Model, out: &mut String) {
    let header = &model.header;
    let producer = [header.producer_name, header.producer_version];
    let producer: Vec<&str> =
        producer.iter().map(|&name| model.text(name)).filter(|name| !name.is_empty()).collect();
    if !producer.is_empty() {
        row(out, "producer", &producer.join(" "));
    }
    for (title, text) in [("domain", model.text(header.domain)), ("doc", model.text(header.doc))] {
        if !text.trim().is_empty() {
            row(out, title, &paragraph(text));
        }
    }
    if header.model_version.is_some() {
        row(out, "version", &Version::of(header.model_version).to_string());
    }
    if !header.metadata.is_empty() {
        row(out, "metadata", &metadata(model));
    }
    let ir = header.ir_version.map_or("none".to_owned(), |version| version.to_string());
    row(out, "IR version", &ir);
    row(out, "opsets", &opsets(model, &header.opset_imports));
    if let Some(body) = model.main_body()
        && let Some(root) = body.root()
    {
        let graph = &body.graphs[root];
        row(out, "graph", model.text(graph.name));
        row(out, "inputs", &ports(model, &graph.inputs));
        row(out, "outputs", &ports(model, &graph.outputs));
    }
    row(out, "nodes", &nodes(model));
    row(out, "weights", &weights(model));
    let external = external(model);
    row(out, "external", if external.is_empty() { "none" } else { &external });
    let functions = functions(model);
    row(out, "functions", if functions.is_empty() { "none" } else { &functions });
    if !model.training.is_empty() {
        row(out, "training", &training(model));
    }
}

/// The first lines of a text for people.
fn paragraph(text: &str) -> String {
    let lines: Vec<String> = text.trim().lines().map(visible_line).collect();
    list(lines, "line")
}

/// A line without control characters, of bounded length.
fn visible_line(line: &str) -> String {
    let text = onnx_text::visible(line);
    let mut shown: String = text.chars().take(LINE).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}

fn metadata(model: &Model) -> String {
    let entry = |entry: &onnx_ir::Entry| {
        visible_line(&format!("{}: {}", model.text(entry.key), model.text(entry.value).replace('\n', " ")))
    };
    list(model.header.metadata.iter().map(entry).collect(), "entry")
}

/// A line for each algorithm.
fn training(model: &Model) -> String {
    let name = |body: Option<onnx_ir::BodyId>| {
        let body = &model.bodies[body?];
        Some(model.text(body.graphs[body.root()?].name))
    };
    let line = |training: &onnx_ir::TrainingInfo| {
        let algorithm = match name(training.algorithm) {
            Some(graph) => format!("algorithm `{graph}`"),
            None => "no algorithm".to_owned(),
        };
        let start = match name(training.initialization) {
            Some(graph) => format!(", initialization `{graph}`"),
            None => String::new(),
        };
        visible_line(&format!(
            "{algorithm}{start}, updates {}",
            count(training.update_bindings.len(), "value")
        ))
    };
    list(model.training.iter().map(line).collect(), "algorithm")
}

fn opsets(model: &Model, imports: &[OpsetImport]) -> String {
    let import = |import: &OpsetImport| {
        let domain = match normalize_domain(model.text(import.domain)) {
            "" => "ai.onnx",
            domain => domain,
        };
        format!("{domain} {}", import.version.map_or("?".to_owned(), |version| version.to_string()))
    };
    let texts: Vec<String> = imports.iter().map(import).collect();
    if texts.is_empty() { "none".to_owned() } else { texts.join(", ") }
}

/// At most [`MAX_LINES`] lines, and the number of the rest.
fn list(mut lines: Vec<String>, word: &str) -> String {
    let more = lines.len().saturating_sub(MAX_LINES);
    if more > 0 {
        lines.truncate(MAX_LINES);
        lines.push(format!("… and {} more", count(more, word)));
    }
    lines.join("\n")
}

fn ports(model: &Model, ports: &[Port]) -> String {
    let port = |port: &Port| {
        let ty = port.ty.map(|ty| onnx_ir::type_text(model, ty) + " ");
        format!("{}{}", ty.unwrap_or_default(), model.text(port.name))
    };
    if ports.is_empty() { "none".to_owned() } else { list(ports.iter().map(port).collect(), "value") }
}

/// The number of nodes and their operators, most frequent first.
fn nodes(model: &Model) -> String {
    let mut ops: HashMap<(&str, &str), usize> = HashMap::new();
    let mut total = 0;
    for node in model.bodies.values().flat_map(|body| body.nodes.values()) {
        let domain = normalize_domain(model.text(node.domain));
        *ops.entry((domain, model.text(node.op))).or_default() += 1;
        total += 1;
    }
    let mut ops: Vec<_> = ops.into_iter().collect();
    ops.sort_by(|(a, many), (b, more)| more.cmp(many).then(a.cmp(b)));
    let shown: Vec<String> = ops
        .iter()
        .take(2 * MAX_LINES)
        .map(|((domain, op), number)| {
            let dot = if domain.is_empty() { "" } else { "." };
            format!("{domain}{dot}{op} {}", grouped(*number as u64))
        })
        .collect();
    let more = ops.len().saturating_sub(2 * MAX_LINES);
    let more = if more > 0 { format!(", … and {}", count(more, "more operator")) } else { String::new() };
    let subgraphs: usize = model.bodies.values().map(|body| body.graphs.len().saturating_sub(1)).sum();
    let subgraphs =
        if subgraphs > 0 { format!(", {}", count(subgraphs, "nested graph")) } else { String::new() };
    format!("{}{subgraphs}\n{}{more}", grouped(total), wrap(&(shown.join(", "))))
}

/// Breaks a text after commas, into lines of about 80 characters.
fn wrap(text: &str) -> String {
    let mut out = String::new();
    let mut length = 0;
    for part in text.split_inclusive(", ") {
        if length + part.len() > 80 && length > 0 {
            out.truncate(out.trim_end().len());
            out.push('\n');
            length = 0;
        }
        out += part;
        length += part.len();
    }
    out
}

/// Number of elements and bytes of initializers and of tensors in attributes.
fn weights(model: &Model) -> String {
    let initializers = model.bodies.values().flat_map(|body| {
        let initializers = body.graphs.values().flat_map(|graph| &graph.initializers);
        initializers.map(|initializer| &body.tensors[initializer.tensor])
    });
    let (mut tensors, mut elements) = (0, 0_u64);
    let mut inline = 0_u64;
    let mut types: BTreeMap<&str, u64> = BTreeMap::new();
    for tensor in initializers {
        tensors += 1;
        let size = tensor.element_count().unwrap_or(0);
        elements = elements.saturating_add(size);
        inline += stored(tensor);
        *types.entry(tensor.elem.and_then(onnx_ir::ElemType::name).unwrap_or("?")).or_default() += size;
    }
    if tensors == 0 {
        return "none".to_owned();
    }
    let mut types: Vec<_> = types.into_iter().collect();
    types.sort_by(|(a, many), (b, more)| more.cmp(many).then(a.cmp(b)));
    let types: Vec<String> = types.iter().map(|(name, size)| format!("{name} {}", grouped(*size))).collect();
    format!(
        "{}, {} ({}), {} inline",
        count(tensors, "tensor"),
        counted(grouped(elements), "parameter"),
        types.join(", "),
        bytes(inline)
    )
}

fn stored(tensor: &Tensor) -> u64 {
    let size = |payload: &Payload| match payload {
        Payload::Entries { bytes, .. } => bytes.len() as u64,
        Payload::Strings(strings) => strings.iter().map(|string| string.len() as u64).sum(),
    };
    tensor.data.iter().map(size).sum()
}

fn external(model: &Model) -> String {
    let mut files: BTreeMap<&str, usize> = BTreeMap::new();
    for (tensor, _) in external_tensors(model) {
        let location = tensor.external(&model.names, "location").map_or("?", |name| &model.names[name]);
        *files.entry(location).or_default() += 1;
    }
    let lines = files.iter().map(|(file, tensors)| format!("{file}: {}", count(*tensors, "tensor")));
    list(lines.collect(), "file")
}

fn functions(model: &Model) -> String {
    let lines = model.functions.values().map(|function| {
        let domain = model.text(function.domain);
        let nodes = model.bodies[function.body].nodes.len();
        format!("{domain}.{}: {}", model.text(function.name), count(nodes, "node"))
    });
    list(lines.collect(), "function")
}

/// Number of findings of `check` with default options.
#[derive(Clone, Copy)]
struct Problems {
    errors: usize,
    warnings: usize,
}

impl Problems {
    fn of(found: &[Diagnostic]) -> Problems {
        let is_error = |d: &&Diagnostic| d.is_error();
        let warnings = found.iter().filter(|d| !d.is_error() && d.code.level <= Level::default());
        Problems { errors: found.iter().filter(is_error).count(), warnings: warnings.count() }
    }
}

/// The number of problems, and the command that lists them.
fn problems(input: &Input, found: &[Diagnostic]) -> String {
    let Problems { errors, warnings } = Problems::of(found);
    let counts: Vec<String> = [(errors, "error"), (warnings, "warning")]
        .into_iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, word)| count(number, word))
        .collect();
    if counts.is_empty() {
        return "none".to_owned();
    }
    format!("{}; `onnxtxt check {}`", counts.join(", "), input.name)
}
