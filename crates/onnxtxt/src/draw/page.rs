//! A drawing as one HTML page: zoom, search, groups that open and close, a panel for what is clicked. It needs no network.
//!
//! The page has the layers of each group and all texts as JSON; `page/layout.js` makes coordinates of them, as `stack` does, and
//! `page/page.js` draws what is in the window.

use super::boxes;
use super::layers::{Layers, Occupant};
use super::scene::{Item, Kind, Operand, Reason, Scene};
use super::stack;
use super::text::escaped;
use super::theme;
use crate::distribution::Distribution;
use onnx_text::visible;
use serde_json::{Value as Json, json};

const TEMPLATE: &str = include_str!("page/page.html");
const CSS: &str = include_str!("page/page.css");
const LAYOUT: &str = include_str!("page/layout.js");
const SCRIPT: &str = include_str!("page/page.js");

/// A whole page.
pub(super) fn html(scene: &Scene, layers: &[Layers]) -> String {
    let title = if scene.title.is_empty() { "model" } else { &scene.title };
    let parts = [
        ("TITLE", escaped(title)),
        ("CSS", format!("{CSS}{}", theme::page("#drawing"))),
        ("DATA", data(scene, layers)),
        ("LAYOUT", LAYOUT.to_owned()),
        ("SCRIPT", SCRIPT.to_owned()),
    ];
    // In one pass: a name in the model may look like a mark of the template.
    let mut out =
        String::with_capacity(TEMPLATE.len() + parts.iter().map(|(_, text)| text.len()).sum::<usize>());
    let mut rest = TEMPLATE;
    while let Some((before, after)) = rest.split_once("@@") {
        out += before;
        let Some((name, after)) = after.split_once("@@") else { break };
        out += parts.iter().find(|(part, _)| *part == name).map_or("", |(_, text)| text);
        rest = after;
    }
    out + rest
}

/// The drawing as JSON that no tag ends.
fn data(scene: &Scene, layers: &[Layers]) -> String {
    let items: Vec<Json> = (0..scene.items.len()).map(|id| item(scene, id)).collect();
    let groups: Vec<Json> = scene.groups.iter().zip(layers).map(|(g, layers)| group(g, layers)).collect();
    let values: Vec<Json> = scene
        .values
        .iter()
        .enumerate()
        .map(|(at, value)| json!([shown(&value.name), shown(&value.ty), shown(&boxes::label(scene, at))]))
        .collect();
    let all = json!({
        "title": shown(&scene.title), "diff": scene.is_diff,
        "items": items, "groups": groups, "values": values,
        "sizes": {
            "pad": stack::PAD, "head": boxes::HEAD, "line": boxes::LINE, "boxGap": stack::BOX_GAP, "wireGap": stack::WIRE_GAP,
            "rankGap": stack::RANK_GAP, "bendGap": stack::BEND_GAP, "maxBends": stack::MAX_BENDS, "portGap": stack::PORT_GAP,
            "maxLabels": stack::MAX_LABELS, "run": stack::RUN, "lift": stack::LIFT, "entryGap": stack::ENTRY_GAP, "title": boxes::TITLE, "small": boxes::SMALL, "label": boxes::LABEL,
        },
    });
    all.to_string().replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

/// Text as people see it: nothing in it acts.
fn shown(text: &str) -> String {
    visible(text).into_owned()
}

fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Node => "n",
        Kind::Input => "i",
        Kind::Output => "o",
        Kind::Outside => "x",
        Kind::Group(_) => "g",
    }
}

fn item(scene: &Scene, id: usize) -> Json {
    let item: &Item = &scene.items[id];
    let lines: Vec<Json> = boxes::lines(item)
        .into_iter()
        .enumerate()
        .map(|(at, (label, text))| {
            let link = item.lines.get(at).and_then(|line| line.link).filter(|_| at < boxes::MAX_LINES);
            json!([shown(&label), shown(&text), link])
        })
        .collect();
    let [w, h] = boxes::closed_size(scene, id);
    let mut object = json!({
        "k": kind(item.kind), "p": item.parent, "t": shown(&boxes::title(item)), "f": item.family.name(),
        "l": lines, "s": [round(w), round(h)],
    });
    let mut set = |key: &str, value: Json| object[key] = value;
    if let Some(group) = item.group() {
        set("g", json!(group));
        set("u", json!(boxes::subtitle(scene, group)));
        set("c", json!(scene.node_count(group)));
        set("hw", json!(round(super::text::sans(&boxes::title(item), boxes::TITLE) + 60.0)));
    }
    if item.mark.class() != "" {
        set("m", json!(item.mark.class()));
    }
    if !item.name.is_empty() {
        set("n", json!(shown(&item.name)));
    }
    if item.title != boxes::title(item) {
        set("tt", json!(shown(&item.title)));
    }
    let detail = &item.detail;
    let operand = |o: &Operand| json!([shown(&o.parameter), shown(&o.name), shown(&o.ty)]);
    let list = |operands: &[Operand]| operands.iter().map(operand).collect::<Vec<Json>>();
    if !detail.attributes.is_empty() {
        set("a", detail.attributes.iter().map(|(name, value)| json!([shown(name), shown(value)])).collect());
    }
    if !detail.inputs.is_empty() {
        set("i", json!(list(&detail.inputs)));
    }
    if !detail.outputs.is_empty() {
        set("o", json!(list(&detail.outputs)));
    }
    if !detail.weights.is_empty() {
        set("w", detail.weights.iter().map(|(name, numbers)| weight(name, numbers)).collect());
    }
    if !detail.text.is_empty() {
        set("x", json!(shown(&detail.text)));
    }
    if !detail.also.is_empty() {
        set("z", detail.also.iter().map(|name| shown(name)).collect());
    }
    if !detail.changes.is_empty() {
        set("d", detail.changes.iter().map(|change| shown(change)).collect());
    }
    object
}

fn weight(name: &str, numbers: &Distribution) -> Json {
    let mut object = numbers.json();
    object["name"] = json!(shown(name));
    object
}

fn group(group: &super::scene::Group, layers: &Layers) -> Json {
    let reason = match group.reason {
        Reason::Root => "root",
        Reason::Function => "function",
        Reason::Subgraph => "graph",
        Reason::Names => "names",
        Reason::Repeat => "block",
        Reason::Section => "part",
    };
    // Links count from -1 downwards.
    let what = |what: Occupant| match what {
        Occupant::Item(item) => json!(item),
        Occupant::Link(link) => json!(-1 - i64::try_from(link).unwrap_or(i64::MAX - 1)),
    };
    let rank = |rank: &Vec<super::layers::Slot>| -> Json {
        rank.iter().flat_map(|slot| [what(slot.what), json!(round(slot.x))]).collect()
    };
    let end = |end: Option<usize>| end.map_or(json!(-1), |item| json!(item));
    let links: Vec<Json> = layers
        .links
        .iter()
        .map(|link| match link.mark.class() {
            "" => json!([end(link.from), end(link.to), link.value]),
            mark => json!([end(link.from), end(link.to), link.value, mark]),
        })
        .collect();
    json!({
        "r": reason, "i": group.item, "o": group.is_open,
        "ranks": layers.ranks.iter().map(rank).collect::<Vec<Json>>(), "links": links,
    })
}

fn round(x: f64) -> f64 {
    (x * 10.0).round() / 10.0 + 0.0
}
