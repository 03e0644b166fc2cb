//! Runs pipelines: locates the sources, then runs all stages tile by tile.

use super::tile::{InMemory, Quantization, Quantized, Tile, Whole, is_short};
use super::{Pipeline, Stage, StageOperand};
use crate::failure::{Failure, fail};
use crate::lanes::convert::{convert, convert_ints};
use crate::lanes::multiversion::{Body, fetch, is_wide, widest};
use crate::lanes::narrow::{bf16_to_f32, f16_to_f32, f32_to_bf16};
use crate::lanes::strip::{Strip, Walk};
#[cfg(target_arch = "x86_64")]
use crate::lanes::tile::WIDE;
use crate::lanes::tile::{Aligned, Edges, Lanes, NARROW, PARTS, TILE};
use crate::lanes::view::{Operands, View};
use crate::lanes::{LaneSource, Reg, Registers};
use half::f16;
use half::slice::{HalfBitsSliceExt as _, HalfFloatSliceExt as _};
use onnx_formula::{Binary, Unary};
use onnx_ir::ElemType;
use smallvec::SmallVec;

/// The destination of a result.
pub(crate) enum Out<'o> {
    Single(&'o mut [f32]),
    F16(&'o mut [u16]),
    Bf16(&'o mut [u16]),
    Byte(&'o mut [u8]),
    Truth(&'o mut [u8]),
    Int(&'o mut [i32]),
}

impl<'o> Out<'o> {
    /// The destination for elements of a type, if pipelines can store it.
    pub(crate) fn of(elem: ElemType, out: &'o mut [u8]) -> Option<Out<'o>> {
        Some(match elem {
            ElemType::FLOAT => Out::Single(bytemuck::try_cast_slice_mut(out).ok()?),
            ElemType::FLOAT16 => Out::F16(bytemuck::try_cast_slice_mut(out).ok()?),
            ElemType::BFLOAT16 => Out::Bf16(bytemuck::try_cast_slice_mut(out).ok()?),
            ElemType::UINT8 | ElemType::INT8 => Out::Byte(out),
            ElemType::BOOL => Out::Truth(out),
            ElemType::INT32 => Out::Int(bytemuck::try_cast_slice_mut(out).ok()?),
            _ => return None,
        })
    }

    /// Whether pipelines can store elements of a type.
    pub(crate) fn is_of(elem: ElemType) -> bool {
        use ElemType as E;
        matches!(elem, E::FLOAT | E::FLOAT16 | E::BFLOAT16 | E::UINT8 | E::INT8 | E::BOOL | E::INT32)
    }

    /// Stores lanes from an index on.
    fn put(&mut self, at: usize, lanes: &[f32]) -> Option<()> {
        let end = at + lanes.len();
        match self {
            Out::Single(to) => to.get_mut(at..end)?.copy_from_slice(lanes),
            // With a hardware conversion, if there is one.
            Out::F16(to) => to.get_mut(at..end)?.reinterpret_cast_mut::<f16>().convert_from_f32_slice(lanes),
            Out::Bf16(to) => convert(lanes, to.get_mut(at..end)?, f32_to_bf16),
            Out::Byte(to) => convert_ints(lanes, to.get_mut(at..end)?, |x| x as u8),
            Out::Truth(to) => convert(lanes, to.get_mut(at..end)?, |x| u8::from(x != 0.0)),
            Out::Int(to) => convert_ints(lanes, to.get_mut(at..end)?, |x| x),
        }
        Some(())
    }
}

/// The second operand of a stage, with the strides of planes and rows.
#[derive(Clone, Copy)]
enum From<'f> {
    /// No operand.
    Nothing,
    Lanes(&'f [f32], [usize; 2]),
    /// The same, prefetching the elements that follow.
    Ahead(&'f [f32], [usize; 2]),
    /// One number for each row.
    Number(&'f [f32], [usize; 2]),
    Kept(usize),
    F16(&'f [u16], [usize; 2]),
    Bf16(&'f [u16], [usize; 2]),
    Byte(&'f [u8], [usize; 2]),
    SignedByte(&'f [i8], [usize; 2]),
    Truth(&'f [u8], [usize; 2]),
    Int(&'f [i32], [usize; 2]),
}

/// The operation of a stage.
#[derive(Clone, Copy)]
enum Kind {
    Load,
    Keep(usize),
    Put(usize),
    Unary(Unary),
    Binary(Binary),
    Swapped(Binary),
    /// A minimum or maximum with a number that is not NaN.
    Limited(Binary, f32),
    /// An operation in memory; the operand of a division is a scalar.
    InMemory(Whole),
    /// Quantizes and stores.
    Quantize(usize),
    /// Selects the current value where a saved value is not 0, otherwise the operand.
    Otherwise(usize),
}

#[derive(Clone, Copy)]
struct Op<'f> {
    kind: Kind,
    from: From<'f>,
}

impl Pipeline {
    /// Runs all stages for a strip. One result can be stored as elements instead of a register.
    pub(crate) fn run(
        &self,
        regs: &mut Registers,
        operands: &Operands<'_>,
        strip: Strip,
        mut wanted: Option<(Reg, Out<'_>)>,
    ) -> Result<(), Failure> {
        let n = strip.n();
        let size = self.size(regs, operands, strip);
        let is_edge = size[2] < TILE;
        let mut edges = std::mem::take(&mut regs.edges);
        // One more slot for conditions, and one for the current value during a widening load.
        if edges.kept.len() < self.kept + 2 {
            edges.kept.resize(self.kept + 2, Aligned([0.0; TILE]));
        }
        // Strips shorter than a tile are copied into whole tiles first.
        edges.lanes.clear();
        if is_edge {
            for reg in self.sources() {
                let mut lanes = Aligned([0.0; TILE]);
                if let Some(from) = from(regs, operands, size, reg) {
                    lanes.0[..n].iter_mut().enumerate().for_each(|(i, lane)| *lane = from.lane(i));
                }
                edges.lanes.push(lanes);
            }
        }
        // Written registers are moved out while the others are borrowed.
        let mut puts: SmallVec<[(Reg, Vec<f32>); 2]> = SmallVec::new();
        for stage in &self.stages {
            if let Stage::Put(reg) = stage
                && wanted.as_ref().is_none_or(|(wanted, _)| wanted != reg)
            {
                let mut lanes = regs.taken(*reg);
                if lanes.len() < n {
                    lanes.resize(n, 0.0);
                }
                puts.push((*reg, lanes));
            }
        }
        let done = {
            let numbers: SmallVec<[Reg; 2]> = puts.iter().map(|(reg, _)| *reg).collect();
            let mut outs: SmallVec<[Out<'_>; 2]> =
                puts.iter_mut().map(|(_, lanes)| Out::Single(&mut lanes[..n])).collect();
            let place = |reg: Reg| numbers.iter().position(|put| *put == reg).unwrap_or(numbers.len());
            if let Some((_, out)) = wanted.take() {
                outs.push(out);
            }
            // Where each stage finds its operand.
            let Edges { kept, lanes } = &mut edges;
            let mut of_edge = lanes.iter();
            let mut source = |source: StageOperand| match source {
                StageOperand::Kept(number) => From::Kept(number),
                StageOperand::Reg(_) if is_edge => {
                    of_edge.next().map_or(From::Nothing, |lanes| From::Lanes(&lanes.0, [0; 2]))
                }
                StageOperand::Reg(reg) => from(regs, operands, size, reg).unwrap_or(From::Nothing),
            };
            // The stages as operations on tiles.
            let mut ops: SmallVec<[Op<'_>; 32]> = SmallVec::new();
            let mut push = |kind, from| ops.push(Op { kind, from });
            for stage in &self.stages {
                match *stage {
                    Stage::Load(from) => push(Kind::Load, source(from)),
                    Stage::Keep(number) => push(Kind::Keep(number), From::Nothing),
                    Stage::Put(reg) => push(Kind::Put(place(reg)), From::Nothing),
                    Stage::Unary(op) if is_short(op) => push(Kind::Unary(op), From::Nothing),
                    Stage::Unary(op) => push(Kind::InMemory(Whole::Unary(op)), From::Nothing),
                    Stage::Binary(op, from) => {
                        let from = source(from);
                        // Narrower registers are divided as fast as they are multiplied so often.
                        match (op, from) {
                            (Binary::Div, From::Number(..)) if is_wide() => {
                                push(Kind::InMemory(Whole::Divided), from);
                            }
                            (Binary::Min | Binary::Max, From::Number([x], _)) if !x.is_nan() => {
                                push(Kind::Limited(op, *x), From::Nothing);
                            }
                            _ => push(Kind::Binary(op), from),
                        }
                    }
                    Stage::Swapped(op, from) => push(Kind::Swapped(op), source(from)),
                    Stage::Select(yes, no) => {
                        push(Kind::Keep(self.kept), From::Nothing);
                        push(Kind::Load, source(yes));
                        push(Kind::Otherwise(self.kept), source(no));
                    }
                    Stage::Round(elem) => push(Kind::InMemory(Whole::Rounded(elem)), From::Nothing),
                }
            }
            let quantization = if is_edge { None } else { take_quantization(&mut ops, &outs) };
            let quantization = quantization.as_ref();
            if is_edge {
                // A whole tile is computed, and only its first lanes are stored.
                let mut results: SmallVec<[Aligned; 2]> =
                    SmallVec::from_elem(Aligned([0.0; TILE]), outs.len());
                let mut tiles: SmallVec<[Out<'_>; 2]> =
                    results.iter_mut().map(|result| Out::Single(&mut result.0)).collect();
                let size = [1, 1, TILE];
                let outs_now = &mut tiles[..];
                let done = widest(Tiles { ops: &ops, outs: outs_now, kept, size, ahead: 0, quantization });
                drop(tiles);
                done.and_then(|()| {
                    outs.iter_mut().zip(&results).try_for_each(|(out, result)| out.put(0, &result.0[..n]))
                })
            } else {
                widest(Tiles { ops: &ops, outs: &mut outs, kept, size, ahead: n, quantization })
            }
        };
        // The registers get their lanes back.
        for (reg, lanes) in puts {
            regs.give(reg, lanes);
        }
        regs.edges = edges;
        if done.is_none() {
            fail!("an index is out of bounds");
        }
        Ok(())
    }

    /// The registers that are read, in order.
    fn sources(&self) -> impl Iterator<Item = Reg> {
        let sources = self.stages.iter().flat_map(|stage| match stage {
            Stage::Load(a) | Stage::Binary(_, a) | Stage::Swapped(_, a) => [Some(*a), None],
            Stage::Select(a, b) => [Some(*a), Some(*b)],
            Stage::Keep(_) | Stage::Put(_) | Stage::Unary(_) | Stage::Round(_) => [None, None],
        });
        sources.flatten().filter_map(|source| match source {
            StageOperand::Reg(reg) => Some(reg),
            StageOperand::Kept(_) => None,
        })
    }

    /// Planes, rows and lanes such that every register can be read in place: a single row if possible. Other registers are
    /// materialized.
    fn size(&self, regs: &mut Registers, operands: &Operands<'_>, strip: Strip) -> [usize; 3] {
        let n = strip.n();
        let all = [1, 1, n];
        if self.sources().all(|reg| from(regs, operands, all, reg).is_some()) {
            return all;
        }
        let by_row = strip.extents();
        let size = if by_row[2] >= TILE { by_row } else { all };
        for reg in self.sources() {
            if from(regs, operands, size, reg).is_none() {
                regs.settle(n, reg, operands);
            }
        }
        size
    }
}

/// Replaces the operations of a quantization at the end of a pipeline by one.
fn take_quantization(ops: &mut SmallVec<[Op<'_>; 32]>, outs: &[Out<'_>]) -> Option<Quantization> {
    let (before, [divided, rounded, added, least, most, put]) = ops.split_last_chunk()?;
    let (Kind::InMemory(Whole::Divided) | Kind::Binary(Binary::Div), From::Number([scale], _)) =
        (divided.kind, divided.from)
    else {
        return None;
    };
    let Kind::Unary(Unary::Round) = rounded.kind else { return None };
    let (Kind::Binary(Binary::Add), From::Number([zero], _)) = (added.kind, added.from) else { return None };
    let Kind::Limited(Binary::Max, least) = least.kind else { return None };
    let Kind::Limited(Binary::Min, most) = most.kind else { return None };
    let Kind::Put(number) = put.kind else { return None };
    let Out::Byte(_) = outs.get(number)? else { return None };
    let quantization = Quantization::new(*scale, *zero, least, most)?;
    let count = before.len();
    ops.truncate(count);
    ops.push(Op { kind: Kind::Quantize(number), from: From::Nothing });
    Some(quantization)
}

/// The operand for a register, if it can be read in place.
#[inline(always)]
fn from<'f>(regs: &'f Registers, operands: &Operands<'f>, size: [usize; 3], reg: Reg) -> Option<From<'f>> {
    let [planes, rows, lanes] = size;
    let one_behind_the_other = [rows * lanes, lanes];
    let (operand, walk) = match regs.source(reg) {
        LaneSource::Own => {
            return Some(From::Lanes(
                regs.single[reg.at].get(..planes * rows * lanes)?,
                one_behind_the_other,
            ));
        }
        LaneSource::Number(number) => return Some(From::Number(std::slice::from_ref(number), [0; 2])),
        LaneSource::Elements(operand, first) => {
            let by = [(rows * lanes) as i64, lanes as i64, 1];
            let view = operands.get(*operand).copied().flatten()?;
            (view, Walk { start: *first as i64 + view.first, extents: size, by })
        }
        LaneSource::Loaded(operand, walk) => (operands.get(*operand).copied().flatten()?, *walk),
    };
    // All lanes in one row.
    let walk = match (planes, rows) {
        (1, 1) if walk.extents != size => {
            Walk { start: walk.start, extents: size, by: [0, 0, walk.stride()?] }
        }
        _ => walk,
    };
    let by = [usize::try_from(walk.by[0]).ok()?, usize::try_from(walk.by[1]).ok()?];
    let first = usize::try_from(walk.start - operand.first).ok()?;
    let end = by[0] * (planes - 1) + by[1] * (rows - 1);
    match walk.by[2] {
        0 if operand.elem == ElemType::FLOAT => Some(From::Number(words(operand, first, end + 1)?, by)),
        1 => {
            let count = end + lanes;
            Some(match operand.elem {
                ElemType::FLOAT if planes * rows * lanes == count => {
                    From::Ahead(words(operand, first, count)?, by)
                }
                ElemType::FLOAT => From::Lanes(words(operand, first, count)?, by),
                ElemType::FLOAT16 => From::F16(words(operand, first, count)?, by),
                ElemType::BFLOAT16 => From::Bf16(words(operand, first, count)?, by),
                ElemType::UINT8 => From::Byte(words(operand, first, count)?, by),
                ElemType::INT8 => From::SignedByte(words(operand, first, count)?, by),
                ElemType::BOOL => From::Truth(words(operand, first, count)?, by),
                ElemType::INT32 => From::Int(words(operand, first, count)?, by),
                _ => return None,
            })
        }
        _ => None,
    }
}

#[inline(always)]
fn words<T: bytemuck::Pod>(view: View<'_>, first: usize, count: usize) -> Option<&[T]> {
    view.words().get(first..)?.get(..count)
}

impl From<'_> {
    /// A lane of a single row.
    fn lane(self, at: usize) -> f32 {
        match self {
            From::Nothing | From::Kept(_) => 0.0,
            From::Lanes(x, _) | From::Ahead(x, _) => x[at],
            From::Number(x, _) => x[0],
            From::F16(x, _) => f16_to_f32(x[at]),
            From::Bf16(x, _) => bf16_to_f32(x[at]),
            From::Byte(x, _) => x[at].into(),
            From::SignedByte(x, _) => x[at].into(),
            From::Truth(x, _) => of_truth(x[at]),
            From::Int(x, _) => x[at] as f32,
        }
    }
}

#[inline(always)]
fn of_truth(x: u8) -> f32 {
    if x != 0 { 1.0 } else { 0.0 }
}

/// The stages for all tiles of a strip.
struct Tiles<'t, 'f> {
    ops: &'t [Op<'f>],
    outs: &'t mut [Out<'f>],
    kept: &'t mut [Aligned],
    size: [usize; 3],
    /// The distance to the memory of the next strip, for prefetching.
    ahead: usize,
    quantization: Option<&'t Quantization>,
}

/// Single floats per cache line.
const LINE: usize = 16;

impl Body for Tiles<'_, '_> {
    /// `None` if an offset is out of range.
    type Out = Option<()>;

    #[inline(always)]
    fn run<const FUSED: bool>(self) -> Option<()> {
        self.all::<NARROW>()
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn run_wide(self) -> Option<()> {
        self.all::<WIDE>()
    }
}

/// A tile of elements.
#[inline(always)]
fn tile<X, const W: usize>(
    x: &[X],
    by: [usize; 2],
    [plane, row, at]: [usize; 3],
) -> Option<&[[X; W]; PARTS]> {
    x.get(by[0] * plane + by[1] * row + at..)?.as_chunks::<W>().0.first_chunk::<PARTS>()
}

impl From<'_> {
    /// A tile of elements that become single floats, in memory.
    fn widened(self, [plane, row, at]: [usize; 3], to: &mut [f32]) -> Option<()> {
        fn widen<X: Copy>(from: &[X], to: &mut [f32], of: impl Fn(X) -> f32) -> Option<()> {
            convert(from.get(..to.len())?, to, of);
            Some(())
        }
        let first = |by: [usize; 2]| by[0] * plane + by[1] * row + at;
        match self {
            From::F16(x, by) => widen(x.get(first(by)..)?, to, f16_to_f32),
            From::Bf16(x, by) => widen(x.get(first(by)..)?, to, bf16_to_f32),
            From::Byte(x, by) => widen(x.get(first(by)..)?, to, |x: u8| x.into()),
            From::SignedByte(x, by) => widen(x.get(first(by)..)?, to, |x: i8| x.into()),
            From::Truth(x, by) => widen(x.get(first(by)..)?, to, of_truth),
            From::Int(x, by) => widen(x.get(first(by)..)?, to, |x: i32| x as f32),
            // Those that are read as they are.
            From::Nothing | From::Lanes(..) | From::Ahead(..) | From::Number(..) | From::Kept(_) => Some(()),
        }
    }
}

impl Tiles<'_, '_> {
    #[inline(always)]
    fn all<const W: usize>(mut self) -> Option<()> {
        let [planes, rows, lanes] = self.size;
        let mut memory = Aligned([0.0; TILE]);
        let memory = memory.lanes_mut::<W>()?;
        for plane in 0..planes {
            for row in 0..rows {
                let mut at = 0;
                while at < lanes {
                    // The last lanes of a row once more rather than fewer than a tile.
                    self.tile([plane, row, at.min(lanes.checked_sub(PARTS * W)?)], memory)?;
                    at += PARTS * W;
                }
            }
        }
        Some(())
    }

    // Operations of many instructions run in memory, by functions of their own: else the tile would not stay in registers here.
    #[inline(always)]
    fn tile<const W: usize>(&mut self, place: [usize; 3], memory: &mut Lanes<W>) -> Option<()> {
        let [plane, row, at] = place;
        let [_, rows, lanes] = self.size;
        // The value that goes through all stages.
        let mut now = Tile::<W>::all(0.0);
        for op in self.ops {
            // The second operand.
            let other = match op.from {
                From::Nothing => now,
                From::Lanes(x, by) => Tile::of(tile(x, by, place)?),
                From::Ahead(x, by) => {
                    let from = tile(x, by, place)?;
                    for line in 0..PARTS * W / LINE {
                        fetch(from.as_flattened(), self.ahead + line * LINE);
                    }
                    Tile::of(from)
                }
                From::Number(x, by) => Tile::all(*x.get(by[0] * plane + by[1] * row)?),
                From::Kept(number) => Tile::of(self.kept.get(number)?.lanes()?),
                narrow => {
                    now.put(self.kept.last_mut()?.lanes_mut()?);
                    narrow.widened(place, memory.as_flattened_mut())?;
                    now = Tile::of(self.kept.last()?.lanes()?);
                    Tile::of(memory)
                }
            };
            // The operation, and what it stores.
            now = match op.kind {
                Kind::Load => other,
                Kind::Keep(number) => {
                    now.put(self.kept.get_mut(number)?.lanes_mut()?);
                    now
                }
                Kind::Put(number) => {
                    let at = (plane * rows + row) * lanes + at;
                    match self.outs.get_mut(number)? {
                        Out::Single(to) => {
                            now.put(to.get_mut(at..)?.as_chunks_mut::<W>().0.first_chunk_mut()?);
                            now
                        }
                        narrow => {
                            now.put(memory);
                            narrow.put(at, memory.as_flattened())?;
                            Tile::of(memory)
                        }
                    }
                }
                Kind::Unary(op) => now.unary(op),
                Kind::Binary(op) => now.binary(op, other),
                Kind::Swapped(op) => now.swapped(op, other),
                Kind::Limited(op, x) => now.limited(op, x),
                Kind::InMemory(ref what) => {
                    now.put(memory);
                    widest(InMemory { lanes: memory.as_flattened_mut(), what, by: other.first() });
                    Tile::of(memory)
                }
                Kind::Quantize(number) => {
                    let Out::Byte(to) = self.outs.get_mut(number)? else { return None };
                    let at = (plane * rows + row) * lanes + at;
                    now.put(memory);
                    let (to, lanes) = (to.get_mut(at..at + PARTS * W)?, memory.as_flattened());
                    widest(Quantized { lanes, to, by: self.quantization? });
                    now
                }
                Kind::Otherwise(number) => Tile::of(self.kept.get(number)?.lanes()?).select(now, other),
            };
        }
        Some(())
    }
}
