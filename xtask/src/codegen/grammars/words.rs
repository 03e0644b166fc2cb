//! The parts of grammars: the lists of `classes.rs`, the patterns of the lexer, and the functions and languages that the language server
//! looks for in other files.

use super::Spelling;
use crate::codegen::lexer::PATTERNS;
use crate::dirs;
use anyhow::{Context as _, Result, ensure};
use std::collections::BTreeMap;
use syn::punctuated::Punctuated;
use syn::{Expr, ExprLit, Item, Lit, Token};

/// The classes of words.
pub(super) const CLASSES: &str = "crates/onnx-text/src/classes.rs";
/// ONNX text in other files.
const EMBEDDED: &str = "crates/onnxtxt-lsp/src/document/embedded.rs";

/// Words are whole: no letter, digit or `_` follows.
const END: &str = "(?![A-Za-z0-9_])";

pub(super) struct Words {
    lists: BTreeMap<String, Vec<String>>,
    /// The patterns of tokens, by the names of their kinds.
    patterns: BTreeMap<String, String>,
    /// The spellings of the other tokens, and of the signs of expressions.
    marks: Vec<String>,
}

impl Words {
    pub(super) fn read() -> Result<Words> {
        let mut words = Words { lists: BTreeMap::new(), patterns: BTreeMap::new(), marks: Vec::new() };
        for path in [CLASSES, EMBEDDED] {
            words.lists.extend(lists(path)?);
        }
        words.tokens()?;
        words.marks.extend(words.lists.get("SIGNS").cloned().unwrap_or_default());
        Ok(words)
    }

    /// The kinds of tokens: each has a pattern, or is spelled in one way.
    fn tokens(&mut self) -> Result<()> {
        for item in parsed(PATTERNS)?.items {
            let Item::Enum(kinds) = item else { continue };
            for kind in kinds.variants {
                for attribute in kind.attrs {
                    let is_pattern = attribute.path().is_ident("regex");
                    if !is_pattern && !attribute.path().is_ident("token") {
                        continue;
                    }
                    let arguments =
                        attribute.parse_args_with(Punctuated::<Expr, Token![,]>::parse_terminated)?;
                    let text = arguments.first().and_then(string).context(PATTERNS)?;
                    let name = kind.ident.to_string();
                    if is_pattern {
                        self.patterns.insert(name, text);
                    } else if !matches!(name.as_str(), "String" | "Bytes" | "Comment") {
                        self.marks.push(text);
                    }
                }
            }
        }
        ensure!(self.marks.iter().all(|mark| mark.is_ascii()), "{PATTERNS} has marks that are not ASCII");
        Ok(())
    }

    /// The pattern for a placeholder.
    pub(super) fn pattern(&self, name: &str, spelling: Spelling) -> Option<String> {
        let kind = |name: &str| self.patterns.get(name).cloned();
        match name {
            "IDENT" => kind("Ident"),
            "INT" => kind("Int"),
            "FLOAT" => kind("Float"),
            "SPECIAL" => kind("Special"),
            "NUMBER" => Some(format!("(?:{}|{}|{}){END}", kind("Float")?, kind("Int")?, kind("Special")?)),
            "END" => Some(END.to_owned()),
            "PUNCTUATION" => Some(self.single()),
            "LONG" => Some(self.long(spelling)),
            // In any case.
            "NUMBERS" => Some(alternatives(
                &self.lists.get(name)?.iter().map(|word| any_case(word)).collect::<Vec<_>>(),
            )),
            _ => Some(alternatives(self.lists.get(name)?)),
        }
    }

    /// The marks of one character, as the content of a class of characters.
    fn single(&self) -> String {
        let marks = self.marks.iter().filter(|mark| mark.len() == 1);
        marks
            .map(|mark| if "[]^-\\/".contains(mark.as_str()) { format!("\\{mark}") } else { mark.clone() })
            .collect()
    }

    /// The others, the longest first.
    fn long(&self, spelling: Spelling) -> String {
        let mut marks: Vec<_> = self.marks.iter().filter(|mark| mark.len() > 1).collect();
        marks.sort_by_key(|mark| std::cmp::Reverse(mark.len()));
        let is_special = |c: char| match spelling {
            Spelling::Vim => !c.is_ascii_alphanumeric(),
            Spelling::Plain | Spelling::Json => ".*+?()[]{}|^$\\/".contains(c),
        };
        let escaped = |mark: &&String| -> String {
            mark.chars().flat_map(|c| is_special(c).then_some('\\').into_iter().chain([c])).collect()
        };
        alternatives(&marks.iter().map(escaped).collect::<Vec<_>>())
    }
}

fn alternatives(words: &[String]) -> String {
    words.join("|")
}

/// `[iI][nN][fF]`
fn any_case(word: &str) -> String {
    word.chars().map(|c| format!("[{c}{}]", c.to_ascii_uppercase())).collect()
}

fn parsed(path: &str) -> Result<syn::File> {
    let text = std::fs::read_to_string(dirs::root().join(path)).context(path.to_owned())?;
    syn::parse_file(&text).with_context(|| path.to_owned())
}

/// The constants of a file that are lists of strings.
fn lists(path: &str) -> Result<BTreeMap<String, Vec<String>>> {
    let mut lists = BTreeMap::new();
    for item in parsed(path)?.items {
        let Item::Const(item) = item else { continue };
        let array = match *item.expr {
            Expr::Array(array) => array,
            Expr::Reference(reference) => match *reference.expr {
                Expr::Array(array) => array,
                _ => continue,
            },
            _ => continue,
        };
        if let Some(words) = array.elems.iter().map(string).collect() {
            lists.insert(item.ident.to_string(), words);
        }
    }
    Ok(lists)
}

fn string(expression: &Expr) -> Option<String> {
    match expression {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value()),
        _ => None,
    }
}
