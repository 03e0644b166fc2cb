//! Plain statements are what the grammar makes of them, and nodes that are lowered one by one make the model that a tree makes: for the
//! texts of the suite, and for what small mistakes make of them.

use super::*;
use crate::{lower, read_model};
use std::path::{Path, PathBuf};

fn texts(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            texts(&path, out);
        } else if path.extension().is_some_and(|extension| extension == "onnxtxt") {
            out.push(path);
        }
    }
}

/// A text with one token deleted, doubled, exchanged with another one, or put elsewhere.
fn damaged(source: &str, random: &mut impl FnMut(usize) -> usize) -> String {
    let tokens = lex(source).tokens;
    if tokens.is_empty() {
        return source.to_owned();
    }
    let mut spellings: Vec<&str> = tokens.iter().map(|token| &source[token.span.range()]).collect();
    let [from, to] = [(); 2].map(|()| random(tokens.len()));
    match random(5) {
        0 => spellings[from] = "",
        1 => spellings.insert(to, spellings[from]),
        2 => spellings.swap(from, to),
        3 => spellings[to] = spellings[from],
        _ => spellings.insert(to, [",", "=", "(", ")", "<", ">", "[", "]", ".", ":", "+"][random(11)]),
    }
    // The gaps stay where they are.
    let mut out = String::new();
    let mut end = 0;
    let mut gaps = tokens.iter().map(|token| {
        let gap = &source[end..token.span.start as usize];
        end = token.span.end as usize;
        gap
    });
    for spelling in spellings {
        out.push_str(gaps.next().unwrap_or(" "));
        out.push_str(spelling);
    }
    out
}

/// Returns the number of nodes of the main graph.
fn compare(source: &str) -> usize {
    let (ours, by_grammar) = (parse_model(source), parse_model_by_grammar(source));
    assert_eq!(format!("{:?}", ours.value), format!("{:?}", by_grammar.value), "{source}");
    assert_eq!(format!("{:?}", ours.diagnostics), format!("{:?}", by_grammar.diagnostics), "{source}");
    let read = read_model(source);
    let lowered = lower(source, &by_grammar.value);
    // Types and names are in the order in which they were added.
    assert_eq!(format!("{:?}", read.value), format!("{:?}", lowered.value), "{source}");
    let mut diagnostics = by_grammar.diagnostics;
    diagnostics.extend(lowered.diagnostics);
    sort(&mut diagnostics);
    assert_eq!(format!("{:?}", read.diagnostics), format!("{diagnostics:?}"), "{source}");
    let texts = |model: &onnx_ir::Model| {
        model.names.ids().map(|name| model.names.bytes(name).to_vec()).collect::<Vec<_>>()
    };
    assert_eq!(texts(&read.value), texts(&lowered.value), "{source}");
    ours.value.tree.graph.map_or(0, |graph| graph.body.len())
}

#[test]
fn plain_statements_are_those_of_the_grammar() {
    let mut paths = Vec::new();
    texts(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/suite")), &mut paths);
    paths.sort();
    let mut state = 0x9E37_79B9_7F4A_7C15u64;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let mut nodes = 0;
    for path in paths {
        let source = std::fs::read_to_string(&path).expect("a text");
        // Damages of a long text take long.
        let damages = if cfg!(miri) || source.len() > 20_000 { 0 } else { 20 };
        nodes += compare(&source);
        for _ in 0..damages {
            let mut text = damaged(&source, &mut random);
            if random(3) == 0 {
                text = damaged(&text, &mut random);
            }
            compare(&text);
        }
    }
    assert!(nodes > 1000, "{nodes}");
}

#[test]
fn the_forms_of_plain_statements_are_read_without_the_grammar() {
    let statements = [
        r#"[n] y, "z" = dom.sub.Op <k: int = 1, l = [1.5, 2.0], s = "a", t: tensor = float[2] {1, 2}> (x, , "w")"#,
        r#"[] y = Op <> ()"#,
        r#"y = "dom"."Op" <a = @p, b = [1, 2], c: float = -inf, d = int64 {3}, e = ["a", "b"]> (, x, , )"#,
    ];
    for statement in statements {
        let source = format!("{statement}\n");
        let lexed = lex(&source);
        let mut reader = grammar::PlainReader::new();
        assert_eq!(reader.read(&source, &lexed.tokens, 0), Some(lexed.tokens.len()), "{statement}");
        let node = parse_node(&source).value.tree;
        assert_eq!(format!("{:?}", Some(&reader.node)), format!("{node:?}"));
        // All of these may belong to it.
        for rest in ["+ x", "[0]", "<a = 1>", ", z = Abs(x)", "@ x", "#@ doc: \"d\""] {
            let source = format!("#@ onnxtxt 1\n{statement} {rest}");
            let tokens = lex(&source).tokens;
            assert_eq!(reader.read(&source, &tokens, 0), None, "{source}");
        }
    }
}
