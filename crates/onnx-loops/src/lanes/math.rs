//! Single-precision functions without branches and calls, so that loops over lanes are vectorized.
//!
//! Each is a polynomial on a small range, fitted for the least relative error, after a range reduction. Results are within 2
//! units in the last place of the correctly rounded ones, which a test checks; special values (infinities, zeros, NaN) are those
//! of the standard library.
//!
//! `FUSED` is set if the processor has fused multiply-add.

#[inline(always)]
fn fma<const FUSED: bool>(a: f32, b: f32, c: f32) -> f32 {
    // Without the instruction, `mul_add` is a slow library call.
    if FUSED { a.mul_add(b, c) } else { a * b + c }
}

#[inline(always)]
fn fma64<const FUSED: bool>(a: f64, b: f64, c: f64) -> f64 {
    if FUSED { a.mul_add(b, c) } else { a * b + c }
}

/// A polynomial, highest power first.
#[inline(always)]
fn poly<const FUSED: bool, const N: usize>(x: f32, by: [f32; N]) -> f32 {
    let mut sum = by[0];
    for by in &by[1..] {
        sum = fma::<FUSED>(sum, x, *by);
    }
    sum
}

#[inline(always)]
fn poly64<const FUSED: bool, const N: usize>(x: f64, by: [f64; N]) -> f64 {
    let mut sum = by[0];
    for by in &by[1..] {
        sum = fma64::<FUSED>(sum, x, *by);
    }
    sum
}

/// Adding this constant rounds to an integer, which is then in the low bits.
const ROUND: f32 = 12_582_912.0;
const ROUND64: f64 = 6_755_399_441_055_744.0;
/// The first part has few bits, so that its products with integers of up to 15 bits are exact.
const LN_2: [f32; 2] = [0.693_359_4, -2.121_944_4e-4];

/// Two to the power of an integer from -126 to 127.
#[inline(always)]
fn power_of_two(n: i32) -> f32 {
    f32::from_bits((n.wrapping_add(127) as u32) << 23)
}

/// Range reduction to `n * ln 2 + r`: `n` and `exp(r) - 1`, for arguments up to about ±100.
#[inline(always)]
fn split<const FUSED: bool>(x: f32) -> (i32, f32) {
    let rounded = fma::<FUSED>(x, std::f32::consts::LOG2_E, ROUND);
    let n = rounded - ROUND;
    let r = fma::<FUSED>(n, -LN_2[1], fma::<FUSED>(n, -LN_2[0], x));
    let tail = poly::<FUSED, 5>(r, [1.381_460_2e-3, 8.368_716e-3, 4.166_839e-2, 0.166_665_2, 0.499_999_93]);
    (rounded.to_bits().wrapping_sub(ROUND.to_bits()) as i32, fma::<FUSED>(r * r, tail, r))
}

/// Keeps NaN.
#[inline(always)]
fn clamp(x: f32, least: f32, most: f32) -> f32 {
    let x = if x < least { least } else { x };
    if x > most { most } else { x }
}

/// The exponential.
#[inline(always)]
pub fn exp<const FUSED: bool>(x: f32) -> f32 {
    let (n, e) = split::<FUSED>(clamp(x, -104.0, 89.0));
    // In two steps, because the power alone may overflow or underflow.
    let half = n >> 1;
    (e + 1.0) * power_of_two(half) * power_of_two(n.wrapping_sub(half))
}

/// Whether a number is in the range of [`exp_within`].
#[inline(always)]
pub(crate) fn is_within(x: f32) -> bool {
    x.abs() < 87.0
}

/// Equal to [`exp`] bit for bit, if neither the result nor its power of two is near the limits of the type.
#[inline(always)]
pub(crate) fn exp_within<const FUSED: bool>(x: f32) -> f32 {
    let (n, e) = split::<FUSED>(x);
    (e + 1.0) * power_of_two(n)
}

