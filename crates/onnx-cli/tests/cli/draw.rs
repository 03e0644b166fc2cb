//! `draw` and `diff --draw`: every format can be read, whatever a model calls its nodes.

use crate::{Folder, SOUND, long_model};
use conformance::corpus::left_out;
use std::collections::HashSet;

/// Names that are markup, end strings, control terminals, or change the direction of text.
const HOSTILE: &str = "<ir_version: 10, opset_import: [\"\": 21]>
g (float[N] \"</script><script>alert(1)</script>\") => (float[N] \"y\\\"];rm -rf\")
{
    [\"<img src=x onerror=alert(1)> & 'quotes' --> ]]>\"] \"a\u{202e}b\" = Relu(\"</script><script>alert(1)</script>\")
    [\"end\\nsubgraph \\u001b[31m\"] \"`#quot;|{}[]()\" = Abs(\"a\u{202e}b\")
    \"y\\\"];rm -rf\" = Neg(\"`#quot;|{}[]()\")
}
";

const NESTED: &str = "<ir_version: 10, opset_import: [\"\": 21, \"l\": 1]>
g (bool c, float[2] x) => (float[2] y)
{
    a = l.Twice(x)
    y = If(c) <then_branch = t () => (p) { p = Abs(a) }, else_branch = e () => (q) {
        q = If(c) <then_branch = u () => (r) { r = Exp(a) }, else_branch = v () => (s) { s = Sin(a) }>
    }>
}
<domain: \"l\", opset_import: [\"\": 21]>
Twice (i) => (o) { o = Add(i, i) }
";

/// Ends the test unless this is one element of XML with text that cannot be anything else. Returns the names of the elements.
fn elements(xml: &str) -> Vec<String> {
    let mut open: Vec<&str> = Vec::new();
    let mut found = Vec::new();
    let mut rest = xml.trim();
    while let Some(at) = rest.find('<') {
        let text = &rest[..at];
        assert!(!text.contains('>') || open.last() == Some(&"style"), "{text}");
        for (entity, _) in text.match_indices('&') {
            let name = text[entity..].split(';').next().unwrap();
            assert!(["&amp", "&lt", "&gt", "&quot", "&#39"].contains(&name), "{name}");
        }
        assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text:?}");
        let end = at + rest[at..].find('>').expect("a tag ends");
        let tag = &rest[at + 1..end];
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
        assert!(!tag.contains('<'), "{tag}");
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name));
        } else {
            let name = tag.split([' ', '/']).next().unwrap();
            assert!(name.chars().all(|c| c.is_ascii_lowercase()), "{name}");
            found.push(name.to_owned());
            if !tag.ends_with('/') {
                open.push(name);
            }
        }
        rest = &rest[end + 1..];
    }
    assert!(open.is_empty() && rest.is_empty(), "{open:?} {rest}");
    found
}

/// Ends the test unless this is a graph of DOT as we write it. Returns how many nodes and edges it has.
fn dot(text: &str) -> (usize, usize) {
    let (mut nodes, mut edges, mut depth) = (HashSet::new(), 0, 0);
    for line in text.lines().map(str::trim) {
        // Strings are taken out first: what is in them does not count.
        let mut bare = String::new();
        let (mut is_string, mut is_escaped) = (false, false);
        for c in line.chars() {
            match (is_string, c) {
                (true, _) if is_escaped => is_escaped = false,
                (true, '\\') => is_escaped = true,
                (_, '"') => is_string = !is_string,
                (true, _) => assert!(!c.is_control(), "{line:?}"),
                (false, _) => bare.push(c),
            }
        }
        assert!(!is_string, "a string does not end: {line}");
        let first = bare.split(' ').next().unwrap_or_default();
        if bare.ends_with('{') {
            depth += 1;
        } else if bare == "}" {
            depth -= 1;
        } else if bare.contains(" -> ") {
            let ends: Vec<&str> = bare.split(" [").next().unwrap().split(" -> ").collect();
            assert!(ends.iter().all(|end| nodes.contains(*end)), "{line}");
            edges += 1;
        } else if first.len() > 1 && first[1..].bytes().all(|b| b.is_ascii_digit()) {
            nodes.insert(first.to_owned());
        } else {
            assert!(["label=;", "node", "edge"].contains(&first), "{line}");
        }
    }
    assert_eq!(depth, 0);
    (nodes.len(), edges)
}

