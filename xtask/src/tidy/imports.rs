//! The imports between the rooms of a crate. A room is a module of the crate, with all files below it.
//!
//! In no crate do rooms use each other in a circle. Rooms with layers lie one above the other in a stated order: each uses only
//! those below it. `cargo xtask tidy --imports` prints the lines of the rooms of every crate, and the arrows between them with the
//! number of files that import.

use super::Finding;
use super::source::File;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// The rooms of a crate from the lowest to the highest, each with its modules.
type Layers = &'static [(&'static str, &'static [&'static str])];

const LAYERS: &[(&str, Layers)] = &[
    (
        "onnx-exec",
        &[
            ("ground", &["arrays", "custom", "facts", "options", "profile"]),
            ("machine", &["machine"]),
            ("program", &["program"]),
            ("plan", &["plan"]),
            ("define", &["define"]),
            ("run", &["run"]),
            ("executable", &["executable"]),
        ],
    ),
    (
        "onnx-loops",
        &[
            // Tensors, the memory that they are charged to, and the threads.
            (
                "ground",
                &[
                    "budget",
                    "failure",
                    "list",
                    "pack_cache",
                    "parallel",
                    "pool",
                    "random",
                    "recycle",
                    "scratch",
                    "sync",
                    "tensor",
                    "zip",
                ],
            ),
            ("lanes", &["lanes"]),
            ("pipeline", &["pipeline"]),
            ("program", &["program"]),
            ("reduce", &["reduce"]),
            ("copy", &["copy"]),
            ("epilogue", &["epilogue"]),
            ("product", &["product"]),
            ("stencil", &["stencil"]),
            ("nest", &["nest"]),
        ],
    ),
];

/// A crate.
struct House<'f> {
    name: &'f str,
    /// Its files with their modules; that of the root is empty.
    files: Vec<(&'f File, Vec<&'f str>)>,
    layers: Option<Layers>,
}

/// An import: the file and line that use a room, and the rooms.
struct Import<'f> {
    file: &'f str,
    line: usize,
    from: String,
    to: String,
}

/// Imports against the layers, circles of modules, and modules that no layer has.
pub(super) fn point_down(files: &[File]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for house in houses(files) {
        let (imports, path) = (house.imports(), format!("crates/{}/src", house.name));
        for circle in circles(&arrows(&imports)) {
            let why = format!("modules use each other in a circle: {}", circle.join(", "));
            findings.push(Finding::new(&path, 0, why));
        }
        let Some(layers) = house.layers else { continue };
        for module in house.modules() {
            if !layers.iter().any(|(_, modules)| modules.contains(&module)) {
                let why = format!("module `{module}` has no layer in xtask/src/tidy/imports.rs");
                findings.push(Finding::new(&path, 0, why));
            }
        }
        for import in imports.iter().filter(|import| is_upwards(layers, import)) {
            let Import { from, to, .. } = import;
            let why =
                format!("`{from}` must not use `{to}`, which lies above it (xtask/src/tidy/imports.rs)");
            findings.push(Finding::new(import.file, import.line, why));
        }
    }
    findings
}

/// The arrows between the rooms of every crate, as text.
pub(super) fn report(files: &[File]) -> String {
    let mut text = String::new();
    for house in houses(files) {
        let imports = house.imports();
        let arrows = arrows(&imports);
        let list = |all: Vec<String>| if all.is_empty() { "none".to_owned() } else { all.join("; ") };
        let circles = list(circles(&arrows).into_iter().map(|circle| circle.join(" ")).collect());
        let count: usize = arrows.values().map(BTreeMap::len).sum();
        let files: usize = arrows.values().flat_map(BTreeMap::values).map(BTreeSet::len).sum();
        let _ = writeln!(text, "{}: {count} arrows, {files} imports; circles: {circles}", house.name);
        if let Some(layers) = house.layers {
            let up = imports.iter().filter(|import| is_upwards(layers, import));
            let up: BTreeSet<String> = up.map(|it| format!("{} → {}", it.from, it.to)).collect();
            let _ = writeln!(text, "  upwards: {}", list(up.into_iter().collect()));
        }
        for (room, lines) in house.lines() {
            let to = arrows.get(&*room).into_iter().flatten();
            let to: Vec<String> = to.map(|(to, files)| format!("{to} {}", files.len())).collect();
            let to = if to.is_empty() { String::new() } else { format!(" → {}", to.join(", ")) };
            let _ = writeln!(text, "  {room} ({lines} lines){to}");
        }
    }
    text
}