/// The exponential minus 1.
#[inline(always)]
pub fn exp_m1<const FUSED: bool>(x: f32) -> f32 {
    let (n, e) = split::<FUSED>(clamp(x, -20.0, 89.0));
    // Half of the result, whose power of two cannot overflow.
    let power = power_of_two(n.wrapping_sub(1));
    let y = 2.0 * fma::<FUSED>(power, e, power - 0.5);
    // Small results keep the sign of 0 and subnormal arguments.
    if x.abs() < 1e-7 { x } else { y }
}

#[inline(always)]
pub(crate) fn log<const FUSED: bool>(x: f32) -> f32 {
    let is_tiny = x < f32::MIN_POSITIVE;
    let bits = (if is_tiny { x * 8_388_608.0 } else { x }).to_bits() as i32;
    // The exponent that leaves a mantissa in [√½, √2).
    let exponent = bits.wrapping_sub(0x3f35_04f3) >> 23;
    let f = f32::from_bits(bits.wrapping_sub(exponent << 23) as u32) - 1.0;
    let e = exponent as f32 - if is_tiny { 23.0 } else { 0.0 };
    let tail = poly::<FUSED, 9>(
        f,
        [
            6.746_592e-2,
            -0.116_756_39,
            0.118_881_78,
            -0.124_055_92,
            0.142_195_51,
            -0.166_679_96,
            0.200_021_19,
            -0.250_000_1,
            0.333_333_13,
        ],
    );
    let square = f * f;
    let small = fma::<FUSED>(-0.5, square, fma::<FUSED>(e, LN_2[1], square * f * tail));
    let y = fma::<FUSED>(e, LN_2[0], f + small);
    let y = if x == 0.0 { f32::NEG_INFINITY } else { y };
    let y = if x < 0.0 { f32::NAN } else { y };
    // Infinity and NaN.
    if x < f32::INFINITY { y } else { x }
}

/// The natural logarithm of 1 plus a number.
#[inline(always)]
pub fn ln_1p<const FUSED: bool>(x: f32) -> f32 {
    let sum = 1.0 + x;
    // The rounding error of the sum.
    let lost = if x > 1.0 { 1.0 - (sum - x) } else { x - (sum - 1.0) };
    let y = log::<FUSED>(sum) + lost / sum;
    let y = if sum == 0.0 { f32::NEG_INFINITY } else { y };
    let y = if x < f32::INFINITY { y } else { x };
    if x.abs() < 1e-7 { x } else { y }
}

/// The hyperbolic tangent.
#[inline(always)]
pub fn tanh<const FUSED: bool>(x: f32) -> f32 {
    let square = x * x;
    let tail =
        poly::<FUSED, 5>(square, [-5.515_164e-3, 2.046_942e-2, -5.368_802_5e-2, 0.133_308_3, -0.333_332_6]);
    let small = fma::<FUSED>(x * square, tail, x);
    // From 9.1 on, the result is 1.
    let double = 2.0 * x.abs();
    let large = 1.0 - 2.0 / (exp_within::<FUSED>(if double > 20.0 { 20.0 } else { double }) + 1.0);
    (if x.abs() < 0.625 { small } else { large }).copysign(x)
}

#[inline(always)]
pub(crate) fn erf<const FUSED: bool>(x: f32) -> f32 {
    let tail = poly::<FUSED, 6>(
        x * x,
        [-5.953_781e-4, 4.985_95e-3, -2.676_172_7e-2, 0.112_816_83, -0.376_124_8, 0.128_379_15],
    );
    let small = fma::<FUSED>(x, tail, x);
    // From 4 on, the result is 1.
    let t = clamp(x.abs(), 0.0, 4.0);
    let tail = poly::<FUSED, 7>(
        t,
        [
            1.123_141_9e-5,
            -3.228_049_4e-4,
            3.642_463_3e-3,
            -2.376_207_2e-2,
            0.106_236_89,
            0.635_151_3,
            0.128_648_49,
        ],
    );
    let large = 1.0 - exp_within::<FUSED>(-fma::<FUSED>(t, tail, t));
    if x.abs() < 0.925 { small } else { large.copysign(x) }
}