/// The nodes and edges of Mermaid.
fn mermaid(text: &str) -> (usize, usize) {
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("flowchart TB"));
    let (mut nodes, mut edges, mut depth) = (HashSet::new(), 0, 0);
    for line in lines.map(str::trim) {
        assert_eq!(line.matches('"').count() % 2, 0, "{line}");
        let first = line.split(['[', '(', ' ']).next().unwrap();
        match first {
            "subgraph" => depth += 1,
            "end" => depth -= 1,
            "classDef" | "linkStyle" => {}
            _ if line.contains("-->") || line.contains("-.->") => {
                let last = line.rsplit(' ').next().unwrap();
                assert!(nodes.contains(first) && nodes.contains(last), "{line}");
                edges += 1;
            }
            _ => {
                assert!(first.starts_with('n') && first[1..].bytes().all(|b| b.is_ascii_digit()), "{line}");
                nodes.insert(first.to_owned());
            }
        }
        let label: String = line.split('"').skip(1).step_by(2).collect();
        let plain = label.replace("<br/>", "");
        assert!(!plain.contains(['<', '>', '`', '|', '{', '[']) || !plain.contains('<'), "{label}");
    }
    assert_eq!(depth, 0);
    (nodes.len(), edges)
}

/// The JSON of a page. The page has one script of data and one that runs, whatever names say.
fn data(page: &str) -> serde_json::Value {
    assert_eq!(page.matches("<script").count(), 2, "a name has begun a script");
    assert_eq!(page.matches("</script>").count(), 2, "a name has ended a script");
    let (_, rest) = page.split_once("id=\"model\">").unwrap();
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

#[test]
fn every_format_can_be_read() {
    for (text, boxes, edges) in [(SOUND, 4, 3), (HOSTILE, 5, 4), (NESTED, 11, 11)] {
        let folder = Folder::new(&[("m.onnxtxt", text.as_bytes())]);
        for out in ["m.svg", "m.html", "m.dot", "m.mmd"] {
            let done = folder.run(&["draw", "m.onnxtxt", "-o", out]).expect(0);
            assert_eq!(done.text(), "");
            assert!(!done.stderr.contains('\u{1b}') && done.stderr.contains(out), "{}", done.stderr);
        }
        let read = |name: &str| String::from_utf8(folder.read(name)).unwrap();
        let tags = elements(&read("m.svg"));
        let of_svg = ["svg", "title", "style", "rect", "path", "text", "g"];
        assert!(tags.iter().all(|tag| of_svg.contains(&&**tag)), "{tags:?}");
        assert_eq!(dot(&read("m.dot")).0, boxes, "{}", read("m.dot"));
        let (nodes, _) = mermaid(&read("m.mmd"));
        assert_eq!(nodes, boxes, "{}", read("m.mmd"));
        assert_eq!(dot(&read("m.dot")), mermaid(&read("m.mmd")));
        let data = data(&read("m.html"));
        let groups = data["groups"].as_array().unwrap().len() - 1;
        assert_eq!(data["items"].as_array().unwrap().len(), boxes + groups);
        assert!(dot(&read("m.dot")).1 <= edges);
        for name in ["m.svg", "m.html", "m.dot", "m.mmd"] {
            let active = |c: char| (c.is_control() && c != '\n') || ('\u{202a}'..='\u{202e}').contains(&c);
            assert!(!read(name).contains(active), "{name}");
        }
    }
}

#[test]
fn a_page_needs_nothing_else() {
    let folder = Folder::new(&[("m.onnxtxt", SOUND.as_bytes())]);
    folder.run(&["draw", "m.onnxtxt", "-o", "m.html"]).expect(0);
    let page = String::from_utf8(folder.read("m.html")).unwrap();
    for word in ["http://", "https://", "src=", "@import", "url(", "fetch("] {
        let found: Vec<&str> = page.lines().filter(|line| line.contains(word)).collect();
        assert!(found.iter().all(|line| line.contains("www.w3.org/2000/svg")), "{word}: {found:?}");
    }
    assert!(page.contains("Content-Security-Policy") && page.contains("prefers-color-scheme: dark"));
    let data = data(&page);
    let mul = data["items"].as_array().unwrap().iter().find(|item| item["t"] == "Mul").unwrap();
    assert_eq!(mul["x"], "t = Mul(x, w)");
    assert_eq!((&mul["w"][0]["name"], &mul["w"][0]["mean"]), (&"w".into(), &1.5.into()));
    assert_eq!(mul["l"][0][1], "float[2]");
}

#[test]
fn an_empty_graph_has_a_drawing() {
    let empty = "<ir_version: 10, opset_import: [\"\": 21]> g () => () {}";
    let folder = Folder::new(&[("m.onnxtxt", empty.as_bytes())]);
    for out in ["m.svg", "m.html", "m.dot", "m.mmd"] {
        folder.run(&["draw", "m.onnxtxt", "-o", out]).expect(0);
    }
    elements(&String::from_utf8(folder.read("m.svg")).unwrap());
    assert_eq!(dot(&String::from_utf8(folder.read("m.dot")).unwrap()), (0, 0));
}

#[test]
fn a_part_can_be_drawn() {
    let folder = Folder::new(&[("m.onnxtxt", long_model(20).as_bytes())]);
    let count = |arguments: &[&str]| {
        let all = [&["draw", "m.onnxtxt", "--to-format", "dot"], arguments].concat();
        dot(folder.run(&all).expect(0).text()).0
    };
    assert_eq!(count(&[]), 22);
    // Two nodes at either side, and the values that lead to and from the rest.
    assert_eq!(count(&["--around", "t9"]), 7);
    assert_eq!(count(&["--around", "t9", "--depth", "0"]), 3);
    assert_eq!(count(&["--around", "x", "--depth", "1"]), 4);
    assert_eq!(count(&["--select", "#3", "#4"]), 4);
    assert_eq!(count(&["--from", "t3", "--to", "t5"]), 4);
    let wrong = folder.run(&["draw", "m.onnxtxt", "--around", "t99"]).expect(2);
    assert!(wrong.stderr.contains("no node matches `t99`"), "{}", wrong.stderr);
    let wrong = folder.run(&["draw", "m.onnxtxt", "-o", "m.png"]).expect(2);
    assert!(wrong.stderr.contains("format of m.png unknown"), "{}", wrong.stderr);
    assert!(folder.names() == ["m.onnxtxt"]);
}

#[test]
fn five_thousand_nodes_are_drawn_in_parts() {
    let folder = Folder::new(&[("m.onnxtxt", long_model(5_000).as_bytes())]);
    folder.run(&["draw", "m.onnxtxt", "-o", "m.html"]).expect(0);
    let data = data(&String::from_utf8(folder.read("m.html")).unwrap());
    let groups = data["groups"].as_array().unwrap();
    // No layout has more boxes than the library lays out in time, and all nodes are there.
    let boxes = |group: &serde_json::Value| {
        let ranks = group["ranks"].as_array().unwrap();
        ranks
            .iter()
            .flat_map(|rank| rank.as_array().unwrap().iter().step_by(2))
            .filter(|what| what.as_i64() >= Some(0))
            .count()
    };
    assert!(groups.iter().all(|group| boxes(group) <= 250), "{:?}", groups.iter().map(boxes).max());
    assert_eq!(groups.iter().map(boxes).sum::<usize>(), 5_002 + groups.len() - 1);
    folder.run(&["draw", "m.onnxtxt", "-o", "m.svg", "--collapse", "none"]).expect(0);
    elements(&String::from_utf8(folder.read("m.svg")).unwrap());
}

#[test]
fn differences_can_be_drawn() {
    let new = SOUND.replace("y = Relu(t)", "s = Abs(t)\n    y = Relu(s)").replace("{1, 2}", "{1, 3}");
    let folder = Folder::new(&[("a.onnxtxt", SOUND.as_bytes()), ("b.onnxtxt", new.as_bytes())]);
    for out in ["d.svg", "d.html", "d.dot", "d.mmd"] {
        folder.run(&["diff", "a.onnxtxt", "b.onnxtxt", "--draw", out]).expect(1);
    }
    let svg = String::from_utf8(folder.read("d.svg")).unwrap();
    elements(&svg);
    assert!(svg.contains("class=\"g n f-activation added\"") && svg.contains("changed"), "{svg}");
    let equal = folder.run(&["diff", "a.onnxtxt", "a.onnxtxt", "--draw", "e.svg"]).expect(0);
    assert_eq!(equal.text(), "");
    let plain = String::from_utf8(folder.read("e.svg")).unwrap();
    assert!(!plain.contains("class=\"g n f-activation added\""));
}

/// The numbers in the data of a path.
fn path_numbers(data: &str) -> Vec<f64> {
    let numbers = data.split(|c: char| !(c.is_ascii_digit() || c == '.' || c == '-'));
    numbers.filter(|number| !number.is_empty()).map(|number| number.parse().unwrap()).collect()
}

/// The given attributes of every element that begins like this.
fn attributes(svg: &str, begin: &str, names: &[&str]) -> Vec<Vec<f64>> {
    let value = |element: &str, name: &str| {
        let (_, rest) = element.split_once(&format!(" {name}=\"")).unwrap();
        path_numbers(rest.split('"').next().unwrap())
    };
    let elements = svg.split(begin).skip(1).map(|rest| rest.split('>').next().unwrap());
    elements.map(|element| names.iter().flat_map(|name| value(element, name)).collect()).collect()
}

/// Whether two lists of lists have nearly the same numbers, in any order of the lists.
fn ensure_near(what: &str, page: &[Vec<f64>], mut picture: Vec<Vec<f64>>) {
    assert_eq!(page.len(), picture.len(), "{what}");
    // Sizes of boxes are rounded in the page.
    let is_near =
        |a: &[f64], b: &[f64]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 0.7);
    for own in page {
        let at = picture.iter().position(|other| is_near(own, other));
        picture.swap_remove(at.unwrap_or_else(|| panic!("{what}: {own:?} is not among {picture:?}")));
    }
}

