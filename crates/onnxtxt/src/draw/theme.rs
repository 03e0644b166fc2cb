//! Styles of drawings, for light and dark backgrounds: classes with plain colors, which programs other than browsers read as well.

use super::family::Family;
use super::scene::Mark;
use std::fmt::Write as _;

/// Fonts of titles, and of lines.
pub(super) const SANS: &str =
    "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'DejaVu Sans', Arial, sans-serif";
pub(super) const MONO: &str =
    "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', 'Liberation Mono', monospace";

/// The colors of everything that does not belong to a family.
struct Palette {
    back: &'static str,
    ink: &'static str,
    faint: &'static str,
    wire: &'static str,
    inside: &'static str,
    frame: &'static str,
    frame_line: &'static str,
    frame_head: &'static str,
    pill: &'static str,
    pill_line: &'static str,
    /// Fill and border of what is new, gone, different.
    marks: [[&'static str; 2]; 3],
}

const LIGHT: Palette = Palette {
    back: "#ffffff",
    ink: "#1b1f24",
    faint: "#59636e",
    wire: "#8d98a6",
    inside: "#fdfdfe",
    frame: "#f5f7fa",
    frame_line: "#c4ccd6",
    frame_head: "#e6ebf1",
    pill: "#ffffff",
    pill_line: "#59636e",
    marks: [["#cdf2d7", "#1a7f37"], ["#ffd9d6", "#cf222e"], ["#ffedb3", "#9a6700"]],
};

const DARK: Palette = Palette {
    back: "#12151a",
    ink: "#e9ecf0",
    faint: "#a3adb9",
    wire: "#6d7886",
    inside: "#1b1f26",
    frame: "#191d23",
    frame_line: "#3c444f",
    frame_head: "#262c35",
    pill: "#12151a",
    pill_line: "#a3adb9",
    marks: [["#14482a", "#3fb950"], ["#5c1f22", "#f85149"], ["#4d3d0c", "#d29922"]],
};

/// Rules that hold on every background.
fn rules(scope: &str) -> String {
    format!(
        "{scope} text{{font-family:{MONO};font-size:11px}}\n\
         {scope} .t{{font-family:{SANS};font-size:13px;font-weight:600;text-anchor:middle}}\n\
         {scope} .t.l{{text-anchor:start}}\n\
         {scope} .s{{font-family:{SANS};text-anchor:middle}}\n\
         {scope} .c{{font-family:{SANS};text-anchor:end}}\n\
         {scope} .y{{font-size:10px;text-anchor:middle;paint-order:stroke;stroke-width:4px;stroke-linejoin:round}}\n\
         {scope} .w{{fill:none;stroke-width:1.3}}\n\
         {scope} .w.added,{scope} .w.removed{{stroke-width:2}}\n\
         {scope} .w.removed,{scope} .removed .o{{stroke-dasharray:5 3}}\n\
         {scope} .g.outside .o{{stroke-dasharray:4 3}}\n\
         {scope} .o{{stroke-width:1.2}}\n\
         {scope} .added .o,{scope} .removed .o,{scope} .changed .o{{stroke-width:2}}\n"
    )
}

fn colors(scope: &str, palette: &Palette, is_dark: usize) -> String {
    let Palette { back, ink, faint, wire, inside, frame, frame_line, frame_head, pill, pill_line, marks } =
        palette;
    let mut out = format!(
        "{scope} .bg{{fill:{back}}}\n{scope} text{{fill:{ink}}}\n\
         {scope} .v,{scope} .s,{scope} .c,{scope} .y{{fill:{faint}}}\n{scope} .y{{stroke:{back}}}\n\
         {scope} .w{{stroke:{wire}}}\n{scope} .h{{fill:{wire}}}\n{scope} .b{{fill:{inside}}}\n\
         {scope} .fr{{fill:{frame};stroke:{frame_line}}}\n{scope} .fh{{fill:{frame_head}}}\n\
         {scope} .in .y,{scope} .y.d{{stroke:{frame}}}\n"
    );
    for family in Family::ALL {
        let [fill, line] = family.colors()[is_dark];
        _ = writeln!(out, "{scope} .f-{} .o{{fill:{fill};stroke:{line}}}", family.name());
    }
    _ = writeln!(out, "{scope} .io .o{{fill:{pill};stroke:{pill_line}}}");
    for (mark, [fill, line]) in [Mark::Added, Mark::Removed, Mark::Changed].into_iter().zip(marks) {
        let class = mark.class();
        _ = writeln!(
            out,
            "{scope} .{class} .o,{scope} .{class}>.fr{{fill:{fill};stroke:{line}}}\n\
             {scope} .w.{class}{{stroke:{line}}}\n{scope} .h.{class}{{fill:{line}}}\n{scope} .y.{class}{{fill:{line}}}"
        );
    }
    out
}

/// The styles of a picture: dark where the viewer prefers that.
pub(super) fn picture(scope: &str) -> String {
    format!(
        "{}{}@media (prefers-color-scheme: dark){{\n{}}}\n",
        rules(scope),
        colors(scope, &LIGHT, 0),
        colors(scope, &DARK, 1)
    )
}

/// The styles of a page that has a switch.
pub(super) fn page(scope: &str) -> String {
    let dark = format!(":root[data-theme=dark] {scope}");
    format!("{}{}{}", rules(scope), colors(scope, &LIGHT, 0), colors(&dark, &DARK, 1))
}
