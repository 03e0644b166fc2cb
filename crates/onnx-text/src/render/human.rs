//! A finding with the lines that it is about.
//!
//! ariadne draws a [`Window`] under line numbers from 1; the margin is numbered anew here, because its own offset for
//! line numbers does not reach the margin.

use super::window::{Window, windows};
use super::{SourceKind, SourceText, Spot};
use ariadne::{Color, Config, IndexType, Label, Report, ReportKind};
use onnx_ir::diag::{Diagnostic, Label as DiagLabel, Place, Severity, Span};
use std::borrow::Cow;
use std::fmt::Write as _;

/// Options of rendering.
#[derive(Clone, Copy, Debug)]
pub struct RenderOptions {
    /// Whether to color it with the escape sequences of ANSI terminals.
    pub color: bool,
    /// Columns of the terminal.
    pub width: usize,
}

impl Default for RenderOptions {
    /// Without color, for 100 columns.
    fn default() -> Self {
        RenderOptions { color: false, width: 100 }
    }
}

/// The finding as a block of lines, the last one with a line break.
#[must_use]
pub fn human(diagnostic: &Diagnostic, source: &SourceText<'_>, style: RenderOptions) -> String {
    let Diagnostic { code, severity, message, .. } = diagnostic;
    let paint = Paint(style.color);
    let title = format!("{}[{}]", severity.name(), code.id);
    let mut out =
        format!("{}: {}\n", paint.of(&title, severity_code(*severity)), paint.bold(&clean(message)));

    let labels = labels(diagnostic, source);
    if labels.is_empty() {
        match source.spot(diagnostic.primary.place) {
            Spot::Byte(byte) => _ = writeln!(out, "   in {}, at byte {byte}", clean(source.name())),
            Spot::Text(_) | Spot::Nowhere => _ = writeln!(out, "   in {}", clean(source.name())),
        }
    } else {
        out += &snippet(&labels, *severity, source, style);
    }
    if let Some(help) = &diagnostic.help {
        _ = writeln!(out, "   {} {}", paint.of("help:", CYAN), clean(help));
    }
    for fix in &diagnostic.fixes {
        let kind = if fix.safe { "fix:" } else { "unsafe fix:" };
        _ = writeln!(out, "   {} {}", paint.of(kind, GREEN), clean(&fix.title));
    }
    out
}

/// The labels that have a place in the text; the primary one is first if it has a place. A label without text says what its place
/// is: the kind of the entity, or the name of the code for a span.
fn labels<'d>(diagnostic: &'d Diagnostic, source: &SourceText<'_>) -> Vec<(Span, Cow<'d, str>, bool)> {
    let text = |label: &'d DiagLabel| match label.place {
        _ if !label.text.is_empty() => Cow::Borrowed(label.text.as_str()),
        Place::Entity(entity) => Cow::Owned(format!("this {}", entity.kind())),
        Place::Source(_) | Place::Nowhere => Cow::Owned(diagnostic.code.name.replace('-', " ")),
    };
    let place = |label: &'d DiagLabel, is_primary: bool| {
        source.span(label.place).map(|span| (span, text(label), is_primary))
    };
    let primary = place(&diagnostic.primary, true);
    primary.into_iter().chain(diagnostic.related.iter().filter_map(|label| place(label, false))).collect()
}

