//! The epilogue of a micro-kernel, for accumulators in registers.

/// A clamped linear function, with numbers for each column, row and result.
#[derive(Clone, Copy)]
pub(crate) struct Line<'e> {
    pub(crate) scale: &'e [f32],
    pub(crate) bias: &'e [f32],
    pub(crate) of_rows: Option<&'e [f32]>,
    /// In the layout of the results.
    pub(crate) other: Option<&'e [f32]>,
    pub(crate) least: f32,
    pub(crate) most: f32,
}
