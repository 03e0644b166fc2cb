//! Factors that are made of constants, packed once for all runs.

use super::kind::Kind;
use super::{Contraction, Packer, Side, block, blocks, pack_columns, pack_rows, zeros};
use crate::budget::filled;
use crate::failure::Failure;
use crate::loops::Nest;
use crate::loops::micro::Micro;
use crate::loops::program::{Instr, Program};
use crate::loops::scratch::words_of;
use crate::loops::view::Operands;
use std::sync::Arc;

/// A factor, packed.
#[derive(Debug)]
pub(in crate::loops) struct Known {
    /// Whatever numbers they are, for they lie as these do.
    words: Vec<f32>,
    /// Of bytes, the sums over all steps.
    sums: Vec<i32>,
}

impl Known {
    fn room<T: Kind>(count: usize) -> Result<Known, Failure> {
        Ok(Known { words: filled(words_of::<T>(count), 0.0)?, sums: Vec::new() })
    }

    pub(super) fn numbers<T: Kind>(&self) -> &[T] {
        bytemuck::cast_slice(&self.words)
    }

    fn numbers_mut<T: Kind>(&mut self) -> &mut [T] {
        bytemuck::cast_slice_mut(&mut self.words)
    }

    pub(super) fn len<T: Kind>(&self) -> usize {
        self.numbers::<T>().len()
    }

    pub(super) fn sums(&self) -> &[i32] {
        &self.sums
    }
}

impl Contraction {
    /// Packs the factors that are made of constants.
    fn pack<T: Kind>(&mut self, constants: &Operands<'_>) -> Result<(), Failure> {
        let micro = Micro::<T>::best();
        let extents: Vec<usize> = self.dims.iter().chain(&self.over).copied().collect();
        let step_axes: Vec<usize> = (self.dims.len()..extents.len()).collect();
        let count: usize = self.over.iter().product();
        let depth = count.next_multiple_of(T::GROUP);
        let mut at = vec![0; extents.len()];
        if self.is_constant(&self.a, constants) {
            let rows = self.a.count(&extents);
            let mut known = Known::room::<T>(rows.next_multiple_of(micro.rows) * depth)?;
            let mut packer = Packer::<T>::new(&self.a, &extents, &step_axes, micro.rows);
            pack_rows(&mut packer, constants, &mut at, rows, count, known.numbers_mut())?;
            if self.a.bytes.is_some() {
                known.sums = zeros::sums_of_rows(micro, known.numbers(), rows, count);
            }
            self.a.known = Some(Arc::new(known));
        }
        if self.is_constant(&self.b, constants) {
            let columns = self.b.count(&extents);
            let mut known = Known::room::<T>(columns.next_multiple_of(micro.columns) * depth)?;
            let mut packer = Packer::<T>::new(&self.b, &extents, &step_axes, micro.columns);
            let mut sums = Vec::new();
            for columns in blocks(columns, block(columns, depth, micro)) {
                let wide = columns.len().next_multiple_of(micro.columns);
                let packed = &mut known.numbers_mut()[columns.start * depth..][..wide * depth];
                pack_columns(&mut packer, constants, &mut at, columns.clone(), count, packed)?;
                if self.b.bytes.is_some() {
                    sums.extend(&zeros::sums_of_columns(micro, packed, count)[..columns.len()]);
                }
            }
            known.sums = sums;
            self.b.known = Some(Arc::new(known));
        }
        Ok(())
    }

    /// Whether a factor is the same in all runs and for all positions of the axes that both depend on.
    fn is_constant(&self, side: &Side, constants: &Operands<'_>) -> bool {
        let is_known = |operand: usize| constants.get(operand).is_some_and(Option::is_some);
        let are_known = |program: &Program| {
            program.instrs.iter().all(|instr| match instr {
                Instr::Load { operand, .. }
                | Instr::LoadWhere { operand, .. }
                | Instr::Gather { operand, .. } => is_known(*operand),
                _ => true,
            })
        };
        let padding =
            side.bytes.as_ref().filter(|bytes| bytes.is_padded).and_then(|bytes| bytes.zero.as_ref());
        are_known(&side.program) && padding.is_none_or(are_known) && !self.is_of(side, &self.both)
    }
}

impl Nest {
    /// Packs factors of a matrix product that are made of these operands, which are the same in all runs.
    pub(crate) fn pack_constants(&mut self, constants: &Operands<'_>) -> Result<(), Failure> {
        match &mut self.contraction {
            None => Ok(()),
            Some(contraction) if contraction.a.bytes.is_some() => contraction.pack::<u8>(constants),
            Some(contraction) => contraction.pack::<f32>(constants),
        }
    }
}
