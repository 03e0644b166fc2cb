//! From the patterns of the tokens and the classes of words to the grammars of editors.
//!
//! A grammar is a template in `templates/`, in which `@TYPES@` is a list of `onnx-text/src/classes.rs`, `@FLOAT@` a pattern of the lexer,
//! and `@Operator@` what this editor calls a class. `cargo xtask editors` compares each grammar with the lexer, token by token.

mod words;

use super::Output;
use crate::dirs;
use anyhow::{Context as _, Result, bail};
use std::fmt::Write as _;
use words::Words;

/// The names of a class.
struct Class {
    name: &'static str,
    textmate: &'static str,
    pygments: &'static str,
    highlightjs: &'static str,
    vim: &'static str,
    treesitter: &'static str,
}

macro_rules! classes {
    ($($name:ident: $textmate:literal, $pygments:literal, $highlightjs:literal, $vim:literal, $treesitter:literal;)*) => {
        &[$(Class {
            name: stringify!($name),
            textmate: concat!($textmate, ".onnxtxt"),
            pygments: $pygments,
            highlightjs: $highlightjs,
            vim: $vim,
            treesitter: $treesitter,
        }),*]
    };
}

/// The variants of `onnx_text::SyntaxClass`. No two have the same name in one kind of grammar, but in Vim, where they have groups of
/// their own.
#[rustfmt::skip]
const CLASSES: &[Class] = classes! {
    Comment: "comment.line", "Comment.Single", "comment", "Comment", "comment";
    Documentation: "comment.block.documentation", "String.Doc", "doctag", "SpecialComment", "comment.documentation";
    Annotation: "keyword.control.directive", "Comment.Preproc", "meta", "PreProc", "keyword.directive";
    String: "string.quoted.double", "String.Double", "string", "String", "string";
    Number: "constant.numeric", "Number", "number", "Number", "number";
    Keyword: "keyword.other", "Keyword", "keyword", "Keyword", "keyword";
    Type: "storage.type", "Keyword.Type", "type", "Type", "type";
    Operator: "entity.name.function", "Name.Function", "title.function", "Function", "function";
    Attribute: "variable.parameter", "Name.Attribute", "attribute", "Identifier", "attribute";
    Key: "support.type.property-name", "Name.Property", "attr", "Identifier", "property";
    Domain: "entity.name.namespace", "Name.Namespace", "title.class", "Include", "module";
    Label: "entity.name.label", "Name.Label", "symbol", "Label", "label";
    Name: "variable.other", "Name.Variable", "variable", "NONE", "variable";
    Punctuation: "punctuation", "Punctuation", "punctuation", "Delimiter", "punctuation";
};

/// How patterns are written in a kind of grammar.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Spelling {
    Plain,
    /// In strings of JSON.
    Json,
    /// In Vim's "very magic" patterns.
    Vim,
}

struct Template {
    path: &'static str,
    text: &'static str,
    spelling: Spelling,
    name: fn(&Class) -> &'static str,
}

const TEMPLATES: &[Template] = &[
    Template {
        path: "editors/vscode/syntaxes/onnxtxt.tmLanguage.json",
        text: include_str!("templates/onnxtxt.tmLanguage.json"),
        spelling: Spelling::Json,
        name: |class| class.textmate,
    },
    Template {
        path: "editors/vscode/syntaxes/python.tmLanguage.json",
        text: include_str!("templates/python.tmLanguage.json"),
        spelling: Spelling::Json,
        name: |class| class.textmate,
    },
    Template {
        path: "editors/vscode/syntaxes/markdown.tmLanguage.json",
        text: include_str!("templates/markdown.tmLanguage.json"),
        spelling: Spelling::Json,
        name: |class| class.textmate,
    },
    Template {
        path: "python/onnxtxt/pygments.py",
        text: include_str!("templates/pygments.py"),
        spelling: Spelling::Plain,
        name: |class| class.pygments,
    },
    Template {
        path: "editors/highlightjs/onnxtxt.js",
        text: include_str!("templates/highlight.js"),
        spelling: Spelling::Plain,
        name: |class| class.highlightjs,
    },
    Template {
        path: "editors/nvim/syntax/onnxtxt.vim",
        text: include_str!("templates/syntax.vim"),
        spelling: Spelling::Vim,
        name: |class| class.vim,
    },
    Template {
        path: "editors/tree-sitter/grammar.js",
        text: include_str!("templates/grammar.js"),
        spelling: Spelling::Plain,
        name: |class| class.treesitter,
    },
    Template {
        path: "editors/tree-sitter/queries/highlights.scm",
        text: include_str!("templates/highlights.scm"),
        spelling: Spelling::Plain,
        name: |class| class.treesitter,
    },
];

