//! Random expressions: each is the model that a writer of plain statements, who shares nothing with the parser, makes of it, and both
//! compute the same.

use conformance::convert::write_wire;
use conformance::random::Random;
use onnx_exec::Value;
use onnxtxt::{CompileOptions, Loaded};
use std::fmt::Write as _;

const MODELS: usize = 400;

const NAMES: [&str; 3] = ["a", "b", "c"];
/// A literal, the name of its constant, and its value as a float.
const LITERALS: [[&str; 3]; 6] = [
    ["2", "c_2", "2"],
    ["-1.5", "c_m1_5", "-1.5"],
    ["0.25", "c_0_25", "0.25"],
    ["-3", "c_m3", "-3"],
    ["1e-3", "c_1em3", "1e-3"],
    ["[1, -2, 3]", "c_1_m2_3", "1, -2, 3"],
];
/// A sign, its operator, and how tightly it binds.
const SIGNS: [(&str, &str, u8); 5] =
    [("+", "Add", 1), ("-", "Sub", 1), ("*", "Mul", 2), ("/", "Div", 2), ("**", "Pow", 4)];
const MINUS: u8 = 3;
const ATOM: u8 = 5;
/// A node of a subscript: the operator, its other operands, its attributes.
type Step = (&'static str, &'static [&'static str], &'static str);
/// A subscript of a matrix, and its nodes.
const SUBSCRIPTS: [(&str, &[Step]); 4] = [
    ("[0]", &[("Gather", &["0"], "")]),
    ("[::-1]", &[("Slice", &["[9223372036854775807]", "[-9223372036854775808]", "[0]", "[-1]"], "")]),
    ("[1, 0:3]", &[("Slice", &["[0]", "[3]", "[1]"], ""), ("Gather", &["1"], "")]),
    ("[:, -1:]", &[("Slice", &["[-1]", "[9223372036854775807]", "[1]"], "")]),
];
/// Calls of one and of more operands.
const CALLS: [(&str, &str, usize); 5] =
    [("Relu", "", 1), ("Abs", "", 1), ("LeakyRelu", "alpha = 0.5", 1), ("Max", "", 3), ("Where", "", 0)];

enum Tree {
    Name(usize),
    Literal(usize),
    Minus(Box<Tree>),
    Infix(usize, Box<Tree>, Box<Tree>),
    Call(usize, Vec<Tree>),
    Subscript(usize, usize),
    /// `Where(l < r, l, r)` has operands of other types.
    Smaller(Box<Tree>, Box<Tree>),
}

fn draw(random: &mut Random, depth: usize) -> Tree {
    let below = |random: &mut Random| Box::new(draw(random, depth - 1));
    match random.below(if depth == 0 { 2 } else { 9 }) {
        0 => Tree::Name(random.below(NAMES.len())),
        1 => Tree::Subscript(random.below(NAMES.len()), random.below(SUBSCRIPTS.len())),
        2 => Tree::Minus(below(random)),
        3 | 4 => {
            let sign = random.below(SIGNS.len());
            let left = below(random);
            // Two literals would be integers.
            let right = match random.below(2) {
                0 => Box::new(Tree::Literal(random.below(LITERALS.len()))),
                _ => below(random),
            };
            Tree::Infix(sign, left, right)
        }
        5 => Tree::Smaller(below(random), below(random)),
        6 => {
            Tree::Infix(random.below(4), Box::new(Tree::Literal(random.below(LITERALS.len()))), below(random))
        }
        _ => {
            let call = random.below(CALLS.len() - 1);
            Tree::Call(call, (0..CALLS[call].2).map(|_| draw(random, depth - 1)).collect())
        }
    }
}

/// The expression as text, in parentheses where it binds less tightly than it must, and where it pleases.
fn write(tree: &Tree, least: u8, random: &mut Random) -> String {
    let (text, power) = match tree {
        Tree::Name(name) => (NAMES[*name].to_owned(), ATOM),
        // A minus is a part of the number.
        Tree::Literal(literal) => (LITERALS[*literal][0].to_owned(), ATOM),
        Tree::Minus(inner) => {
            let inner = write(inner, MINUS, random);
            // `-2` would be a number.
            let gap = if inner.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '[') {
                " "
            } else {
                ""
            };
            (format!("-{gap}{inner}"), MINUS)
        }
        Tree::Infix(sign, left, right) => {
            let (sign, _, power) = SIGNS[*sign];
            let (of_left, of_right) = if sign == "**" { (ATOM, MINUS) } else { (power, power + 1) };
            let (left, right) = (write(left, of_left, random), write(right, of_right, random));
            (format!("{left} {sign} {right}"), power)
        }
        Tree::Call(call, operands) => {
            let (operator, attr, _) = CALLS[*call];
            let mut items: Vec<String> = operands.iter().map(|operand| write(operand, 0, random)).collect();
            items.extend((!attr.is_empty()).then(|| attr.to_owned()));
            (format!("{operator}({})", items.join(", ")), ATOM)
        }
        Tree::Subscript(name, subscript) => (format!("{}{}", NAMES[*name], SUBSCRIPTS[*subscript].0), ATOM),
        Tree::Smaller(left, right) => {
            let [l, r, again] =
                [(left, 1), (right, 1), (left, 0)].map(|(tree, least)| write(tree, least, random));
            (format!("Where({l} < {r}, {again}, {})", write(right, 0, random)), ATOM)
        }
    };
    let is_name = matches!(tree, Tree::Name(_) | Tree::Literal(_));
    if power < least || !is_name && random.below(8) == 0 { format!("({text})") } else { text }
}

