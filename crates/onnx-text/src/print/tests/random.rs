//! Random texts: every construct, spelled with random white space and comments between the tokens.

use super::*;
use proptest::prelude::*;

/// Builds tokens from choices; all zeros yield the shortest text.
struct Maker<'c> {
    choices: std::slice::Iter<'c, u8>,
    tokens: Vec<String>,
    depth: usize,
}

impl Maker<'_> {
    fn choose(&mut self, count: u8) -> u8 {
        self.choices.next().map_or(0, |c| c % count)
    }

    fn put(&mut self, token: impl Into<String>) {
        self.tokens.push(token.into());
    }

    fn list(&mut self, open: &str, close: &str, least: u8, item: fn(&mut Self)) {
        self.put(open);
        let max = if self.depth > 2 { 2 } else { 6 };
        let mut count = least + self.choose(max);
        if count > 1 && self.choose(8) == 0 {
            // Long enough to be broken.
            count += 40;
        }
        self.depth += 1;
        for i in 0..count {
            if i > 0 {
                self.put(",");
            }
            item(self);
        }
        self.depth -= 1;
        self.put(close);
    }

    fn name(&mut self) {
        let names = [
            "x",
            "layer_with_a_long_name_0",
            "\"/model/layers.0/MatMul_output_0\"",
            "\"\"",
            "\"äöü\"",
            "\"a\nb\"",
            "\"q\\\"\"",
        ];
        let name = names[usize::from(self.choose(7))];
        self.put(name);
    }

    fn word(&mut self) {
        let word = ["f", "alpha", "a_longer_word_than_others"][usize::from(self.choose(3))];
        self.put(word);
    }

    fn number(&mut self) {
        let number = ["1", "-1.5e10", "0.1234567", "-inf", "nan"][usize::from(self.choose(5))];
        self.put(number);
    }

    fn scalar(&mut self) {
        match self.choose(3) {
            0 => self.number(),
            1 => self.put("\"text\""),
            _ => self.put("b\"\\xff\""),
        }
    }

    fn ty(&mut self) {
        match self.choose(6) {
            0 => self.put("float"),
            1 => {
                self.put("int64");
                self.list("[", "]", 0, |m| {
                    let dim = ["2", "N", "?", "\"a + b\""][usize::from(m.choose(4))];
                    m.put(dim);
                });
            }
            2 => {
                self.put("seq");
                self.put("(");
                self.ty();
                self.put(")");
            }
            3 => {
                for token in ["map", "(", "int64", ","] {
                    self.put(token);
                }
                self.ty();
                self.put(")");
            }
            4 => {
                for token in ["elem_type", "(", "99", ")", "[", "3", "]"] {
                    self.put(token);
                }
            }
            _ => {
                for token in ["opaque", "(", ",", "\"n\"", ")"] {
                    self.put(token);
                }
            }
        }
    }

    fn data(&mut self) {
        match self.choose(5) {
            0 => self.list("{", "}", 0, |m| m.put("12.5")),
            1 => self.list("{", "}", 0, Self::number),
            2 => self.put("{{1, 2,\n3}}"),
            3 => {
                for token in ["[", "\"location\"", ":", "\"w\"", "]"] {
                    self.put(token);
                }
            }
            _ => {
                for token in ["{", "raw_data", ":", "b\"\\x00\"", "}"] {
                    self.put(token);
                }
            }
        }
    }

    fn value_info(&mut self) {
        if self.choose(3) > 0 {
            self.ty();
        }
        self.name();
        if self.choose(3) > 1 {
            self.put("=");
            self.data();
        }
    }

    fn field(&mut self) {
        self.word();
        self.put(":");
        match self.choose(4) {
            0 => self.put("10"),
            1 => self.put("\"text\""),
            2 => self.list("[", "]", 0, |m| {
                m.put("\"k\"");
                m.put(":");
                m.put("1");
            }),
            _ => {
                self.put("{");
                self.word();
                self.put(":");
                if self.depth < 3 {
                    self.graph()
                } else {
                    self.put("1")
                }
                self.put("}");
            }
        }
    }

    fn attr(&mut self) {
        self.word();
        if self.choose(4) == 3 {
            self.put(":");
            self.put("float");
        }
        self.put("=");
        match self.choose(9) {
            0 => self.put("1"),
            1 => self.scalar(),
            2 => self.list("[", "]", 0, |m| m.put("12")),
            3 => self.list("[", "]", 0, Self::scalar),
            4 => {
                self.ty();
                self.word();
                self.data();
            }
            5 => {
                self.put("@");
                self.word();
            }
            6 if self.depth < 3 => self.graph(),
            7 if self.depth < 3 => self.list("{", "}", 1, |m| {
                m.put("float");
                m.put("{1}");
            }),
            _ => self.ty(),
        }
    }

    fn node(&mut self) {
        if self.choose(4) == 3 {
            self.put("[");
            self.name();
            self.put("]");
        }
        self.name();
        for _ in 0..self.choose(3) {
            self.put(",");
            if self.choose(3) > 0 {
                self.name();
            } else {
                self.put(",");
                self.name();
            }
        }
        self.put("=");
        for _ in 0..self.choose(3) {
            self.word();
            self.put(".");
        }
        self.put("Op");
        if self.choose(4) == 3 {
            self.put(":");
            self.word();
        }
        let attrs = self.choose(4);
        if attrs == 1 {
            self.list("<", ">", 0, Self::attr);
        }
        self.list("(", ")", 0, Self::name);
        if attrs == 2 {
            self.list("<", ">", 0, Self::attr);
        }
    }

    fn body(&mut self) {
        self.put("{");
        self.depth += 1;
        for _ in 0..self.choose(4) {
            self.node();
        }
        self.depth -= 1;
        self.put("}");
    }

    fn graph(&mut self) {
        self.put("g");
        if self.choose(4) > 0 {
            self.list("(", ")", 0, Self::value_info);
        }
        self.put("=>");
        self.list("(", ")", 0, Self::value_info);
        if self.choose(3) == 1 {
            self.list("<", ">", 0, Self::value_info);
        }
        self.body();
    }

    fn file(&mut self) {
        if self.choose(3) > 0 {
            self.list("<", ">", 0, Self::field);
        }
        self.graph();
        for _ in 0..self.choose(3) {
            if self.choose(2) == 1 {
                self.list("<", ">", 0, Self::field);
            }
            self.put("f");
            if self.choose(2) == 1 {
                self.list("<", ">", 0, Self::attr);
            }
            self.list("(", ")", 0, Self::value_info);
            self.put("=>");
            self.list("(", ")", 0, Self::value_info);
            self.body();
        }
    }
}

