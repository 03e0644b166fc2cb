//! Spellings of other languages that are recognized, so that each is one mistake with the right spelling as its help.
//!
//! Strings in single, curly or back quotes, comments of other languages, `->`, `→`, `;` for `,`, and numbers such as
//! `.5`, `+1`, `0x10`, `1_000` or `1.5f`.

use super::{Driver, shown, span};
use crate::lex::Kind;
use onnx_ir::diag::{Diagnostic, Edit, Span, code};

/// The correct spelling of a number with a sign, base, suffix or separators that this syntax does not have; `None` for valid
/// numbers, and for text that is not a number in any language.
pub(crate) fn number(spelling: &str) -> Option<String> {
    let (sign, body) = match spelling.as_bytes().first()? {
        b'+' => ("", &spelling[1..]),
        b'-' => ("-", &spelling[1..]),
        _ => ("", spelling),
    };
    let plain: String = match body.bytes().next()? {
        b'_' => return None,
        _ => body.chars().filter(|&c| c != '_').collect(),
    };
    let lower = plain.to_ascii_lowercase();
    for (prefix, base) in [("0x", 16), ("0b", 2), ("0o", 8)] {
        if let Some(digits) = lower.strip_prefix(prefix) {
            let value = u64::from_str_radix(digits, base).ok().filter(|_| !digits.starts_with('+'))?;
            return Some(format!("{sign}{value}"));
        }
    }
    let number = lower.trim_end_matches(['f', 'l', 'u', 'd']);
    let suffix = &lower[number.len()..];
    if !matches!(suffix, "" | "f" | "d" | "l" | "ll" | "u" | "ul" | "ull") {
        return None;
    }
    let zero = if number.starts_with('.') { "0" } else { "" };
    let is_float = number.contains(['.', 'e']);
    let point = if !is_float && matches!(suffix, "f" | "d") { ".0" } else { "" };
    let meant = format!("{sign}{zero}{number}{point}");
    let is_number = number.bytes().any(|b| b.is_ascii_digit())
        && number.bytes().all(|b| b.is_ascii_digit() || b".e+-".contains(&b))
        && meant.parse::<f64>().is_ok();
    (is_number && meant != spelling).then_some(meant)
}

/// The token that replaces an invalid number.
pub(super) fn kind(spelling: &str) -> Kind {
    if number(spelling).is_none_or(|meant| is_int(&meant)) { Kind::Int } else { Kind::Float }
}

/// Whether a quoted text can only be a string or a name: a quoted number may be a number, and a quoted sign a sign.
fn is_words(inner: &str) -> bool {
    let is_sign = !inner.is_empty() && !inner.contains(|c: char| c.is_alphanumeric() || c == '_');
    !is_sign && inner.parse::<f64>().is_err()
}

/// The most bytes of a line that are searched for an unknown character, because a long line may have many of them.
const LOOK: usize = 400;

/// The first line of a text, up to a number of bytes.
fn line_within(rest: &str, most: usize) -> &str {
    let head = &rest[..rest.floor_char_boundary(most)];
    head.split('\n').next().unwrap_or_default()
}

/// Whether the intended number is an integer.
fn is_int(meant: &str) -> bool {
    meant.bytes().all(|b| b.is_ascii_digit() || b == b'-')
}

/// A token of another language.
pub(super) struct Foreign {
    /// The replacement; `None` for a comment.
    pub(super) kind: Option<Kind>,
    /// The end.
    pub(super) end: usize,
}

