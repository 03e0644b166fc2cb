//! Values of header and annotation fields, with a diagnostic where one is of the wrong kind.

use super::literals::Escapes;
use super::{Cx, int_at};
use crate::ast::{Element, Field, FieldValue, List};
use onnx_ir::diag::{Diagnostic, Edit, Span, code};
use onnx_ir::{Entry, Name, Names};

/// Reads the fields of one header, record or annotation.
pub(super) struct Fields {
    /// The escapes of strings in it.
    pub(super) escapes: Escapes,
    /// Whether a number stands for its text.
    has_numbers: bool,
}

impl Fields {
    /// Header of a model or function: the reference reads it too.
    pub(super) const HEADER: Fields = Fields { escapes: Escapes::Literal, has_numbers: false };
    /// External data: offsets and lengths need no quotes (`grammar/sugar.md`).
    pub(super) const EXTERNAL: Fields = Fields { escapes: Escapes::Literal, has_numbers: true };
    /// Annotations and records: ours alone.
    pub(super) const NOTE: Fields = Fields { escapes: Escapes::Bytes, has_numbers: false };

    /// A string, a word, or `$n`; `None` for `_`, which is a part left out.
    pub(super) fn text(&self, cx: &mut Cx<'_>, names: &mut Names, value: &FieldValue) -> Option<Name> {
        match value {
            FieldValue::String(span) => Some(cx.name_with(names, *span, self.escapes)),
            FieldValue::Word(span) if cx.text(*span) == "_" => None,
            FieldValue::Shared(span) => shared(cx, *span),
            // The parser has reported that a name with dots needs quotes.
            FieldValue::Word(span) if cx.text(*span).contains('.') => Some(names.intern(cx.text(*span))),
            FieldValue::Int(span) if self.has_numbers => Some(names.intern(cx.text(*span))),
            FieldValue::Int(span) | FieldValue::Float(span) | FieldValue::Word(span) => {
                cx.without_quotes(*span);
                Some(names.intern(cx.text(*span)))
            }
            FieldValue::List(_) | FieldValue::Record(_) | FieldValue::Graph(_) => {
                cx.wrong_kind(value.span(), "a string");
                None
            }
        }
    }

    /// An integer; `None` for `_`.
    pub(super) fn int(&self, cx: &mut Cx<'_>, value: &FieldValue) -> Option<i64> {
        match value {
            FieldValue::Int(span) => int_at(cx, *span),
            FieldValue::Word(span) if cx.text(*span) == "_" => None,
            FieldValue::String(span) if quoted_int(cx.text(*span)).is_some() => {
                let number = quoted_int(cx.text(*span))?;
                let message = format!("expected an integer, found `{}`", cx.text(*span));
                cx.report(
                    Diagnostic::new(&code::WRONG_KIND, *span, message)
                        .label("a number is not quoted")
                        .help(format!("write `{number}`"))
                        .fix("remove the quotes", vec![Edit { span: *span, text: number.to_string() }], true),
                );
                Some(number)
            }
            _ => {
                cx.wrong_kind(value.span(), "an integer");
                None
            }
        }
    }

    /// An integer of 32 bits.
    pub(super) fn int32(&self, cx: &mut Cx<'_>, value: &FieldValue) -> Option<i32> {
        let wide = self.int(cx, value)?;
        i32::try_from(wide).ok().or_else(|| {
            let d = Diagnostic::new(
                &code::NUMBER_OUT_OF_RANGE,
                value.span(),
                format!("`{wide}` does not fit in 32 bits"),
            );
            cx.report(d.label("this field has 32 bits"));
            None
        })
    }

    /// `["key": "value", …]`
    pub(super) fn entries(&self, cx: &mut Cx<'_>, names: &mut Names, value: &FieldValue) -> Vec<Entry> {
        match list(cx, value, "a list of `\"key\": \"value\"` pairs") {
            Some(list) => self.pairs(cx, names, list),
            None => Vec::new(),
        }
    }

