//! Stored elements.