/// The largest argument of [`sin`] and [`cos`].
pub(crate) const LARGEST_ANGLE: f32 = 100_000.0;

/// The sine of an angle plus `quarters` quarter turns.
#[inline(always)]
fn turned<const FUSED: bool>(x: f32, quarters: i32) -> f32 {
    let x = f64::from(x);
    let rounded = fma64::<FUSED>(x, std::f64::consts::FRAC_2_PI, ROUND64);
    let n = rounded - ROUND64;
    // The first part has 33 bits.
    let r = fma64::<FUSED>(n, -1.570_796_326_734_125_6, x);
    let r = fma64::<FUSED>(n, -6.077_100_506_506_192e-11, r);
    let square = r * r;
    let sine = poly64::<FUSED, 4>(
        square,
        [
            2.717_681_291_097_06e-6,
            -1.983_926_604_821_485e-4,
            8.333_329_161_115_344e-3,
            -0.166_666_666_395_578_3,
        ],
    );
    let sine = fma64::<FUSED>(r * square, sine, r);
    let cosine = poly64::<FUSED, 3>(
        square,
        [2.442_878_637_689_606e-5, -1.388_727_854_589_442e-3, 4.166_664_492_055_135e-2],
    );
    let cosine = fma64::<FUSED>(square * square, cosine, fma64::<FUSED>(square, -0.5, 1.0));
    let quarter = (rounded.to_bits() as i32).wrapping_add(quarters);
    let y = if quarter & 1 == 0 { sine } else { cosine };
    (if quarter & 2 == 0 { y } else { -y }) as f32
}

/// The sine of angles up to [`LARGEST_ANGLE`].
#[inline(always)]
pub(crate) fn sin<const FUSED: bool>(x: f32) -> f32 {
    if x == 0.0 { x } else { turned::<FUSED>(x, 0) }
}

/// The cosine of angles up to [`LARGEST_ANGLE`].
#[inline(always)]
pub(crate) fn cos<const FUSED: bool>(x: f32) -> f32 {
    turned::<FUSED>(x, 1)
}

/// Whether a pair is in the domain of [`pow`].
#[inline(always)]
pub(crate) fn has_power(base: f32, exponent: f32) -> bool {
    (f32::MIN_POSITIVE..f32::INFINITY).contains(&base) && exponent.abs() < 1e30
}