/// Writes plain statements.
#[derive(Default)]
struct Plain {
    text: String,
    constants: Vec<String>,
    stem: String,
    count: usize,
}

impl Plain {
    fn constant(&mut self, name: &str, ty: &str, value: &str) -> String {
        if !self.constants.iter().any(|known| known == name) {
            self.constants.push(name.to_owned());
            _ = writeln!(self.text, "    {name} = Constant <value = {ty} {{{value}}}> ()");
        }
        name.to_owned()
    }

    fn literal(&mut self, literal: usize) -> String {
        let [text, name, value] = LITERALS[literal];
        self.constant(name, if text.starts_with('[') { "float[3]" } else { "float" }, value)
    }

    fn node(&mut self, operator: &str, operands: &[String], attr: &str, result: Option<&str>) -> String {
        let result = result.map_or_else(
            || {
                self.count += 1;
                format!("{}_{}", self.stem, self.count)
            },
            str::to_owned,
        );
        let attr = if attr.is_empty() { String::new() } else { format!(" <{attr}> ") };
        _ = writeln!(self.text, "    {result} = {operator}{attr}({})", operands.join(", "));
        result
    }

    /// The operands that are not literals come first, as nodes; constants stand right before their first reader.
    fn operands(&mut self, trees: &[&Tree]) -> Vec<String> {
        let nodes: Vec<Option<String>> = trees
            .iter()
            .map(|tree| (!matches!(tree, Tree::Literal(_))).then(|| self.tree(tree, None)))
            .collect();
        let literal = |this: &mut Self, tree: &Tree| match tree {
            Tree::Literal(literal) => this.literal(*literal),
            _ => unreachable!("it is a node"),
        };
        nodes.into_iter().zip(trees).map(|(node, tree)| node.unwrap_or_else(|| literal(self, tree))).collect()
    }

    fn tree(&mut self, tree: &Tree, result: Option<&str>) -> String {
        match tree {
            Tree::Name(name) => NAMES[*name].to_owned(),
            Tree::Literal(literal) => self.literal(*literal),
            Tree::Minus(inner) => {
                let operands = self.operands(&[inner]);
                self.node("Neg", &operands, "", result)
            }
            Tree::Infix(sign, left, right) => {
                let operands = self.operands(&[left, right]);
                self.node(SIGNS[*sign].1, &operands, "", result)
            }
            Tree::Call(call, operands) => {
                let operands = self.operands(&operands.iter().collect::<Vec<_>>());
                self.node(CALLS[*call].0, &operands, CALLS[*call].1, result)
            }
            Tree::Smaller(left, right) => {
                let compared = self.operands(&[left, right]);
                let condition = self.node("Less", &compared, "", None);
                let mut operands = vec![condition];
                operands.extend(self.operands(&[left, right]));
                self.node("Where", &operands, "", result)
            }
            Tree::Subscript(name, subscript) => {
                let steps = SUBSCRIPTS[*subscript].1;
                let mut value = NAMES[*name].to_owned();
                for (i, (operator, literals, attr)) in steps.iter().enumerate() {
                    let mut operands = vec![value];
                    for text in *literals {
                        let numbers = text.trim_matches(['[', ']']);
                        let ty = if text.starts_with('[') { "int64[1]" } else { "int64" };
                        operands.push(self.constant(&int_name(text), ty, numbers));
                    }
                    let result = result.filter(|_| i + 1 == steps.len());
                    value = self.node(operator, &operands, attr, result);
                }
                value
            }
        }
    }
}

