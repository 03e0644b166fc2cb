//! Tiles of a pipeline: the lanes that are processed at once, in hardware registers.

use crate::lanes::multiversion::Body;
use crate::lanes::narrow::{round_to_bf16, round_to_f16};
use crate::lanes::tile::{Lanes, NARROW, PARTS};
use crate::lanes::{are_short, call, call_both, int_of, math, short_of};
use crate::zip::zip;
use onnx_formula::{Binary, Cost, Unary, binary_operations, unary_operations};
use onnx_ir::ElemType;

/// Lanes that are computed in memory together. Every tile has a multiple of them.
const TOGETHER: usize = PARTS * NARROW;

/// The lanes of a tile, `W` in each part. Fields rather than an array of parts: then they stay in registers.
#[derive(Clone, Copy)]
pub(super) struct Tile<const W: usize>(
    [f32; W],
    [f32; W],
    [f32; W],
    [f32; W],
    [f32; W],
    [f32; W],
    [f32; W],
    [f32; W],
);

impl<const W: usize> Tile<W> {
    /// A number in all lanes.
    #[inline(always)]
    pub(super) fn all(x: f32) -> Self {
        let part = [x; W];
        Tile(part, part, part, part, part, part, part, part)
    }

    #[inline(always)]
    pub(super) fn of([a, b, c, d, e, f, g, h]: &Lanes<W>) -> Self {
        Tile(*a, *b, *c, *d, *e, *f, *g, *h)
    }

    #[inline(always)]
    pub(super) fn put(self, to: &mut Lanes<W>) {
        let Tile(a, b, c, d, e, f, g, h) = self;
        *to = [a, b, c, d, e, f, g, h];
    }

    /// The first lane.
    #[inline(always)]
    pub(super) fn first(self) -> f32 {
        self.0[0]
    }

    #[inline(always)]
    fn each(self, f: impl Fn(f32) -> f32 + Copy) -> Self {
        Tile(
            each(self.0, f),
            each(self.1, f),
            each(self.2, f),
            each(self.3, f),
            each(self.4, f),
            each(self.5, f),
            each(self.6, f),
            each(self.7, f),
        )
    }

    #[inline(always)]
    fn with(self, x: Self, f: impl Fn(f32, f32) -> f32 + Copy) -> Self {
        Tile(
            both(self.0, x.0, f),
            both(self.1, x.1, f),
            both(self.2, x.2, f),
            both(self.3, x.3, f),
            both(self.4, x.4, f),
            both(self.5, x.5, f),
            both(self.6, x.6, f),
            both(self.7, x.7, f),
        )
    }

