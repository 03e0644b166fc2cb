//! The differences between products of single floats and of bytes.

use super::micro::Factor;
use crate::copy::transpose::{SIDE, TransposeBody, Transposer, transposing};
use crate::epilogue::Total;
use crate::failure::{Failure, fail};
use crate::lanes::multiversion::{Body, widest};
use crate::lanes::{Class, Reg, Registers};
use crate::zip::zip;
use onnx_ir::ElemType;

/// The element type of packed factors.
pub(super) trait Kind: Factor<Total: Total> + Send + Sync {
    /// The element type of accumulators, and their register class.
    const TOTAL: ElemType;
    const CLASS: Class;

    /// Whether elements of a type have this representation in memory.
    fn is_element(elem: ElemType) -> bool;

    /// Selects the float or the integer.
    fn number(float: f64, int: i64) -> Self;

    /// Copies numbers from a register.
    fn take(regs: &Registers, from: Reg, out: &mut [Self]) -> Result<(), Failure>;

    /// Flips bits of all numbers.
    fn flip(numbers: &mut [Self], bits: u8);

    /// Interleaves steps of a tile: for each position, `together` steps are contiguous, a group or several.
    fn group(steps: &[Self], tile: usize, interleave: usize, out: &mut [Self]);

    /// Copies accumulators to a register.
    fn put(totals: &[Self::Total], regs: &mut Registers, to: Reg) -> Result<(), Failure>;
}

impl Kind for f32 {
    const TOTAL: ElemType = ElemType::FLOAT;
    const CLASS: Class = Class::Single;

    fn is_element(elem: ElemType) -> bool {
        elem == ElemType::FLOAT
    }

    fn number(float: f64, _: i64) -> f32 {
        float as f32
    }

    fn take(regs: &Registers, from: Reg, out: &mut [f32]) -> Result<(), Failure> {
        match from.class {
            Class::Single => out.copy_from_slice(&regs.single[from.at][..out.len()]),
            Class::Double | Class::Int => fail!("a factor is not a single float"),
        }
        Ok(())
    }

    fn flip(_: &mut [f32], _: u8) {}

    fn group(steps: &[f32], _: usize, _: usize, out: &mut [f32]) {
        out[..steps.len()].copy_from_slice(steps);
    }

    fn put(totals: &[f32], regs: &mut Registers, to: Reg) -> Result<(), Failure> {
        match to.class {
            Class::Single => regs.own(to)[..totals.len()].copy_from_slice(totals),
            Class::Double => {
                for (to, x) in regs.double[to.at].iter_mut().zip(totals) {
                    *to = (*x).into();
                }
            }
            Class::Int => fail!("a total is not a float"),
        }
        Ok(())
    }
}

impl Kind for u8 {
    const TOTAL: ElemType = ElemType::INT32;
    const CLASS: Class = Class::Int;

    fn is_element(elem: ElemType) -> bool {
        use ElemType as E;
        matches!(elem, E::UINT8 | E::INT8 | E::UINT4 | E::INT4 | E::UINT2 | E::INT2)
    }

    fn number(_: f64, int: i64) -> u8 {
        int as u8
    }

    fn take(regs: &Registers, from: Reg, out: &mut [u8]) -> Result<(), Failure> {
        match from.class {
            Class::Int => widest(Narrow { lanes: &regs.int[from.at], out }),
            Class::Single | Class::Double => fail!("a factor is not an integer"),
        }
        Ok(())
    }

    fn flip(numbers: &mut [u8], bits: u8) {
        if bits != 0 {
            widest(Flip { numbers, bits });
        }
    }

    fn group(steps: &[u8], tile: usize, interleave: usize, out: &mut [u8]) {
        if interleave == u8::GROUP {
            return widest(Group { steps, tile, out });
        }
        let mut groups = vec![0; interleave * tile];
        for (steps, out) in steps.chunks(interleave * tile).zip(out.chunks_exact_mut(interleave * tile)) {
            widest(Group { steps, tile, out: &mut groups });
            transposing(Together { groups: &groups, tile, out });
        }
    }

