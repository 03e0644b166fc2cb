//! How fast texts are formatted, in MB of output a second (1 MB = 10^6 bytes): best and median of several runs.
//!
//! ```text
//! cargo run --release -p bench --bin format_speed -- [name of a case | file] …
//! ```

#![allow(clippy::print_stdout, reason = "the figures are what it is for")]

use onnx_ir::diag::Span;
use onnx_ir::{ElemType, Field};
use onnx_text::ast::{Data, File, Graph, List, Stored, Type, ValueInfo};
use onnx_text::{FormatOptions, Syntax, format, format_to, parse_model};
use std::fmt::{self, Write};
use std::time::Instant;

/// Counts what it is given.
struct Count(usize);
impl Write for Count {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 += text.len();
        Ok(())
    }
}

type Case = (&'static str, fn(&'static str));

const CASES: &[Case] = &[
    ("nodes", |name| source(name, &nodes(100_000))),
    ("short-nodes", |name| source(name, &short_nodes(100_000))),
    ("float-text", |name| {
        source(name, &numbers("float", (0..2_000_000).map(|i| random(i) as f32 / 1e9 - 4.6)));
    }),
    ("int64-text", |name| source(name, &numbers("int64", (0..2_000_000).map(|i| random(i) % 100_000)))),
    ("float-weights", |name| {
        let values = (0..4_000_000).map(|i| (random(i) as f32 / 4e9 - 1.15) * 0.1);
        stored(name, ElemType::FLOAT, Field::Raw, values.flat_map(f32::to_le_bytes).collect());
    }),
    ("float-short", |name| {
        let values = (0..4_000_000).map(|i| (random(i) % 2000) as f32 / 64.0);
        stored(name, ElemType::FLOAT, Field::Float, values.flat_map(f32::to_le_bytes).collect());
    }),
    ("double", |name| {
        let values = (0..2_000_000).map(|i| random(i) as f64 / 7e9);
        stored(name, ElemType::DOUBLE, Field::Raw, values.flat_map(f64::to_le_bytes).collect());
    }),
    ("int64", |name| {
        let values = (0..4_000_000).map(|i| (random(i) % 100_000) as i64);
        stored(name, ElemType::INT64, Field::Raw, values.flat_map(i64::to_le_bytes).collect());
    }),
    ("int8", |name| stored(name, ElemType::INT8, Field::Raw, bytes())),
    ("float16", |name| stored(name, ElemType::FLOAT16, Field::Raw, bytes())),
    ("int4", |name| stored(name, ElemType::INT4, Field::Raw, bytes())),
];

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    for (name, case) in CASES {
        if wanted.is_empty() || wanted.iter().any(|w| w == name) {
            case(name);
        }
    }
    for path in wanted.iter().filter(|w| CASES.iter().all(|(name, _)| name != w)) {
        let text = std::fs::read_to_string(path).expect("the name of a case or of a file");
        source(path, &text);
    }
}

fn bytes() -> Vec<u8> {
    (0..8_000_000).map(|i| (random(i) % 256) as u8).collect()
}

/// Numbers below 2^33, the same in each run.
fn random(i: u64) -> u64 {
    (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (i << 17)).wrapping_mul(0xd134_2543_de82_ef95) >> 31
}