/// A text that parses.
fn text(choices: &[u8], gaps: &[u8]) -> String {
    let mut maker = Maker { choices: choices.iter(), tokens: vec![], depth: 0 };
    maker.file();
    let mut out = String::new();
    let mut gaps = gaps.iter();
    for token in maker.tokens {
        out.push_str(&token);
        out.push_str(match gaps.next().copied().unwrap_or(0) % 32 {
            0..20 => " ",
            20..23 => "\n",
            23 => "\r\n",
            24 => "\n\n\n",
            25 => "\t",
            26 => " # c\n",
            27 => " // c\n",
            28 => "\n\n# own\n",
            29 => "\r\n# own\r\n\r\n",
            30 => "#\n#@ onnxtxt 1\n",
            _ => "\n## d\n # \u{e4} \u{a0}\n",
        });
    }
    out
}

/// Whether a comma has a literal after it.
fn may_have_rows(text: &str) -> bool {
    let begins = |rest: &str| {
        let rest = rest.trim_start();
        rest.starts_with(|c: char| c.is_ascii_digit() || "-+.\"'".contains(c))
            || ["inf", "nan", "b\"", "true", "false"].iter().any(|word| rest.to_lowercase().starts_with(word))
    };
    text.match_indices(',').any(|(at, _)| begins(&text[at + 1..]))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn formatting_keeps_everything_and_is_done_at_once(
        choices in prop::collection::vec(any::<u8>(), 0..400),
        gaps in prop::collection::vec(any::<u8>(), 0..400),
        width in prop::sample::select(vec![1usize, 30, 60, 100, 10_000]),
    ) {
        check_to(width, &text(&choices, &gaps));
    }

    #[test]
    fn the_authors_layout_does_not_count(choices in prop::collection::vec(any::<u8>(), 0..400)) {
        let spread: Vec<u8> = choices.iter().map(|c| [0, 20, 23, 25][usize::from(c % 4)]).collect();
        let (plain, of_spread) = (check(&text(&choices, &[])), check(&text(&choices, &spread)));
        // Rows of numbers and of other literals stay.
        let without_space = |text: &str| text.split_whitespace().collect::<String>();
        match may_have_rows(&plain) {
            true => prop_assert_eq!(without_space(&plain), without_space(&of_spread)),
            false => prop_assert_eq!(plain, of_spread),
        }
    }

    /// Callers do not format what has mistakes, but nothing breaks if they do.
    #[test]
    fn nothing_panics(
        choices in prop::collection::vec(any::<u8>(), 0..200),
        gaps in prop::collection::vec(any::<u8>(), 0..200),
        from in any::<prop::sample::Index>(),
        to in any::<prop::sample::Index>(),
    ) {
        let mut text: Vec<char> = text(&choices, &gaps).chars().collect();
        let (from, to) = (from.index(text.len()), to.index(text.len()));
        text.drain(from.min(to)..from.max(to));
        let text: String = text.into_iter().collect();
        let parsed = parse_model(&text);
        _ = format(&text, &parsed.value, &FormatOptions::default());
    }

    #[test]
    fn plain_statements_are_those_of_the_grammar(
        choices in prop::collection::vec(any::<u8>(), 0..400),
        gaps in prop::collection::vec(any::<u8>(), 0..400),
    ) {
        let text = text(&choices, &gaps);
        let trees = [parse_model(&text), crate::parse::parse_model_by_grammar(&text)];
        let [ours, by_grammar] = trees.map(|parsed| format!("{:?}", (parsed.value, parsed.diagnostics)));
        prop_assert_eq!(ours, by_grammar);
    }

    #[test]
    fn pieces_are_the_whole(choices in prop::collection::vec(any::<u8>(), 0..400)) {
        let text = text(&choices, &[]);
        let (parsed, options) = (parse_model(&text), FormatOptions::default());
        let mut out = String::new();
        let done = format_to(&mut out, &text, &parsed.value, &options);
        prop_assert!(done.is_ok());
        prop_assert_eq!(out, format(&text, &parsed.value, &options));
    }
}
