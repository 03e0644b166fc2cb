//! Stores weights as integers of few bits, and computes with them.
//!
//! Three schemes, for MatMul, Gemm and Conv with constant weights of type float:
//!
//! ```text
//! before:   y = MatMul(x, w)
//! dynamic:  q, s, z = DynamicQuantizeLinear(x)  i = MatMulInteger(q, w_int8, z)  f = Cast(i)  t = Mul(s, w_scale)  y = Mul(f, t)
//! static:   q = QuantizeLinear(x, s, z)  d = DequantizeLinear(q, s, z)  e = DequantizeLinear(w_int8, w_scale)
//!           m = MatMul(d, e)  and the same for m, which gives y
//! weights:  e = DequantizeLinear(w_int8, w_scale)  y = MatMul(x, e)
//! ```
//!
//! Weights are symmetric: the zero point is 0, and the scale is the largest absolute value of the tensor, channel or block divided by
//! the largest integer. Activations of the static scheme are uint8 with a zero point, in ranges that were measured. A bias is int32
//! with the product of both scales. Runtimes find these patterns and compute with integers.

mod integers;
mod products;

use super::Edited;
use integers::{Grain, bias, narrow};
use onnx_ir::diag::{Diagnostic, Place, code};
use onnx_ir::drop_declarations;
use onnx_ir::pass::{Report, compact, upgrade_ir_version};
use onnx_ir::{
    Cursor, ElemType, GraphId, Model, NodeId, NodeSpec, Tensor, Use, Uses, Value, ValueDef, ValueId,
};
use products::{Product, constants, product};
use std::collections::{BTreeMap, HashMap, HashSet};

/// How a model is quantized.
#[derive(Clone, Copy, Debug)]
pub enum Scheme<'r> {
    /// Weights are int8, activations are quantized when the model runs.
    Dynamic,
    /// Everything is quantized, with ranges of activations that were measured.
    Static {
        /// The smallest and the largest number of each value, by its name.
        ranges: &'r BTreeMap<String, (f64, f64)>,
    },
    /// Weights only.
    Weights {
        /// INT8 or INT4.
        elem: ElemType,
        /// The number of elements along the reduced axis that share a scale; `None`: all of a channel.
        block: Option<usize>,
    },
}

/// The nodes to quantize, and how.
#[derive(Clone, Copy)]
pub struct Quantize<'q> {
    /// The scheme.
    pub scheme: Scheme<'q>,
    /// Whether each output channel of a weight has a scale of its own.
    pub per_channel: bool,
    /// Whether a node stays as it is.
    pub keep: &'q dyn Fn(NodeId) -> bool,
}

/// Tensors of a weight that was quantized.
#[derive(Clone)]
struct Quantized {
    integers: ValueId,
    scale: ValueId,
    /// The scales as numbers, for a bias.
    scales: Vec<f32>,
}

/// Quantizes nodes of the main body. `kept` gets the nodes that stay as they are, with the reason.
pub fn quantize(model: &mut Model, options: &Quantize<'_>, kept: &mut Vec<(String, String)>) -> Edited {
    let Some(id) = model.main else { return Ok(Report::default()) };
    let version = model.newest_import(id, "").unwrap_or(0);
    let (needed, ir) = needs(options);
    if version < needed {
        let message =
            format!("quantizing like this needs version {needed} of ai.onnx, but the model has {version}");
        let found = Diagnostic::new(&code::WEIGHTS, Place::Nowhere, message);
        return Err(vec![found.help(format!("raise it first: onnxtxt set-opset FILE ai.onnx={needed}"))]);
    }
    if model.header.ir_version.is_some_and(|version| version < ir) {
        upgrade_ir_version(model, ir);
    }
    let constants = constants(model, id);
    let uses = Uses::of(&model.bodies[id]);
    let mut work = Work {
        options,
        cursor: Cursor::new(model, id),
        uses: &uses,
        weights: HashMap::new(),
        activations: HashMap::new(),
        done: HashSet::new(),
        pending: HashSet::new(),
        replaced: HashSet::new(),
        count: 0,
    };
    loop {
        while let Some(node) = work.cursor.next_node() {
            onnx_ops::interrupt::look();
            if let Err(reason) = work.node(node, &constants) {
                kept.push((work.name(node), reason));
            }
        }
        // Ranges are those of the main graph.
        if matches!(options.scheme, Scheme::Static { .. }) || !work.cursor.goto_next_graph() {
            break;
        }
    }
    let (replaced, count) = work.finish();
    let removed = sweep(model, &replaced);
    compact(model);
    let mut report = Report::default();
    report.note(count, "node", "quantized");
    report.note(removed, "float weight", "removed");
    Ok(report)
}

