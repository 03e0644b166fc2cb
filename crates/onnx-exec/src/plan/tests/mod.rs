//! The stages of planning, each alone: formulas written as text, and what the stage makes of them. No model is needed.
//!
//! ```text
//! reads float[2,3] x                          a value that exists before the plan runs
//! constant float[3] b = {1.0, 2.0, 3.0}       elements may be left out
//! alias float[6] v of x                       the same elements in the same order
//! float[2,3] y[i0, i1] = x[i0, i1] + b[i1]
//! node int64[2,3] n = NonZero(y)              a node that runs outside kernels
//! publishes y                                 values that are read outside the plan
//! ```

mod check;
mod constants;
mod fuse;
mod group;
mod layout;
mod order;
mod place;
mod precision;
mod split;

use super::text::{PlanReader, names};
use super::{
    Assignment, Names, NodeStep, PackedConstants, Packing, Partition, PartitionItem, PlanContext, PlanStep,
    Recorder, Refusals, Slot, SlotSource, SlotStorage,
};
use crate::tensor::Tensor;
use foldhash::HashMap;
use onnx_formula::{Elements as _, Number, Reader, line};
use onnx_ir::{ElemType, GraphId, NodeId, PrimaryMap, ValueId};
use smallvec::smallvec;

/// A partition that is written as text.
#[derive(Default)]
struct Written {
    partition: Partition,
    table: Table,
    /// The slot of each name.
    slots: HashMap<String, usize>,
}

/// The names of values, and the operators of nodes: each formula is a node.
#[derive(Default)]
struct Table {
    values: PrimaryMap<ValueId, String>,
    ops: PrimaryMap<NodeId, String>,
}

impl Names for Table {
    fn value(&self, value: ValueId) -> &str {
        &self.values[value]
    }

    fn op(&self, node: NodeId) -> &str {
        &self.ops[node]
    }
}

impl Written {
    fn read(text: &str) -> Written {
        let mut written = Written::default();
        let mut reader = Reader::new(text).unwrap();
        while !reader.is_at_end() && reader.peek() != "kernel" {
            written.declaration(&mut reader);
        }
        written.partition.end = written.partition.items.len();
        written
    }

    fn declaration(&mut self, reader: &mut Reader<'_>) {
        match reader.peek() {
            "reads" => {
                reader.skip();
                let (ty, name) = (reader.ty().unwrap(), reader.name().unwrap());
                let value = self.value(&name);
                self.slot(&name, ty, SlotSource::Value(value));
            }
            "constant" => {
                reader.skip();
                let ((elem, dims), name) = (reader.ty().unwrap(), reader.name().unwrap());
                let tensor = constant(elem, &dims, reader);
                self.slot(&name, (elem, dims), SlotSource::Constant(tensor));
            }
            "alias" => {
                reader.skip();
                let (ty, name) = (reader.ty().unwrap(), reader.name().unwrap());
                reader.expect("of").unwrap();
                let of = self.slots[&reader.name().unwrap()];
                self.slot(&name, ty, SlotSource::Alias(of));
            }
            "node" => self.node(reader),
            "publishes" => {
                reader.skip();
                while self.slots.contains_key(reader.peek()) {
                    let name = reader.name().unwrap();
                    let (value, slot) = (self.value(&name), self.slots[&name]);
                    self.partition.published.push((value, slot));
                    reader.eat(",");
                }
            }
            _ => {
                let slots = &self.slots;
                let (name, formula) = reader.formula(&mut |name| slots.get(name).copied()).unwrap();
                let slot = self.slot(&name, (formula.elem, formula.dims.clone()), SlotSource::Formula);
                let node = self.table.ops.push(name);
                let assignment = Assignment { slot, formula, nodes: smallvec![node] };
                self.partition.items.push(PartitionItem::Formula(Box::new(assignment)));
            }
        }
    }

    fn node(&mut self, reader: &mut Reader<'_>) {
        reader.expect("node").unwrap();
        let (ty, name) = (reader.ty().unwrap(), reader.name().unwrap());
        reader.expect("=").unwrap();
        let op = reader.name().unwrap();
        reader.expect("(").unwrap();
        let mut reads = smallvec![];
        while !reader.eat(")") {
            let name = reader.name().unwrap();
            let (value, slot) = (self.value(&name), self.slots[&name]);
            reads.push(value);
            if matches!(self.partition.slots[slot].source, SlotSource::Formula) {
                self.partition.published.push((value, slot));
            }
            reader.eat(",");
        }
        let result = self.value(&name);
        self.slot(&name, ty, SlotSource::Value(result));
        let node = self.table.ops.push(op);
        let step = NodeStep { node, reads, results: smallvec![result] };
        self.partition.items.push(PartitionItem::Node(Box::new(step)));
    }

    /// The value of a name.
    fn value(&mut self, name: &str) -> ValueId {
        let found = self.table.values.iter().find(|(_, of)| *of == name).map(|(value, _)| value);
        found.unwrap_or_else(|| self.table.values.push(name.to_owned()))
    }

    fn slot(&mut self, name: &str, (elem, dims): (ElemType, Vec<usize>), source: SlotSource) -> usize {
        let slot = self.partition.slots.len();
        self.partition.slots.push(Slot::new(elem, dims, source));
        let value = self.value(name);
        self.partition.named.push((value, slot));
        assert_eq!(self.slots.insert(name.to_owned(), slot), None, "`{name}` is written twice");
        slot
    }

