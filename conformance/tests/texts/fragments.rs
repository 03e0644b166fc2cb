//! Single constructs: what is printed of a model reads back as the same construct, and what is written without
//! annotations is read by the reference as it is read here.
#![allow(clippy::print_stderr, reason = "a count, for who wants to see it")]

use bytes::Bytes;
use conformance::convert::same_bytes;
use conformance::corpus::{CorpusModel, in_parallel, models};
use conformance::oracle::{Oracle, is_ok};
use onnx_ir::diag::Parsed;
use onnx_ir::{BodyBuilder, ElemType, Model, Payload, Tensor};
use onnx_proto::{file, write_function, write_graph};
use onnx_text::{
    Profile, RaiseOptions, print_attribute, print_function, print_graph, print_node, print_tensor,
    print_type, print_value_info, read_attribute, read_function, read_graph, read_node, read_tensor,
    read_type, read_value_info,
};
use serde_json::{Value, json};

/// Larger models are left to the tests of whole models.
const MAX_BYTES: u64 = 1 << 20;

fn small_models() -> Vec<CorpusModel> {
    let mut models = models();
    models.retain(|model| model.size <= MAX_BYTES);
    models
}

/// The construct that was read, without findings.
fn whole<T>(read: Parsed<Option<T>>, text: &str) -> Result<T, String> {
    match (read.value, read.diagnostics.iter().find(|d| d.is_error())) {
        (Some(read), None) => Ok(read),
        (_, first) => Err(format!("{}: {text}", first.map_or("nothing was read", |d| &d.message))),
    }
}

fn graph_wire(text: &str) -> Result<Vec<u8>, String> {
    let mut model = Model::new();
    let body = whole(read_graph(text, &mut model), text)?;
    write_graph(&model, body).map_err(|error| error.to_string())
}

fn function_wire(text: &str) -> Result<Vec<u8>, String> {
    let mut model = Model::new();
    let function = whole(read_function(text, &mut model), text)?;
    write_function(&model, function).map_err(|error| error.to_string())
}

/// A graph without a name, with one node.
fn node_wire(text: &str) -> Result<Vec<u8>, String> {
    let mut model = Model::new();
    let mut b = BodyBuilder::new(&mut model);
    b.begin_graph(None, None);
    whole(read_node(text, &mut b), text)?;
    b.end_graph();
    let body = b.finish();
    write_graph(&model, body).map_err(|error| error.to_string())
}

/// Whether a part of a model is the same after a way through a file of its own.
fn same_file<I>(
    written: &[u8],
    read: impl FnOnce(Bytes, &mut Model) -> Parsed<Option<I>>,
    write: impl FnOnce(&Model, I) -> Result<Vec<u8>, onnx_proto::TooLarge>,
) -> Result<(), String> {
    let mut model = Model::new();
    let id = whole(read(Bytes::copy_from_slice(written), &mut model), "")?;
    same_bytes(written, &write(&model, id).map_err(|error| error.to_string())?)
}

// ---- printed and read again ----

