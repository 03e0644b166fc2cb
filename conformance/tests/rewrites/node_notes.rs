//! Names and notes of nodes: names stay distinct in each graph, whatever pass moves or copies nodes, and a fused node keeps the
//! documentation and metadata of all that it computes.

use conformance::texts::small_texts;
use onnx_ir::pass::join_training;
use onnx_ir::{Entry, Model, Name, Node};
use onnx_ops::opset::registry_of;
use onnx_ops::pass::fuse::fuse_all;
use onnx_ops::pass::{Pass, simplify};
use onnx_text::read_model;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs;
use std::path::PathBuf;

const TAG: &str = "test.node";

/// Small models without errors of the specification.
fn models() -> Vec<(PathBuf, Model)> {
    let models = small_texts().into_iter().filter_map(|path| {
        let read = read_model(&fs::read_to_string(&path).ok()?);
        (!read.has_errors() && read.value.main.is_some()).then_some((path, read.value))
    });
    models.collect()
}

/// Names the nodes of each graph `n0`, `n1` and so on, the same in every graph, and notes a key of its own at each.
fn mark(model: &mut Model) {
    let mut count = 0;
    for id in model.bodies.ids().collect::<Vec<_>>() {
        for graph in model.bodies[id].walk().graphs().collect::<Vec<_>>() {
            for (at, node) in model.bodies[id].graphs[graph].nodes.clone().into_iter().enumerate() {
                let (name, key) = (format!("n{at}"), format!("{TAG}.{count}"));
                let [name, key] = [name, key].map(|text| Some(model.names.intern(&text)));
                let node = &mut model.bodies[id].nodes[node];
                node.name = name;
                node.extra_mut().metadata.push(Entry { key, value: name });
                count += 1;
            }
        }
    }
}

/// The names that two nodes of a graph have.
fn repeated(model: &Model) -> Vec<String> {
    let mut repeated = Vec::new();
    for body in model.bodies.values().filter(|body| body.root().is_some()) {
        for graph in body.walk().graphs() {
            let mut seen: HashSet<Name> = HashSet::new();
            let names = body.graphs[graph].nodes.iter().filter_map(|&node| body.nodes[node].name);
            let again = names.filter(|name| !name.is_empty() && !seen.insert(*name));
            repeated.extend(again.map(|name| model.names[name].to_owned()));
        }
    }
    repeated
}

/// Whether passes can move or copy nodes: between graphs, from a function, or into a derivative.
fn has_places_to_move(model: &Model) -> bool {
    let bodies = || model.bodies.values().filter(|body| body.root().is_some());
    let nodes = || bodies().flat_map(|body| body.nodes.values());
    bodies().map(|body| body.graphs.len()).sum::<usize>() > 1
        || nodes().any(|node| model.text(node.op) == "Gradient")
}

/// The keys of all nodes.
fn keys(model: &Model) -> BTreeSet<&str> {
    let bodies = model.bodies.values().filter(|body| body.root().is_some());
    let entries =
        bodies.flat_map(|body| body.walk().nodes().flat_map(|node| &body.nodes[node].extra().metadata));
    entries.map(|entry| model.text(entry.key)).filter(|key| key.starts_with(TAG)).collect()
}

#[test]
fn passes_keep_the_names_of_nodes_distinct() {
    let mut passes: Vec<Pass> = onnx_ops::pass::all().collect();
    passes.extend([7, 13, 21, 28].map(|n| Pass::parse(&format!("convert-opset={n}")).expect("a pass")));
    let (mut wrong, mut changed) = (Vec::new(), BTreeMap::<&str, usize>::new());
    let mut judge = |path: &PathBuf, what: &'static str, model: &Model| {
        *changed.entry(what).or_default() += 1;
        let repeated = repeated(model);
        if !repeated.is_empty() {
            wrong.push(format!("{}, {what}: {repeated:?}", path.display()));
        }
    };
    for (path, mut model) in models().into_iter().filter(|(_, model)| has_places_to_move(model)) {
        mark(&mut model);
        for pass in &passes {
            let mut after = model.clone();
            if pass.run(&mut after, registry_of(&model)).report.is_changed() {
                judge(&path, pass.name(), &after);
            }
        }
        let mut after = model.clone();
        if simplify(&mut after).is_changed() {
            judge(&path, "simplify", &after);
        }
        for algorithm in (0..model.training.len()).filter_map(|i| join_training(&model, i)) {
            judge(&path, "join_training", &algorithm.model);
        }
    }
    assert!(wrong.is_empty(), "{} models: {wrong:#?}", wrong.len());
    for pass in ["fold-constants", "inline", "expand-gradient", "expand-gradient-recompute", "join_training"]
    {
        assert!(changed.get(pass).is_some_and(|count| *count >= 3), "{pass}: {changed:?}");
    }
}

