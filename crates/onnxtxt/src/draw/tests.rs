//! Drawings of small models, and of broken ones.

use super::scene::{Kind, Mark, Reason};
use super::*;
use crate::diff;
use onnx_ops::opset::registry_of;

const HEAD: &str = "<ir_version: 10, opset_import: [\"\": 21, \"l\": 1]>\n";

fn model(text: &str) -> Model {
    onnx_text::read_model(&(HEAD.to_owned() + text)).value
}

fn drawn(text: &str) -> Drawing {
    let model = model(text);
    draw(&model, registry_of(&model), &Options { title: "m".into(), ..Options::default() })
}

/// The titles of boxes, with their lines.
fn boxes(drawing: &Drawing) -> Vec<String> {
    let lines = |item: &scene::Item| {
        boxes::lines(item).iter().map(|(label, text)| format!(" | {label} {text}")).collect::<String>()
    };
    drawing.scene.items.iter().map(|item| item.title.clone() + &lines(item)).collect()
}

fn wires(drawing: &Drawing) -> Vec<String> {
    let title = |item: usize| &drawing.scene.items[item].title;
    drawing.scene.wires.iter().map(|wire| format!("{} → {}", title(wire.from), title(wire.to))).collect()
}

#[test]
fn weights_and_constants_are_lines() {
    let drawing = drawn(
        "g (float[N,2] x) => (float[N,3] y) <float[2,3] w = {1,2,3,4,5,6}> {
            s = Constant <value = int64[2] {0, -1}> ()
            t = MatMul(x, w) y = Reshape(t, s) }",
    );
    assert_eq!(
        boxes(&drawing),
        ["x |  float[N,2]", "MatMul | B float[2,3]", "Reshape | shape int64[2] {0, -1}", "y |  float[N,3]"]
    );
    assert_eq!(wires(&drawing), ["x → MatMul", "MatMul → Reshape", "Reshape → y"]);
}

#[test]
fn functions_and_nested_graphs_are_groups() {
    let drawing = drawn(
        "g (bool c, float[N] x) => (float[N] y) {
            a = l.Twice(x)
            y = If(c) <then_branch = t () => (p) { p = Abs(a) }, else_branch = e () => (q) { q = Neg(a) }> }
        <domain: \"l\", opset_import: [\"\": 21]> Twice (i) => (o) { o = Add(i, i) }",
    );
    let reasons: Vec<Reason> = drawing.scene.groups.iter().map(|group| group.reason).collect();
    assert_eq!(
        reasons,
        [Reason::Root, Reason::Function, Reason::Subgraph, Reason::Subgraph, Reason::Subgraph]
    );
    let wires = wires(&drawing);
    for wire in ["x → Add", "Add → Abs", "Add → Neg", "c → If", "Abs → p", "If → y"] {
        assert!(wires.iter().any(|other| other == wire), "{wire}: {wires:?}");
    }
}

#[test]
fn names_and_repetitions_are_groups() {
    let node = |layer: usize, op: &str, from: &str, to: &str| {
        format!("[\"/layer.{layer}/{op}\"] {to} = {op}({from})\n")
    };
    let mut text = String::from("g (float[N] x) => (float[N] t5c) {\n");
    let mut last = "x".to_owned();
    for layer in 0..6 {
        for (op, letter) in [("Abs", "a"), ("Neg", "b"), ("Exp", "c")] {
            let to = format!("t{layer}{letter}");
            text += &node(layer, op, &last, &to);
            last = to;
        }
    }
    let named = drawn(&(text.clone() + "}"));
    let titles: Vec<&str> =
        named.scene.items.iter().filter(|i| i.group().is_some()).map(|i| &*i.title).collect();
    assert_eq!(titles, ["layer.0", "layer.1", "layer.2", "layer.3", "layer.4", "layer.5"]);

    let mut text = String::from("g (float[N] x) => (float[N] t9c) {\n");
    let mut last = "x".to_owned();
    for layer in 0..10 {
        for (op, letter) in [("Abs", "a"), ("Neg", "b"), ("Exp", "c")] {
            text += &format!("t{layer}{letter} = {op}({last})\n");
            last = format!("t{layer}{letter}");
        }
    }
    let plain = drawn(&(text + "}"));
    let groups: Vec<&str> =
        plain.scene.items.iter().filter(|i| i.group().is_some()).map(|i| &*i.title).collect();
    // The first block reads an input, so the pattern begins after its first node.
    assert_eq!((groups.len(), groups[0]), (9, "block 1 of 9"));
}