impl Driver<'_> {
    /// Recognizes and reports tokens of other languages at `start`.
    pub(super) fn foreign(&mut self, kind: Kind, start: usize, end: usize, to: usize) -> Option<Foreign> {
        let rest = &self.source[start..to];
        let joins =
            self.out.tokens.last().is_some_and(|t| t.kind == Kind::Ident && t.span.end as usize == start);
        match kind {
            Kind::BadName | Kind::Unknown if rest.starts_with('\'') => self.single_quoted(start, to, joins),
            Kind::BadName | Kind::Unknown if rest.starts_with(['“', '”', '„', '‘', '’', '`']) && !joins => {
                self.odd_quoted(start, to)
            }
            // `y <- Relu(x)`, but not the `<-1, …` of a list.
            Kind::LAngle if rest.starts_with("<- ") => {
                let place = span(start, start + 2);
                self.report(
                    Diagnostic::new(&code::FOREIGN_SPELLING, place, "`<-` is not an equals sign")
                        .label("expected `=` between results and operator")
                        .help("write `=`")
                        .fix("write `=`", edit(place, "="), false),
                );
                Some(Foreign { kind: Some(Kind::Equals), end: start + 2 })
            }
            Kind::LAngle if rest.starts_with("<!--") => self.markup_comment(start, to),
            Kind::BadName | Kind::Unknown | Kind::Semicolon
                if self.starts_line && self.begins_remark(rest) =>
            {
                Some(Foreign { kind: None, end: self.remark(start, to) })
            }
            Kind::BadName | Kind::Unknown if rest.starts_with("/*") && !joins => {
                Some(Foreign { kind: None, end: self.block_comment(start, to) })
            }
            Kind::BadName | Kind::Unknown if arrow(rest).is_some() => {
                let arrow = arrow(rest)?;
                let place = span(start, start + arrow.len());
                self.report(
                    Diagnostic::new(&code::FOREIGN_SPELLING, place, format!("`{arrow}` is not an arrow"))
                        .label("an arrow is `=>`")
                        .help("write `=>`")
                        .fix("write `=>`", edit(place, "=>"), true),
                );
                Some(Foreign { kind: Some(Kind::Arrow), end: start + arrow.len() })
            }
            // `.5`, but not the `.5` of `x.5`.
            Kind::Dot if rest.as_bytes().get(1).is_some_and(u8::is_ascii_digit) => {
                let is_behind = self.out.tokens.last().is_some_and(|t| {
                    let is_word =
                        matches!(t.kind, Kind::Ident | Kind::String | Kind::Int | Kind::Float | Kind::Dot);
                    is_word && t.span.end as usize == start
                });
                if is_behind {
                    return None;
                }
                let length =
                    rest.bytes().take_while(|b| b.is_ascii_alphanumeric() || b"._".contains(b)).count();
                self.number_slip(start, start + length)
            }
            Kind::BadName if !joins => self.number_slip(start, end),
            _ => None,
        }
    }

    fn number_slip(&mut self, start: usize, end: usize) -> Option<Foreign> {
        let meant = number(&self.source[start..end])?;
        self.bad_number(span(start, end));
        Some(Foreign { kind: Some(if is_int(&meant) { Kind::Int } else { Kind::Float }), end })
    }

    /// `'…'`, or the `'…'` of `b'…'`.
    fn single_quoted(&mut self, start: usize, to: usize, joins: bool) -> Option<Foreign> {
        // `b'…'` is a byte string of Python; a quote after another name belongs to the name.
        let prefix = joins && self.out.tokens.last().is_some_and(|t| &self.source[t.span.range()] == "b");
        if joins && !prefix {
            return None;
        }
        let rest = &self.source[start + 1..to];
        let length = rest.find(['\'', '\n']).filter(|&at| rest[at..].starts_with('\''))?;
        let (inner, end) = (&rest[..length], start + length + 2);
        let begin = if prefix { start - 1 } else { start };
        let place = span(begin, end);
        let is_certain = !inner.contains(['"', '\\']) && is_words(inner);
        let right = format!("{}\"{inner}\"", if prefix { "b" } else { "" });
        let d = Diagnostic::new(
            &code::FOREIGN_SPELLING,
            place,
            format!("`{}` is in single quotes", shown(&self.source[place.range()])),
        )
        .label("strings and names are written in double quotes");
        let d = if is_certain {
            d.help(format!("write `{}`", shown(&right)))
        } else {
            d.help("write it in double quotes")
        };
        let text = format!("{}\"{}\"", if prefix { "b" } else { "" }, inner.replace('"', "\\\""));
        self.report(d.fix("use double quotes", edit(place, &text), is_certain));
        if prefix {
            self.out.tokens.pop();
            self.push(Kind::Bytes, place);
            return Some(Foreign { kind: None, end });
        }
        Some(Foreign { kind: Some(Kind::String), end })
    }

    /// `“…”` or `` `…` ``
    fn odd_quoted(&mut self, start: usize, to: usize) -> Option<Foreign> {
        let rest = &self.source[start..to];
        let open = rest.chars().next()?;
        let rest = &rest[open.len_utf8()..];
        let closes = |c: char| c == '"' || (c == '`') == (open == '`') && "`“”„‘’".contains(c);
        let close = rest.find(|c| c == '\n' || closes(c)).filter(|&at| !rest[at..].starts_with('\n'))?;
        let inner = &rest[..close];
        let end = start + open.len_utf8() + close + rest[close..].chars().next()?.len_utf8();
        let place = span(start, end);
        let kind = if open == '`' { "back quotes" } else { "curly quotes" };
        let message = format!("`{}` is in {kind}", shown(&self.source[place.range()]));
        let d = Diagnostic::new(&code::FOREIGN_SPELLING, place, message)
            .label("strings and names are written in straight double quotes");
        let right = format!("\"{inner}\"");
        let is_certain = !inner.contains('\\') && is_words(inner);
        let help = format!("write `{}`", shown(&right));
        self.report(d.help(help).fix("use double quotes", edit(place, &right), is_certain));
        Some(Foreign { kind: Some(Kind::String), end })
    }

    /// Whether a line starts like a comment of another language: a sign, and words that are not a statement.
    fn begins_remark(&self, rest: &str) -> bool {
        // Bounded, as each sign of a line may be asked about.
        let line = line_within(rest, LOOK);
        let signs = line.trim_start_matches(['-', ';', '%', '!', '*', '\'']);
        let mark = &line[..line.len() - signs.len()];
        let is_mark = matches!(mark, "--" | ";" | ";;" | "%" | "%%" | "!" | "*" | "**");
        is_mark && signs.starts_with([' ', '\t']) && !signs.contains(['=', '(', '>', '}', ')'])
    }

    /// `-- …` to the end of the line. Returns the end.
    fn remark(&mut self, start: usize, to: usize) -> usize {
        let line = self.source[start..to].split('\n').next().unwrap_or_default();
        let mark = line.split([' ', '\t']).next().unwrap_or_default();
        let place = span(start, start + mark.len());
        let d = Diagnostic::new(&code::FOREIGN_SPELLING, place, format!("`{mark}` does not begin a comment"));
        let d = d.label("a comment begins with `#`").help("write `#`");
        self.report(d.fix("write `#`", edit(place, "#"), false));
        start + line.len()
    }

    /// `<!-- … -->`
    fn markup_comment(&mut self, start: usize, to: usize) -> Option<Foreign> {
        let rest = &self.source[start..to];
        let line = line_within(rest, 8 * LOOK);
        // `<!-->` opens a comment and does not close it.
        let length = line.get(4..)?.find("-->").map(|at| at + 7)?;
        let place = span(start, start + length);
        let d = Diagnostic::new(&code::FOREIGN_SPELLING, place, "`<!-- … -->` is not a comment")
            .label("a comment begins with `#` and ends with its line");
        let text = format!("# {}", line[4..length - 3].trim());
        let is_last = rest[length..].chars().take_while(|&c| c != '\n').all(char::is_whitespace);
        self.report(match is_last {
            true => d.help("write it with `#`").fix("write it with `#`", edit(place, &text), true),
            false => d.help("begin each line of a comment with `#`"),
        });
        Some(Foreign { kind: None, end: start + length })
    }

    /// Whether a semicolon separates two items of a list: `behind` is the text after it.
    pub(super) fn separates(&self, behind: &str) -> bool {
        let is_item = self.out.tokens.last().is_some_and(|t| {
            matches!(
                t.kind,
                Kind::Ident | Kind::String | Kind::Int | Kind::Float | Kind::Special | Kind::Question
            )
        });
        let begins = |c: char| c.is_alphanumeric() || "_\"-+.?".contains(c);
        is_item && !self.open.is_empty() && behind.starts_with(begins)
    }

    /// `;` for `,`. Those of one list are one finding.
    pub(super) fn separator(&mut self, place: Span) {
        let at = self.out.tokens.len();
        self.push(Kind::Comma, place);
        let replace = || Edit { span: place, text: ",".to_owned() };
        if let Some((last, index)) = self.separator
            && at - last <= SEPARATED
            && self.out.tokens[last + 1..at].iter().all(|t| {
                let is_bracket = matches!(
                    t.kind,
                    Kind::LParen
                        | Kind::RParen
                        | Kind::LBrace
                        | Kind::RBrace
                        | Kind::LBracket
                        | Kind::RBracket
                );
                !is_bracket && t.kind != Kind::LAngle && t.kind != Kind::RAngle
            })
            && let Some(first) = self.out.diagnostics.get_mut(index)
            && let Some(fix) = first.fixes.first_mut()
        {
            fix.edits.push(replace());
            self.separator = Some((at, index));
            return;
        }
        self.separator = Some((at, self.out.diagnostics.len()));
        self.report(
            Diagnostic::new(&code::FOREIGN_SPELLING, place, "`;` does not separate items")
                .label("expected `,` between items")
                .help("write `,`")
                .fix("write `,`", vec![replace()], false),
        );
    }

    /// `/* … */`; to the end of the line if it is not closed. Returns the end.
    fn block_comment(&mut self, start: usize, to: usize) -> usize {
        let rest = &self.source[start..to];
        let is_unclosed = self.unclosed.start <= start && to <= self.unclosed.end;
        let closed = if is_unclosed { None } else { rest[2..].find("*/") };
        let Some(length) = closed.map(|at| at + 4) else {
            self.unclosed = start..to;
            let d = Diagnostic::new(
                &code::FOREIGN_SPELLING,
                span(start, start + 2),
                "`/*` does not begin a comment",
            );
            self.report(d.label("nothing closes it").help("begin each line of a comment with `#`"));
            return start + rest.find('\n').unwrap_or(rest.len());
        };
        let comment = &rest[..length];
        let d = Diagnostic::new(
            &code::FOREIGN_SPELLING,
            span(start, start + comment.find('\n').unwrap_or(length)),
            "`/* … */` is not a comment",
        )
        .label("a comment begins with `#` and ends with its line")
        .help("begin each line of a comment with `#`");
        // A comment at the end of a line can stay there.
        let is_last = rest[length..].chars().take_while(|&c| c != '\n').all(char::is_whitespace);
        let indent = if is_last { self.source[..start].rfind('\n').map_or(0, |at| at + 1) } else { start };
        let indent = &self.source[indent..start];
        let is_alone = indent.trim().is_empty() || !comment.contains('\n');
        if is_last && is_alone {
            let lines = comment[2..length - 2].trim().lines();
            let lines: Vec<String> =
                lines.map(|line| format!("# {}", line.trim().trim_start_matches('*').trim_start())).collect();
            let text = lines.join(&format!("\n{indent}"));
            self.report(d.fix("write it with `#`", edit(span(start, start + length), &text), true));
        } else {
            self.report(d);
        }
        start + length
    }

    pub(super) fn bad_number(&mut self, place: Span) {
        let text = &self.source[place.range()];
        let d = Diagnostic::new(&code::BAD_NUMBER, place, format!("`{}` is not a number", shown(text)));
        let body = text.trim_start_matches(['-', '+']).to_ascii_lowercase();
        let label = if body.starts_with("0x") || body.starts_with("0b") || body.starts_with("0o") {
            "numbers are decimal"
        } else if body.contains('_') {
            "digits have no separators"
        } else if text.starts_with('+') {
            "a positive number has no sign"
        } else if body.starts_with('.') {
            "expected a digit before the decimal point"
        } else if body.contains(|c: char| !c.is_ascii_alphanumeric() && !".+-".contains(c)) {
            "a number consists of digits, a decimal point and an exponent"
        } else if body.ends_with(['e', '+', '-']) {
            "the exponent has no digits"
        } else if number(text).is_some() {
            "numbers have no suffix"
        } else {
            "a number ends before the first letter; a name begins with a letter or `_`"
        };
        let d = d.label(label);
        // Digits, signs and points are easily lost or mistyped, so the intended number is never certain.
        self.report(match number(text) {
            Some(meant) => {
                let help = format!("write `{meant}`");
                d.help(help.clone()).fix(help, edit(place, &meant), false)
            }
            None if body.ends_with("e") || body.ends_with("e-") || body.ends_with("e+") => {
                d.help(format!("write `{}0` or remove the `e`", shown(text)))
            }
            None => d,
        });
    }
}