fn snippet(
    labels: &[(Span, Cow<'_, str>, bool)],
    severity: Severity,
    source: &SourceText<'_>,
    style: RenderOptions,
) -> String {
    let spans: Vec<Span> = labels.iter().map(|(span, ..)| *span).collect();
    let widest =
        source.position(spans.iter().map(|span| span.start).max().unwrap_or(0)).line.to_string().len();
    let windows = windows(source, &spans, style.width.saturating_sub(widest + 8).max(40));
    let config = Config::new().with_color(style.color).with_index_type(IndexType::Byte).with_tab_width(4);
    let first = windows.first().and_then(|window| window.marks.first());
    let Some((_, first)) = first else { return String::new() };
    let mut report = Report::build(ReportKind::Error, (0, first.clone())).with_config(config);
    let mut order = 0;
    for (id, window) in windows.iter().enumerate() {
        // From line to line, and in a line from right to left: so arrows do not cross.
        let mut marks: Vec<_> = window.marks.iter().collect();
        let line = |at: usize| window.text[..at].matches('\n').count();
        marks.sort_by_key(|(_, range)| (line(range.end), std::cmp::Reverse(range.start)));
        for (index, range) in marks {
            let (_, text, is_primary) = &labels[*index];
            let color = match (is_primary, severity) {
                (false, _) => Color::Blue,
                (true, Severity::Error) => Color::Red,
                (true, Severity::Warning) => Color::Yellow,
            };
            order += 1;
            let label = Label::new((id, range.clone())).with_color(color).with_order(order);
            report = report.with_label(label.with_message(clean(text)));
        }
    }
    let texts: Vec<_> = windows.iter().map(|window| ariadne::Source::from(window.text.as_str())).collect();
    let mut drawn = Vec::new();
    if report.finish().write(Windows { texts }, &mut drawn).is_err() {
        return String::new();
    }
    // Each window is at the place of its first label.
    let places: Vec<String> = windows
        .iter()
        .map(|window| {
            let index = window.marks.iter().map(|(index, _)| *index).min().unwrap_or(0);
            let position = source.position(spans[index].start);
            let printed = if source.kind == SourceKind::Binary { ", printed" } else { "" };
            format!("{}{printed}:{}:{}", clean(source.name()), position.line, position.column)
        })
        .collect();
    renumber(&String::from_utf8_lossy(&drawn), &windows, &places)
}

/// The sources for ariadne, by the index of their window.
struct Windows<'w> {
    texts: Vec<ariadne::Source<&'w str>>,
}

impl<'w> ariadne::Cache<usize> for Windows<'w> {
    type Storage = &'w str;

    fn fetch(&mut self, id: &usize) -> Result<&ariadne::Source<&'w str>, impl std::fmt::Debug> {
        self.texts.get(*id).ok_or("no such window")
    }

    fn display<'i>(&self, id: &'i usize) -> Option<impl std::fmt::Display + 'i> {
        Some(format!("{NAME}{id}{NAME}"))
    }
}

/// Delimits the index of a window in ariadne's output; a character without other uses.
const NAME: char = '\u{f8ff}';

/// Puts the names and line numbers of the source where ariadne has those of the windows.
fn renumber(drawn: &str, windows: &[Window], places: &[String]) -> String {
    let lines = |window: &Window| window.text.lines().count();
    let digits = |number: usize| number.to_string().len();
    let old_width = windows.iter().map(|window| digits(lines(window))).max().unwrap_or(1);
    let last = |window: &Window| window.first_line as usize + lines(window);
    let more = windows.iter().map(|window| digits(last(window))).max().unwrap_or(1).saturating_sub(old_width);

    let mut out = String::with_capacity(drawn.len() + 100);
    let mut first_line = 0;
    // The first line is the message, which is there already.
    for line in drawn.lines().skip(1) {
        let line = line.trim_end();
        let mut names = line.match_indices(NAME).map(|(at, _)| at);
        if let (Some(start), Some(end)) = (names.next(), names.next()) {
            let window = line[start + NAME.len_utf8()..end].parse().unwrap_or(0_usize);
            first_line = windows.get(window).map_or(0, |window| window.first_line as usize);
            let place = places.get(window).map_or("", String::as_str);
            let rest = line[end..].find(' ').map_or("", |space| &line[end + space..]);
            _ = writeln!(out, "{:more$}{}{place}{rest}", "", &line[..start]);
            continue;
        }
        let (at, first) = first_visible(line);
        match first {
            '0'..='9' => {
                let end = line[at..].find(|c: char| !c.is_ascii_digit()).map_or(line.len(), |end| at + end);
                let number = line[at..end].parse::<usize>().unwrap_or(0) + first_line;
                let padding = (old_width + more).saturating_sub(digits(number));
                // As many spaces stood before the old number as it was short of the width.
                let before = &line[..at - (old_width + at).saturating_sub(end).min(at)];
                _ = writeln!(out, "{before}{:padding$}{number}{}", "", &line[end..]);
            }
            '─' => _ = writeln!(out, "{}{}{}", &line[..at], "─".repeat(more), &line[at..]),
            _ => _ = writeln!(out, "{:more$}{line}", ""),
        }
    }
    out
}

