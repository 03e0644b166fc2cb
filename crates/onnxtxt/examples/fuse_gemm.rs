//! A pass: `MatMul` and `Add` become `Gemm`, where shapes allow it, and a warning says where they do not.
//!
//! ```text
//! before:  p = MatMul(x, w)   y = Add(p, b)
//! after:   y = Gemm(x, w, b)
//! ```
//! ```sh
//! cargo run -p onnxtxt --example fuse_gemm -- model.onnx fused.onnx
//! ```

use onnxtxt::ir::diag::{Code, Diagnostic, Level, Severity};
use onnxtxt::ir::{BodyId, Cursor, Model, NodeRef, Uses, ValueId, pass};
use onnxtxt::ops::dims::Dim;
use onnxtxt::ops::infer::{Facts, InferOptions, infer};
use std::error::Error;
use std::io::Write;

/// Codes of diagnostics are data: a pass brings its own.
static NOT_FUSED: Code = Code {
    id: "W9001",
    name: "gemm-not-fused",
    rule: None,
    severity: Severity::Warning,
    level: Level::Strict,
    clear: None,
    explain: "A `MatMul` and an `Add` are not a `Gemm`, because of their shapes or because the product is read elsewhere.",
};

fn main() -> Result<(), Box<dyn Error>> {
    let paths: Vec<String> = std::env::args().skip(1).collect();
    let [from, to] = &paths[..] else { return Err("usage: fuse_gemm MODEL RESULT".into()) };
    run(from, to, &mut std::io::stdout().lock())
}

/// Fuses what can be fused in one file, and writes the result to another.
pub(crate) fn run(from: &str, to: &str, out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    let loaded = onnxtxt::open(from)?;
    if loaded.is_partial() {
        return Err(onnxtxt::Error::Model(loaded.diagnostics).into());
    }
    let mut model = loaded.model.clone();
    let facts = infer(&model, loaded.registry(), &InferOptions::default()).facts;
    let (fused, warnings) = fuse(&mut model, &facts);
    // The products that nothing reads any more.
    pass::dead_code(&mut model, loaded.registry());
    for warning in &warnings {
        write!(out, "{}", loaded.render(warning))?;
    }
    writeln!(out, "{fused} fused, {} not", warnings.len())?;
    loaded.became(model).save(to)?;
    Ok(())
}

/// Replaces every `Add` of a `MatMul` by a `Gemm`. Returns how many were replaced, and why others were not.
fn fuse(model: &mut Model, facts: &Facts) -> (usize, Vec<Diagnostic>) {
    let (mut fused, mut warnings) = (0, Vec::new());
    // Before version 7, operators broadcast by attributes.
    let Some(main) = model.main.filter(|main| model.newest_import(*main, "").is_some_and(|v| v >= 7)) else {
        return (fused, warnings);
    };
    let uses = Uses::of(&model.bodies[main]);
    let mut cursor = Cursor::new(model, main);
    loop {
        while cursor.next_node().is_some() {
            let Some(add) = cursor.node_ref() else { continue };
            match gemm(main, add, facts, &uses) {
                None => {}
                Some(Err(warning)) => warnings.push(warning),
                Some(Ok([a, b, c])) => {
                    let sum = cursor.op("Gemm", [a, b, c]);
                    cursor.replace([sum]);
                    fused += 1;
                }
            }
        }
        if !cursor.goto_next_graph() {
            break;
        }
    }
    (fused, warnings)
}

/// The operands of the `Gemm` that computes what an `Add` does; `None` if the node does not add anything to a product.
fn gemm(
    body: BodyId,
    add: NodeRef<'_>,
    facts: &Facts,
    uses: &Uses,
) -> Option<Result<[ValueId; 3], Diagnostic>> {
    if !add.is_op("Add") {
        return None;
    }
    let is_product = |i: &usize| add.producer(*i).is_some_and(|node| node.is_op("MatMul"));
    let at = [0, 1].into_iter().find(is_product)?;
    let product = add.producer(at)?;
    let (sum, bias) = (add.input(at)?, add.input(1 - at)?);
    let (a, b) = (product.input(0)?, product.input(1)?);

    let refused = |message: &str| {
        let warning = Diagnostic::new(&NOT_FUSED, add.place(), message);
        Some(Err(warning.related(product.place(), "the product")))
    };
    if uses.of_value(sum).len() != 1 || uses.graph_of(product.id()) != uses.graph_of(add.id()) {
        return refused("the product is read elsewhere too");
    }
    let shape = |value| facts.get(body, value).ty.shape();
    let (Some([m, _]), Some([_, n])) = (shape(a).map(|s| &s[..]), shape(b).map(|s| &s[..])) else {
        return refused("`Gemm` multiplies matrices: the operands of the `MatMul` must have rank 2");
    };
    // A dimension of the bias is stretched to that of the product, and never the other way.
    let fits = |dim: &Dim, to: &Dim| *dim == Dim::Const(1) || (*dim == *to && *dim != Dim::Unknown);
    let is_stretched = match shape(bias).map(|s| &s[..]) {
        Some([]) => true,
        Some([last]) => fits(last, n),
        Some([first, last]) => fits(first, m) && fits(last, n),
        Some(_) | None => false,
    };
    if !is_stretched {
        return refused("the shape of what is added must be known and broadcast to that of the product");
    }
    Some(Ok([a, b, bias]))
}
