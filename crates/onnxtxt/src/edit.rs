//! Edits of models: cut out, rename, join, strip.
