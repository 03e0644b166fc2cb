//! The golden-file suite.
