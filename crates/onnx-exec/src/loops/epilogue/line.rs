//! The epilogue of a micro-kernel, for accumulators in registers.

/// A clamped linear function, with numbers for each column, row and result.
#[derive(Clone, Copy)]
pub(in crate::loops) struct Line<'e> {
    pub(in crate::loops) scale: &'e [f32],
    pub(in crate::loops) bias: &'e [f32],
    pub(in crate::loops) of_rows: Option<&'e [f32]>,
    /// In the layout of the results.
    pub(in crate::loops) other: Option<&'e [f32]>,
    pub(in crate::loops) least: f32,
    pub(in crate::loops) most: f32,
}
