//! The ONNX textual syntax: lexer, parser, formatter, and conversion to and from the IR.
//!
//! ```text
//! text ── lex ──> tokens ── parse ──> syntax tree ── lower ──> onnx_ir::Model
//!                                        │  ^                        │
//!                                        │  └───────── raise ────────┘
//!                                        └── format ──> text
//! ```
//!
//! With the feature `print`, models are printed and texts formatted, and with `verify` they are checked by the rules for models;
//! without features, the crate reads models and values, and few other crates are compiled. `human` and `json` render findings.
//!
//! ```
//! let read = onnx_text::read_model("g (float[N] x) => (float[N] y) { t = Abs(x) y = Sqrt(t) }");
//! assert!(read.diagnostics.is_empty());
//! let operators: Vec<&str> = read.value.walk_main().map(|node| node.op()).collect();
//! assert_eq!(operators, ["Abs", "Sqrt"]);
//! ```
//!
//! For whole files: [`read_model`] and [`print_model`], and for a file with a value [`read_value`] and [`print_value`];
//! [`sniff_text`] distinguishes them. For single constructs there are further `read_*` and `print_*` functions, from
//! [`read_graph`] to [`read_type`].

#![forbid(unsafe_code)]
#![cfg_attr(
    not(feature = "print"),
    allow(dead_code, reason = "a reader alone needs a part of what is shared")
)]

pub mod ast;
mod check;
mod classes;
#[cfg(feature = "print")]
mod comments;
mod identifier;
mod lex;
mod literal;
mod lower;
mod map;
mod names;
mod narrow;
mod parse;
#[cfg(feature = "print")]
mod print;
#[cfg(feature = "print")]
mod raise;
pub mod render;
#[cfg(feature = "print")]
mod signature;
#[cfg(feature = "print")]
mod signature_block;
mod sniff;
mod tokens;
mod visible;

pub use check::{
    Checked, Complete, Excerpt, Fixed, Fixes, ReadStatements, Readers, apply_fixes, check_completed,
    check_for, check_part_completed, check_part_with, check_read, check_with, read_completed, value_span,
};
#[cfg(all(feature = "print", feature = "verify"))]
pub use check::{CheckedSet, check_operator_set};
#[cfg(feature = "verify")]
pub use check::{CheckedValue, check, check_value};
#[cfg(feature = "print")]
pub use check::{Expansion, expand, expanded};
pub use classes::{SyntaxClass, text_classes};
#[cfg(feature = "print")]
pub use comments::Comments;
pub use lex::{ANNOTATED, MAX_FINDINGS, MAX_NESTING};
pub use literal::LiteralOperand;
pub use lower::{
    NamedNumbers, elem_type_named, literal_of, lower, read_attribute, read_function, read_graph, read_model,
    read_node, read_part, read_tensor, read_type, read_value, read_value_info,
};
pub use map::{NodeAt, OpsetMap, SourceIndex, SourceMap};
pub use names::{
    NameId, NameInfo, NameKind, NameRole, Occurrence, RenameError, ScopeId, Spelling, TextNames, TextScope,
    rename_in_text,
};
#[cfg(feature = "print")]
pub use narrow::number_text;
pub use parse::{
    Syntax, parse_attribute, parse_function, parse_graph, parse_model, parse_node, parse_operator,
    parse_operator_set, parse_type, parse_value, parse_value_info,
};
#[cfg(feature = "print")]
pub use print::{
    FormatOptions, format, format_attribute, format_function, format_graph, format_node, format_operator,
    format_operator_set, format_part, format_to, format_type, format_value, format_value_file,
    format_value_info,
};
#[cfg(feature = "print")]
pub use raise::{
    Profile, RaiseOptions, Raised, print_attribute, print_function, print_graph, print_model, print_node,
    print_operator_set, print_part, print_tensor, print_tensor_of, print_type, print_value, print_value_info,
    raise, raise_with,
};
#[cfg(feature = "print")]
pub use signature::{description, read_operator_set, sign, signatures};
pub use sniff::{TextKind, sniff_text};
pub use tokens::{TextToken, TokenClass, text_tokens};
pub use visible::{is_active, visible};
