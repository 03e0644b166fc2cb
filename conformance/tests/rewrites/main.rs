//! What changes models keeps what they compute: passes, conversion, inlining, derivatives.

mod conversions;
mod gradients;
mod inlining;
mod passes;
mod random_passes;
mod recompute;
mod torch;
mod training;
