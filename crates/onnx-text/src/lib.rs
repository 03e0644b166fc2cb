//! The ONNX textual syntax: lexer, parser, formatter, and conversion to and from the IR.
//!
//! ```text
//! text ── lex ──> tokens ── parse ──> syntax tree ── lower ──> onnx_ir::Model
//!                                        │  ^                        │
//!                                        │  └───────── raise ────────┘
//!                                        └── format ──> text
//! ```
//!
//! For whole files: [`read_model`] and [`print_model`], and for a file with a value [`read_value`] and [`print_value`];
//! [`sniff_text`] distinguishes them. For single constructs there are further `read_*` and `print_*` functions, from
//! [`read_graph`] to [`read_type`].

#![forbid(unsafe_code)]

pub mod ast;
mod check;
mod comments;
mod lex;
mod lower;
mod map;
mod narrow;
mod parse;
mod print;
mod raise;
pub mod render;
mod signature;
mod sniff;
mod visible;

pub use check::{
    Checked, CheckedSet, CheckedValue, Fixed, Fixes, apply_fixes, check, check_operator_set, check_value,
    check_with, value_span,
};
pub use comments::Comments;
pub use lex::{ANNOTATED, MAX_FINDINGS, MAX_NESTING};
pub use lower::{
    Lowered, lower, read_attribute, read_function, read_graph, read_model, read_node, read_operator_set,
    read_tensor, read_type, read_value, read_value_info,
};
pub use map::{OpsetMap, SourceMap};
pub use narrow::number_text;
pub use parse::{
    Parsed, parse_attribute, parse_function, parse_graph, parse_model, parse_node, parse_operator,
    parse_operator_set, parse_type, parse_value, parse_value_info,
};
pub use print::{
    FormatOptions, format, format_attribute, format_function, format_graph, format_node, format_operator,
    format_operator_set, format_to, format_type, format_value, format_value_file, format_value_info,
};
pub use raise::{
    Profile, RaiseOptions, Raised, print_attribute, print_function, print_graph, print_model, print_node,
    print_operator_set, print_tensor, print_type, print_value, print_value_info, raise, raise_with,
};
pub use signature::{description, sign, signatures};
pub use sniff::{TextKind, sniff_text};
pub use visible::{is_active, visible};