/// The rooms that each room uses, with the files that use them.
type Arrows<'i> = BTreeMap<&'i str, BTreeMap<&'i str, BTreeSet<&'i str>>>;

fn arrows<'i>(imports: &'i [Import<'_>]) -> Arrows<'i> {
    let mut arrows = Arrows::new();
    for Import { file, from, to, .. } in imports {
        arrows.entry(from).or_default().entry(to).or_default().insert(file);
    }
    arrows
}

/// Whether an import goes to a higher layer.
fn is_upwards(layers: Layers, import: &Import<'_>) -> bool {
    let height = |room: &str| layers.iter().position(|(name, _)| *name == room);
    matches!((height(&import.from), height(&import.to)), (Some(from), Some(to)) if from < to)
}

/// Sets of rooms of which each can be reached from each.
fn circles<'i>(arrows: &Arrows<'i>) -> Vec<Vec<&'i str>> {
    let reached = |from: &'i str| {
        let mut reached: BTreeSet<&str> = BTreeSet::new();
        let mut next = vec![from];
        while let Some(room) = next.pop() {
            for to in arrows.get(room).into_iter().flat_map(BTreeMap::keys) {
                if reached.insert(to) {
                    next.push(to);
                }
            }
        }
        reached
    };
    let all: BTreeMap<&str, BTreeSet<&str>> = arrows.keys().map(|room| (*room, reached(room))).collect();
    let mut circles: Vec<Vec<&str>> = Vec::new();
    for (room, reached) in &all {
        if circles.iter().any(|circle| circle.contains(room)) || !reached.contains(room) {
            continue;
        }
        let is_back = |to: &&str| all.get(to).is_some_and(|back| back.contains(room));
        circles.push(reached.iter().copied().filter(is_back).collect());
    }
    circles
}

/// All crates.
fn houses(files: &[File]) -> Vec<House<'_>> {
    let mut crates: BTreeMap<&str, Vec<(&File, Vec<&str>)>> = BTreeMap::new();
    for file in files {
        if let Some((name, module)) = in_crate(&file.path) {
            crates.entry(name).or_default().push((file, module));
        }
    }
    let layers = |name: &str| LAYERS.iter().find(|(of, _)| *of == name).map(|(_, layers)| *layers);
    crates.into_iter().map(|(name, files)| House { name, files, layers: layers(name) }).collect()
}

/// The crate of a source file, and the path of its module.
fn in_crate(path: &str) -> Option<(&str, Vec<&str>)> {
    let (name, rest) = path.strip_prefix("crates/")?.split_once("/src/")?;
    let mut module: Vec<&str> = rest.strip_suffix(".rs")?.split('/').collect();
    match module[..] {
        ["lib" | "main"] => module.clear(),
        [.., "mod"] => _ = module.pop(),
        _ => {}
    }
    Some((name, module))
}