#[test]
fn fusions_lose_no_metadata() {
    let fusions = || onnx_ops::pass::all().filter(|pass| pass.name().starts_with("fuse-"));
    let mut changed = BTreeMap::<&str, usize>::new();
    for (path, mut model) in models() {
        mark(&mut model);
        // Of the texts, few have something to fuse.
        if !fuse_all(&mut model.clone(), registry_of(&model)).is_changed() {
            continue;
        }
        for pass in fusions() {
            let mut after = model.clone();
            if !pass.run(&mut after, registry_of(&model)).report.is_changed() {
                continue;
            }
            *changed.entry(pass.name()).or_default() += 1;
            // Fusions that make `Constant` nodes are not tagged; all others are.
            assert_eq!(keys(&after), keys(&model), "{}, {}", path.display(), pass.name());
        }
    }
    assert_eq!(changed.len(), fusions().count(), "{changed:?}");
}

#[test]
fn merged_nodes_lose_no_metadata() {
    let pass = Pass::parse("common-subexpressions").expect("a pass");
    let mut changed = 0;
    // Equal nodes with graphs inside are merged as one; notes of what is in the graph that goes are not kept.
    for (path, mut model) in models().into_iter().filter(|(_, model)| !has_places_to_move(model)) {
        mark(&mut model);
        let mut after = model.clone();
        if pass.run(&mut after, registry_of(&model)).report.is_changed() {
            changed += 1;
            assert_eq!(keys(&after), keys(&model), "{}", path.display());
        }
    }
    assert!(changed > 20, "{changed}");
}

/// Models where a pass replaces two nodes by one or the other way round, and the names of the nodes afterwards.
const REPLACED: &[(&str, &str, &[&str])] = &[
    (
        "common-subexpressions",
        "g (float[2] x) => (float[2] y) { ONE a = Abs(x)  TWO b = Abs(x)  y = Add(a, b) }",
        &["first", ""],
    ),
    (
        "common-subexpressions",
        "g (float[2] x) => (float[2] y) { ONE-unnamed a = Abs(x)  TWO b = Abs(x)  y = Add(a, b) }",
        &["second", ""],
    ),
    (
        "inline",
        "g (float[2] x) => (float[2] y) { ONE y = l.F(x) }
        <domain: \"l\", opset_import: [\"\": 21]> F (x) => (y) { TWO t = Abs(x)  y = Neg(t) }",
        &["first__second", ""],
    ),
    (
        "fold-constants",
        "g (float[2] x) => (float[2] y) <bool c = {1}> {
            ONE y = If(c) <then_branch = a () => (p) { TWO t = Abs(x)  p = Neg(t) }, else_branch = b () => (q) { q = Abs(x) }>
        }",
        &["second", "", ""],
    ),
];

/// The text before a node: documentation, metadata with a key and a value of its own, and a name.
fn note(doc: &str, value: &str, own: &str, name: &str) -> String {
    let metadata = format!("#@ metadata_props: [\"both\": \"{value}\", \"same\": \"s\", \"{own}\": \"o\"]");
    format!("\n## {doc}\n{metadata}\n{name} ")
}

/// A model after a pass.
fn after(pass: &str, text: &str) -> Model {
    let read = read_model(&format!("#@ onnxtxt 1\n{text}"));
    assert!(!read.has_errors(), "{pass}: {:?}", read.diagnostics);
    let mut model = read.value;
    let registry = registry_of(&model);
    Pass::parse(pass).expect("a pass").run(&mut model, registry);
    model
}

/// Whether a node has the documentation and metadata of both nodes that it replaces.
fn assert_has_both(pass: &str, model: &Model, node: &Node) {
    assert_eq!(model.text(node.extra().doc), "the first\nthe second", "{pass}");
    let entries = node.extra().metadata.iter();
    let entries: Vec<(&str, &str)> =
        entries.map(|entry| (model.text(entry.key), model.text(entry.value))).collect();
    assert_eq!(entries, [("both", "1\n2"), ("same", "s"), ("a", "o"), ("b", "o")], "{pass}");
}