/// Queries that editors look for beside their own configuration, and where these are.
const COPIES: &[(&str, &str)] = &[
    ("editors/tree-sitter/queries/highlights.scm", "editors/nvim/queries/onnxtxt/highlights.scm"),
    ("editors/tree-sitter/queries/folds.scm", "editors/nvim/queries/onnxtxt/folds.scm"),
    ("editors/tree-sitter/queries/indents.scm", "editors/nvim/queries/onnxtxt/indents.scm"),
    ("editors/tree-sitter/queries/injections.scm", "editors/nvim/queries/onnxtxt/injections.scm"),
    ("editors/tree-sitter/queries/locals.scm", "editors/nvim/queries/onnxtxt/locals.scm"),
    ("editors/tree-sitter/queries/highlights.scm", "editors/helix/queries/onnxtxt/highlights.scm"),
    ("editors/tree-sitter/queries/injections.scm", "editors/helix/queries/onnxtxt/injections.scm"),
    ("editors/tree-sitter/queries/highlights.scm", "editors/zed/languages/onnxtxt/highlights.scm"),
];

pub(super) fn outputs() -> Result<Vec<Output>> {
    let words = Words::read()?;
    let mut outputs =
        vec![Output { path: "editors/classes.json", content: table()?, source: words::CLASSES }];
    for template in TEMPLATES {
        let content = filled(template, &words).with_context(|| template.path)?;
        outputs.push(Output { path: template.path, content, source: words::CLASSES });
    }
    for (source, path) in COPIES {
        let made = outputs.iter().find(|output| output.path == *source);
        let content = match made {
            Some(output) => output.content.clone(),
            None => std::fs::read_to_string(dirs::root().join(source)).context(*source)?,
        };
        outputs.push(Output { path, content, source });
    }
    Ok(outputs)
}

/// The names of the classes in each kind of grammar, for the programs that compare them.
fn table() -> Result<String> {
    let mut rows = serde_json::Map::new();
    for class in CLASSES {
        let row = serde_json::json!({
            "textmate": class.textmate,
            "pygments": class.pygments,
            "highlightjs": class.highlightjs,
            "treesitter": class.treesitter,
        });
        rows.insert(class.name.to_owned(), row);
    }
    Ok(serde_json::to_string_pretty(&rows)? + "\n")
}

fn filled(template: &Template, words: &Words) -> Result<String> {
    let mut out = String::with_capacity(template.text.len() * 2);
    let mut rest = template.text;
    while let Some(at) = rest.find('@') {
        let (before, after) = rest.split_at(at);
        out.push_str(before);
        let name =
            after[1..].split(|c: char| !c.is_ascii_alphabetic() && c != '_').next().unwrap_or_default();
        if name.is_empty() || !after[1 + name.len()..].starts_with('@') {
            out.push('@');
            rest = &after[1..];
            continue;
        }
        let class = CLASSES.iter().find(|class| class.name == name);
        match (class, words.pattern(name, template.spelling)) {
            (Some(class), _) => out.push_str((template.name)(class)),
            (None, Some(pattern)) if template.spelling == Spelling::Json => {
                let quoted = serde_json::to_string(&pattern)?;
                out.push_str(&quoted[1..quoted.len() - 1]);
            }
            (None, Some(pattern)) => out.push_str(&pattern),
            (None, None) => bail!("`@{name}@` is neither a class nor a list of words"),
        }
        rest = &after[name.len() + 2..];
    }
    write!(out, "{rest}")?;
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_those_of_the_lexer() {
        let source = std::fs::read_to_string(dirs::root().join(words::CLASSES)).unwrap();
        let body = source.split_once("pub enum SyntaxClass {").unwrap().1.split_once('}').unwrap().0;
        let variants = body.lines().filter_map(|line| line.trim().strip_suffix(','));
        let variants: Vec<_> = variants.filter(|line| !line.starts_with("//")).collect();
        assert_eq!(CLASSES.iter().map(|class| class.name).collect::<Vec<_>>(), variants);
    }

    #[test]
    fn placeholders_are_replaced_and_other_signs_kept() {
        let words = Words::read().unwrap();
        let template = |text| Template {
            text,
            ..Template { path: "", text: "", spelling: Spelling::Json, name: |class| class.vim }
        };
        assert_eq!(
            filled(&template("#@ a@b @Operator@ @IDENT@@"), &words).unwrap(),
            "#@ a@b Function [A-Za-z_][A-Za-z0-9_]*@"
        );
        assert!(filled(&template("@NO_SUCH@"), &words).is_err());
    }
}