impl<'f> House<'f> {
    /// Its modules.
    fn modules(&self) -> BTreeSet<&'f str> {
        self.files.iter().filter_map(|(_, module)| module.first().copied()).collect()
    }

    /// The room of a module.
    fn room(&self, module: &str) -> String {
        let found = self.layers.unwrap_or_default().iter().find(|(_, all)| all.contains(&module));
        found.map_or(module, |(room, _)| room).to_owned()
    }

    /// The lines of each room.
    fn lines(&self) -> BTreeMap<String, usize> {
        let mut lines = BTreeMap::new();
        for (file, module) in &self.files {
            if let Some(module) = module.first() {
                *lines.entry(self.room(module)).or_default() += file.text.lines().count();
            }
        }
        lines
    }

    /// The imports between its rooms.
    fn imports(&self) -> Vec<Import<'f>> {
        let modules = self.modules();
        // The exports of the house: a name, and the module that it comes from.
        let mut exports: BTreeMap<&str, &str> = BTreeMap::new();
        for (file, _) in self.files.iter().filter(|(_, module)| module.is_empty()) {
            for (path, _) in paths(&file.code) {
                if let [first, .., last] = path[..] {
                    exports.insert(last, first);
                }
            }
        }
        let mut imports = Vec::new();
        for (file, module) in &self.files {
            let Some(from) = module.first() else { continue };
            for (path, offset) in paths(&file.code) {
                let target = resolved(&path, module).unwrap_or_default();
                let Some(first) = target.first() else { continue };
                let first = if modules.contains(first) { Some(first) } else { exports.get(first) };
                let (from, Some(to)) = (self.room(from), first.map(|first| self.room(first))) else {
                    continue;
                };
                if from != to {
                    let line = 1 + file.code[..offset].matches('\n').count();
                    imports.push(Import { file: &file.path, line, from, to });
                }
            }
        }
        imports
    }
}

