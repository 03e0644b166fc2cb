//! Tiles of pipelines in memory.

/// Parts of a tile: one hardware register each, and as many registers are left to compute with, even where there are 16 of them.
pub(crate) const PARTS: usize = 8;
/// Lanes of a part in registers of 512 bits, and in narrower ones.
pub(crate) const WIDE: usize = 16;
pub(crate) const NARROW: usize = 8;
/// The most lanes of a tile.
pub(crate) const TILE: usize = PARTS * WIDE;

/// The lanes of a tile in memory.
pub(crate) type Lanes<const W: usize> = [[f32; W]; PARTS];

/// A tile in memory.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(crate) struct Aligned(pub(crate) [f32; TILE]);

impl Aligned {
    /// The lanes of a tile; they are there for both widths.
    #[inline(always)]
    pub(crate) fn lanes<const W: usize>(&self) -> Option<&Lanes<W>> {
        self.0.as_chunks::<W>().0.first_chunk()
    }

    #[inline(always)]
    pub(crate) fn lanes_mut<const W: usize>(&mut self) -> Option<&mut Lanes<W>> {
        self.0.as_chunks_mut::<W>().0.first_chunk_mut()
    }
}

/// Memory for tiles: what is kept, and lanes where there are fewer than a tile.
#[derive(Default)]
pub(crate) struct Edges {
    pub(crate) kept: Vec<Aligned>,
    pub(crate) lanes: Vec<Aligned>,
}
