//! Nodes that make no sense must not break the formulas: whatever their attributes, extents and elements are, a definition is
//! made or not, evaluated or not, without a panic and soon.

use onnx_ir::{AttrType, ElemType, Model};
use onnx_ops::meaning::{
    Attributes, Cx, Dense, Elements, Mode, Number, Operand, Output, define, value_inputs,
};
use onnx_ops::schema::{Registry, Schema};
use std::fmt::Write as _;

/// Reproducible random numbers (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }
}

const INTS: &[i64] = &[0, 0, 1, 1, 1, 2, 2, 3, 4, -1, -2, -3, 7, 1 << 33, -(1 << 40), i64::MAX, i64::MIN];
const FLOATS: &[&str] = &["0.0", "1.0", "2.0", "0.5", "-1.0", "1e38", "nan", "inf"];
const STRINGS: &[&str] = &[
    "",
    "NOTSET",
    "SAME_UPPER",
    "SAME_LOWER",
    "VALID",
    "DCR",
    "CRD",
    "nearest",
    "constant",
    "reflect",
    "edge",
    "wrap",
    "LEFT",
    "RIGHT",
    "none",
    "tanh",
    "MAX",
    "L1",
    "L2",
    "up",
    "down",
    "ij,jk->ik",
    "...ij,...jk->...ik",
    "ii->i",
    "i,j->ij",
    "...",
    "ij->",
];

fn attributes(schema: &Schema, random: &mut Random) -> String {
    let mut text = String::new();
    for attr in schema.attrs.iter() {
        if random.below(3) == 0 && !attr.required {
            continue;
        }
        let list = |random: &mut Random, one: &dyn Fn(&mut Random) -> String| {
            let all: Vec<String> = (0..random.below(5)).map(|_| one(random)).collect();
            format!("[{}]", all.join(", "))
        };
        let int = |random: &mut Random| random.pick(INTS).to_string();
        let float = |random: &mut Random| random.pick(FLOATS).to_owned();
        let value = match attr.ty {
            AttrType::INT if attr.name == "dtype" || attr.name == "to" => random.below(30).to_string(),
            AttrType::INT => int(random),
            AttrType::INTS => list(random, &int),
            AttrType::FLOAT => float(random),
            AttrType::FLOATS => list(random, &float),
            AttrType::STRING => format!("{:?}", random.pick(STRINGS)),
            _ => continue,
        };
        // The type of an empty list would not be known.
        if value == "[]" {
            continue;
        }
        let comma = if text.is_empty() { "" } else { ", " };
        let _ = write!(text, "{comma}{} = {value}", attr.name);
    }
    text
}

fn dims(random: &mut Random) -> Vec<usize> {
    let rank = random.pick(&[0, 1, 1, 2, 2, 3, 3, 4, 4, 5]);
    (0..rank).map(|_| random.pick(&[0, 1, 1, 2, 2, 3, 4, 5])).collect()
}

fn number(elem: ElemType, random: &mut Random) -> Number {
    let int = Number::Int(random.pick(INTS).into());
    let bits = match random.below(4) {
        0 => random.next(),
        _ => int.to_bits(elem).unwrap_or(0),
    };
    Number::from_bits(elem, bits).unwrap_or(int)
}

fn dense(elem: ElemType, dims: Vec<usize>, random: &mut Random) -> Dense {
    let count = dims.iter().product();
    Dense { elem, numbers: (0..count).map(|_| number(elem, random)).collect(), dims }
}

fn try_node(schema: &Schema, random: &mut Random) -> Option<()> {
    let attrs = attributes(schema, random);
    let text = format!(
        r#"<ir_version: 10, opset_import: ["": 21]> g (x) => (y) {{ y = {} <{attrs}> (x) }}"#,
        schema.name
    )
    .replace(" <>", "");
    let lowered = onnx_text::read_model(&text);
    let model: Model = lowered.value;
    let body = model.main_body()?;
    let node = body.nodes.values().next()?;
    let attributes = Attributes::of(&model, body, node, schema)?;
    let elem = random.pick(ElemType::ALL);
    let shape = dims(random);
    let count = schema.inputs.len().max(1) + random.below(2);
    let inputs: Vec<Option<Dense>> = (0..count)
        .map(|i| {
            if random.below(6) == 0 && i > 0 {
                return None;
            }
            let is_shape = value_inputs(schema).contains(&i);
            let (elem, dims) = match random.below(8) {
                _ if is_shape => (ElemType::INT64, vec![random.below(5)]),
                0 => (random.pick(ElemType::ALL), dims(random)),
                1..4 => (elem, dims(random)),
                4 => (ElemType::INT64, shape.clone()),
                _ => (elem, shape.clone()),
            };
            Some(dense(elem, dims, random))
        })
        .collect();
    let outs: Vec<(ElemType, Vec<usize>)> = (0..schema.outputs.len().max(1))
        .map(|_| {
            let dims = if random.below(2) == 0 { dims(random) } else { shape.clone() };
            (if random.below(4) == 0 { random.pick(ElemType::ALL) } else { elem }, dims)
        })
        .collect();
    let outputs: Vec<Option<Output<'_>>> = (outs.iter().enumerate())
        .map(|(i, (elem, dims))| (i == 0 || random.below(2) == 0).then_some(Output { elem: *elem, dims }))
        .collect();
    let operands: Vec<Option<Operand<'_>>> = (inputs.iter())
        .map(|dense| dense.as_ref().map(|d| Operand { elem: d.elem, dims: &d.dims, value: Some(d) }))
        .collect();
    let definition = define(&Cx { inputs: &operands, outputs: &outputs, attributes: &attributes })?;
    let elems: Vec<Option<ElemType>> = operands.iter().map(|o| o.map(|o| o.elem)).collect();
    let _ = definition.is_exact(&elems);
    let elements: Vec<Option<&dyn Elements>> =
        inputs.iter().map(|dense| dense.as_ref().map(|d| d as &dyn Elements)).collect();
    if definition.is_move() && definition.formulas.len() == 1 {
        let moved = definition.formulas[0].sources(&elements, 1 << 12);
        let evaluated = definition.evaluate(&elements, Mode::Reference, 1 << 12);
        assert!(moved.is_some() || evaluated.is_none(), "{}: {definition:?}", schema.name);
    }
    definition.evaluate(&elements, Mode::Portable, 1 << 12);
    definition.evaluate(&elements, Mode::Reference, 1 << 12).map(|_| ())
}

#[test]
fn no_node_breaks_its_definition() {
    let registry = Registry::builtin();
    let mut random = Random(7);
    let (mut tried, mut evaluated) = (0, 0);
    for domain in ["", "ai.onnx.ml"] {
        for name in registry.operators(domain) {
            for id in registry.versions(domain, name) {
                let schema = registry.get(*id);
                for _ in 0..60 {
                    tried += 1;
                    evaluated += usize::from(try_node(schema, &mut random).is_some());
                }
            }
        }
    }
    assert!(evaluated * 20 > tried, "{evaluated} of {tried}");
}
