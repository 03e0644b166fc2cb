//! The ONNX textual syntax: lexer, parser, formatter, and the way to the IR and back.
//!
//! ```text
//! text ── lex ──> tokens ── parse ──> syntax tree ── lower ──> onnx_ir::Model
//!                                        │  ^                        │
//!                                        │  └───────── raise ────────┘
//!                                        └── format ──> text
//! ```

#![forbid(unsafe_code)]

pub mod ast;
mod check;
mod lex;
mod lower;
mod map;
mod parse;
mod print;
mod raise;
pub mod render;

pub use check::{Checked, check};
pub use lex::{ANNOTATED, MAX_FINDINGS, MAX_NESTING};
pub use lower::{Lowered, lower, read_model};
pub use map::SourceMap;
pub use parse::{
    Parsed, parse_attribute, parse_function, parse_graph, parse_model, parse_node, parse_type,
    parse_value_info,
};
pub use print::{
    FormatOptions, format, format_attribute, format_function, format_graph, format_node, format_to,
    format_type, format_value_info,
};
pub use raise::{Profile, RaiseOptions, Raised, raise};