    fn put(totals: &[i32], regs: &mut Registers, to: Reg) -> Result<(), Failure> {
        match to.class {
            Class::Int => widest(Widen { totals, lanes: &mut regs.int[to.at] }),
            Class::Single => widest(Floats { totals, lanes: regs.own(to) }),
            Class::Double => fail!("a total is not an integer"),
        }
        Ok(())
    }
}

/// Truncates lanes to bytes.
struct Narrow<'n> {
    lanes: &'n [i64],
    out: &'n mut [u8],
}

impl Body for Narrow<'_> {
    type Out = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        zip(self.out, self.lanes).for_each(|(out, x)| *out = *x as u8);
    }
}

struct Widen<'w> {
    totals: &'w [i32],
    lanes: &'w mut [i64],
}

impl Body for Widen<'_> {
    type Out = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        zip(self.lanes, self.totals).for_each(|(lane, x)| *lane = (*x).into());
    }
}

/// Converts accumulators to single floats.
struct Floats<'f> {
    totals: &'f [i32],
    lanes: &'f mut [f32],
}

impl Body for Floats<'_> {
    type Out = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        zip(self.lanes, self.totals).for_each(|(lane, x)| *lane = *x as f32);
    }
}

struct Flip<'f> {
    numbers: &'f mut [u8],
    bits: u8,
}

impl Body for Flip<'_> {
    type Out = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        self.numbers.iter_mut().for_each(|x| *x ^= self.bits);
    }
}

/// Several groups of each position together, from those of all positions one after the other.
struct Together<'t> {
    groups: &'t [u8],
    tile: usize,
    out: &'t mut [u8],
}

impl TransposeBody for Together<'_> {
    type Out = ();

    #[inline(always)]
    fn with(self, transposer: Transposer) {
        const GROUP: usize = u8::GROUP;
        let Together { groups, tile, out } = self;
        let (groups, out) = (groups.as_chunks::<GROUP>().0, out.as_chunks_mut::<GROUP>().0);
        let count = groups.len() / tile;
        for (first, left) in
            (0..count).step_by(SIDE).flat_map(|first| (0..tile).step_by(SIDE).map(move |left| (first, left)))
        {
            let (high, wide) = (SIDE.min(count - first), SIDE.min(tile - left));
            let mut square = [[0i32; SIDE]; SIDE];
            for (group, line) in square.iter_mut().take(high).enumerate() {
                let from = &groups[(first + group) * tile + left..][..wide];
                line.iter_mut().zip(from).for_each(|(to, group)| *to = i32::from_ne_bytes(*group));
            }
            for (position, line) in transposer.square(&square).iter().take(wide).enumerate() {
                let to = &mut out[(left + position) * count + first..][..high];
                to.iter_mut().zip(line).for_each(|(to, group)| *to = group.to_ne_bytes());
            }
        }
    }
}

/// [`Kind::group`] for bytes of one group.
struct Group<'g> {
    steps: &'g [u8],
    tile: usize,
    out: &'g mut [u8],
}

impl Body for Group<'_> {
    type Out = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        const GROUP: usize = u8::GROUP;
        let Group { steps, tile, out } = self;
        for (steps, out) in steps.chunks(GROUP * tile).zip(out.chunks_exact_mut(GROUP * tile)) {
            if steps.len() == out.len() {
                let (front, back) = steps.split_at(2 * tile);
                let ((a, b), (c, d)) = (front.split_at(tile), back.split_at(tile));
                let all = a.iter().zip(b).zip(c).zip(d);
                for (out, (((a, b), c), d)) in out.as_chunks_mut::<GROUP>().0.iter_mut().zip(all) {
                    *out = [*a, *b, *c, *d];
                }
            } else {
                for (of, step) in steps.chunks_exact(tile).enumerate() {
                    out[of..].iter_mut().step_by(GROUP).zip(step).for_each(|(out, x)| *out = *x);
                }
            }
        }
    }
}
