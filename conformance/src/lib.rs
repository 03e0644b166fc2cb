//! Compares the project with all available oracles: ONNX's own test models, real models, the reference implementation, random
//! models, and damaged files. The tests are in `tests/`; this crate has their shared code.
//!
//! - [`corpus`]: the models that `cargo xtask corpus` has fetched, and how a test says what it left out.
//! - [`convert`]: wire format to text and back.
//! - [`oracle`]: the reference implementation in a process of its own.
//! - [`random`]: models with anything in any field.
//! - [`trial`]: models that are changed and have to compute the same.
//! - [`formulas`]: nodes evaluated by their formulas.
//! - [`graphs`]: models of many nodes, regular and random.
//! - [`images`]: random networks over images.
//! - [`inferred`]: what inference says, compared with what is computed.
//! - [`results`]: what models compute, compared with each other.
//! - [`rewrites`]: models that are tidied and converted.
//! - [`bodies`]: function bodies in place of nodes.
//! - [`chains`]: random nodes in a row.
//! - [`fuzz`]: what must hold for every input.
//! - [`comments`]: comments between the tokens of a text. [`texts`]: what is done with any text.

#![forbid(unsafe_code)]

pub mod bodies;
pub mod chains;
pub mod comments;
pub mod convert;
pub mod corpus;
pub mod formulas;
pub mod fuzz;
pub mod graphs;
pub mod images;
pub mod inferred;
pub mod oracle;
pub mod random;
pub mod results;
pub mod rewrites;
pub mod runtime;
pub mod texts;
pub mod trial;

/// The examples of the page for embedders.
#[cfg(doctest)]
#[doc = include_str!("../../docs/embed.md")]
mod embed {}
