//! The encoding below the messages: varints, keys, lengths.
//!
//! prost decodes messages but says nothing of what it passes over. This walker says it: fields that the format does not
//! know, and bytes that no standard encoder would have written, so that a reader can tell why a file will come out
//! different. It reads keys and lengths only and steps over payloads: the pages of a large tensor stay on disk.

#![cfg_attr(
    not(feature = "forms"),
    allow(dead_code, unused_imports, reason = "names of fields and enums are for JSON and textproto")
)]

mod canonical;
mod cursor;
mod schema;
#[rustfmt::skip]
#[allow(dead_code, reason = "generated for the whole format")]
mod table;
pub(crate) mod varint;
mod walk;

pub(crate) use canonical::{canonical, is_misread, push_bytes};
pub(crate) use cursor::{Cursor, bytes_run, fixed32_run, varint_run};
pub use cursor::{Reason, WireType};
pub(crate) use schema::{Field, Kind, Message, Repeat};
pub(crate) use table::*;
pub use walk::{Finding, Look, Malformed, Path, What};
pub(crate) use walk::{announced, is_plain, walk};

/// Messages inside messages that are read, which is what other decoders allow: 32 graphs, one inside the other.
pub const MAX_DEPTH: usize = 100;