/// The first character that is neither a space nor part of an escape sequence, and its place.
fn first_visible(line: &str) -> (usize, char) {
    let mut is_escape = false;
    for (at, c) in line.char_indices() {
        match c {
            '\x1b' => is_escape = true,
            'm' if is_escape => is_escape = false,
            ' ' => {}
            _ if is_escape => {}
            _ => return (at, c),
        }
    }
    (line.len(), ' ')
}

/// Message text on one line, because names in it may contain anything.
fn clean(text: &str) -> String {
    super::plain::one_line(text)
}

const CYAN: &str = "36";
const GREEN: &str = "32";

fn severity_code(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "1;31",
        Severity::Warning => "1;33",
    }
}

/// Colours, or none.
struct Paint(bool);

impl Paint {
    fn of(&self, text: &str, code: &str) -> String {
        if self.0 { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    fn bold(&self, text: &str) -> String {
        self.of(text, "1")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onnx_ir::diag::code;

    fn shown(diagnostic: &Diagnostic, text: &str, color: bool) -> String {
        human(
            diagnostic,
            &SourceText::new("m.onnxtxt", text, SourceKind::Text),
            RenderOptions { color, width: 80 },
        )
    }

    #[test]
    fn line_numbers_are_those_of_the_source() {
        let text = "a\n".repeat(20_000);
        let finding = Diagnostic::new(&code::VALUE_UNDEFINED, Span::new(2 * 9_997, 2 * 9_997 + 1), "it is")
            .label("one")
            .related(Span::new(2 * 10_000, 2 * 10_000 + 1), "two")
            .related(Span::new(4, 5), "three")
            .help("look")
            .fix("change it", Vec::new(), true);
        let expected = "\
error[E0203]: it is
       ╭─[ m.onnxtxt:9998:1 ]
       │
  9998 │ a
       │ ┬
       │ ╰── one
       │
 10001 │ a
       │ ┬
       │ ╰── two
       │
       ├─[ m.onnxtxt:3:1 ]
       │
     3 │ a
       │ ┬
       │ ╰── three
───────╯
   help: look
   fix: change it
";
        assert_eq!(shown(&finding, &text, false), expected);
        // Colours change nothing else.
        let colored = shown(&finding, &text, true);
        let plain: String = colored
            .split('\x1b')
            .enumerate()
            .map(|(i, p)| if i == 0 { p } else { &p[p.find('m').unwrap() + 1..] })
            .collect();
        let trimmed = |text: &str| text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n");
        assert_eq!(trimmed(&plain), trimmed(expected));
    }

    #[test]
    fn a_finding_without_a_place_names_the_file() {
        let finding = Diagnostic::new(&code::UNEXPECTED_TOKEN, onnx_ir::diag::Place::Nowhere, "no graph");
        assert_eq!(shown(&finding, "", false), "error[E0101]: no graph\n   in m.onnxtxt\n");
    }

    #[test]
    fn any_span_can_be_shown() {
        let text = "äb\r\n\tc\u{2028}\0d\n\n";
        for start in 0..text.len() as u32 + 3 {
            for end in start..text.len() as u32 + 3 {
                let finding = Diagnostic::new(&code::UNEXPECTED_TOKEN, Span::new(start, end), "x")
                    .related(Span::new(end, end), "y");
                assert!(shown(&finding, text, true).contains("m.onnxtxt:"), "{start}..{end}");
            }
        }
    }
}
