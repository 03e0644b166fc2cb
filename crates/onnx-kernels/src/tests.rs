//! Random inputs and attributes for all kernels: a kernel must return results or a failure.

use crate::row::Row;
use crate::table::rows;
use crate::value::Value;
use crate::{Attributes, Call, Keep, Nodes};
use onnx_ir::{Attr, AttrType, AttrValue, Body, ElemType, Model, Node};
use onnx_loops::budget::Budget;
use onnx_loops::random::Random;
use onnx_loops::tensor::Tensor;
use onnx_ops::opset::{LoadedSet, contributed_sets};
use onnx_ops::schema::{Lookup, Param, ParamKind, Registry, Schema};
use std::sync::Arc;

/// Enough for small tensors.
const MAX_BYTES: usize = 32 << 20;

/// Nodes per version of an operator.
const NODES: usize = 400;

/// Values for string attributes and inputs, including names of modes.
const WORDS: &[&str] = &[
    "linear",
    "nearest",
    "cubic",
    "reverse",
    "bidirectional",
    "SAME_UPPER",
    "SAME_LOWER",
    "VALID",
    "reflection",
    "border",
    "max",
    "add",
    "mul",
    "circular",
    "not_larger",
    "not_smaller",
    "align_corners",
    "tf_crop_and_resize",
    "half_pixel",
    "half_pixel_symmetric",
    "floor",
    "ceil",
    "nesterov",
    "standard",
    "Grayscale",
    "x",
    "",
];

/// Integer attributes by name.
type Integers = &'static [(&'static str, &'static [i64])];

/// Valid inputs for operators that random ones rarely satisfy: shapes, and integer attributes.
const SOUND: &[(&str, &[&[usize]], Integers)] = &[
    ("NonMaxSuppression", &[&[2, 3, 4], &[2, 2, 3], &[1], &[1], &[1]], &[]),
    ("Col2Im", &[&[1, 4, 9], &[2], &[2]], &[]),
    ("DeformConv", &[&[1, 1, 3, 3], &[1, 1, 2, 2], &[1, 8, 2, 2], &[1], &[1, 4, 2, 2]], &[]),
    ("DFT", &[&[2, 5, 1], &[1]], &[]),
    ("STFT", &[&[1, 9, 1], &[], &[4], &[]], &[]),
    ("GridSample", &[&[1, 2, 3, 3], &[1, 2, 2, 2]], &[]),
    ("GRU", &[&[2, 2, 3], &[1, 6, 3], &[1, 6, 2], &[1, 12], &[2], &[1, 2, 2]], &[]),
    ("RNN", &[&[2, 2, 3], &[1, 2, 3], &[1, 2, 2], &[1, 4], &[2], &[1, 2, 2]], &[]),
    ("LSTM", &[&[2, 2, 3], &[1, 8, 3], &[1, 8, 2], &[1, 16], &[2], &[1, 2, 2], &[1, 2, 2], &[1, 6]], &[]),
    (
        "DynamicQuantizeLSTM",
        &[
            &[2, 2, 3],
            &[1, 3, 8],
            &[1, 2, 8],
            &[1, 16],
            &[2],
            &[1, 2, 2],
            &[1, 2, 2],
            &[1, 6],
            &[1],
            &[1],
            &[1],
            &[1],
        ],
        &[],
    ),
    ("MaxRoiPool", &[&[1, 2, 4, 4], &[2, 5]], &[("pooled_shape", &[2, 2])]),
    ("RoiAlign", &[&[2, 2, 4, 4], &[2, 4], &[2]], &[]),
    ("MaxUnpool", &[&[1, 1, 2, 2], &[1, 1, 2, 2], &[4]], &[("kernel_shape", &[2, 2])]),
    ("Resize", &[&[1, 1, 3, 3], &[8], &[4], &[4]], &[]),
    ("Upsample", &[&[1, 1, 3, 3], &[4]], &[]),
    ("ScatterND", &[&[3, 3], &[2, 1], &[2, 3]], &[]),
    ("TensorScatter", &[&[2, 3, 2], &[2, 1, 2], &[2]], &[]),
    (
        "Attention",
        &[&[2, 3, 4], &[4, 12], &[12], &[2], &[2, 2, 2, 1, 2], &[1, 2, 3, 4]],
        &[("num_heads", &[2])],
    ),
    (
        "EmbedLayerNormalization",
        &[&[2, 3], &[2, 3], &[9, 2], &[9, 2], &[9, 2], &[2], &[2], &[2, 3], &[2, 3]],
        &[],
    ),
    (
        "MatMulNBits",
        &[&[2, 16], &[3, 1, 8], &[3, 1], &[3, 1], &[16], &[3]],
        &[("K", &[16]), ("N", &[3]), ("block_size", &[16])],
    ),
    ("CropAndResize", &[&[1, 2, 3, 3], &[2, 4], &[2], &[2]], &[]),
    (
        "GroupQueryAttention",
        &[
            &[1, 2, 8],
            &[1, 2, 4],
            &[1, 2, 4],
            &[1, 1, 3, 4],
            &[1, 1, 3, 4],
            &[1],
            &[],
            &[9, 2],
            &[9, 2],
            &[1, 2],
            &[1, 2, 2, 2],
            &[2],
        ],
        &[("num_heads", &[2]), ("kv_num_heads", &[1])],
    ),
    ("RotaryEmbedding", &[&[2, 3, 8], &[1], &[9, 2], &[9, 2]], &[]),
    ("MoE", &[&[3, 2], &[3, 2], &[2, 4, 2], &[2, 4], &[2, 2, 4], &[2, 2]], &[("k", &[1])]),
    ("QMoE", &[&[3, 2], &[3, 2], &[2, 4, 1], &[2, 4], &[2, 4], &[2, 2, 2], &[2, 2], &[2, 2]], &[("k", &[1])]),
    ("GatherBlockQuantized", &[&[4, 8], &[2], &[4, 1], &[4, 1]], &[("block_size", &[16])]),
    (
        "MatMulBnb4",
        &[&[2, 16], &[24], &[3]],
        &[("K", &[16]), ("N", &[3]), ("block_size", &[16]), ("quant_type", &[1])],
    ),
    ("Inverse", &[&[2, 3, 3]], &[]),
    ("NGramRepeatBlock", &[&[2, 5], &[2, 4]], &[("ngram_size", &[2])]),
    ("Adam", &[&[], &[], &[2], &[2], &[2], &[2]], &[]),
];