/// The versions of ai.onnx and of the format that the operators need.
fn needs(options: &Quantize<'_>) -> (i64, i64) {
    match options.scheme {
        Scheme::Dynamic => (11, 0),
        Scheme::Weights { elem: ElemType::INT4, .. } => (21, 10),
        Scheme::Weights { block: Some(_), .. } => (21, 0),
        Scheme::Static { .. } | Scheme::Weights { .. } => (if options.per_channel { 13 } else { 10 }, 0),
    }
}

/// Removes weights that nothing reads any more, and says how many.
fn sweep(model: &mut Model, replaced: &HashSet<ValueId>) -> usize {
    let Some(id) = model.main else { return 0 };
    let body = &mut model.bodies[id];
    let uses = Uses::of(body);
    let is_gone =
        |value: ValueId, name| replaced.contains(&value) && uses.is_unused(value) && !uses.is_annotated(name);
    let gone: Vec<ValueId> =
        (body.values.iter()).filter(|(value, v)| is_gone(*value, v.name)).map(|(value, _)| value).collect();
    for &value in &gone {
        match body.values[value].def {
            ValueDef::Initializer(graph) => {
                body.graphs[graph].initializers.retain(|init| init.value != value);
                body.values[value].def = ValueDef::Unbound(graph);
            }
            ValueDef::Output(node, _) => {
                let Some(graph) = uses.graph_of(node) else { continue };
                body.graphs[graph].nodes.retain(|other| *other != node);
                body.values[value].def = ValueDef::Unbound(graph);
            }
            ValueDef::Input(_) | ValueDef::Unbound(_) => {}
        }
    }
    drop_declarations(body);
    gone.len()
}

struct Work<'w> {
    options: &'w Quantize<'w>,
    cursor: Cursor<'w>,
    uses: &'w Uses,
    /// Quantized weights of a graph, by their value.
    weights: HashMap<(GraphId, ValueId, bool), Quantized>,
    /// The values that replace an activation in a graph.
    activations: HashMap<(GraphId, ValueId), [ValueId; 3]>,
    /// Values that are dequantized already.
    done: HashSet<ValueId>,
    /// Results that are quantized after the activation function that reads them.
    pending: HashSet<ValueId>,
    /// Weights that were replaced.
    replaced: HashSet<ValueId>,
    count: usize,
}

