//! A drawing as SVG: one picture without scripts, for light and dark backgrounds.

use super::boxes::{self, HEAD, LINE};
use super::layers::Layers;
use super::route::path_data;
use super::scene::{GroupId, ItemId, Kind, Scene};
use super::stack::{self, Placed};
use super::text::{self, escaped, number as n};
use super::theme;
use std::fmt::Write as _;

/// The class that styles are limited to, for pages with several pictures.
const SCOPE: &str = ".onnxtxt";

/// A whole picture.
pub(super) fn svg(scene: &Scene, layers: &[Layers]) -> String {
    let mut placed: Vec<Option<Placed>> = vec![None; scene.groups.len()];
    for group in scene.groups_inside_out() {
        placed[group] = Some(stack::place(scene, &layers[group], &placed, group));
    }
    let (width, height) = placed[0].as_ref().map_or((0.0, 0.0), |root| (root.width, root.height));
    let mut picture = Picture { scene, placed: &placed, out: String::new() };
    let (w, h) = (n(width.max(1.0)), n(height.max(1.0)));
    let title = if scene.title.is_empty() { "model" } else { &scene.title };
    _ = write!(
        picture.out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"onnxtxt\" width=\"{w}\" height=\"{h}\" viewBox=\"0 0 {w} {h}\">\n\
         <title>{}</title>\n<style>\n{}</style>\n<rect class=\"bg\" width=\"{w}\" height=\"{h}\"/>\n",
        escaped(title),
        theme::picture(SCOPE)
    );
    picture.group(0, [0.0, 0.0]);
    picture.out + "</svg>\n"
}

struct Picture<'s> {
    scene: &'s Scene,
    placed: &'s [Option<Placed>],
    out: String,
}

