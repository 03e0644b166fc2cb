//! The encoding of messages: varints, keys, lengths.
//!
//! prost decodes messages but does not report what it drops. This walker does: unknown fields, and non-standard encodings, so
//! that a reader can explain why rewriting changes a file. It reads only keys and lengths and skips payloads: the pages of a
//! large tensor stay on disk.

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
pub use walk::{Anomaly, AnomalyKind, Malformed, Path, ScanDepth};
pub(crate) use walk::{announced, is_plain, walk};

/// Messages inside messages that are read, which is what other decoders allow: 32 graphs, one inside the other.
pub const MAX_DEPTH: usize = 100;