    /// The formulas and nodes now, after the constants that were computed and the aliases that were found.
    fn text(&self) -> String {
        let names = self.names();
        let mut text = String::new();
        for (slot, formula) in &self.partition.folded {
            let line = line(formula, &names[*slot], &|operand| names[operand].clone());
            let SlotSource::Constant(tensor) = &self.partition.slots[*slot].source else { panic!("{line}") };
            let shown = |at: usize| match tensor.number(at) {
                Some(Number::Float(x)) => format!("{:?}", x as f32),
                Some(Number::Int(n)) => n.to_string(),
                None => "?".to_owned(),
            };
            let elements: Vec<String> = (0..tensor.len().min(4)).map(shown).collect();
            text += &format!("constant {line} = {{{}}}\n", elements.join(", "));
        }
        for (at, slot) in self.partition.slots.iter().enumerate() {
            if let SlotSource::Alias(of) = slot.source {
                text += &format!("alias {} {} of {}\n", slot.ty(), names[at], names[of]);
            }
        }
        let graph = PrimaryMap::<GraphId, ()>::default().push(());
        let all = self.partition.text(graph, &self.table);
        text + all.split_once('\n').unwrap().1
    }

    /// The reasons why formulas were not fused.
    fn refused(&self, refusals: &Refusals) -> String {
        let names = self.names();
        let mut lines: Vec<String> = Vec::new();
        for (consumer, refused) in refusals {
            for it in refused {
                lines.push(format!("{} apart from {}: {}\n", names[*consumer], names[it.producer], it.why));
            }
        }
        lines.sort_unstable();
        lines.concat()
    }

    fn names(&self) -> Vec<String> {
        names(&self.partition.slots, &self.partition.named, &self.table)
    }

    /// The kernels and nodes, one per line.
    fn steps(&self, steps: &[PlanStep]) -> String {
        let names = self.names();
        let mut text = String::new();
        for step in steps {
            text += &match step {
                PlanStep::Kernel(kernel) => {
                    let member = |member: &super::Member| {
                        let name = &names[member.assignment.slot];
                        if member.is_local { format!("({name})") } else { name.clone() }
                    };
                    let members: Vec<String> = kernel.members.iter().map(member).collect();
                    let rows = match members.len() {
                        1 => String::new(),
                        _ => format!(" of {} rows, {} at a time", kernel.rows, kernel.block),
                    };
                    format!("kernel{rows}: {}\n", members.join(", "))
                }
                PlanStep::Node(step) => format!("node {}\n", self.table.op(step.node)),
                PlanStep::Publish(value, _) => format!("publish {}\n", self.table.value(*value)),
                PlanStep::Release(values, slots) => {
                    let values = values.iter().map(|value| self.table.value(*value).to_owned());
                    let slots = slots.iter().map(|slot| format!("memory of {}", names[*slot]));
                    let all: Vec<String> = values.chain(slots).collect();
                    format!("release {}\n", all.join(", "))
                }
            };
        }
        text
    }
}

/// The kernels of a schedule text, after the declarations of what they read.
fn kernels(text: &str) -> (Written, Vec<PlanStep>, Vec<SlotStorage>) {
    let at = text.find("kernel").expect("the text has a kernel");
    let (declarations, kernels) = text.split_at(at);
    let (kernels, published) = kernels.split_once("publishes").unwrap_or((kernels, ""));
    let Written { partition, table, .. } = Written::read(declarations);
    let packed = PackedConstants::default();
    let steps = {
        let context = PlanContext {
            names: &table,
            graph: PrimaryMap::<GraphId, ()>::default().push(()),
            nodes: &[],
            recorder: &Recorder::default(),
            packing: Packing { packed: &packed, is_exact: true, store: None, release: None },
        };
        PlanReader::new(kernels, partition, &context).and_then(PlanReader::steps)
    };
    let (partition, slots, steps, places) = steps.unwrap_or_else(|wrong| panic!("{wrong:?} in {kernels}"));
    let mut written = Written { partition, table, slots };
    // Results have names of values.
    let mut named: Vec<(String, usize)> =
        written.slots.iter().map(|(name, slot)| (name.clone(), *slot)).collect();
    named.sort_unstable_by_key(|(_, slot)| *slot);
    written.partition.named.clear();
    for (name, slot) in named {
        let value = written.value(&name);
        written.partition.named.push((value, slot));
    }
    written.declaration(&mut Reader::new(&format!("publishes {published}")).unwrap());
    (written, steps, places)
}

/// A constant with the elements that follow, or with made-up ones.
fn constant(elem: ElemType, dims: &[usize], reader: &mut Reader<'_>) -> Tensor {
    let count = dims.iter().product();
    let mut numbers: Vec<f32> = Vec::new();
    if reader.eat("=") {
        reader.expect("{").unwrap();
        while !reader.eat("}") {
            numbers.push(match reader.number().unwrap() {
                Number::Int(n) => n as f32,
                Number::Float(x) => x as f32,
            });
            reader.eat(",");
        }
    } else {
        numbers.extend((0..count).map(|i| (1 + i % 7) as f32));
    }
    assert_eq!(numbers.len(), count);
    match elem {
        ElemType::FLOAT => Tensor::of(dims, &numbers),
        ElemType::INT64 => Tensor::of(dims, &numbers.iter().map(|x| *x as i64).collect::<Vec<_>>()),
        ElemType::UINT8 => Tensor::of(dims, &numbers.iter().map(|x| *x as u8).collect::<Vec<_>>()),
        other => panic!("constants of {other:?} are not needed yet"),
    }
    .unwrap()
}

/// Compares texts line by line, without indentation.
fn assert_lines(what: &str, found: &str, expected: &str) {
    let lines = |text: &str| {
        text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
    };
    let (found, expected) = (lines(found), lines(expected));
    assert_eq!(found, expected, "{what}:\n{found}\nexpected:\n{expected}\n");
}