/// Every graph, function, node, attribute, declaration, type and initializer of a model.
fn comes_back(model: &Model) -> Result<usize, String> {
    let options = RaiseOptions::default();
    let mut count = 0;
    if let Some(main) = model.main {
        let written = write_graph(model, main).map_err(|error| error.to_string())?;
        same_file(&written, onnx_proto::read_graph, write_graph)?;
        let text = print_graph(model, main, &options);
        same_bytes(&written, &graph_wire(&text)?).map_err(|why| format!("{why}\n{text}"))?;
        count += 1;
    }
    for id in model.functions.ids() {
        let written = write_function(model, id).map_err(|error| error.to_string())?;
        same_file(&written, onnx_proto::read_function, write_function)?;
        let text = print_function(model, id, &options);
        same_bytes(&written, &function_wire(&text)?).map_err(|why| format!("{why}\n{text}"))?;
        count += 1;
    }
    for (body_id, body) in model.bodies.iter() {
        let mut read = Model::new();
        let mut b = BodyBuilder::new(&mut read);
        b.begin_graph(None, None);
        for (id, node) in body.nodes.iter() {
            let text = print_node(model, body_id, id, &options);
            let back = whole(read_node(&text, &mut b), &text)?;
            let again = b.body().nodes[back].clone();
            let same_name = |a: Option<onnx_ir::Name>, b_name: Option<onnx_ir::Name>| {
                a.map(|n| model.names.bytes(n).to_vec()) == b_name.map(|n| b.names.bytes(n).to_vec())
            };
            let is_same = same_name(node.name, again.name)
                && same_name(node.op, again.op)
                && same_name(node.domain, again.domain)
                && same_name(node.overload, again.overload)
                && (node.inputs.len(), node.outputs.len(), node.attrs.len())
                    == (again.inputs.len(), again.outputs.len(), again.attrs.len());
            if !is_same {
                return Err(format!("another node:\n{text}"));
            }
            for attr in node.attrs.iter().filter(|attr| attr.values.iter().all(|v| v.graphs().is_empty())) {
                let text = print_attribute(model, body_id, attr, &options);
                let back = whole(read_attribute(&text, &mut b, None), &text)?;
                if (back.ty, back.values.len()) != (attr.ty, attr.values.len()) {
                    return Err(format!("another attribute:\n{text}"));
                }
                count += 1;
            }
            count += 1;
        }
        b.end_graph();
        for graph in body.graphs.values() {
            for port in graph.inputs.iter().chain(&graph.outputs).chain(&graph.value_info) {
                let text = print_value_info(model, port, &options);
                let mut read = Model::new();
                let back = whole(read_value_info(&text, &mut read), &text)?;
                let again = print_value_info(&read, &back, &options);
                if again != text {
                    return Err(format!("another declaration:\n{text}\n{again}"));
                }
                if let Some(ty) = port.ty {
                    let text = print_type(model, ty, &options);
                    let mut read = Model::new();
                    let back = whole(read_type(&text, &mut read), &text)?;
                    let again = print_type(&read, back, &options);
                    if again != text {
                        return Err(format!("another type:\n{text}\n{again}"));
                    }
                }
                count += 1;
            }
        }
        for tensor in body.tensors.values() {
            let text = print_tensor(tensor, &model.names, &options);
            let mut names = onnx_ir::Names::new();
            let back = whole(read_tensor(&text, &mut names), &text)?;
            let bytes = |t: &Tensor| t.data.iter().map(Payload::len).collect::<Vec<_>>();
            if (&back.dims, back.elem, bytes(&back)) != (&tensor.dims, tensor.elem, bytes(tensor)) {
                return Err(format!("another tensor:\n{}", text.chars().take(300).collect::<String>()));
            }
            count += 1;
        }
    }
    Ok(count)
}

#[test]
fn constructs_come_back() {
    let models = small_models();
    let outcomes = in_parallel(&models, |model| {
        let read = onnx_proto::read(file::open(&model.path).expect("it can be read")).value;
        comes_back(&read).map_err(|why| format!("{}: {why}", model.name))
    });
    let count: usize = outcomes.iter().flatten().sum();
    let failures: Vec<_> = outcomes.into_iter().filter_map(Result::err).collect();
    assert!(failures.is_empty(), "{} models:\n{}", failures.len(), failures.join("\n"));
    eprintln!("{count} constructs of {} models come back as they were", models.len());
}

// ---- read by the reference ----