    /// An operation that [`is_short`].
    #[inline(always)]
    pub(super) fn unary(self, op: Unary) -> Self {
        macro_rules! short {
            (Function, $tile:ident, $float:expr) => {
                $tile
            };
            ($cost:ident, $tile:ident, $float:expr) => {
                $tile.each($float)
            };
        }
        macro_rules! rows {
            ($(
                $(#[$doc:meta])* $name:ident: $domain:ident, $cost:ident, $exactness:ident
                $(, float($float:expr $(, $vector:ident)?))? $(, int($int:expr))? $(, test($test:expr, $int_test:expr))?;
            )*) => {
                match op {
                    // Operations of integers and functions are not short.
                    $(Unary::$name => {
                        let tile = self;
                        $(let tile = short!($cost, tile, $float);)?
                        $(let tile = tile.each(|x| truth(call(x, $test)));)?
                        tile
                    })*
                }
            };
        }
        unary_operations!(rows)
    }

    /// An operation that is a stage.
    #[inline(always)]
    pub(super) fn binary(self, op: Binary, x: Self) -> Self {
        macro_rules! short {
            (Function, $tile:ident, $float:expr) => {
                $tile
            };
            ($cost:ident, $tile:ident, $float:expr) => {
                $tile.with(x, $float)
            };
        }
        macro_rules! rows {
            ($(
                $(#[$doc:meta])* $name:ident: $domain:ident, $cost:ident, $exactness:ident $(, sign($sign:literal))?
                $(, float($float:expr))? $(, int($int:expr))? $(, truth($truth:expr))? $(, compare($compare:expr))?;
            )*) => {
                match op {
                    // Operations of integers and functions are not stages.
                    $(Binary::$name => {
                        let tile = self;
                        $(let tile = short!($cost, tile, $float);)?
                        $(let tile = tile.with(x, |a, b| truth(call_both(a != 0.0, b != 0.0, $truth)));)?
                        $(let tile = tile.with(x, |a, b| truth(call_both(a, b, $compare)));)?
                        tile
                    })*
                }
            };
        }
        binary_operations!(rows)
    }

    /// A minimum or maximum with a number, which is not NaN.
    #[inline(always)]
    pub(super) fn limited(self, op: Binary, x: f32) -> Self {
        match op {
            Binary::Min => self.each(|a| if x < a { x } else { a }),
            Binary::Max => self.each(|a| if x > a { x } else { a }),
            // Not a limit.
            _ => self,
        }
    }

    /// The operation with the tile as the second operand.
    #[inline(always)]
    pub(super) fn swapped(self, op: Binary, x: Self) -> Self {
        match op {
            // Commutative.
            Binary::Add | Binary::Mul | Binary::And | Binary::Or | Binary::Xor | Binary::Equal => {
                self.binary(op, x)
            }
            Binary::Less => self.binary(Binary::Greater, x),
            Binary::LessOrEqual => self.binary(Binary::GreaterOrEqual, x),
            Binary::Greater => self.binary(Binary::Less, x),
            Binary::GreaterOrEqual => self.binary(Binary::LessOrEqual, x),
            _ => x.binary(op, self),
        }
    }

    /// Selects the first tile where this one is not 0, otherwise the second.
    #[inline(always)]
    pub(super) fn select(self, yes: Self, no: Self) -> Self {
        let choose = |c: [f32; W], yes: [f32; W], no: [f32; W]| {
            let mut chosen = no;
            for lane in 0..W {
                chosen[lane] = if c[lane] != 0.0 { yes[lane] } else { no[lane] };
            }
            chosen
        };
        Tile(
            choose(self.0, yes.0, no.0),
            choose(self.1, yes.1, no.1),
            choose(self.2, yes.2, no.2),
            choose(self.3, yes.3, no.3),
            choose(self.4, yes.4, no.4),
            choose(self.5, yes.5, no.5),
            choose(self.6, yes.6, no.6),
            choose(self.7, yes.7, no.7),
        )
    }
}

/// Whether an operation has few instructions; the others are in [`InMemory`].
pub(super) fn is_short(op: Unary) -> bool {
    op.cost() != Cost::Function
}

/// An operation on a tile in memory: functions that need many registers.
#[derive(Clone, Copy)]
pub(super) enum Whole {
    Unary(Unary),
    /// Rounds to a type.
    Rounded(ElemType),
    /// Divides by a number.
    Divided,
}

/// A tile in memory.
pub(super) struct InMemory<'t> {
    pub(super) lanes: &'t mut [f32],
    /// By reference: a value would be written in parts and read as a whole, which waits for all earlier stores.
    pub(super) what: &'t Whole,
    /// The divisor.
    pub(super) by: f32,
}

impl Body for InMemory<'_> {
    type Out = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        for lanes in self.lanes.as_chunks_mut::<TOGETHER>().0 {
            compute::<FUSED>(*self.what, self.by, lanes);
        }
    }
}

