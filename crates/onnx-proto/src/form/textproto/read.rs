//! From textproto to wire format.

use crate::FileKind;
use crate::form::build::{EncodedValue, MessageBuilder};
use crate::form::{FormatError, number, utf8};
use crate::wire::{Field, Kind, MAX_DEPTH, Message, Repeat};

/// Encodes a text as a message.
///
/// # Errors
///
/// The text is malformed, has an unknown field, or a value of the wrong type; with its place.
pub fn from_text(text: &[u8], kind: FileKind) -> Result<Vec<u8>, FormatError> {
    let mut parser = Parser { text: utf8(text)?, at: 0 };
    parser.message(kind.message(), None, 0)
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

type Result<T, E = FormatError> = std::result::Result<T, E>;

impl<'a> Parser<'a> {
    /// Fields up to the bracket that closes the message, or to the end of the text.
    fn message(&mut self, schema: &'static Message, close: Option<u8>, depth: usize) -> Result<Vec<u8>> {
        if depth > MAX_DEPTH {
            return self.fail(self.at, format!("messages are nested more than {MAX_DEPTH} levels deep"));
        }
        let mut builder = MessageBuilder::new(schema);
        loop {
            self.space();
            match self.peek() {
                next if next == close => break,
                Some(_) => self.field(&mut builder, depth)?,
                None => return self.fail(self.at, format!("{} is not closed", schema.name)),
            }
        }
        self.at += usize::from(close.is_some());
        Ok(builder.finish())
    }

    fn field(&mut self, builder: &mut MessageBuilder, depth: usize) -> Result<()> {
        let start = self.at;
        let name = self.word();
        if name.is_empty() {
            return self.unexpected("the name of a field");
        }
        let field = builder.schema.fields.iter().find(|field| field.name == name);
        let Some(field) = field else { return self.fail(start, builder.unknown(name)) };
        builder.begin(field).or_else(|message| self.fail(start, message))?;
        self.space();
        if self.peek() == Some(b':') {
            self.at += 1;
            self.space();
        } else if !matches!(self.peek(), Some(b'{' | b'<')) || !matches!(field.kind, Kind::Message(_)) {
            return self.unexpected(if matches!(field.kind, Kind::Message(_)) { "`{`" } else { "`:`" });
        }
        if self.peek() == Some(b'[') && field.repeat != Repeat::Once {
            self.list(field, builder, depth)?;
        } else {
            self.value(field, builder, depth)?;
        }
        self.space();
        self.at += usize::from(matches!(self.peek(), Some(b',' | b';')));
        Ok(())
    }

    fn list(&mut self, field: &'static Field, builder: &mut MessageBuilder, depth: usize) -> Result<()> {
        self.at += 1;
        self.space();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(());
        }
        loop {
            self.space();
            self.value(field, builder, depth)?;
            self.space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => {
                    self.at += 1;
                    return Ok(());
                }
                _ => return self.unexpected("`,` or `]`"),
            }
        }
    }

    fn value(&mut self, field: &'static Field, builder: &mut MessageBuilder, depth: usize) -> Result<()> {
        match field.kind {
            Kind::Message(schema) => {
                let close = match self.peek() {
                    Some(b'{') => b'}',
                    Some(b'<') => b'>',
                    _ => return self.unexpected("`{`"),
                };
                self.at += 1;
                let inner = self.message(schema, Some(close), depth + 1)?;
                builder.add(field, EncodedValue::Bytes(&inner));
            }
            Kind::String | Kind::Bytes => {
                let content = self.strings()?;
                builder.add(field, EncodedValue::Bytes(&content));
            }
            Kind::Int32 | Kind::Enum(_) | Kind::Int64 | Kind::Uint64 | Kind::Float | Kind::Double => {
                let start = self.at;
                let value = self.number(field.kind).or_else(|message| self.fail(start, message))?;
                builder.add(field, value);
            }
        }
        Ok(())
    }

    fn number(&mut self, kind: Kind) -> Result<EncodedValue<'static>, String> {
        let is_negative = self.peek() == Some(b'-');
        if is_negative {
            self.at += 1;
            self.space();
        }
        let word = self.numeral();
        let sign = if is_negative { "-" } else { "" };
        if matches!(kind, Kind::Float | Kind::Double) {
            let digits = match word.to_ascii_lowercase().as_str() {
                "inf" | "infinity" | "nan" => word,
                _ => word.strip_suffix(['f', 'F']).unwrap_or(word),
            };
            return number::parse(kind, &format!("{sign}{digits}"));
        }
        let radix_digits = match word.as_bytes() {
            [b'0', b'x' | b'X', ..] => Some((16, word.get(2..).unwrap_or_default())),
            [b'0', b'0'..=b'9', ..] => Some((8, word)),
            _ => None,
        };
        match radix_digits {
            Some((radix, digits)) => match u64::from_str_radix(digits, radix) {
                Ok(value) => number::parse(kind, &format!("{sign}{value}")),
                Err(_) => Err(format!("`{word}` is not an integer")),
            },
            None => number::parse(kind, &format!("{sign}{word}")),
        }
    }

    /// Strings one after the other are one.
    fn strings(&mut self) -> Result<Vec<u8>> {
        let mut content = Vec::new();
        let mut is_first = true;
        while let Some(quote @ (b'"' | b'\'')) = self.peek() {
            self.string(quote, &mut content)?;
            self.space();
            is_first = false;
        }
        if is_first { self.unexpected("a string") } else { Ok(content) }
    }

    fn string(&mut self, quote: u8, content: &mut Vec<u8>) -> Result<()> {
        let start = self.at;
        self.at += 1;
        loop {
            let Some(byte) = self.peek() else { return self.fail(start, "unterminated string") };
            self.at += 1;
            match byte {
                b'\n' => return self.fail(start, "unterminated string: a string ends on its line"),
                b'\\' => self.escape(content)?,
                _ if byte == quote => return Ok(()),
                _ => content.push(byte),
            }
        }
    }

    /// The escape after a backslash.
    fn escape(&mut self, content: &mut Vec<u8>) -> Result<()> {
        let start = self.at.saturating_sub(1);
        let Some(byte) = self.peek() else { return self.fail(start, "unterminated string") };
        self.at += 1;
        content.push(match byte {
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            b'a' => 7,
            b'b' => 8,
            b'v' => 11,
            b'f' => 12,
            b'\\' | b'\'' | b'"' | b'?' => byte,
            b'0'..=b'7' => {
                self.at -= 1;
                self.digits(8, 3)
                    .and_then(|value| u8::try_from(value).ok())
                    .map_or_else(|| self.bad_escape(start), Ok)?
            }
            b'x' | b'X' => self
                .digits(16, 2)
                .and_then(|value| u8::try_from(value).ok())
                .map_or_else(|| self.bad_escape(start), Ok)?,
            b'u' | b'U' => {
                let count = if byte == b'u' { 4 } else { 8 };
                let before = self.at;
                let c = self.digits(16, count).filter(|_| self.at == before + count).and_then(char::from_u32);
                let c = c.map_or_else(|| self.bad_escape(start), Ok)?;
                content.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                return Ok(());
            }
            _ => return self.bad_escape(start),
        });
        Ok(())
    }

    /// At most `count` digits.
    fn digits(&mut self, radix: u32, count: usize) -> Option<u32> {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        let digits = rest.iter().take(count).map_while(|&byte| char::from(byte).to_digit(radix));
        let (length, value) =
            digits.fold((0, 0_u32), |(length, value), digit| (length + 1, value * radix + digit));
        self.at += length;
        (length > 0).then_some(value)
    }

    fn bad_escape<T>(&self, start: usize) -> Result<T> {
        self.fail(start, "unknown escape sequence")
    }

    /// Letters, digits and underscores.
    fn word(&mut self) -> &'a str {
        self.take_while(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    }

    /// A number without its sign, or a name.
    fn numeral(&mut self) -> &'a str {
        let mut before = 0;
        self.take_while(|byte| {
            let is_exponent_sign = matches!(byte, b'-' | b'+') && matches!(before, b'e' | b'E');
            before = byte;
            byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'.' || is_exponent_sign
        })
    }

    fn take_while(&mut self, mut belongs: impl FnMut(u8) -> bool) -> &'a str {
        let start = self.at;
        while self.peek().is_some_and(&mut belongs) {
            self.at += 1;
        }
        self.text.get(start..self.at).unwrap_or_default()
    }

    /// White space and comments.
    fn space(&mut self) {
        loop {
            self.take_while(|byte| byte.is_ascii_whitespace() || byte == 0x0b);
            if self.peek() != Some(b'#') {
                return;
            }
            self.take_while(|byte| byte != b'\n');
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn unexpected<T>(&self, expected: &str) -> Result<T> {
        let found = match self.text.get(self.at..).and_then(|rest| rest.chars().next()) {
            Some(c) => format!("`{c}`"),
            None => "the end".to_owned(),
        };
        self.fail(self.at, format!("expected {expected}, found {found}"))
    }

    fn fail<T>(&self, offset: usize, message: impl Into<String>) -> Result<T> {
        Err(FormatError { offset: Some(offset), message: message.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tensor(text: &str) -> Result<Vec<u8>> {
        from_text(text.as_bytes(), FileKind::Tensor)
    }

    #[test]
    fn values_have_several_forms() {
        let text = r#"
            name: "a\x41\101" 'b\'' # a comment
            dims: 0x10, dims: [010; 2]
        "#;
        assert!(tensor(text).is_err());
        let text = text.replace("; 2", ", 2");
        let expected = [0x08, 16, 0x08, 8, 0x08, 2, 0x42, 5, b'a', b'A', b'A', b'b', b'\''];
        assert_eq!(tensor(&text).unwrap(), expected);
        let text =
            "segment < begin: -1 >; float_data: [1, -inf, 1.5f] float_data: NAN data_location: EXTERNAL";
        let expected = [
            &[0x1a, 11, 0x08][..],
            &[0xff; 9],
            &[1, 0x22, 16, 0, 0, 128, 63, 0, 0, 128, 255, 0, 0, 192, 63, 0, 0, 192, 127, 0x70, 1],
        ];
        assert_eq!(tensor(text).unwrap(), expected.concat());
    }

    #[test]
    fn errors_have_a_place() {
        let error = |text: &str| {
            tensor(text).map_err(|error| (error.offset.unwrap_or(0), error.message)).unwrap_err()
        };
        assert_eq!(error("nme: 1"), (0, "TensorProto has no field `nme`; did you mean `name`?".to_owned()));
        assert_eq!(error("name: 1"), (6, "expected a string, found `1`".to_owned()));
        assert_eq!(error("name \"x\""), (5, "expected `:`, found `\"`".to_owned()));
        assert_eq!(error("data_type: 1 data_type: 2"), (13, "`data_type` occurs twice".to_owned()));
        assert_eq!(error("dims: [1"), (8, "expected `,` or `]`, found the end".to_owned()));
        assert_eq!(error("dims: 1e3"), (6, "`1e3` is not an integer".to_owned()));
        assert_eq!(error("segment { begin: 1"), (18, "TensorProto.Segment is not closed".to_owned()));
        assert_eq!(error("name: 'a\n'"), (6, "unterminated string: a string ends on its line".to_owned()));
        assert_eq!(error("name: '\\400'"), (7, "unknown escape sequence".to_owned()));
        assert_eq!(error("}"), (0, "expected the name of a field, found `}`".to_owned()));
    }

    #[test]
    fn nesting_is_bounded() {
        let text = "node { attribute { g { ".repeat(50_000);
        let error = from_text(text.as_bytes(), FileKind::Graph).unwrap_err();
        assert_eq!(error.message, "messages are nested more than 100 levels deep");
    }
}