/// The kind of a construct, its text, and what the text says in wire format.
type Case = (&'static str, String, Result<Vec<u8>, String>);

/// Constructs as people write them.
fn written() -> Vec<Case> {
    let nodes = [
        "y = Relu(x)",
        "[n] y, , z = com.acme.Op:v2 <i = 1, f: float = 1, l = [1, 2], s = \"a\\\"b\", r: int = @p> (x, , w)",
        "y = Op(x, ) <a = 1.5, b: floats = [1, 2.5], c: ints = [], d = [\"a\", \"b\"], e = -inf>",
        "[] \"a b\" = Constant <value = float[2] v {1, 2}> ()",
        "y = Constant <value = int64[1] = {3}> ()",
        "y = Cast <to = float[N,?,3]> (x)",
        "y = If (c) <then_branch = h () => (z) { z = Abs(x) }, else_branch = k => (z) <float z> { z = Neg(x) }>",
        "# before\ny # in\n= Relu(x) # behind",
        "y = Op <t = sparse_tensor(float[2]), u = seq(map(int64, float)), o = opaque(a, b)> (x)",
        "y = Op <t = float16[2] {1, 0x}> (x)",
        "y = ",
        "y = Relu(x",
        "y Relu(x)",
    ];
    let graphs = [
        "g => () { }",
        "g (float[N] x) => (y) { y = Relu(x) }",
        "\"a graph\" (float[2] x, float[2] w = {1, 2}) => (float[2] y) <float[2] t, int64 c = {7}> { t = Mul(x, w) y = Relu(t) }",
        "g (seq(float[]) s, optional(int64) o, float q) => (bool b) { b = OptionalHasElement(o) }",
        "g (float[1] w = [\"location\": \"w.bin\", \"offset\": \"0\"]) => (float[1] w) { }",
        "g (x) => (y) { y = Abs(x)",
        "g (x) = (y) { y = Abs(x) }",
    ];
    let functions = [
        "<domain: \"l\", opset_import: [\"\": 21]> f (x) => (y) { y = Relu(x) }",
        "<domain: \"l\", overload: \"v\", doc_string: \"d\", opset_import: [\"\": 21, \"a.b\": 2]> f <p, q: float = 1.0, r: ints = [1, 2]> (float[N] x, w) => (y) <float[N] t> { t = Mul(x, w) y = LeakyRelu <alpha: float = @q> (t) }",
        "f (x) => (y) { y = Relu(x) }",
        "<domain: \"l\"> f (x) => (y { y = Relu(x) }",
    ];
    let nodes = nodes.map(|text| ("node", text.to_owned(), node_wire(text)));
    let graphs = graphs.map(|text| ("graph", text.to_owned(), graph_wire(text)));
    let functions = functions.map(|text| ("function", text.to_owned(), function_wire(text)));
    nodes.into_iter().chain(graphs).chain(functions).collect()
}

/// Constructs of the corpus, in the reference's own forms.
fn printed(model: &CorpusModel) -> Vec<Case> {
    let model = onnx_proto::read(file::open(&model.path).expect("it can be read")).value;
    let options = RaiseOptions { profile: Profile::Reference, ..RaiseOptions::default() };
    let mut cases = Vec::new();
    // The reference has no form for packed elements, and takes a tensor without its elements, which is refused here.
    let is_packed = |tensor: &Tensor| tensor.elem.and_then(ElemType::bits).is_some_and(|bits| bits < 8);
    if model.bodies.values().any(|body| body.tensors.values().any(is_packed)) {
        return cases;
    }
    if let Some(main) = model.main {
        let text = print_graph(&model, main, &options);
        cases.push(("graph", text.clone(), graph_wire(&text)));
        let body = &model.bodies[main];
        let root = &body.graphs[body.root().expect("it was read with a graph")];
        for &node in root.nodes.iter().take(20) {
            let text = print_node(&model, main, node, &options);
            cases.push(("node", text.clone(), node_wire(&text)));
        }
    }
    for id in model.functions.ids() {
        let text = print_function(&model, id, &options);
        cases.push(("function", text.clone(), function_wire(&text)));
    }
    cases
}

/// A node as the graph that ours is in.
fn in_graph(node: &[u8]) -> Vec<u8> {
    let mut out = vec![0x0a];
    let mut length = node.len();
    while length > 0x7f {
        out.push(u8::try_from(length & 0x7f).expect("seven bits are left") | 0x80);
        length >>= 7;
    }
    out.push(u8::try_from(length).expect("seven bits are left"));
    [out, node.to_vec()].concat()
}

#[test]
fn the_reference_reads_the_same() {
    let Some(oracle) = Oracle::find("single constructs") else { return };
    let mut cases = written();
    cases.extend(in_parallel(&small_models(), printed).into_iter().flatten());
    let request = |(kind, text, _): &Case| json!({"id": 0, "op": "parse", "kind": kind, "text": text});
    let requests: Vec<Value> = cases.iter().map(request).collect();
    let mut failures = Vec::new();
    for ((kind, text, ours), answer) in cases.iter().zip(oracle.ask(&requests)) {
        let outcome = match (ours, is_ok(&answer)) {
            (Ok(ours), true) => {
                let theirs = base64(answer["base64"].as_str().expect("an answer has bytes"));
                same_bytes(&if *kind == "node" { in_graph(&theirs) } else { theirs }, ours)
            }
            (Err(_), false) => Ok(()),
            (Err(why), true) => Err(format!("refused here: {}", why.lines().next().unwrap_or_default())),
            (Ok(_), false) => Err(format!("refused there: {}", answer["error"])),
        };
        if let Err(why) = outcome {
            failures.push(format!("{kind}: {why}\n{}", text.chars().take(500).collect::<String>()));
        }
    }
    let shown = failures[..failures.len().min(10)].join("\n");
    assert!(failures.is_empty(), "{} of {}:\n{shown}", failures.len(), cases.len());
    eprintln!("{} constructs mean the same to the reference", cases.len());
}

/// Standard base64 with padding.
fn base64(text: &str) -> Vec<u8> {
    let digit = |c: u8| match c {
        b'A'..=b'Z' => c - b'A',
        b'a'..=b'z' => c - b'a' + 26,
        b'0'..=b'9' => c - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let digits: Vec<u8> = text.bytes().filter(|&c| c != b'=').map(digit).collect();
    let bits =
        |chunk: &[u8]| chunk.iter().fold(0u32, |n, &d| n << 6 | u32::from(d)) << (6 * (4 - chunk.len()));
    let bytes = |chunk: &[u8]| bits(chunk).to_be_bytes()[1..chunk.len()].to_vec();
    digits.chunks(4).flat_map(bytes).collect()
}