/// The page stacks ranks in JavaScript, because any group may be open; the picture does it in Rust.
#[test]
fn a_page_places_boxes_and_wires_like_a_picture() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/browser/layout.js");
    let wide = "<ir_version: 10, opset_import: [\"\": 21]>\ng (float[N] x, float[N] z) => (float[N] y, float[N] u)\n{\n\
                a = Abs(x) b = Neg(x) c = Add(a, b) d = Mul(c, z) e = Sum(a, b, c, d, x) u, w = Split <num_outputs = 2> (e) y = Max(w, x)\n}\n";
    let named = (0..40).fold(String::new(), |text, i| {
        text + &format!(
            "   [\"/block{}/part{}/relu\"] t{i} = Relu({})\n",
            i / 20,
            i / 5,
            if i == 0 { "x".to_owned() } else { format!("t{}", i - 1) }
        )
    });
    let named = format!(
        "<ir_version: 10, opset_import: [\"\": 21]>\ng (float[N] x) => (float[N] y)\n{{\n{named}   y = Add(t39, t3)\n}}\n"
    );
    for text in [SOUND, NESTED, wide, &named, &long_model(60)] {
        for collapse in ["none", "all"] {
            let folder = Folder::new(&[("m.onnxtxt", text.as_bytes())]);
            for out in ["m.svg", "m.html"] {
                folder.run(&["draw", "m.onnxtxt", "--collapse", collapse, "-o", out]).expect(0);
            }
            let page = folder.path("m.html");
            let Ok(done) = std::process::Command::new("node").arg(script).arg(page).output() else {
                return left_out("layouts of pages: no Node.js");
            };
            assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
            let shown: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
            let list = |name: &str| shown[name].as_array().unwrap().clone();
            let numbers = |value: &serde_json::Value| -> Vec<f64> {
                match value.as_str() {
                    Some(data) => path_numbers(data),
                    None => value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect(),
                }
            };
            let all = |name: &str| list(name).iter().map(numbers).collect::<Vec<_>>();
            let svg = String::from_utf8(folder.read("m.svg")).unwrap();
            let rects = |class: &str| {
                attributes(&svg, &format!("<rect class=\"{class}\""), &["x", "y", "width", "height"])
            };
            // A closed group is drawn as three boxes, of which the last is the box itself.
            let mut boxes = rects("o");
            let is_shadow = |of: &[f64], next: &[f64]| {
                of[2..] == next[2..]
                    && ((of[0] - next[0]) - 2.5).abs() < 0.2
                    && ((next[1] - of[1]) - 2.5).abs() < 0.2
            };
            let shadows: Vec<bool> = (0..boxes.len())
                .map(|at| at + 1 < boxes.len() && is_shadow(&boxes[at], &boxes[at + 1]))
                .collect();
            let mut shadow = shadows.into_iter();
            boxes.retain(|_| !shadow.next().unwrap_or_default());
            ensure_near("size", &[numbers(&shown["size"])], attributes(&svg, "<svg", &["width", "height"]));
            ensure_near("boxes", &all("boxes"), boxes);
            ensure_near("open groups", &all("frames"), rects("fr"));
            ensure_near("wires", &all("wires"), attributes(&svg, "<path class=\"w ", &["d"]));
        }
    }
}
