//! Metadata: D01 keys are distinct, D02 and D03 keys and values of the model mean something.

use super::context::{Findings, Seen, VerifyContext, index};
use crate::body::{Graph, Port};
use crate::diag::{Diagnostic, Entity, ModelChange, code};
use crate::ids::TensorId;
use crate::tensor::Entry;
use crate::walk::WalkEvent;
use foldhash::HashSet;

/// The keys of MetadataProps.md that describe values denoted `IMAGE`, with their values; both in any case.
const IMAGE: [(&str, &[&str]); 3] = [
    ("Image.BitmapPixelFormat", &["Gray8", "Rgb8", "Bgr8", "Rgba8", "Bgra8"]),
    ("Image.ColorSpaceGamma", &["Linear", "SRGB"]),
    (
        "Image.NominalPixelRange",
        &["NominalRange_0_255", "Normalized_0_1", "Normalized_1_1", "NominalRange_16_235"],
    ),
];

/// The other keys that IR.md defines (Optional Metadata).
const STANDARD: [&str; 2] = ["model_author", "model_license"];

pub(super) fn check(cx: &VerifyContext<'_>, found: &mut Findings) {
    let model = cx.model;
    let mut lists = Lists { cx, found, seen: Seen::new() };
    lists.distinct(&model.header.metadata, |i| Entity::ModelMetadata(index(i)));
    for (f, function) in model.functions.iter() {
        lists.distinct(&function.metadata, |_| Entity::Function(f));
    }
    for view in &cx.bodies {
        for step in view.layout.special() {
            match step {
                WalkEvent::EnterGraph(graph) => lists.graph(view.id, graph, &view.body.graphs[graph]),
                WalkEvent::EnterNode(node) => {
                    let extra = view.body.nodes[node].extra();
                    lists.distinct(&extra.metadata, |_| Entity::Node(view.id, node));
                }
                WalkEvent::LeaveNode(_) | WalkEvent::LeaveGraph(_) => {}
            }
        }
    }
    super::tensors::visit(cx, |at, stored| {
        for tensor in stored.tensors() {
            lists.tensor(at.body, tensor, at.place);
        }
    });
    of_model(cx, found);
}

struct Lists<'s, 'm> {
    cx: &'s VerifyContext<'m>,
    found: &'s mut Findings,
    seen: Seen<u32>,
}

impl Lists<'_, '_> {
    fn distinct(&mut self, entries: &[Entry], place: impl Fn(usize) -> Entity) {
        if entries.len() < 2 {
            return;
        }
        self.seen.clear();
        let is_of_model = matches!(place(0), Entity::ModelMetadata(_));
        let mut before = HashSet::default();
        for (i, entry) in entries.iter().enumerate() {
            let Some(key) = entry.key else { continue };
            let is_same = is_of_model && !before.insert(*entry);
            let Some(first) = self.seen.first(key, index(i)) else { continue };
            let message = format!("metadata key `{}` occurs twice", self.cx.text(key));
            let (here, first) = (place(i), place(first as usize));
            let mut diagnostic = Diagnostic::new(&code::METADATA_REPEATED, here, message);
            if first != here {
                diagnostic = diagnostic.related(first, "the first one");
            }
            if is_same {
                diagnostic = diagnostic.change("remove the second", vec![ModelChange::Remove(here)], true);
            }
            self.found.push(diagnostic);
        }
    }

    fn graph(&mut self, body: crate::BodyId, id: crate::GraphId, graph: &Graph) {
        self.distinct(&graph.metadata, |_| Entity::Graph(body, id));
        let mut ports = |list: &[Port], place: fn(crate::BodyId, crate::GraphId, u32) -> Entity| {
            for (i, port) in list.iter().enumerate() {
                self.distinct(&port.metadata, |_| place(body, id, index(i)));
            }
        };
        ports(&graph.inputs, Entity::Input);
        ports(&graph.outputs, Entity::Output);
        ports(&graph.value_info, Entity::ValueInfo);
    }

    fn tensor(&mut self, body: &crate::Body, tensor: TensorId, place: Entity) {
        self.distinct(&body.tensors[tensor].extra().metadata, |_| place);
    }
}

