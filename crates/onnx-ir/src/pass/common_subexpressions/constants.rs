//! Merges equal initializers.

use super::same::{hash_ends, hash_tensor, hold_the_same};
use super::{Map, Merger};
use crate::body::ValueDef;
use crate::ids::{GraphId, TensorId, ValueId};
use foldhash::fast::RandomState;
use std::hash::{BuildHasher as _, Hasher as _};

/// An initializer that can be merged.
#[derive(Clone, Copy)]
struct Constant {
    value: ValueId,
    tensor: TensorId,
    graph: GraphId,
}

/// Equal initializers, the first of each graph.
struct Class {
    tensor: TensorId,
    first: Map<GraphId, ValueId>,
}

impl Merger<'_> {
    /// Merges equal initializers, if one is visible wherever the other is. The default of an input is not constant.
    pub(super) fn constants(&mut self) -> usize {
        let hasher = RandomState::default();
        let mut all: Vec<(Constant, u64)> = Vec::new();
        let mut counts: Map<u64, usize> = Map::default();
        let body = self.cursor.body();
        for &(graph, _) in &self.around {
            for initializer in &body.graphs[graph].initializers {
                let (value, tensor) = (initializer.value, initializer.tensor);
                if !matches!(body.values[value].def, ValueDef::Initializer(_)) || !self.is_free(value) {
                    continue;
                }
                let mut state = hasher.build_hasher();
                hash_ends(&body.tensors[tensor], &mut state);
                let key = state.finish();
                *counts.entry(key).or_default() += 1;
                all.push((Constant { value, tensor, graph }, key));
            }
        }
        all.retain(|(_, key)| counts[key] > 1);

        let around: Map<GraphId, Option<GraphId>> = self.around.iter().copied().collect();
        let mut classes: Map<u64, Vec<Class>> = Map::default();
        let before = self.became.len();
        for (constant, _) in all {
            let body = self.cursor.body();
            let tensor = &body.tensors[constant.tensor];
            let mut state = hasher.build_hasher();
            hash_tensor(tensor, &mut state);
            let found = classes.entry(state.finish()).or_default();
            let at = found.iter().position(|class| hold_the_same(&body.tensors[class.tensor], tensor));
            let class = match at {
                Some(at) => &mut found[at],
                None => found.push_mut(Class { tensor: constant.tensor, first: Map::default() }),
            };
            let mut visible = Some(constant.graph);
            let first = loop {
                let Some(graph) = visible else { break None };
                match class.first.get(&graph) {
                    Some(&first) => break Some(first),
                    None => visible = around.get(&graph).copied().flatten(),
                }
            };
            match first {
                Some(first) => _ = self.replace(constant.value, first),
                None => _ = class.first.insert(constant.graph, constant.value),
            }
        }
        self.became.len() - before
    }
}