impl Picture<'_> {
    /// Writes the content of a group: wires below boxes.
    fn group(&mut self, group: GroupId, origin: [f64; 2]) {
        let Some(inside) = &self.placed[group] else { return };
        // Frames first: wires are drawn on them.
        for &(item, [x, y, w, h]) in &inside.boxes {
            if let Some(inner) = self.open(item) {
                self.frame(item, inner, [x + origin[0], y + origin[1], w, h]);
            }
        }
        for path in &inside.paths {
            let mark = path.link.mark.class();
            let data = path_data(&path.points, origin);
            _ = writeln!(self.out, "<path class=\"w {mark}\" d=\"{data}\"/>");
            if let (true, [.., before, last]) = (path.has_head, &path.points[..]) {
                self.head(*before, *last, origin, mark);
            }
        }
        for &(item, [x, y, w, h]) in &inside.boxes {
            let at = [x + origin[0], y + origin[1], w, h];
            match self.open(item) {
                Some(inner) => self.frame_head(item, inner, at),
                None => self.item(item, at),
            }
        }
        for label in &inside.labels {
            let (x, y) = (n(label.at[0] + origin[0]), n(label.at[1] + origin[1]));
            let text = escaped(&boxes::label(self.scene, label.value));
            _ = writeln!(
                self.out,
                "<text class=\"y {}\" x=\"{x}\" y=\"{y}\">{text}</text>",
                label.mark.class()
            );
        }
    }

    fn open(&self, item: ItemId) -> Option<GroupId> {
        self.scene.items[item].group().filter(|&group| self.scene.groups[group].is_open)
    }

    fn head(&mut self, before: [f64; 2], last: [f64; 2], origin: [f64; 2], mark: &str) {
        let (x, y) = (n(last[0] + origin[0]), n(last[1] + origin[1]));
        let up = if before[1] > last[1] { "7" } else { "-7" };
        _ = writeln!(self.out, "<path class=\"h {mark}\" d=\"M{x} {y}l-3.5 {up}h7z\"/>");
    }

    fn frame(&mut self, item: ItemId, group: GroupId, [x, y, w, h]: [f64; 4]) {
        let mark = self.scene.items[item].mark.class();
        let (px, py, pw, ph) = (n(x), n(y), n(w), n(h));
        _ = writeln!(
            self.out,
            "<g class=\"in {mark}\"><rect class=\"fr\" x=\"{px}\" y=\"{py}\" width=\"{pw}\" height=\"{ph}\" rx=\"8\"/>"
        );
        self.group(group, [x, y]);
        self.out += "</g>\n";
    }

    fn frame_head(&mut self, id: ItemId, group: GroupId, [x, y, w, _]: [f64; 4]) {
        let title = escaped(&boxes::title(&self.scene.items[id]));
        let (left, top, wide) = (n(x + 1.0), n(y + 1.0), n(w - 2.0));
        _ = writeln!(
            self.out,
            "<g class=\"gh\"><title>{}</title><rect class=\"fh\" x=\"{left}\" y=\"{top}\" width=\"{wide}\" height=\"{}\" rx=\"7\"/>\
             <text class=\"t l\" x=\"{}\" y=\"{}\">{title}</text><text class=\"c\" x=\"{}\" y=\"{}\">{}</text></g>",
            escaped(&self.tooltip(id)),
            n(HEAD - 5.0),
            n(x + 11.0),
            n(y + 16.5),
            n(x + w - 10.0),
            n(y + 16.0),
            self.scene.node_count(group)
        );
    }

    fn tooltip(&self, id: ItemId) -> String {
        let item = &self.scene.items[id];
        let mut lines = vec![item.title.clone()];
        lines.extend(
            [item.name.clone(), text::cut_end(&item.detail.text, 300)].into_iter().filter(|l| !l.is_empty()),
        );
        lines.extend(item.detail.changes.iter().cloned());
        lines.join(" · ")
    }

    fn item(&mut self, id: ItemId, [x, y, w, h]: [f64; 4]) {
        let item = &self.scene.items[id];
        // The group of the box, with its classes and its tooltip.
        let kind = match item.kind {
            Kind::Node => "n",
            Kind::Input | Kind::Output => "io",
            Kind::Outside => "io outside",
            Kind::Group(_) => "n k",
        };
        let (mark, family) = (item.mark.class(), item.family.name());
        let title = escaped(&boxes::title(item));
        let middle = n(x + w / 2.0);
        _ = write!(
            self.out,
            "<g class=\"g {kind} f-{family} {mark}\"><title>{}</title>",
            escaped(&self.tooltip(id))
        );
        let rect = |out: &mut String, shift: f64, radius: f64| {
            let (x, y, w, h) = (n(x + shift), n(y - shift), n(w), n(h));
            _ = write!(
                out,
                "<rect class=\"o\" x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\" rx=\"{}\"/>",
                n(radius)
            );
        };
        // A closed group looks like a stack of boxes.
        if let Some(group) = item.group() {
            rect(&mut self.out, 5.0, 7.0);
            rect(&mut self.out, 2.5, 7.0);
            rect(&mut self.out, 0.0, 7.0);
            _ = writeln!(
                self.out,
                "<text class=\"t\" x=\"{middle}\" y=\"{}\">{title}</text><text class=\"s\" x=\"{middle}\" y=\"{}\">{}</text></g>",
                n(y + 20.0),
                n(y + 36.0),
                escaped(&boxes::subtitle(self.scene, group))
            );
            return;
        }
        // Any other box: its outline and title.
        let is_pill = item.kind != Kind::Node;
        rect(&mut self.out, 0.0, if is_pill { (h / 2.0).min(15.0) } else { 6.0 });
        let lines = boxes::lines(item);
        if !is_pill && !lines.is_empty() {
            _ = write!(
                self.out,
                "<path class=\"b\" d=\"M{} {}h{}v{}q0 5 -5 5h{}q-5 0 -5 -5z\"/>",
                n(x + 1.0),
                n(y + HEAD - 1.0),
                n(w - 2.0),
                n(h - HEAD - 5.0),
                n(12.0 - w)
            );
        }
        _ = write!(self.out, "<text class=\"t\" x=\"{middle}\" y=\"{}\">{title}</text>", n(y + 18.0));
        // Its lines, with labels at the left.
        let mut top = y + HEAD + if is_pill { 8.0 } else { 13.0 };
        for (label, line) in lines {
            if is_pill {
                _ = write!(
                    self.out,
                    "<text class=\"s v\" x=\"{middle}\" y=\"{}\">{}</text>",
                    n(top),
                    escaped(&line)
                );
            } else {
                let mut left = x + 11.0;
                if !label.is_empty() {
                    let label = (n(left), n(top), escaped(&label), text::mono(&label, boxes::SMALL));
                    _ = write!(self.out, "<text x=\"{}\" y=\"{}\">{}</text>", label.0, label.1, label.2);
                    left += label.3 + 7.0;
                }
                _ = write!(
                    self.out,
                    "<text class=\"v\" x=\"{}\" y=\"{}\">{}</text>",
                    n(left),
                    n(top),
                    escaped(&line)
                );
            }
            top += LINE;
        }
        self.out += "</g>\n";
    }
}