fn of_model(cx: &VerifyContext<'_>, found: &mut Findings) {
    let metadata = &cx.model.header.metadata;
    for (i, entry) in metadata.iter().enumerate() {
        let place = Entity::ModelMetadata(index(i));
        let key = cx.model.text(entry.key);
        if let Some((key, values)) = IMAGE.iter().find(|(k, _)| k.eq_ignore_ascii_case(key)) {
            let value = cx.model.text(entry.value);
            if !values.iter().any(|v| v.eq_ignore_ascii_case(value)) {
                let help = found.suggest(value, values.len(), values.iter().copied());
                let message = format!("invalid value `{value}` of `{key}`");
                let all = || format!("use one of {}", values.join(", "));
                found.push(
                    Diagnostic::new(&code::IMAGE_METADATA, place, message).help(help.unwrap_or_else(all)),
                );
            }
        } else if !key.contains('.') && !STANDARD.contains(&key) {
            let message = format!("metadata key `{key}` has no prefix");
            found.push(
                Diagnostic::new(&code::METADATA_UNQUALIFIED, place, message)
                    .help("begin the key with a reverse-DNS name"),
            );
        }
    }
    let Some(main) = cx.main() else { return };
    let Some(root) = main.body.root() else { return };
    let graph = &main.body.graphs[root];
    let ports = graph.inputs.iter().enumerate().map(|(i, p)| (Entity::Input(main.id, root, index(i)), p));
    let ports = ports
        .chain(graph.outputs.iter().enumerate().map(|(i, p)| (Entity::Output(main.id, root, index(i)), p)));
    let image = ports.into_iter().find(|(_, p)| {
        let denotation = p.ty.and_then(|t| cx.model.types[t].denotation);
        denotation.is_some_and(|d| cx.text(d) == "IMAGE")
    });
    let Some((place, port)) = image else { return };
    for (key, _) in IMAGE {
        if !metadata.iter().any(|e| cx.model.text(e.key).eq_ignore_ascii_case(key)) {
            let name = cx.model.text(port.name);
            let message = format!("`{name}` is an image, but the model has no `{key}`");
            found.push(Diagnostic::new(&code::IMAGE_METADATA, place, message));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;
    use crate::Model;
    use crate::diag::Level;
    use crate::types::Type;

    fn entry(model: &mut Model, key: &str, value: &str) -> Entry {
        Entry { key: Some(model.names.intern(key)), value: Some(model.names.intern(value)) }
    }

    #[test]
    fn keys_are_distinct_in_every_list() {
        let mut model = relu();
        let (a, b) = (entry(&mut model, "k", "1"), entry(&mut model, "k", "2"));
        model.header.metadata = vec![a, b];
        let body = main(&mut model);
        only(&mut body.graphs).metadata = vec![a, b];
        only(&mut body.graphs).inputs[0].metadata = vec![a, b];
        only(&mut body.nodes).extra_mut().metadata = vec![a, b];
        assert_eq!(findings(&model), ["E0321 metadata key `k` occurs twice"; 4]);
    }

    #[test]
    fn values_of_image_keys_are_listed() {
        let mut model = relu();
        model.header.metadata = vec![
            entry(&mut model, "Image.BitmapPixelFormat", "Purple"),
            entry(&mut model, "image.colorspacegamma", "srgb"),
            entry(&mut model, "mykey", "1"),
        ];
        let expected = "W0323 invalid value `Purple` of `Image.BitmapPixelFormat`";
        assert_eq!(findings(&model), [expected]);
        assert!(
            at_level(&model, Level::Strict).contains(&"W0322 metadata key `mykey` has no prefix".to_owned())
        );
    }

    #[test]
    fn an_image_comes_with_its_metadata() {
        let mut model = relu();
        let image = model.names.intern("IMAGE");
        let ty = only(&mut main(&mut model).graphs).inputs[0].ty.expect("a type");
        let kind = model.types[ty].kind.clone();
        let ty = model.types.intern(Type { kind, denotation: Some(image) });
        only(&mut main(&mut model).graphs).inputs[0].ty = Some(ty);
        assert_eq!(findings(&model).len(), 3);
    }
}