#[test]
fn nodes_in_place_of_others_have_their_notes() {
    for (pass, text, names) in REPLACED {
        let text = text
            .replace("ONE-unnamed ", &note("the first", "1", "a", ""))
            .replace("ONE ", &note("the first", "1", "a", "[first]"))
            .replace("TWO ", &note("the second", "2", "b", "[second]"));
        let import = if *pass == "inline" { ", \"l\": 1" } else { "" };
        let model = after(pass, &format!("<ir_version: 10, opset_import: [\"\": 21{import}]>\n{text}"));
        let body = model.main_body().expect("a graph");
        let nodes = &body.graphs[body.root().expect("a graph")].nodes;
        let found: Vec<&str> = nodes.iter().map(|&node| model.text(body.nodes[node].name)).collect();
        assert_eq!(found, *names, "{pass}");
        let node = &body.nodes[nodes[0]];
        assert_has_both(pass, &model, node);
    }
}

/// For each fusion, two nodes, and the name that the fused one has: with names for both, for the first, for the second.
const FUSIONS: &[(&str, &str, [&str; 3])] = &[
    (
        "fuse-casts",
        "g (int32[2] x) => (float[2] y) { ONE a = Cast <to = 7> (x)  TWO y = Cast <to = 1> (a) }",
        ["second", "first", "second"],
    ),
    (
        "fuse-concats",
        "g (float[2] x, float[2] z) => (float[6] y) { ONE a = Concat <axis = 0> (x, z)  TWO y = Concat <axis = 0> (a, z) }",
        ["second", "first", "second"],
    ),
    (
        "fuse-gemm",
        "g (float[2,3] x, float[3,4] w, float[4] b) => (float[2,4] y) { ONE a = MatMul(x, w)  TWO y = Add(a, b) }",
        ["first", "first", "second"],
    ),
    (
        "fuse-pads",
        "g (float[1,1,4,4] x, float[1,1,3,3] w) => (float[1,1,4,4] y) <int64[8] p = {0, 0, 1, 1, 0, 0, 1, 1}> { ONE a = Pad(x, p)  TWO y = Conv(a, w) }",
        ["second", "first", "second"],
    ),
    (
        "fuse-reshapes",
        "g (float[2,3] x) => (float[6] y) <int64[2] s = {3, 2}, int64[1] t = {6}> { ONE a = Reshape(x, s)  TWO y = Reshape(a, t) }",
        ["second", "first", "second"],
    ),
    (
        "fuse-scales",
        "g (float[1,1,4,4] x) => (float[1,1,4,4] y) <float[1,1,1,1] w = {2}, float s = {3}> { ONE a = Conv(x, w)  TWO y = Mul(a, s) }",
        ["first", "first", "second"],
    ),
    (
        "fuse-slices",
        "g (float[4,4] x) => (float[2,2] y) <int64[1] z = {0}, int64[1] t = {2}, int64[1] o = {1}> { ONE a = Slice(x, z, t, z)  TWO y = Slice(a, z, t, o) }",
        ["second", "first", "second"],
    ),
    (
        "fuse-transposes",
        "g (float[2,3,4] x) => (float[3,4,2] y) { ONE a = Transpose <perm = [2, 0, 1]> (x)  TWO y = Transpose <perm = [2, 0, 1]> (a) }",
        ["second", "first", "second"],
    ),
];

#[test]
fn a_fused_node_is_known_by_what_it_computes() {
    let known: BTreeSet<&str> = FUSIONS.iter().map(|(pass, ..)| *pass).collect();
    let all: BTreeSet<&str> =
        onnx_ops::pass::all().map(|pass| pass.name()).filter(|name| name.starts_with("fuse-")).collect();
    assert_eq!(known, all, "each fusion has its example here");
    for (pass, text, names) in FUSIONS {
        for (expected, (first, second)) in
            names.iter().zip([("[first]", "[second]"), ("[first]", ""), ("", "[second]")])
        {
            let text = text
                .replace("ONE ", &note("the first", "1", "a", first))
                .replace("TWO ", &note("the second", "2", "b", second));
            let model = after(pass, &format!("<ir_version: 10, opset_import: [\"\": 21]>\n{text}"));
            let body = model.main_body().expect("a graph");
            let [node] = body.graphs[body.root().expect("a graph")].nodes[..] else {
                panic!("{pass}: the nodes are not fused")
            };
            let node = &body.nodes[node];
            assert_eq!(model.text(node.name), *expected, "{pass}");
            assert_has_both(pass, &model, node);
        }
    }
}
