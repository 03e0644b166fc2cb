//! Documentation and metadata of nodes that are replaced. Exporters keep the source line of a node there.
//!
//! ```text
//! several nodes become one:                                        one node becomes several:
//! before:  ## the first   #@ metadata_props: ["scope": "a"]        before:  ## the call  #@ metadata_props: ["scope": "a", "by": "c"]
//!          ## the second  #@ metadata_props: ["scope": "b"]        after:   ## the call  #@ metadata_props: ["scope": "a\nb", "by": "c"]
//! after:   ## the first\nthe second                                         #@ metadata_props: ["scope": "d", "by": "c"]
//!          #@ metadata_props: ["scope": "a\nb"]
//! ```
//!
//! Different texts follow each other in lines of their own; equal ones are written once.

use crate::body::{Node, NodeExtra};
use crate::entity::PrimaryMap;
use crate::ids::NodeId;
use crate::names::{Name, Names};
use crate::tensor::Entry;
use std::collections::{HashMap, HashSet};

/// The documentation and metadata of one node in place of several: those of all, in order.
pub fn joined_notes<'e>(
    names: &mut Names,
    extras: impl Iterator<Item = &'e NodeExtra> + Clone,
) -> (Option<Name>, Vec<Entry>) {
    let doc = joined(names, extras.clone().filter_map(|extra| extra.doc));
    (doc, metadata(names, extras.flat_map(|extra| &extra.metadata)))
}

/// Passes the documentation and metadata of a node on to the nodes in its place. The first has everything; the others have the
/// metadata whose keys they lack, so that the texts do not multiply.
pub fn pass_on_notes(
    names: &mut Names,
    nodes: &mut PrimaryMap<NodeId, Node>,
    extra: &NodeExtra,
    made: &[NodeId],
) {
    let Some((&first, others)) = made.split_first() else { return };
    if extra.doc.is_none() && extra.metadata.is_empty() {
        return;
    }
    let (doc, metadata) = joined_notes(names, [extra, nodes[first].extra()].into_iter());
    let own = nodes[first].extra_mut();
    (own.doc, own.metadata) = (doc, metadata);
    for &node in others.iter().filter(|_| !extra.metadata.is_empty()) {
        let own = &mut nodes[node].extra_mut().metadata;
        let lacks = |entry: &&Entry| own.iter().all(|known| known.key != entry.key);
        let more: Vec<Entry> = extra.metadata.iter().filter(lacks).copied().collect();
        own.extend(more);
    }
}

/// The entries of all nodes; the values of one key are joined.
fn metadata<'e>(names: &mut Names, entries: impl Iterator<Item = &'e Entry>) -> Vec<Entry> {
    let mut keys: Vec<Option<Name>> = Vec::new();
    let mut values: HashMap<Option<Name>, Vec<Name>> = HashMap::new();
    for entry in entries {
        let known = values.entry(entry.key).or_insert_with(|| {
            keys.push(entry.key);
            Vec::new()
        });
        known.extend(entry.value);
    }
    keys.into_iter().map(|key| Entry { key, value: joined(names, values[&key].iter().copied()) }).collect()
}

/// Texts in lines of their own, each different one once.
fn joined(names: &mut Names, texts: impl Iterator<Item = Name>) -> Option<Name> {
    let mut seen = HashSet::new();
    let texts: Vec<Name> = texts.filter(|text| seen.insert(*text)).collect();
    if texts.len() < 2 {
        return texts.first().copied();
    }
    let parts: Vec<&[u8]> =
        texts.iter().map(|text| names.bytes(*text)).filter(|bytes| !bytes.is_empty()).collect();
    let text = parts.join(&b'\n');
    Some(names.intern_bytes(&text))
}