/// A power, for pairs that satisfy [`has_power`].
#[inline(always)]
pub(crate) fn pow<const FUSED: bool>(base: f32, exponent: f32) -> f32 {
    let bits = base.to_bits() as i32;
    let whole = bits.wrapping_sub(0x3f35_04f3) >> 23;
    let m = f64::from(f32::from_bits(bits.wrapping_sub(whole << 23) as u32));
    let s = (m - 1.0) / (m + 1.0);
    let tail = poly64::<FUSED, 6>(
        s * s,
        [
            0.282_906_747_151_824_46,
            0.319_905_253_310_228_57,
            0.412_209_262_351_200_76,
            0.577_077_942_282_969_2,
            0.961_796_694_113_484_2,
            2.885_390_081_777_850_4,
        ],
    );
    let log = fma64::<FUSED>(s, tail, f64::from(whole));
    let y = log * f64::from(exponent);
    // Beyond, the result is 0 or infinity anyway.
    let y = if y < -200.0 { -200.0 } else { y };
    let y = if y > 200.0 { 200.0 } else { y };
    let rounded = y + ROUND64;
    let r = y - (rounded - ROUND64);
    let power = poly64::<FUSED, 8>(
        r,
        [
            1.531_646_287_011_856_3e-5,
            1.546_973_167_533_341_5e-4,
            1.333_342_263_991_857e-3,
            9.618_025_604_083_702e-3,
            5.550_410_976_116_689_5e-2,
            0.240_226_512_135_847_67,
            0.693_147_180_535_024,
            0.999_999_999_959_549_6,
        ],
    );
    let scale = f64::from_bits(rounded.to_bits().wrapping_add(1023) << 52);
    (power * scale) as f32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lanes::multiversion::{Body, widest};

    /// A function compiled with and without fused multiply-add.
    struct Strip<'s> {
        of: &'s str,
        x: &'s mut [f32],
    }

    impl Body for Strip<'_> {
        type Out = ();

        #[inline(always)]
        fn run<const FUSED: bool>(self) {
            let x = self.x.iter_mut();
            match self.of {
                "exp" => x.for_each(|x| *x = exp::<FUSED>(*x)),
                "exp_within" => x.for_each(|x| *x = exp_within::<FUSED>(*x)),
                "exp_m1" => x.for_each(|x| *x = exp_m1::<FUSED>(*x)),
                "log" => x.for_each(|x| *x = log::<FUSED>(*x)),
                "ln_1p" => x.for_each(|x| *x = ln_1p::<FUSED>(*x)),
                "tanh" => x.for_each(|x| *x = tanh::<FUSED>(*x)),
                "erf" => x.for_each(|x| *x = erf::<FUSED>(*x)),
                "sin" => x.for_each(|x| *x = sin::<FUSED>(*x)),
                "cos" => x.for_each(|x| *x = cos::<FUSED>(*x)),
                _ => x.for_each(|x| *x = pow::<FUSED>(*x, -1.7)),
            }
        }
    }

    /// The distance of a result from the correctly rounded one, in floats.
    fn apart(result: f32, exact: f64) -> u32 {
        let rounded = exact as f32;
        if result.is_nan() || rounded.is_nan() {
            return if result.is_nan() == rounded.is_nan() { 0 } else { u32::MAX };
        }
        if result.is_sign_negative() != rounded.is_sign_negative() {
            return u32::MAX;
        }
        result.to_bits().abs_diff(rounded.to_bits())
    }

    #[test]
    fn powers_within_are_the_same_to_the_bit() {
        for x in (0..=u32::MAX).step_by(9973).map(f32::from_bits).filter(|x| is_within(*x)) {
            assert_eq!(exp_within::<true>(x).to_bits(), exp::<true>(x).to_bits(), "{x:e}");
            assert_eq!(exp_within::<false>(x).to_bits(), exp::<false>(x).to_bits(), "{x:e}");
        }
    }

    #[test]
    fn functions_are_near_the_rounded_results_for_all_exponents() {
        type Exact = fn(f64) -> f64;
        type Wanted = fn(f32) -> bool;
        let all: Wanted = |_| true;
        let angle: Wanted = |x| x.abs() <= LARGEST_ANGLE;
        let functions: [(&str, Exact, Wanted); 10] = [
            ("exp", f64::exp, all),
            ("exp_within", f64::exp, is_within),
            ("exp_m1", f64::exp_m1, all),
            ("log", f64::ln, all),
            ("ln_1p", f64::ln_1p, all),
            ("tanh", f64::tanh, all),
            ("erf", libm::erf, all),
            ("sin", f64::sin, angle),
            ("cos", f64::cos, angle),
            ("pow", |x| x.powf((-1.7f32).into()), |x| has_power(x, -1.7)),
        ];
        // Every 20011th float (prime to the number of floats per exponent), and the special values.
        let edges = [0.0, -0.0, 1.0, -1.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, f32::MIN_POSITIVE];
        let arguments: Vec<f32> = (0..=u32::MAX).step_by(20_011).map(f32::from_bits).chain(edges).collect();
        for (of, exact, is_wanted) in functions {
            let from: Vec<f32> = arguments.iter().copied().filter(|x| is_wanted(*x)).collect();
            let (mut wide, mut plain) = (from.clone(), from.clone());
            widest(Strip { of, x: &mut wide });
            Strip { of, x: &mut plain }.run::<false>();
            for (x, (wide, plain)) in from.iter().zip(wide.iter().zip(&plain)) {
                let exact = exact((*x).into());
                for result in [*wide, *plain] {
                    assert!(apart(result, exact) <= 2, "{of}({x:e}) is {exact:e}, not {result:e}");
                }
            }
        }
    }
}
