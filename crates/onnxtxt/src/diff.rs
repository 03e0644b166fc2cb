//! Structural differences between two models.
