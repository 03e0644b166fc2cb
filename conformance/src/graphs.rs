//! Models of many nodes as texts: regular shapes of graphs, and random ones with control flow, all of whose values are
//! `float[4,8]` between -1 and 1. What is deep does not overflow, and rounding stays small.

use crate::random::Random;
use std::fmt::Write as _;

/// The types of the inputs that all of these models have, `x0`, and whether branches are taken.
const HEADER: &str = "<ir_version: 10, opset_import: [\"\": 21, \"f\": 1]>\n";
const INPUTS: &str = "float[4,8] x0, bool c";

/// The extents of every value.
pub const DIMS: [usize; 2] = [4, 8];

fn model(nodes: &str, output: &str) -> String {
    let mut weights = Vec::new();
    for i in 0..64 {
        weights.push(format!("{}", f64::from((i * 37) % 17 - 8) / 64.0));
    }
    let row: Vec<String> = (0..8).map(|i| format!("{}", f64::from(i) / 8.0 - 0.4)).collect();
    format!(
        "{HEADER}g ({INPUTS}) => (float[4,8] y)\n<float half = {{0.5}}, float[8] row = {{{}}}, float[8,8] w = {{{}}}, \
         int64[2] across = {{8, 4}}, int64[2] back = {{4, 8}}>\n{{\n{nodes}y = Identity({output})\n}}\n",
        row.join(", "),
        weights.join(", ")
    )
}

/// Nodes in a row, of these operators in turn.
pub fn chain(operators: &[&str], nodes: usize) -> String {
    let mut text = String::new();
    for i in 0..nodes {
        let _ = writeln!(text, "x{} = {}(x{i})", i + 1, operators[i % operators.len()]);
    }
    model(&text, &format!("x{nodes}"))
}

/// Each result is read twice by the next node: as trees, expressions double from node to node.
pub fn diamonds(nodes: usize) -> String {
    let mut text = String::new();
    for i in 0..nodes / 2 {
        let _ = writeln!(text, "t{i} = Tanh(x{i})\nx{} = Mul(t{i}, t{i})", i + 1);
    }
    model(&text, &format!("x{}", nodes / 2))
}

/// Nodes that all read one value, and the list of their results.
fn readers(nodes: usize) -> (String, String) {
    let mut text = String::new();
    let mut all = Vec::new();
    for i in 0..nodes {
        let _ = writeln!(text, "a{i} = Tanh(x0)");
        all.push(format!("a{i}"));
    }
    (text, all.join(", "))
}

/// One value is read by all nodes, and one node reads all results.
pub fn fan(nodes: usize) -> String {
    let (text, all) = readers(nodes);
    model(&format!("{text}m = Mean({all})\n"), "m")
}

/// One value is read by all nodes, and one node joins all results.
pub fn join(nodes: usize) -> String {
    let (text, all) = readers(nodes);
    model(&format!("{text}j = Concat <axis = 0> ({all})\nm = ReduceMean(j)\ns = Mul(x0, m)\n"), "s")
}

/// All results of one value are needed until the end, where they are added up one by one.
pub fn comb(nodes: usize) -> String {
    let mut text = String::new();
    for i in 0..nodes / 2 {
        let _ = writeln!(text, "a{i} = Softmax(x0)");
    }
    text += "b0 = Neg(x0)\n";
    for i in 0..nodes / 2 {
        let _ = writeln!(text, "b{} = Max(b{i}, a{i})", i + 1);
    }
    model(&text, &format!("b{}", nodes / 2))
}

/// Shapes that depend on data, so that no plan has more than a few nodes.
pub fn dynamic(nodes: usize) -> String {
    let mut text = "r0 = Reshape(x0, all)\n".to_owned();
    for i in 0..nodes / 2 {
        let _ = writeln!(text, "u{i} = Unique(r{i})\nr{} = Tanh(u{i})", i + 1);
    }
    let text = format!(
        "all = Constant <value_ints = [-1]> ()\n{text}m = ReduceMean <keepdims = 0> (r{})\ns = Mul(x0, m)\n",
        nodes / 2
    );
    model(&text, "s")
}

/// Dequantized weights, quantized results and gates, as exported networks have them.
pub fn quantized(nodes: usize) -> String {
    let mut text = "zero = Constant <value_int = 0> ()\nz = Cast <to = 3> (zero)\nscale = Constant <value_float = 0.015625> ()\n\
                    q = QuantizeLinear(w, scale, z)\n"
        .to_owned();
    for i in 0..nodes / 6 {
        let _ = writeln!(
            text,
            "d{i} = DequantizeLinear(q, scale, z)\nm{i} = MatMul(x{i}, d{i})\ng{i} = Sigmoid(m{i})\n\
             h{i} = Mul(m{i}, g{i})\nk{i} = QuantizeLinear(h{i}, scale, z)\nx{} = DequantizeLinear(k{i}, scale, z)",
            i + 1
        );
    }
    model(&text, &format!("x{}", nodes / 6))
}

