//! Where the operands of boxes come from: wires to boxes, lines for weights and constants.

use super::build::{Builder, Key, Use, ValueSource};
use super::scene::{BoxLine, ItemId, Kind, Mark, ValueIndex, Wire, WireValue};
use crate::distribution::Distribution;
use onnx_exec::Tensor;
use onnx_ir::{BodyId, TensorId, ValueDef};

/// Weights with more elements have no statistics: they take seconds.
const MAX_COUNTED: u64 = 1 << 24;

impl<'m> Builder<'m> {
    pub(super) fn name(&self, key: Key) -> &'m str {
        &self.model.names[self.model.bodies[self.scopes[key.0]].values[key.1].name]
    }

    /// The value that another one stands for.
    pub(super) fn origin(&self, mut key: Key) -> Key {
        // A function that returns its inputs crosswise to itself would never end.
        for _ in 0..1000 {
            match self.sources.get(&key) {
                Some(ValueSource::Alias(next)) => key = *next,
                Some(ValueSource::Item(_) | ValueSource::Weight(..) | ValueSource::Constant(_)) | None => {
                    break;
                }
            }
        }
        key
    }

    /// The index of a value among those that wires carry.
    pub(super) fn value(&mut self, key: Key) -> ValueIndex {
        if let Some(&index) = self.indices.get(&key) {
            return index;
        }
        let value = WireValue { name: self.name(key).to_owned(), ty: self.type_text(key.0, key.1) };
        self.scene.values.push(value);
        self.indices.insert(key, self.scene.values.len() - 1);
        self.scene.values.len() - 1
    }

    /// Makes wires and lines of all uses.
    pub(super) fn resolve(&mut self) {
        for Use { key, to, parameter, mark } in std::mem::take(&mut self.uses) {
            let origin = self.origin(key);
            let name = self.name(origin).to_owned();
            let label = if parameter.is_empty() { name.clone() } else { parameter };
            let line = |text: String| BoxLine { label: label.clone(), text, link: None };
            match self.sources.get(&origin).cloned() {
                Some(ValueSource::Item(from)) => {
                    let value = self.value(origin);
                    self.scene.wires.push(Wire { from, to, value, mark });
                }
                Some(ValueSource::Weight(tensor, text)) => {
                    let numbers = self.numbers(self.scopes[origin.0], tensor);
                    let change = self.changed_weights.get(&name).filter(|_| origin.0 == 0).cloned();
                    let item = &mut self.scene.items[to];
                    item.lines.push(line(text));
                    item.detail.also.push(name.clone());
                    item.detail.weights.extend(numbers.map(|numbers| (name.clone(), numbers)));
                    if let Some(change) = change {
                        item.detail.changes.push(format!("{name}: {change}"));
                        item.mark = if item.mark == Mark::None { Mark::Changed } else { item.mark };
                    }
                }
                Some(ValueSource::Constant(text)) => {
                    let item = &mut self.scene.items[to];
                    item.lines.push(line(text));
                    item.detail.also.push(name);
                }
                Some(ValueSource::Alias(_)) => {}
                None => self.elsewhere(origin, to, mark, line(String::new())),
            }
        }
    }

    /// A use of a value that nothing in the drawing computes.
    fn elsewhere(&mut self, key: Key, to: ItemId, mark: Mark, line: BoxLine) {
        let body = &self.model.bodies[self.scopes[key.0]];
        let kind = match body.values[key.1].def {
            ValueDef::Unbound(_) => None,
            ValueDef::Input(_) => Some(Kind::Input),
            ValueDef::Initializer(_) | ValueDef::Output(..) => Some(Kind::Outside),
        };
        let (Some(kind), 0) = (kind, key.0) else {
            // An undefined name, or an optional input of a function that the call omits.
            let text = if kind.is_none() { "undefined" } else { "not given" }.to_owned();
            self.scene.items[to].lines.push(BoxLine { text, ..line });
            return;
        };
        let from = match self.outside.get(&key) {
            Some(&item) => item,
            None => {
                let ty = self.type_text(key.0, key.1);
                let item = self.pill(0, kind, self.name(key), ty);
                self.outside.insert(key, item);
                item
            }
        };
        let value = self.value(key);
        self.scene.wires.push(Wire { from, to, value, mark });
    }

    fn numbers(&mut self, body: BodyId, id: TensorId) -> Option<Distribution> {
        if !self.statistics {
            return None;
        }
        let tensor = &self.model.bodies[body].tensors[id];
        let counted = self.counted.entry((body, id)).or_insert_with(|| {
            let is_countable = tensor.element_count().is_some_and(|n| n <= MAX_COUNTED);
            let stored = is_countable.then(|| Tensor::stored(tensor).ok()).flatten()?;
            Distribution::of(&stored)
        });
        counted.clone()
    }
}