/// A path from the root of the crate; `None` for a path that begins elsewhere.
fn resolved<'c>(path: &[&'c str], module: &[&'c str]) -> Option<Vec<&'c str>> {
    let (mut at, mut rest) = match path {
        ["crate", rest @ ..] => (Vec::new(), rest),
        ["self", rest @ ..] => (module.to_vec(), rest),
        ["super", ..] => (module.to_vec(), path),
        _ => return None,
    };
    while let ["super", more @ ..] = rest {
        at.pop()?;
        rest = more;
    }
    at.extend(rest);
    Some(at)
}

/// The paths that code names from the root or relative to its module, and all paths of `use` items; each with its offset.
fn paths(code: &str) -> Vec<(Vec<&str>, usize)> {
    let tokens = tokens(code);
    let mut paths = Vec::new();
    let mut at = 0;
    while let Some(&(token, offset)) = tokens.get(at) {
        let is_path = matches!(token, "crate" | "self" | "super")
            && tokens.get(at + 1).is_some_and(|(next, _)| *next == "::")
            // `pub(in crate::plan)` is a visibility.
            && at.checked_sub(1).is_none_or(|before| tokens[before].0 != "in");
        if token == "use" || is_path {
            at = tree(&tokens, at + usize::from(token == "use"), Vec::new(), offset, &mut paths);
        } else {
            at += 1;
        }
    }
    paths
}

/// Adds the paths of a `use` tree, or of a single path; returns the index of the next token.
fn tree<'c>(
    tokens: &[(&'c str, usize)],
    mut at: usize,
    mut path: Vec<&'c str>,
    offset: usize,
    paths: &mut Vec<(Vec<&'c str>, usize)>,
) -> usize {
    // Whether a name or a list comes next: at the start, and after `::`.
    let mut is_open = true;
    while let Some(&(token, _)) = tokens.get(at) {
        match token {
            "::" => {
                at += 1;
                is_open = true;
            }
            "{" if is_open => {
                at += 1;
                while tokens.get(at).is_some_and(|(token, _)| *token != "}") {
                    let next = tree(tokens, at, path.clone(), offset, paths);
                    at = next.max(at + usize::from(next == at));
                    at += usize::from(tokens.get(at).is_some_and(|(token, _)| *token == ","));
                }
                return at + 1;
            }
            word if is_open && is_word(word) && word != "as" => {
                path.push(word);
                at += 1;
                is_open = false;
            }
            _ => break,
        }
    }
    // `as name`, and `*`.
    while tokens.get(at).is_some_and(|(token, _)| matches!(*token, "as" | "*")) {
        at += if tokens[at].0 == "as" { 2 } else { 1 };
    }
    if !path.is_empty() {
        paths.push((path, offset));
    }
    at
}

fn is_word(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// Identifiers, `::`, and single characters, with their offsets.
fn tokens(code: &str) -> Vec<(&str, usize)> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(first) = code[at..].chars().next() {
        let rest = &code[at..];
        let length = if is_part(first) {
            rest.find(|c| !is_part(c)).unwrap_or(rest.len())
        } else if rest.starts_with("::") {
            2
        } else {
            first.len_utf8()
        };
        if !first.is_whitespace() {
            tokens.push((&rest[..length], at));
        }
        at += length;
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(all: &[(&str, &str)]) -> Vec<File> {
        all.iter().map(|(path, text)| File::new(path, (*text).to_owned())).collect()
    }

    fn shown(code: &str) -> Vec<String> {
        paths(code).into_iter().map(|(path, _)| path.join("::")).collect()
    }

    #[test]
    fn paths_of_use_items_and_of_code_are_found() {
        assert_eq!(
            shown("use crate::a::{self, b::{C, D as E}, f::*}; pub use super::g;"),
            ["crate::a::self", "crate::a::b::C", "crate::a::b::D", "crate::a::f", "super::g"]
        );
        assert_eq!(
            shown("fn f(x: &crate::a::B<'_>) -> super::C { $crate::D::new(x) }"),
            ["crate::a::B", "super::C", "crate::D::new"]
        );
        // A visibility, a method, a field, a block after a path, a generic.
        assert_eq!(shown("pub(in crate::a) fn f(self) { self.b }"), [""; 0]);
        assert_eq!(
            shown("for x in all { if x == crate::A { y } } z::<crate::B>()"),
            ["crate::A", "crate::B"]
        );
        assert_eq!(shown("use {crate::a, crate::b};"), ["crate::a", "crate::b"]);
    }

    #[test]
    fn paths_lead_to_rooms() {
        let all = files(&[
            ("crates/x/src/lib.rs", "mod a; mod b; pub use b::c::Thing;"),
            ("crates/x/src/a.rs", "use crate::Thing; use std::fmt;"),
            ("crates/x/src/b/mod.rs", "mod c;"),
            (
                "crates/x/src/b/c.rs",
                "use super::super::a::A; use super::d; use super::super::b::D; // crate::e",
            ),
        ]);
        let found: Vec<String> =
            houses(&all)[0].imports().iter().map(|it| format!("{} {} {}", it.file, it.from, it.to)).collect();
        assert_eq!(found, ["crates/x/src/a.rs a b", "crates/x/src/b/c.rs b a"]);
        let shown = "x: 2 arrows, 2 imports; circles: a b\n  a (1 lines) → b 1\n  b (2 lines) → a 1\n";
        assert_eq!(report(&all), shown);
    }

    #[test]
    fn imports_upwards_and_modules_without_a_layer_are_found() {
        let found = |path: &str, code: &str| {
            let all = files(&[("crates/onnx-exec/src/run/mod.rs", ""), (path, code)]);
            let all = point_down(&all).into_iter().map(|finding| finding.to_string()).collect::<Vec<_>>();
            all.join("\n")
        };
        let (plan, value) = ("crates/onnx-exec/src/plan/fuse.rs", "crates/onnx-exec/src/facts.rs");
        let up = |from: &str| {
            format!("`{from}` must not use `run`, which lies above it (xtask/src/tidy/imports.rs)")
        };
        assert_eq!(found(plan, "use super::A;\nuse crate::run::Run;"), format!("{plan}:2: {}", up("plan")));
        assert_eq!(found(value, "fn f() { crate::run::f() }"), format!("{value}:1: {}", up("ground")));
        assert_eq!(found("crates/onnx-exec/src/executable/mod.rs", "use crate::run::Run;"), "");
        assert_eq!(found(plan, "#[cfg(test)]\nmod tests { use crate::run::Run; }"), "");
        let (a, b) = ("crates/onnx-proto/src/a.rs", "crates/onnx-proto/src/b.rs");
        let circle = point_down(&files(&[(a, "use crate::b::B;"), (b, "use super::a::A;")]));
        let circle: Vec<String> = circle.iter().map(ToString::to_string).collect();
        assert_eq!(circle, ["crates/onnx-proto/src: modules use each other in a circle: a, b"]);
        let other = "crates/onnx-exec/src: module `other` has no layer in xtask/src/tidy/imports.rs";
        assert_eq!(found("crates/onnx-exec/src/other.rs", ""), other);
    }
}