#[test]
fn groups_that_values_leave_and_enter_again_are_dissolved() {
    let drawing = drawn(
        "g (float[N] x) => (float[N] y) {
            [\"/a/p\"] p = Abs(x) [\"/b/q\"] q = Neg(p) [\"/a/r\"] r = Exp(q) [\"/a/s\"] s = Sin(r)
            [\"/b/t\"] t = Cos(s) [\"/b/u\"] u = Tan(t) y = Sqrt(u) }",
    );
    assert_eq!(
        drawing.scene.items.iter().filter(|item| item.group().is_some() && item.parent == 0).count(),
        2
    );
    let links = links::of_all(&drawing.scene);
    assert!(cycles::cycles(&drawing.scene.groups[0].members, &links[0]).is_empty());
}

#[test]
fn broken_models_have_drawings() {
    for text in [
        "g () => () {}",
        "g (float[N] x) => (float[N] y) { }",
        "g (float[N] x) => (float[N] y) { y = Relu(nothing) }",
        "g (float[N] x) => (float[N] y) { a = Relu(b) b = Relu(a) c = Relu(c) y = Add(a, x) }",
        "g (float[N] x) => (float[N] y) { y = l.F(x) } <domain: \"l\", opset_import: [\"l\": 1]> F (i) => (o) { o = l.F(i) }",
        "g (float[N] x) => (float[N] x) { y = Unknown(,x,) }",
    ] {
        let drawing = drawn(text);
        assert!(drawing.svg().ends_with("</svg>\n"), "{text}");
        assert!(drawing.html().contains("application/json"), "{text}");
        assert!(drawing.dot().ends_with("}\n") && drawing.mermaid().starts_with("flowchart TB\n"), "{text}");
    }
    let nothing = draw(&Model::new(), onnx_ops::schema::Registry::builtin(), &Options::default());
    assert!(nothing.is_empty() && nothing.svg().ends_with("</svg>\n"));
}

#[test]
fn boxes_do_not_overlap_and_wires_cross_none() {
    let mut text = String::from("g (float[N] x) => (float[N] y) {\n  v0 = Abs(x)\n");
    let mut seed = 7_usize;
    for index in 1..60 {
        seed = seed.wrapping_mul(1_103_515_245).wrapping_add(12_345) % (1 << 31);
        let (a, b) = ((seed >> 8) % index, (seed >> 16) % index);
        text += &format!("  [\"/b{}/n{index}\"] v{index} = Add(v{a}, v{b})\n", index / 6);
    }
    let drawing = drawn(&(text + "  y = Abs(v59) }"));
    let scene = &drawing.scene;
    let mut placed = vec![None; scene.groups.len()];
    for group in scene.groups_inside_out() {
        placed[group] = Some(stack::place(scene, &drawing.layers[group], &placed, group));
    }
    for inside in placed.iter().flatten() {
        for (at, (_, [x, y, w, h])) in inside.boxes.iter().enumerate() {
            assert!(*x >= 0.0 && *y >= 0.0 && x + w <= inside.width && y + h <= inside.height);
            for (_, [x2, y2, w2, h2]) in &inside.boxes[at + 1..] {
                assert!(x + w <= *x2 || x2 + w2 <= *x || y + h <= *y2 || y2 + h2 <= *y);
            }
            for path in &inside.paths {
                let strictly =
                    |[px, py]: &[f64; 2]| px > x && *px < x + w && *py > y + 0.1 && *py < y + h - 0.1;
                assert!(!path.points.iter().any(strictly), "{:?}", path.points);
            }
        }
    }
}

#[test]
fn what_a_layout_has_no_time_for_is_simpler() {
    // Every node reads many before it: most wires become lines.
    let mut dense = String::from("g (float[N] x) => (float[N] v199) {\n  v0 = Abs(x)\n");
    for index in 1..200_usize {
        let operands: Vec<String> = (index.saturating_sub(40)..index).map(|at| format!("v{at}")).collect();
        dense += &format!("  v{index} = Max({})\n", operands.join(", "));
    }
    let drawing = drawn(&(dense + "}"));
    assert!(drawing.layers.iter().all(|layers| layers.links.len() <= 1_200));
    let slots = |layers: &Layers| layers.ranks.iter().map(Vec::len).sum::<usize>();
    assert!(drawing.layers.iter().map(slots).sum::<usize>() < 4_000);
    assert!(drawing.svg().contains("← v"));

    // More inputs than the library lays out in time: rows of boxes.
    let names: Vec<String> = (0..900).map(|at| format!("x{at}")).collect();
    let inputs: Vec<String> = names.iter().map(|name| format!("float[N] {name}")).collect();
    let wide =
        drawn(&format!("g ({}) => (float[N] y) {{ y = Sum({}) }}", inputs.join(", "), names.join(", ")));
    assert!(wide.layers[0].ranks.iter().all(|rank| rank.len() <= 24) && wide.len() == 902);
    assert!(wide.svg().ends_with("</svg>\n"));
}

#[test]
fn a_drawing_is_the_same_each_time() {
    let text =
        "g (float[N] x) => (float[N] y) { a = Abs(x) b = Neg(x) c = Add(a, b) d = Mul(a, c) y = Sub(d, b) }";
    let (first, second) = (drawn(text), drawn(text));
    assert_eq!(first.svg(), second.svg());
    assert_eq!(first.html(), second.html());
}

#[test]
fn differences_are_marked() {
    let old = model(
        "g (float[N] x) => (float[N] y) <float[1] w = {1}> { t = Mul(x, w) h = Exp(t) y = LeakyRelu <alpha = 0.1> (h) }",
    );
    let new = model(
        "g (float[N] x) => (float[N] y) <float[1] w = {2}> { t = Mul(x, w) k = Abs(t) y = LeakyRelu <alpha = 0.2> (k) }",
    );
    let found = diff::diff(&old, &new, &diff::Options::default());
    let registries = [registry_of(&old), registry_of(&new)];
    let drawing = draw_diff([&old, &new], registries, &found, &Options::default());
    let mark =
        |title: &str| drawing.scene.items.iter().find(|item| item.title == title).map(|item| item.mark);
    assert_eq!(
        ["x", "Mul", "Abs", "Exp", "LeakyRelu"].map(mark),
        [Mark::None, Mark::Changed, Mark::Added, Mark::Removed, Mark::Changed].map(Some)
    );
    let wires: Vec<(String, Mark)> =
        wires(&drawing).into_iter().zip(drawing.scene.wires.iter().map(|w| w.mark)).collect();
    for wire in [
        ("Mul → Abs", Mark::Added),
        ("Mul → Exp", Mark::Removed),
        ("Exp → LeakyRelu", Mark::Removed),
        ("Abs → LeakyRelu", Mark::Added),
        ("x → Mul", Mark::None),
    ] {
        assert!(wires.contains(&(wire.0.to_owned(), wire.1)), "{wire:?}: {wires:?}");
    }
    assert_eq!(drawing.scene.items.iter().filter(|item| item.kind == Kind::Input).count(), 1);
}
