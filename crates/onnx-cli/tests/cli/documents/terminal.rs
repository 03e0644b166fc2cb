//! Output of a terminal as a drawing: its lines in columns of one width, with its colours.

use std::fmt::Write as _;

/// The width and height of a character, in pixels.
pub(super) const COLUMN: f64 = 6.6;
pub(super) const LINE: f64 = 15.0;
/// The size of letters.
const SIZE: f64 = 11.0;

/// A part of a line in one style.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Span {
    text: String,
    colour: &'static str,
    is_bold: bool,
}

/// Escapes text for XML.
pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// The parts of lines that have escape sequences for colours.
fn spans(output: &str) -> Vec<Vec<Span>> {
    let mut colour = "text";
    let mut is_bold = false;
    let mut lines = Vec::new();
    for line in output.lines() {
        let mut spans: Vec<Span> = Vec::new();
        for (at, part) in line.split('\x1b').enumerate() {
            let text = match part.strip_prefix('[').and_then(|rest| rest.split_once('m')) {
                Some((codes, text)) if at > 0 => {
                    (colour, is_bold) = styled(codes, colour, is_bold);
                    text
                }
                _ => part,
            };
            match spans.last_mut() {
                Some(last) if last.colour == colour && last.is_bold == is_bold => last.text += text,
                _ => spans.push(Span { text: text.to_owned(), colour, is_bold }),
            }
        }
        spans.retain(|span| !span.text.is_empty());
        lines.push(spans);
    }
    lines
}

/// The style after the codes of an escape sequence.
fn styled(codes: &str, mut colour: &'static str, mut is_bold: bool) -> (&'static str, bool) {
    let mut codes = codes.split(';');
    while let Some(code) = codes.next() {
        match code {
            "" | "0" => (colour, is_bold) = ("text", false),
            "1" => is_bold = true,
            "31" => colour = "red",
            "32" => colour = "green",
            "33" => colour = "yellow",
            "34" | "36" => colour = "blue",
            "39" => colour = "text",
            // A colour of the 256: those that findings use are grays.
            "38" => {
                codes.next();
                let number: u32 = codes.next().and_then(|code| code.parse().ok()).unwrap_or(255);
                colour = if number >= 249 { "text" } else { "gray" };
            }
            _ => {}
        }
    }
    (colour, is_bold)
}

/// The colours of a style on a light background.
fn fill(colour: &str) -> &'static str {
    match colour {
        "red" => "#cf222e",
        "green" => "#116329",
        "yellow" => "#9a6700",
        "blue" => "#0550ae",
        "gray" => "#8c959f",
        _ => "#1f2328",
    }
}

/// The columns and lines of an output.
pub(super) fn size(output: &str) -> (usize, usize) {
    let lines = spans(output);
    let width = |line: &Vec<Span>| line.iter().map(|span| span.text.chars().count()).sum::<usize>();
    (lines.iter().map(width).max().unwrap_or(0), lines.len())
}

/// Draws an output. Every part has the length of its columns, whatever font is there.
pub(super) fn draw(output: &str) -> String {
    let mut svg = String::new();
    for (row, line) in spans(output).iter().enumerate() {
        let mut column = 0;
        for span in line {
            let bold = if span.is_bold { " font-weight=\"bold\"" } else { "" };
            // Two spaces would be drawn as one.
            for text in span.text.split_inclusive("  ") {
                let blank = text.chars().take_while(|char| *char == ' ').count();
                let left = (column + blank) as f64 * COLUMN;
                column += text.chars().count();
                let text = text.trim();
                if text.is_empty() {
                    continue;
                }
                let bottom = row as f64 * LINE + SIZE;
                let width = text.chars().count() as f64 * COLUMN;
                let _ = writeln!(
                    svg,
                    "<text x=\"{left:.1}\" y=\"{bottom:.1}\" textLength=\"{width:.1}\" lengthAdjust=\"spacingAndGlyphs\" fill=\"{}\"{bold}>{}</text>",
                    fill(span.colour),
                    escaped(text)
                );
            }
        }
    }
    svg
}

#[test]
fn colours_are_read_and_columns_kept() {
    let output = "\x1b[1;31merror\x1b[0m: <x>\n  \x1b[38;5;246m│\x1b[0m \x1b[34my\x1b[0m";
    assert_eq!(size(output), (10, 2));
    let lines = spans(output);
    assert_eq!(lines[0][0], Span { text: "error".to_owned(), colour: "red", is_bold: true });
    assert_eq!(lines[1].iter().map(|span| span.colour).collect::<Vec<_>>(), ["text", "gray", "text", "blue"]);
    let svg = draw(output);
    assert!(draw("-    a b").contains(&format!("x=\"{:.1}\"", 5.0 * COLUMN)));
    assert!(svg.contains(": &lt;x&gt;</text>") && svg.contains("font-weight=\"bold\""), "{svg}");
}