/// A random generator of nodes.
struct Dice(Random);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        (self.0.bits() % n as u64) as usize
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    fn int(&mut self) -> i64 {
        match self.below(12) {
            0 => self.one_of(&[i64::MIN, i64::MAX, -(1 << 40), 1 << 31, 1 << 40, i64::from(i32::MIN)]),
            1 | 2 => self.one_of(&[-7, -2, 9, 17]),
            _ => self.below(5) as i64 - 1,
        }
    }

    fn float(&mut self) -> f64 {
        match self.below(10) {
            0 => self.one_of(&[f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e30, -1e30, 1e-30]),
            1 => 0.0,
            _ => self.0.uniform() * 6.0 - 2.0,
        }
    }

    fn attribute(&mut self, ty: AttrType) -> Option<AttrValue> {
        let count = self.below(5);
        Some(match ty {
            AttrType::INT => AttrValue::Int(self.int()),
            AttrType::INTS => AttrValue::Ints((0..count).map(|_| self.int()).collect()),
            AttrType::FLOAT => AttrValue::Float(self.float() as f32),
            AttrType::FLOATS => AttrValue::Floats((0..count).map(|_| self.float() as f32).collect()),
            AttrType::STRING => AttrValue::String(self.one_of(WORDS).as_bytes().into()),
            AttrType::STRINGS => AttrValue::Strings(
                (0..count).map(|_| self.one_of(&["Tanh", "Relu", "Affine", "x"]).as_bytes().into()).collect(),
            ),
            _ => return None,
        })
    }

    fn tensor(&mut self, elem: ElemType, around: &[usize]) -> Tensor {
        let mut dims = match self.below(6) {
            0 => (0..self.below(5)).map(|_| self.one_of(&[0, 1, 2, 3])).collect(),
            1 => vec![self.below(6)],
            2 => Vec::new(),
            _ => around.to_vec(),
        };
        if self.below(4) == 0 && !dims.is_empty() {
            let at = self.below(dims.len());
            dims[at] = self.one_of(&[0, 1, 2, 3, 4, 8]);
        }
        if self.below(40) == 0 && !dims.is_empty() {
            // A size beyond any memory, without elements.
            let at = self.below(dims.len());
            dims.insert(at, 1 << 40);
            dims.push(0);
        }
        self.filled(elem, dims)
    }

    fn filled(&mut self, elem: ElemType, dims: Vec<usize>) -> Tensor {
        let count = onnx_loops::tensor::count(&dims).expect("small or empty");
        if elem == ElemType::STRING {
            let strings = (0..count).map(|_| self.one_of(WORDS).to_owned()).collect();
            return Tensor::of_strings(&dims, strings).expect("as many");
        }
        let numbers: Vec<f64> = match elem {
            ElemType::INT64 | ElemType::INT32 | ElemType::UINT8 => {
                (0..count).map(|_| self.int() as f64).collect()
            }
            _ => (0..count).map(|_| self.float()).collect(),
        };
        Tensor::of_floats(elem, &dims, &numbers).or_else(|_| Tensor::zeros(elem, &dims)).expect("small")
    }

    fn input(&mut self, param: &Param, around: &[usize]) -> Option<Value> {
        let elems: Vec<ElemType> = param.types.tensors.iter().collect();
        if elems.is_empty() {
            let elements = (0..self.below(3)).map(|_| self.tensor(ElemType::FLOAT, around).into()).collect();
            return Some(Value::sequence(elements));
        }
        let usual = [ElemType::FLOAT, ElemType::INT64].into_iter().find(|elem| elems.contains(elem));
        let elem = usual.filter(|_| self.below(3) > 0).unwrap_or_else(|| self.one_of(&elems));
        Some(self.tensor(elem, around).into())
    }
}

