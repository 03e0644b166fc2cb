//! Boxes: their content and size.

use super::scene::{GroupId, Item, ItemId, Kind, Scene, ValueIndex};
use super::text;
use onnx_ir::diag::counted;

/// The height of the head of a group, and of a box.
pub(super) const HEAD: f64 = 27.0;
/// The height of a line.
pub(super) const LINE: f64 = 15.0;
/// Fonts.
pub(super) const TITLE: f64 = 13.0;
pub(super) const SMALL: f64 = 11.0;
pub(super) const LABEL: f64 = 10.0;
/// Lines of a box, and characters of a line.
pub(super) const MAX_LINES: usize = 8;
const MAX_CHARS: usize = 34;
const MAX_TITLE: usize = 30;
/// Characters of a type beside a wire.
const MAX_LABEL: usize = 30;

/// The title of a box as it is drawn.
pub(super) fn title(item: &Item) -> String {
    text::cut(&item.title, MAX_TITLE)
}

/// The lines of a box as they are drawn: label and text.
pub(super) fn lines(item: &Item) -> Vec<(String, String)> {
    let mut lines: Vec<(String, String)> = Vec::new();
    let is_all = item.lines.len() <= MAX_LINES;
    for line in item.lines.iter().take(if is_all { MAX_LINES } else { MAX_LINES - 1 }) {
        let label = text::cut(&line.label, MAX_CHARS / 2);
        let room = MAX_CHARS - label.chars().count().min(MAX_CHARS / 2);
        lines.push((
            label,
            if line.link.is_some() { text::cut(&line.text, room) } else { text::cut_end(&line.text, room) },
        ));
    }
    if !is_all {
        lines.push((String::new(), format!("… {} more", item.lines.len() + 1 - MAX_LINES)));
    }
    lines.extend(
        item.detail.changes.iter().take(3).map(|change| (String::new(), text::cut(change, MAX_CHARS + 8))),
    );
    lines
}

/// The line below the title of a closed group.
pub(super) fn subtitle(scene: &Scene, group: GroupId) -> String {
    counted(scene.node_count(group), "node")
}

/// The type of a value as it is drawn beside a wire.
pub(super) fn label(scene: &Scene, value: ValueIndex) -> String {
    text::cut_end(&scene.values[value].ty, MAX_LABEL)
}

/// The size of a box that is closed.
pub(super) fn closed_size(scene: &Scene, id: ItemId) -> [f64; 2] {
    let item = &scene.items[id];
    let title_width = text::sans(&title(item), TITLE) + 24.0;
    if let Some(group) = item.group() {
        return [title_width.max(text::sans(&subtitle(scene, group), SMALL) + 24.0).max(130.0) + 20.0, 46.0];
    }
    let lines = lines(item);
    let line_width = |(label, line): &(String, String)| {
        text::mono(label, SMALL) + text::mono(line, SMALL) + if label.is_empty() { 24.0 } else { 31.0 }
    };
    let width = lines.iter().map(line_width).fold(title_width, f64::max);
    #[allow(clippy::cast_precision_loss, reason = "a few lines")]
    let below = lines.len() as f64 * LINE;
    match item.kind {
        Kind::Node | Kind::Group(_) => {
            [width.max(96.0), HEAD + if lines.is_empty() { 0.0 } else { below + 7.0 }]
        }
        Kind::Input | Kind::Output | Kind::Outside => {
            [width.max(64.0) + 10.0, HEAD + if lines.is_empty() { 0.0 } else { below + 2.0 }]
        }
    }
}