    /// The elements of `["key": "value", …]`.
    pub(super) fn pairs(&self, cx: &mut Cx<'_>, names: &mut Names, list: &List<Element>) -> Vec<Entry> {
        let mut out = Vec::with_capacity(list.items.len());
        let mut rest = list.items.iter().peekable();
        while let Some(element) = rest.next() {
            let Some(key) = &element.key else {
                // `"location", "w.bin"`
                match rest
                    .next_if(|next| next.key.is_none() && is_string(&element.value) && is_string(&next.value))
                {
                    Some(next) => split_pair(cx, element.value.span(), next.value.span()),
                    None => cx.wrong_kind(element.value.span(), "a `\"key\": \"value\"` pair"),
                }
                continue;
            };
            let key = self.text(cx, names, key);
            out.push(Entry { key, value: self.text(cx, names, &element.value) });
        }
        out
    }

    /// `["a", "b"]`, or words.
    pub(super) fn texts(&self, cx: &mut Cx<'_>, names: &mut Names, value: &FieldValue) -> Vec<Name> {
        let Some(list) = list(cx, value, "a list of names") else { return Vec::new() };
        let mut out = Vec::with_capacity(list.items.len());
        for element in &list.items {
            match &element.value {
                FieldValue::Word(span) => out.push(cx.name(names, *span)),
                value => out.extend(self.text(cx, names, value)),
            }
        }
        out
    }

    /// `[1, 2]`
    pub(super) fn ints(&self, cx: &mut Cx<'_>, value: &FieldValue) -> Vec<i64> {
        let Some(list) = list(cx, value, "a list of integers") else { return Vec::new() };
        list.items.iter().filter_map(|e| self.int(cx, &e.value)).collect()
    }

    /// `[{…}, {…}]`
    pub(super) fn records<'f>(&self, cx: &mut Cx<'_>, value: &'f FieldValue) -> Vec<&'f List<Field>> {
        match value {
            FieldValue::Record(record) => vec![record],
            FieldValue::List(list) => list.items.iter().filter_map(|e| self.record(cx, &e.value)).collect(),
            _ => {
                cx.wrong_kind(value.span(), "a record");
                Vec::new()
            }
        }
    }

    /// `{key: value, …}`
    pub(super) fn record<'f>(&self, cx: &mut Cx<'_>, value: &'f FieldValue) -> Option<&'f List<Field>> {
        match value {
            FieldValue::Record(record) => Some(record),
            _ => {
                cx.wrong_kind(value.span(), "a record");
                None
            }
        }
    }
}

fn is_string(value: &FieldValue) -> bool {
    matches!(value, FieldValue::String(_))
}

/// Reports a pair with a comma in place of its colon.
fn split_pair(cx: &mut Cx<'_>, key: Span, value: Span) {
    let between = Span::new(key.end, value.start);
    let pair = crate::lex::shown(cx.text(key.to(value)));
    let right = format!("{}: {}", cx.text(key), cx.text(value));
    let message = format!("expected a `\"key\": \"value\"` pair, found `{pair}`");
    let d = Diagnostic::new(&code::WRONG_KIND, key.to(value), message)
        .label("expected `:` between key and value")
        .help(format!("write `{}`", crate::lex::shown(&right)));
    cx.report(d.fix("write `:`", vec![Edit { span: between, text: ": ".into() }], false));
}

/// The integer in a string.
fn quoted_int(spelling: &str) -> Option<i64> {
    let inner = spelling.trim_matches(['"', '\'']);
    inner.parse().ok().filter(|_| inner.len() + 2 == spelling.len() && !inner.starts_with('+'))
}

fn list<'f>(cx: &mut Cx<'_>, value: &'f FieldValue, wanted: &str) -> Option<&'f List<Element>> {
    match value {
        FieldValue::List(list) => Some(list),
        _ => {
            cx.wrong_kind(value.span(), wanted);
            None
        }
    }
}

fn shared(cx: &mut Cx<'_>, span: Span) -> Option<Name> {
    let number = int_at(cx, Span::new(span.start + 1, span.end))?;
    let name = cx.shared.get(&number).copied();
    if name.is_none() {
        let d = Diagnostic::new(
            &code::UNKNOWN_SHARED_STRING,
            span,
            format!("undefined shared string `${number}`"),
        );
        cx.report(d.label("not defined in `#@ strings`"));
    }
    name
}
