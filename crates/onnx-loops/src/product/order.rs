//! Groups of packed columns in the order in which they are multiplied.
//!
//! Products of groups that are [narrow](super::micro::Factor::is_narrow) take less time on some processors. A sum of integers is
//! the same in any order, so the narrow groups of each tile are put before the others when columns are packed before the run, and it is
//! kept which group stands where: rows are read in that order.

use super::blocks;
use super::kind::Kind;
use super::micro::Micro;

/// The order of all groups of the tiles of packed columns: as many numbers as there are groups, as they lie.
#[derive(Debug, Default)]
pub(super) struct Order {
    /// Which group of its block of steps each is.
    groups: Vec<u8>,
    /// How many are narrow, for each tile at the place of its first group.
    narrow: Vec<u8>,
}

/// That of some tiles, for a block of steps.
#[derive(Clone, Copy)]
pub(super) struct Ordered<'o> {
    groups: &'o [u8],
    narrow: &'o [u8],
    /// The groups of a tile in the block, and how many groups tiles are apart.
    of_tile: usize,
    apart: usize,
}

impl Order {
    /// Puts narrow groups first in a block of columns, whose tiles lie behind all that have been put in order before.
    pub(super) fn put<T: Kind>(&mut self, micro: Micro<T>, packed: &mut [T], count: usize) {
        // A number of a group is a byte.
        if !micro.knows_narrow || T::STEPS / T::GROUP > 1 << 8 {
            return;
        }
        let size = micro.columns * T::GROUP;
        let wide = packed.len() / count.next_multiple_of(T::GROUP);
        let mut sorted = Vec::new();
        for steps in blocks(count, T::STEPS) {
            let n = steps.len().next_multiple_of(T::GROUP);
            for tile in packed[steps.start * wide..][..n * wide].chunks_exact_mut(n * micro.columns) {
                let mut order: Vec<(bool, u8)> = tile
                    .chunks_exact(size)
                    .zip(0..)
                    .map(|(group, at)| (!group.chunks(T::GROUP).all(T::is_narrow), at))
                    .collect();
                order.sort_unstable();
                sorted.clear();
                for (_, at) in &order {
                    sorted.extend_from_slice(&tile[usize::from(*at) * size..][..size]);
                }
                tile.copy_from_slice(&sorted);
                let narrow = order.iter().filter(|(is_wide, _)| !is_wide).count();
                self.narrow.resize(self.groups.len(), 0);
                // A whole block has half as many as a byte counts.
                self.narrow.push(u8::try_from(narrow).unwrap_or(0));
                self.groups.extend(order.iter().map(|(_, at)| at));
            }
        }
        self.narrow.resize(self.groups.len(), 0);
    }

    /// Adds the order of later tiles.
    pub(super) fn append(&mut self, mut later: Order) {
        self.groups.append(&mut later.groups);
        self.narrow.append(&mut later.narrow);
    }

    /// Its lists, to store them.
    pub(super) fn lists(&self) -> [&[u8]; 2] {
        [&self.groups, &self.narrow]
    }

    /// That of stored lists.
    pub(super) fn of_lists([groups, narrow]: [&[u8]; 2]) -> Order {
        Order { groups: groups.to_vec(), narrow: narrow.to_vec() }
    }

    /// That of tiles of so many groups each, so far apart; the first has so many groups before it.
    pub(super) fn tiles(&self, before: usize, [of_tile, apart]: [usize; 2]) -> Option<Ordered<'_>> {
        let (groups, narrow) = (self.groups.get(before..)?, self.narrow.get(before..)?);
        (!groups.is_empty()).then_some(Ordered { groups, narrow, of_tile, apart })
    }
}

impl<'o> Ordered<'o> {
    /// How many groups of a tile are narrow.
    pub(super) fn narrow(&self, tile: usize) -> usize {
        self.narrow.get(tile * self.apart).copied().unwrap_or(0).into()
    }

    /// The order of the groups of a tile, if it is not that in which they were packed.
    pub(super) fn of(&self, tile: usize) -> Option<&'o [u8]> {
        let is_other = (1..self.of_tile).contains(&self.narrow(tile));
        self.groups.get(tile * self.apart..)?.get(..self.of_tile).filter(|_| is_other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::product::micro::Factor;

    #[test]
    fn narrow_groups_come_first_and_none_is_lost() {
        for micro in u8::kernels().into_iter().filter(|micro| micro.knows_narrow) {
            let (size, count) = (micro.columns * u8::GROUP, 37);
            // Of two tiles of ten groups each, every third one of the first is wide, and all of the second.
            let byte = |at: usize| if at / size % 3 == 1 || at >= 10 * size { 127 } else { (at % 60) as u8 };
            let before: Vec<u8> = (0..20 * size).map(byte).collect();
            let (mut packed, mut order) = (before.clone(), Order::default());
            order.put(micro, &mut packed, count);
            let ordered = order.tiles(0, [10, 10]).unwrap();
            assert_eq!([ordered.narrow(0), ordered.narrow(1)], [7, 0]);
            assert_eq!(ordered.of(0), Some(&[0, 2, 3, 5, 6, 8, 9, 1, 4, 7][..]));
            assert_eq!(ordered.of(1), None);
            for (packed, group) in packed.chunks(size).zip(ordered.of(0).unwrap()) {
                assert_eq!(packed, &before[usize::from(*group) * size..][..size]);
            }
            assert!(order.tiles(20, [10, 10]).is_none());
        }
    }
}