/// The name of a constant of integers until all are known: one number and a list of it have one stem.
fn int_name(text: &str) -> String {
    format!("ints:{text}")
}

const HEAD: &str = "<ir_version: 10, opset_import: [\"\": 21]>\ng () => (float[] y, float[] z)\n<float[2,3] a = {1, -2, 3, -4, 5, -6}, float[2,3] b = {0.5, 2, 1, -1, 0.25, 8}, float[2,3] c = {1, 1, 2, 2, 3, 3}>\n{\n";

/// The results of a model, as bits.
fn results(loaded: &mut Loaded) -> Vec<Vec<u8>> {
    let executable = loaded.compile(&CompileOptions::default()).expect("it can be run");
    let outputs = executable.run(Vec::new(), &Default::default()).expect("it runs");
    let bytes = |value: &Value| match value {
        Value::Tensor(tensor) => tensor.bytes().to_vec(),
        other => panic!("an expression has tensors, not {other:?}"),
    };
    outputs.iter().map(bytes).collect()
}

#[test]
fn expressions_are_the_plain_statements_of_another_writer() {
    let mut random = Random::new(34);
    for _ in 0..MODELS {
        let trees = ["y", "z"].map(|name| {
            let tree = Tree::Minus(Box::new(draw(&mut random, 4)));
            (name, tree)
        });
        let mut sugar = HEAD.to_owned();
        let mut plain = Plain { text: HEAD.to_owned(), ..Plain::default() };
        for (name, tree) in &trees {
            _ = writeln!(sugar, "    {name} = {}", write(tree, 0, &mut random));
            plain.stem = (*name).to_owned();
            plain.count = 0;
            plain.tree(tree, Some(name));
        }
        sugar += "}\n";
        plain.text += "}\n";
        let mut read = onnxtxt::parse(&sugar);
        assert!(read.diagnostics.is_empty(), "{:?}\n{sugar}", read.diagnostics);
        let plain = renamed(plain.text, &plain.constants);
        let mut by_hand = onnxtxt::parse(&plain);
        assert!(by_hand.diagnostics.is_empty(), "{:?}\n{plain}", by_hand.diagnostics);
        let bytes = |loaded: &Loaded| write_wire(&loaded.model).expect("it is small");
        assert!(bytes(&read) == bytes(&by_hand), "{sugar}\nis\n{}\nand not\n{}", read.text(), by_hand.text());
        assert_eq!(results(&mut read), results(&mut by_hand), "{sugar}");
    }
}

/// Gives the constants of integers their names: `c_` and the number, and a number behind where that is taken.
fn renamed(text: String, constants: &[String]) -> String {
    let mut taken: Vec<String> = Vec::new();
    let mut out = text;
    for constant in constants {
        let Some(list) = constant.strip_prefix("ints:") else {
            taken.push(constant.clone());
            continue;
        };
        let stem = match list.trim_matches(['[', ']']) {
            number if number.len() > 17 => "c_list".to_owned(),
            number => format!("c_{}", number.replace('-', "m")),
        };
        let mut name = stem.clone();
        let mut number = 0;
        while taken.contains(&name) {
            number += 1;
            name = format!("{stem}_{number}");
        }
        out = out.replace(&format!("{constant} ="), &format!("{name} ="));
        out = out.replace(&format!("{constant},"), &format!("{name},"));
        out = out.replace(&format!("{constant})"), &format!("{name})"));
        taken.push(name);
    }
    out
}
