//! Random texts.