#[inline(always)]
fn compute<const FUSED: bool>(what: Whole, by: f32, lanes: &mut [f32; TOGETHER]) {
    match what {
        Whole::Unary(op) => unary::<FUSED>(op, lanes),
        Whole::Rounded(ElemType::FLOAT16) => each_lane(lanes, round_to_f16),
        Whole::Rounded(ElemType::BFLOAT16) => each_lane(lanes, round_to_bf16),
        Whole::Rounded(ElemType::UINT8) if are_short(lanes) => {
            each_lane(lanes, |x| f32::from(short_of(x) as u8));
        }
        Whole::Rounded(ElemType::UINT8) => each_lane(lanes, |x| f32::from(int_of(x) as u8)),
        Whole::Rounded(ElemType::INT8) if are_short(lanes) => {
            each_lane(lanes, |x| f32::from(short_of(x) as i8));
        }
        Whole::Rounded(ElemType::INT8) => each_lane(lanes, |x| f32::from(int_of(x) as i8)),
        // No stage of a pipeline.
        Whole::Rounded(_) => {}
        Whole::Divided => divide::<FUSED>(lanes, by),
    }
}

/// Divides lanes by a number.
#[inline(always)]
pub(crate) fn divide<const FUSED: bool>(lanes: &mut [f32; TOGETHER], by: f32) {
    let reciprocal = 1.0 / by;
    let are_plain = || lanes.iter().fold(true, |all, x| all & is_plain(*x));
    if FUSED && is_plain(by) && by != 0.0 && are_plain() {
        each_lane(lanes, |x| quotient(x, by, reciprocal));
    } else {
        each_lane(lanes, |x| x / by);
    }
}

/// The end of a pipeline that quantizes: `uint8(min(max(round(x / scale) + zero, least), most))`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Quantization {
    scale: f32,
    reciprocal: f32,
    zero: f32,
    least: f32,
    most: f32,
}

impl Quantization {
    /// The quantization with these numbers, if [`Quantized`] is exact with them.
    pub(super) fn new(scale: f32, zero: f32, least: f32, most: f32) -> Option<Self> {
        let is_near = |x: f32| x.fract() == 0.0 && x.abs() <= 1024.0;
        let are_whole = is_near(zero) && is_near(least) && is_near(most);
        // From 2^-30 to 2^30.
        let is_plain = (9.313_226e-10..1.073_741_8e9).contains(&scale.abs());
        let reciprocal = 1.0 / scale;
        (are_whole && least <= most && is_plain).then_some(Quantization {
            scale,
            reciprocal,
            zero,
            least,
            most,
        })
    }
}

/// A quantization of lanes to bytes in one pass.
///
/// A number that is rounded and then limited by whole numbers is the same if it is limited first; then adding a constant rounds it. Numbers
/// that are too small for an exact [`quotient`] become 0 in any case, and for large ones the operations are done one by one.
pub(super) struct Quantized<'q> {
    pub(super) lanes: &'q [f32],
    pub(super) to: &'q mut [u8],
    pub(super) by: &'q Quantization,
}

impl Body for Quantized<'_> {
    type Out = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let (to, lanes) = (self.to.as_chunks_mut::<TOGETHER>().0, self.lanes.as_chunks::<TOGETHER>().0);
        for (to, lanes) in zip(to, lanes) {
            quantize::<FUSED>(self.by, lanes, to);
        }
    }
}

#[inline(always)]
fn quantize<const FUSED: bool>(by: &Quantization, lanes: &[f32; TOGETHER], to: &mut [u8; TOGETHER]) {
    // Added to a small number, the last bits are those of the nearest integer.
    const WHOLE: f32 = 12_582_912.0;
    let Quantization { scale, reciprocal, zero, least, most } = *by;
    let large = scale.abs() * 1_048_576.0;
    // NaN is not below.
    if lanes.iter().fold(true, |all, x| all & (x.abs() < large)) {
        let (from, until, whole_zero) = (least - zero, most - zero, zero as i32 as u8);
        for (to, x) in zip(to, lanes) {
            let y = if FUSED { quotient(*x, scale, reciprocal) } else { x / scale };
            let y = if y > from { y } else { from };
            let y = if y < until { y } else { until };
            *to = ((y + WHOLE).to_bits() as u8).wrapping_add(whole_zero);
        }
        return;
    }
    for (to, x) in zip(to, lanes) {
        let y = (x / scale).round_ties_even() + zero;
        let y = if least > y { least } else { y };
        let y = if most < y { most } else { y };
        *to = int_of(y) as u8;
    }
}