impl Work<'_> {
    /// Lists the nodes that were made. Returns the weights that were replaced, and the number of quantized nodes.
    fn finish(self) -> (HashSet<ValueId>, usize) {
        (self.replaced, self.count)
    }

    fn name(&self, node: NodeId) -> String {
        let (model, body) = (self.cursor.model(), self.cursor.body());
        let n = &body.nodes[node];
        let result = n.outputs.iter().flatten().next().map_or("", |v| &model.names[body.values[*v].name]);
        let name = Some(model.text(n.name)).filter(|name| !name.is_empty()).unwrap_or(result);
        format!("{} ({})", name, model.text(n.op))
    }

    /// Quantizes a node, or says why it stays. Nodes without weights just stay.
    fn node(&mut self, node: NodeId, constants: &HashMap<ValueId, Tensor>) -> Result<(), String> {
        let Some(found) = product(self.cursor.model(), self.cursor.body(), node, constants) else {
            self.activation(node);
            return Ok(());
        };
        let found = found?;
        if (self.options.keep)(node) {
            return Err("excluded".to_owned());
        }
        match self.options.scheme {
            Scheme::Dynamic => self.dynamic(&found)?,
            Scheme::Static { ranges } => self.fixed(node, &found, ranges, constants)?,
            Scheme::Weights { elem, block } => self.weights_only(node, &found, elem, block)?,
        }
        self.replaced.insert(found.weight);
        self.count += 1;
        Ok(())
    }

    /// A weight as integers.
    fn weight(
        &mut self,
        found: &Product<'_>,
        elem: ElemType,
        grain: Grain,
        transposes: bool,
    ) -> Result<Quantized, String> {
        let key = (self.cursor.graph(), found.weight, transposes);
        if let Some(known) = self.weights.get(&key) {
            return Ok(known.clone());
        }
        let tensor = if transposes { found.transposed()? } else { found.tensor.clone() };
        let (integers, scale, scales) = narrow(&tensor, elem, grain)?;
        let (model, body) = (self.cursor.model(), self.cursor.body());
        let stem = model.names[body.values[found.weight].name].to_owned();
        let suffix = elem.name().unwrap_or("narrow");
        let quantized = Quantized {
            integers: self.cursor.add_initializer(&format!("{stem}_{suffix}"), integers),
            scale: self.cursor.add_initializer(&format!("{stem}_scale"), scale),
            scales,
        };
        self.weights.insert(key, quantized.clone());
        Ok(quantized)
    }

    fn dynamic(&mut self, found: &Product<'_>) -> Result<(), String> {
        if found.is_convolution {
            return Err("a convolution, which is quantized with --calibrate only".to_owned());
        }
        // MatMulInteger has no transposition, and columns are its channels.
        let transposes = found.channel == 0;
        let grain = if self.options.per_channel { Grain::Channel(1) } else { Grain::Tensor };
        let weight = self.weight(found, ElemType::INT8, grain, transposes)?;
        let key = (self.cursor.graph(), found.input);
        let [x, x_scale, x_zero] = match self.activations.get(&key) {
            Some(known) => *known,
            None => {
                let made = self.cursor.insert_node("DynamicQuantizeLinear").input(found.input).values();
                self.activations.insert(key, made);
                made
            }
        };
        let sums = self.cursor.op("MatMulInteger", [x, weight.integers, x_zero]);
        let floats =
            self.cursor.insert_node("Cast").input(sums).attr("to", i64::from(ElemType::FLOAT.0)).value();
        let scale = self.cursor.op("Mul", [x_scale, weight.scale]);
        let mut y = self.cursor.op("Mul", [floats, scale]);
        if let Some(bias) = found.bias {
            y = self.cursor.op("Add", [y, bias]);
        }
        self.cursor.replace([y]);
        Ok(())
    }

    fn weights_only(
        &mut self,
        node: NodeId,
        found: &Product<'_>,
        elem: ElemType,
        block: Option<usize>,
    ) -> Result<(), String> {
        let reduced = 1 - found.channel.min(1);
        if found.is_convolution && (elem == ElemType::INT4 || block.is_some()) {
            return Err("blocks are of weights of two axes".to_owned());
        }
        let grain = match block {
            Some(size) => Grain::Block { axis: reduced, size },
            None if self.options.per_channel => Grain::Channel(found.channel),
            None => Grain::Tensor,
        };
        let weight = self.weight(found, elem, grain, false)?;
        let value = self.dequantized(&weight, grain);
        self.cursor.body_mut().nodes[node].inputs[1] = Some(value);
        Ok(())
    }

    /// A node that makes floats of a weight.
    fn dequantized(&mut self, weight: &Quantized, grain: Grain) -> ValueId {
        let node = self.cursor.insert_node("DequantizeLinear").inputs([weight.integers, weight.scale]);
        let at = |axis: usize| i64::try_from(axis).unwrap_or(0);
        match grain {
            Grain::Tensor => node.value(),
            Grain::Channel(axis) => node.attr("axis", at(axis)).value(),
            Grain::Block { axis, size } => node.attr("axis", at(axis)).attr("block_size", at(size)).value(),
        }
    }

    fn fixed(
        &mut self,
        node: NodeId,
        found: &Product<'_>,
        ranges: &BTreeMap<String, (f64, f64)>,
        constants: &HashMap<ValueId, Tensor>,
    ) -> Result<(), String> {
        let range = |work: &Self, value: ValueId| {
            let name = &work.cursor.model().names[work.cursor.body().values[value].name];
            ranges.get(name).copied().ok_or_else(|| format!("the range of `{name}` is not known"))
        };
        let output = self.cursor.result(node, 0).ok_or("it has no result")?;
        let (input_range, _) = (range(self, found.input)?, range(self, output)?);
        let grain = if self.options.per_channel { Grain::Channel(found.channel) } else { Grain::Tensor };
        let weight = self.weight(found, ElemType::INT8, grain, false)?;
        let (scale, zero) = uint8(input_range);
        let x = self.quantized(found.input, scale, zero);
        let w = self.dequantized(&weight, grain);
        let bias_value = self.cursor.body().nodes[node].inputs.get(2).copied().flatten();
        let b = match bias_value.and_then(|value| Some((value, constants.get(&value)?))) {
            Some((value, tensor)) if found.has_plain_bias => match bias(tensor, scale, &weight.scales) {
                Some((integers, scale)) => {
                    let stem = self.cursor.model().names[self.cursor.body().values[value].name].to_owned();
                    let integers = self.cursor.add_initializer(&format!("{stem}_int32"), integers);
                    let is_list = scale.dims.len() == 1;
                    let scale = self.cursor.add_initializer(&format!("{stem}_scale"), scale);
                    self.replaced.insert(value);
                    let node = self.cursor.insert_node("DequantizeLinear").inputs([integers, scale]);
                    Some(if is_list { node.attr("axis", 0i64).value() } else { node.value() })
                }
                None => None,
            },
            Some(_) | None => None,
        };
        let inputs = &mut self.cursor.body_mut().nodes[node].inputs;
        (inputs[0], inputs[1]) = (Some(x), Some(w));
        if let (Some(b), Some(slot)) = (b, inputs.get_mut(2)) {
            *slot = Some(b);
        }
        match self.uses.of_value(output) {
            [Use::Input(reader, 0)] if self.is_activation(*reader) => _ = self.pending.insert(output),
            _ => self.requantize(node, output, range(self, output)?),
        }
        Ok(())
    }

    /// Whether a node is an activation function that runtimes compute with the node before it.
    fn is_activation(&self, node: NodeId) -> bool {
        matches!(self.cursor.model().text(self.cursor.body().nodes[node].op), "Relu" | "Clip")
    }

    /// Quantizes the result of an activation function after a quantized node.
    fn activation(&mut self, node: NodeId) {
        let Scheme::Static { ranges } = self.options.scheme else { return };
        let n = &self.cursor.body().nodes[node];
        let (Some(&Some(input)), Some(&Some(output))) = (n.inputs.first(), n.outputs.first()) else { return };
        let name = &self.cursor.model().names[self.cursor.body().values[output].name];
        if let (true, Some(&range)) = (self.pending.contains(&input), ranges.get(name)) {
            self.requantize(node, output, range);
        }
    }

    /// Replaces an activation by integers, and floats made of them.
    fn quantized(&mut self, value: ValueId, scale: f32, zero: u8) -> ValueId {
        if self.done.contains(&value) {
            return value;
        }
        let key = (self.cursor.graph(), value);
        if let Some([known, ..]) = self.activations.get(&key) {
            return *known;
        }
        let [scale, zero] = self.parameters(value, scale, zero);
        let integers = self.cursor.op("QuantizeLinear", [value, scale, zero]);
        let floats = self.cursor.op("DequantizeLinear", [integers, scale, zero]);
        self.activations.insert(key, [floats, scale, zero]);
        floats
    }

    fn parameters(&mut self, value: ValueId, scale: f32, zero: u8) -> [ValueId; 2] {
        let stem = self.cursor.model().names[self.cursor.body().values[value].name].to_owned();
        [
            self.cursor.add_initializer(&format!("{stem}_scale"), Tensor::scalar(scale)),
            self.cursor.add_initializer(&format!("{stem}_zero_point"), Tensor::scalar(zero)),
        ]
    }

    /// Quantizes a result behind its node: what reads it reads the same value, which other nodes compute.
    fn requantize(&mut self, node: NodeId, output: ValueId, range: (f64, f64)) {
        let (scale, zero) = uint8(range);
        let parameters = self.parameters(output, scale, zero);
        let stem = self.cursor.model().names[self.cursor.body().values[output].name].to_owned();
        let [exact, integers, unused] =
            ["float", "uint8", "float"].map(|suffix| self.cursor.fresh_name(&format!("{stem}_{suffix}")));
        let [quantize, dequantize] =
            ["QuantizeLinear", "DequantizeLinear"].map(|op| Some(self.cursor.name(op)));
        let exact = self.cursor.body_mut().values.push(Value { name: exact, def: ValueDef::Output(node, 0) });
        self.cursor.body_mut().nodes[node].outputs[0] = Some(exact);
        let inputs = [Some(exact), Some(parameters[0]), Some(parameters[1])];
        let first =
            self.cursor.insert_after(NodeSpec { op: quantize, ..NodeSpec::default() }, inputs, [integers]);
        let inputs = [self.cursor.result(first, 0), Some(parameters[0]), Some(parameters[1])];
        let second =
            self.cursor.insert_after(NodeSpec { op: dequantize, ..NodeSpec::default() }, inputs, [unused]);
        let graph = self.cursor.graph();
        let body = self.cursor.body_mut();
        if let Some(made) = body.nodes[second].outputs[0].replace(output) {
            body.values[made].def = ValueDef::Unbound(graph);
        }
        body.values[output].def = ValueDef::Output(second, 0);
        self.done.insert(output);
    }
}

/// Scale and zero point of uint8 for a range, which is widened to have 0.
fn uint8((low, high): (f64, f64)) -> (f32, u8) {
    let (low, high) = (low.min(0.0), high.max(0.0));
    let scale = ((high - low) / 255.0) as f32;
    if !scale.is_normal() {
        return (1.0, 0);
    }
    let zero = (-low / f64::from(scale)).round_ties_even().clamp(0.0, 255.0);
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a whole number from 0 to 255"
    )]
    let zero = zero as u8;
    (scale, zero)
}

#[cfg(test)]
mod tests;