fn nodes(count: u64) -> String {
    let mut text =
        String::from("<ir_version: 10, opset_import: [\"\": 21]>\ng (float[1,64] t0) => (float[1,64] y) {\n");
    for i in 0..count {
        let layer = i / 12;
        let _ = match i % 4 {
            0 => writeln!(
                text,
                "[\"/model/layers.{layer}/attn/MatMul_{i}\"] \"/model/layers.{layer}/attn/MatMul_{i}_output_0\" = MatMul(\"/model/layers.{layer}/attn/Add_{i}_output_0\", \"onnx::MatMul_{i}\")"
            ),
            1 => writeln!(
                text,
                "[\"/model/layers.{layer}/mlp/Conv_{i}\"] \"/model/layers.{layer}/mlp/Conv_{i}_output_0\" = Conv <dilations = [1, 1], group = 1, kernel_shape = [3, 3], pads = [1, 1, 1, 1], strides = [1, 1]> (\"/model/x_{i}\", \"model.weight_{i}\", \"model.bias_{i}\")"
            ),
            2 => writeln!(text, "[\"n{i}\"] t{i} = Transpose <perm = [0, 2, 1, 3]> (t0)"),
            _ => writeln!(
                text,
                "[\"/model/layers.{layer}/norm/Add_{i}\"] \"/model/layers.{layer}/norm/Add_{i}_output_0\" = Add(\"/model/layers.{layer}/x\", b_{i})"
            ),
        };
    }
    text.push_str("}\n");
    text
}

fn short_nodes(count: u64) -> String {
    let mut text = String::from("g (float[1,64] t0) => (float[1,64] y) {\n");
    for i in 0..count {
        let _ = writeln!(text, "    [node_{i}] t{} = LeakyRelu <alpha = 0.1> (t{i})", i + 1);
    }
    text.push_str("}\n");
    text
}

fn numbers<T: fmt::Display>(ty: &str, values: impl Iterator<Item = T>) -> String {
    let mut text = format!("g () => () <{ty}[N] w = {{");
    for (i, value) in values.enumerate() {
        let _ = write!(text, "{}{value}", if i > 0 { "," } else { "" });
    }
    text.push_str("}> { }");
    text
}

/// Formats a text.
fn source(name: &str, text: &str) {
    let parsed = parse_model(text);
    assert!(parsed.diagnostics.is_empty(), "{name} has mistakes");
    measure(name, text, &parsed.value);
}

/// Prints a tensor from its bytes.
fn stored(name: &str, elem: ElemType, field: Field, bytes: Vec<u8>) {
    let text = format!("{} w", elem.name().expect("a type with a name"));
    let split = text.len() as u32 - 2;
    let (ty, name_at) = (Span::new(0, split), Span::new(split + 1, split + 2));
    let count = bytes.len() * 8 / elem.bits().expect("a numeric type") as usize;
    let at = Span::at(split + 2);
    let data = Data::Stored(Box::new(Stored {
        elem,
        field,
        bytes: bytes.into(),
        count,
        elide_after: None,
        ends_of: None,
        as_values: false,
        at,
    }));
    let value = ValueInfo {
        notes: Default::default(),
        ty: Some(Type::Tensor { elem: ty, dims: None }),
        name: name_at,
        data: Some(data),
        span: ty.to(name_at),
    };
    let graph = Graph { values: Some(List { items: vec![value], span: ty.to(at) }), ..Graph::default() };
    let tree = File { graph: Some(graph), ..File::default() };
    measure(name, &text, &Syntax { tree, ..Syntax::default() });
}

fn measure(name: &str, source: &str, syntax: &Syntax<File>) {
    let options = FormatOptions::default();
    let bytes = format(source, syntax, &options).len();
    let run = |f: &dyn Fn() -> usize| {
        let mut times: Vec<f64> = (0..9)
            .map(|_| {
                let start = Instant::now();
                assert_eq!(f(), bytes);
                start.elapsed().as_secs_f64()
            })
            .collect();
        times.sort_by(f64::total_cmp);
        (bytes as f64 / times[0] / 1e6, bytes as f64 / times[times.len() / 2] / 1e6)
    };
    let whole = run(&|| format(source, syntax, &options).len());
    let streamed = run(&|| {
        let mut out = Count(0);
        format_to(&mut out, source, syntax, &options).expect("counting cannot fail");
        out.0
    });
    println!(
        "{name:14} {:6.1} MB: to a string {:5.0} (median {:5.0}) MB/s, streamed {:5.0} (median {:5.0}) MB/s",
        bytes as f64 / 1e6,
        whole.0,
        whole.1,
        streamed.0,
        streamed.1
    );
}