#[inline(always)]
fn unary<const FUSED: bool>(op: Unary, lanes: &mut [f32; TOGETHER]) {
    macro_rules! rows {
        ($(
            $(#[$doc:meta])* $name:ident: $domain:ident, $cost:ident, $exactness:ident
            $(, float($float:expr $(, $vector:ident)?))? $(, int($int:expr))? $(, test($test:expr, $int_test:expr))?;
        )*) => {
            match op {
                Unary::Exp if lanes.iter().fold(true, |all, x| all & math::is_within(*x)) => {
                    each_lane(lanes, math::exp_within::<FUSED>);
                }
                // Operations without a vector function are short, or not stages.
                $(Unary::$name => {
                    $($(each_lane(lanes, math::$vector::<FUSED>);)?)?
                })*
            }
        };
    }
    unary_operations!(rows);
}

#[inline(always)]
fn each_lane(lanes: &mut [f32; TOGETHER], f: impl Fn(f32) -> f32) {
    for lane in lanes {
        *lane = f(*lane);
    }
}

#[inline(always)]
fn each<const W: usize>(x: [f32; W], f: impl Fn(f32) -> f32) -> [f32; W] {
    let mut part = x;
    for lane in 0..W {
        part[lane] = f(x[lane]);
    }
    part
}

#[inline(always)]
fn both<const W: usize>(x: [f32; W], y: [f32; W], f: impl Fn(f32, f32) -> f32) -> [f32; W] {
    let mut part = x;
    for lane in 0..W {
        part[lane] = f(x[lane], y[lane]);
    }
    part
}

#[inline(always)]
fn truth(holds: bool) -> f32 {
    if holds { 1.0 } else { 0.0 }
}

/// Whether a number is 0, or far enough from the limits of the type for [`quotient`] to be exact.
#[inline(always)]
fn is_plain(x: f32) -> bool {
    // From 2^-60 to 2^60.
    const MIN_BITS: u32 = (127 - 60) << 23;
    const COUNT: u32 = 120 << 23;
    let size = x.to_bits() & 0x7fff_ffff;
    (size.wrapping_sub(MIN_BITS) < COUNT) | (size == 0)
}

/// A correctly rounded quotient from the rounded reciprocal: each correction leaves an error below half a unit in the last place,
/// and the second starts from one of the two nearest floats, whose remainder is exact.
#[inline(always)]
fn quotient(x: f32, by: f32, reciprocal: f32) -> f32 {
    let first = x * reciprocal;
    let near = (-first).mul_add(by, x).mul_add(reciprocal, first);
    // Keeps the sign of 0.
    (-near).mul_add(by, x).mul_add(reciprocal, near).copysign(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition, as a quantization at once and one by one.
    #[test]
    fn quantizations_are_those_of_their_operations() {
        use crate::lanes::multiversion::widest;
        let halves = (-700..700).map(|i| i as f32 * 0.5);
        let odd = [f32::NAN, f32::INFINITY, -f32::INFINITY, 3e38, -3e38, 1e-40, -0.0, f32::MIN_POSITIVE, 1e9];
        for (zero, least, most) in
            [(128.0, 0.0, 255.0), (0.0, -128.0, 127.0), (-7.0, -128.0, 127.0), (3.0, 3.0, 200.0)]
        {
            for scale in [0.02f32, 1.0, 0.5, 3.1e-7, 1.7e6, 2.0, 0.3, 1e-9, -0.25] {
                let by = Quantization::new(scale, zero, least, most).unwrap();
                // Numbers that lie halfway between two integers, and the nearest ones to them.
                let near = halves.clone().map(|x| x * scale);
                let near = near.flat_map(|x| [x, x.next_up(), x.next_down(), x.next_up().next_up()]);
                let mut x: Vec<f32> = near.collect();
                x.resize(x.len().next_multiple_of(TOGETHER), 1.0);
                let plain = x.len();
                x.extend(odd.into_iter().cycle().take(TOGETHER));
                let (mut wide, mut least_wide) = (vec![9; x.len()], vec![9; x.len()]);
                widest(Quantized { lanes: &x, to: &mut wide, by: &by });
                Quantized { lanes: &x, to: &mut least_wide, by: &by }.run::<false>();
                for (i, x) in x.iter().enumerate() {
                    let y = (x / scale).round_ties_even() + zero;
                    let exact = if y.is_nan() { 0 } else { y.clamp(least, most) as i32 as u8 };
                    assert_eq!(
                        (wide[i], least_wide[i]),
                        (exact, exact),
                        "{x:e} / {scale:e} + {zero}, {plain}"
                    );
                }
            }
        }
        assert_eq!(Quantization::new(0.0, 0.0, 0.0, 255.0), None);
        assert_eq!(Quantization::new(1e-12, 0.0, 0.0, 255.0), None);
        assert_eq!(Quantization::new(1.0, 0.5, 0.0, 255.0), None);
        assert_eq!(Quantization::new(1.0, 0.0, f32::NAN, 255.0), None);
    }

    #[test]
    fn limits_are_those_of_the_operations() {
        let x: Lanes<NARROW> = std::array::from_fn(|part| {
            std::array::from_fn(|lane| if lane == 3 { f32::NAN } else { (part * 8 + lane) as f32 - 30.5 })
        });
        for op in [Binary::Min, Binary::Max] {
            for limit in [0.0, -4.0, f32::INFINITY] {
                let (mut limited, mut plain) = ([[0.0; NARROW]; PARTS], [[0.0; NARROW]; PARTS]);
                Tile::of(&x).limited(op, limit).put(&mut limited);
                Tile::of(&x).binary(op, Tile::all(limit)).put(&mut plain);
                let bits = |lanes: Lanes<NARROW>| lanes.map(|part| part.map(f32::to_bits));
                assert_eq!(bits(limited), bits(plain), "{op:?} {limit}");
            }
        }
    }

    #[test]
    fn quotients_are_those_of_the_division() {
        let mut state = 1u64;
        let mut next = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 32) as u32
        };
        let number = |bits: u32, low: u32, count: u32| {
            f32::from_bits(bits & 0x807f_ffff | (low + (bits >> 23) % count) << 23)
        };
        for round in 0..4_000_000 {
            let (mut x, mut by) = (next(), next());
            // Half of the numbers have nearly all mantissa bits set or clear, the hard cases.
            if round % 2 == 0 {
                x = x & 0xff80_000f | if round % 4 == 0 { 0x007f_fff0 } else { 0 };
                by = by & 0xff80_000f | if round % 8 < 4 { 0x007f_fff0 } else { 0 };
            }
            let (x, by) = (number(x, 67, 120), number(by, 67, 120));
            assert!(is_plain(x) && is_plain(by));
            assert_eq!(quotient(x, by, 1.0 / by).to_bits(), (x / by).to_bits(), "{x:e} / {by:e}");
        }
        for x in [0.0f32, -0.0] {
            for by in [3.0f32, -3.0] {
                assert_eq!(quotient(x, by, 1.0 / by).to_bits(), (x / by).to_bits(), "{x:e} / {by:e}");
            }
        }
        assert!(![f32::NAN, f32::INFINITY, 1e-30, 1e30].into_iter().any(is_plain));
    }
}
