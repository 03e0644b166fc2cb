//! Passes, conversion, inlining and derivatives: results before and after.

mod conversions;
mod gradients;
mod inlining;
mod node_notes;
mod passes;
mod random_passes;
mod recompute;
mod torch;
mod training;