/// Functions that each call the next one twice.
pub fn calls(functions: usize) -> String {
    let mut text = model("a = f.f0(x0)\n", "a");
    for i in 0..functions {
        let body = if i + 1 == functions {
            "y = Tanh(x)".to_owned()
        } else {
            format!("a = f.f{0}(x) y = f.f{0}(a)", i + 1)
        };
        let _ = writeln!(
            text,
            "<domain: \"f\", opset_import: [\"\": 21, \"f\": 1]>\nf{i} (x) => (y) {{ {body} }}"
        );
    }
    text
}

/// Random nodes that read results of nodes shortly before, or of any, with branches and loops of such nodes.
pub fn random(seed: u64, nodes: usize) -> String {
    let mut draw = Draw { random: Random::new(seed), count: 0, text: String::new() };
    let mut values = vec!["x0".to_owned()];
    let last = draw.nodes(&mut values, nodes, 2);
    model(&draw.text, &last)
}

struct Draw {
    random: Random,
    count: usize,
    text: String,
}

impl Draw {
    fn name(&mut self) -> String {
        self.count += 1;
        format!("v{}", self.count)
    }

    /// A value: mostly one of the latest, so that graphs are deep.
    fn operand(&mut self, values: &[String]) -> String {
        let reach = if self.random.below(8) == 0 { values.len() } else { values.len().min(4) };
        values[values.len() - 1 - self.random.below(reach)].clone()
    }

    /// Writes so many nodes, whose graphs are at most so deep; the name of the last result.
    fn nodes(&mut self, values: &mut Vec<String>, nodes: usize, depth: usize) -> String {
        for _ in 0..nodes {
            let (a, b) = (self.operand(values), self.operand(values));
            let kinds = if depth > 0 { 20 } else { 18 };
            let y = self.name();
            let text = match self.random.below(kinds) {
                0 => format!("{y} = Tanh({a})"),
                1 => format!("{y} = Sigmoid({a})"),
                2 => format!("{y} = Relu({a})"),
                3 => format!("{y} = Neg({a})"),
                4 => format!("{y} = Mul({a}, {b})"),
                5 => format!("{y}s = Add({a}, {b})\n{y} = Mul({y}s, half)"),
                6 => format!("{y}s = Sub({a}, {b})\n{y} = Mul({y}s, half)"),
                7 => format!("{y} = Max({a}, {b})"),
                8 => format!("{y}s = Less({a}, {b})\n{y} = Where({y}s, {a}, {b})"),
                9 => format!("{y}s = MatMul({a}, w)\n{y} = Tanh({y}s)"),
                10 => format!("{y} = Softmax({a})"),
                11 => format!("{y}t = Transpose({a})\n{y}r = Sigmoid({y}t)\n{y} = Transpose({y}r)"),
                12 => format!("{y}t = Reshape({a}, across)\n{y}r = Tanh({y}t)\n{y} = Reshape({y}r, back)"),
                13 => format!("{y}m = ReduceMean({a})\n{y} = Mul({a}, {y}m)"),
                14 => format!("{y} = Mul({a}, row)"),
                15 => format!("{y}d = Cast <to = 11> ({a})\n{y}t = Tanh({y}d)\n{y} = Cast <to = 1> ({y}t)"),
                16 => format!(
                    "{y}1, {y}2 = Split <axis = 1, num_outputs = 2> ({a})\n{y} = Concat <axis = 1> ({y}2, {y}1)"
                ),
                17 => format!("{y} = Abs({a})"),
                18 => self.branches(&y, values, depth),
                _ => self.repeated(&y, values, &a, depth),
            };
            let _ = writeln!(self.text, "{text}");
            values.push(y);
        }
        values.last().cloned().unwrap_or_default()
    }

    /// The nodes of a graph in a node, which sees the values around it, and its result.
    fn inner(&mut self, values: &[String], depth: usize) -> (String, String) {
        let mut values = values.to_vec();
        let outer = std::mem::take(&mut self.text);
        let nodes = 1 + self.random.below(8);
        let last = self.nodes(&mut values, nodes, depth - 1);
        (std::mem::replace(&mut self.text, outer), last)
    }

    fn branches(&mut self, y: &str, values: &[String], depth: usize) -> String {
        let (then, of_then) = self.inner(values, depth);
        let (other, of_other) = self.inner(values, depth);
        format!(
            "{y} = If(c) <then_branch = t{y} () => (float[4,8] {of_then}) {{\n{then}}}, \
             else_branch = e{y} () => (float[4,8] {of_other}) {{\n{other}}}>"
        )
    }

    fn repeated(&mut self, y: &str, values: &[String], start: &str, depth: usize) -> String {
        let mut inside = values.to_vec();
        inside.push(format!("{y}s"));
        let (body, last) = self.inner(&inside, depth);
        let times = 1 + self.random.below(3);
        format!(
            "{y}n = Constant <value_int = {times}> ()\n{y} = Loop({y}n, , {start}) <body = b{y} (int64 {y}i, bool {y}k, \
             float[4,8] {y}s) => (bool {y}o, float[4,8] {last}) {{\n{y}o = Identity({y}k)\n{body}}}>"
        )
    }
}