fn node(model: &mut Model, schema: &Schema, dice: &mut Dice) -> (Node, Vec<Option<Value>>) {
    let mut node = Node::default();
    // Most nodes are valid except for a few changes, where a valid form is known.
    let sound = SOUND.iter().find(|(name, _, _)| *name == schema.name).filter(|_| dice.below(4) > 0);
    for attr in schema.attrs.iter() {
        let known = sound.and_then(|(_, _, attrs)| attrs.iter().find(|(name, _)| *name == attr.name));
        if let Some((_, ints)) = known.filter(|_| dice.below(8) > 0) {
            let value = match attr.ty {
                AttrType::INT => AttrValue::Int(ints[0]),
                _ => AttrValue::Ints(ints.to_vec().into()),
            };
            node.attrs.push(Attr::new(model.names.intern(&attr.name), value));
            continue;
        }
        let most = if sound.is_some() { 12 } else { 3 };
        if (attr.required || dice.below(most) == 0)
            && let Some(value) = dice.attribute(attr.ty)
        {
            node.attrs.push(Attr::new(model.names.intern(&attr.name), value));
        }
    }
    let around: Vec<usize> = (0..dice.below(5)).map(|_| dice.one_of(&[1, 2, 3, 4])).collect();
    let mut inputs = Vec::new();
    if let Some((_, shapes, _)) = sound {
        for (i, shape) in shapes.iter().enumerate() {
            let Some(param) = schema.input(i) else { break };
            let is_left_out = param.kind == ParamKind::Optional && dice.below(2) == 0;
            inputs.push(match dice.below(20) {
                0 => dice.input(param, &around),
                _ if is_left_out => None,
                _ => {
                    let elem =
                        param.types.tensors.iter().find(|e| *e == ElemType::FLOAT || *e == ElemType::INT64);
                    let elem = elem.or_else(|| param.types.tensors.iter().next()).unwrap_or(ElemType::FLOAT);
                    Some(dice.filled(elem, shape.to_vec()).into())
                }
            });
        }
        return (node, inputs);
    }
    for param in schema.inputs.iter() {
        match param.kind {
            ParamKind::Single => inputs.push(dice.input(param, &around)),
            ParamKind::Optional => {
                let given = if dice.below(3) > 0 { dice.input(param, &around) } else { None };
                inputs.push(given);
            }
            ParamKind::Variadic { .. } => {
                for _ in 0..dice.below(7) {
                    inputs.push(dice.input(param, &around));
                }
            }
        }
    }
    (node, inputs)
}

/// All versions of an operator.
fn versions<'r>(registry: &'r Registry, row: &Row) -> Vec<&'r Schema> {
    let mut found: Vec<&Schema> = Vec::new();
    for version in 1..=30 {
        if let Lookup::Found(id) = registry.lookup(row.domain, row.op, version) {
            let schema = registry.get(id);
            if found.iter().all(|known| known.since != schema.since) {
                found.push(schema);
            }
        }
    }
    found
}

#[test]
fn nothing_that_a_model_says_ends_the_program() {
    let sets: Vec<&LoadedSet> = contributed_sets().collect();
    let registry = Registry::with_sets(sets);
    let budget = Arc::new(Budget::new(MAX_BYTES, u64::MAX, None));
    for row in rows() {
        let schemas = versions(&registry, row);
        assert!(!schemas.is_empty(), "{} is not an operator", row.op);
        for schema in schemas {
            let mut results = 0;
            for seed in 0..NODES {
                let mut dice = Dice(Random::new(seed as u64));
                let mut model = Model::new();
                let body = Body::default();
                let (node, inputs) = node(&mut model, schema, &mut dice);
                let attrs = Attributes { model: &model, body: &body, node: &node, schema };
                let keep = (&Keep::default(), body.nodes.next_id());
                let mut call = Call { attrs, inputs, random: Random::new(1), keep };
                let begin = std::time::Instant::now();
                results += usize::from(budget.enter(|| (row.kernel)(&mut call)).is_ok());
                let took = begin.elapsed();
                assert!(took.as_secs() < 10, "{}-{} {seed} took {took:?}", row.op, schema.since);
            }
            // Kernels for long inputs support few nodes; the others have a function body.
            let is_known = row.nodes != Nodes::Long && SOUND.iter().any(|(name, _, _)| *name == row.op);
            assert!(results > 0 || !is_known, "no node of {}-{} was sound", row.op, schema.since);
        }
    }
}

/// Which kernel runs a node does not depend on the order of the rows.
#[test]
fn an_operator_has_one_kernel_for_each_kind_of_nodes() {
    let all: Vec<&Row> = rows().collect();
    for (i, row) in all.iter().enumerate() {
        for other in all[..i].iter().filter(|other| (other.domain, other.op) == (row.domain, row.op)) {
            let is_apart = row.nodes != other.nodes && ![row.nodes, other.nodes].contains(&Nodes::All);
            assert!(is_apart, "{} has two kernels for {:?}", row.op, row.nodes);
        }
    }
}