/// Items between two semicolons that are one mistake.
const SEPARATED: usize = 8;

/// An arrow of another language.
fn arrow(rest: &str) -> Option<&'static str> {
    ["-->", "->", "→", "⇒"].into_iter().find(|arrow| rest.starts_with(arrow))
}

fn edit(span: Span, text: &str) -> Vec<Edit> {
    vec![Edit { span, text: text.to_owned() }]
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn numbers_of_other_languages_are_understood() {
        for (slip, meant) in [
            (".5", "0.5"),
            ("-.5", "-0.5"),
            ("+1", "1"),
            ("+.5e3", "0.5e3"),
            ("+1e+3", "1e+3"),
            ("0x1F", "31"),
            ("-0x10", "-16"),
            ("0b101", "5"),
            ("1_000", "1000"),
            ("1f", "1.0"),
            ("1.5f", "1.5"),
            ("1.5F", "1.5"),
            ("10L", "10"),
            ("1e3f", "1e3"),
        ] {
            assert_eq!(number(slip).as_deref(), Some(meant), "{slip}");
        }
        for other in ["", "+", ".", "1", "-1.5", "1e", "_1", "1x", "inf", "+x", "0x", "f", "1.2.3", "0xg"] {
            assert_eq!(number(other), None, "{other}");
        }
    }
}
