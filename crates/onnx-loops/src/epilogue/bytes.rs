//! Totals rounded to bytes.
//!
//! ```text
//! y = uint8(min(max(round((total - less[column] + sum[column]) * scale[column] + bias[column]) + zero, least), most))
//! ```
//! A number that is rounded and then limited by whole numbers is the same if it is limited first; then it fits into an integer, and what
//! rounds it makes it one. So with AVX2, 32 bytes are computed in whole registers and stored at once, and with AVX-512, 16 bytes with half
//! of the instructions and any number of last columns. Steps in f64 run in f32 where both provably round alike
//! which whole number is nearest, and in doubles for the few numbers that lie nearly halfway.

use super::{Rows, Total};
use crate::lanes::multiversion::{Body, widest};
use crate::zip::zip;
#[cfg(target_arch = "x86_64")]
use avx2::{Registers, RoundingMethod};

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;

/// The rows to compute.
pub(super) struct Bytes<'r, A> {
    pub(super) it: Rows<'r, A>,
    pub(super) out: &'r mut [u8],
    /// Integers that are added to totals, of doubles only.
    pub(super) sum: Option<&'r [i32]>,
    pub(super) zero: f32,
    pub(super) is_double: bool,
    /// Whether it is known that no bias is anything but 0.
    #[cfg_attr(
        not(target_arch = "x86_64"),
        expect(dead_code, reason = "other processors compute doubles as doubles")
    )]
    pub(super) is_unbiased: bool,
    pub(super) table: Option<&'r [u8; 256]>,
}

impl<A: Total> Bytes<'_, A> {
    /// Computes them; nothing if not all is there.
    pub(super) fn run(self) -> Option<()> {
        let Rows { totals, of_totals, of_out, rows, scale, bias, less, .. } = self.it;
        let columns = scale.len();
        if columns == 0 || rows == 0 {
            return Some(());
        }
        // All that is read and written.
        let last = rows - 1;
        totals.get(last.checked_mul(of_totals)?..)?.get(..columns)?;
        self.out.get(last.checked_mul(of_out)?..)?.get(..columns)?;
        bias.get(..columns)?;
        less.get(..columns)?;
        if let Some(sum) = self.sum {
            sum.get(..columns)?;
        }
        #[cfg(target_arch = "x86_64")]
        if let Some(registers) = self.registers() {
            let mut bytes = self;
            if !avx512::run(registers, &mut bytes) {
                registers.run(&mut bytes);
            }
            return bytes.through_table();
        }
        let (out, sum, zero) = (&mut *self.out, self.sum, self.zero);
        match self.is_double {
            true => widest(Plain::<A, true> { it: self.it, out, sum, zero }),
            false => widest(Plain::<A, false> { it: self.it, out, sum, zero }),
        }?;
        self.through_table()
    }

    /// Maps all bytes through the table.
    fn through_table(self) -> Option<()> {
        let Some(table) = self.table else { return Some(()) };
        for row in 0..self.it.rows {
            let out = self.out.get_mut(row * self.it.of_out..)?.get_mut(..self.it.scale.len())?;
            out.iter_mut().for_each(|byte| *byte = table[usize::from(*byte)]);
        }
        Some(())
    }

    /// The limits of what is computed in registers, if it can be.
    #[cfg(target_arch = "x86_64")]
    fn registers(&self) -> Option<Registers> {
        let Bytes { it: Rows { least, most, bias, .. }, zero, is_double, .. } = *self;
        let is_near = |x: f32| x.fract() == 0.0 && x.abs() <= 255.0;
        let are_whole = is_near(zero) && is_near(least) && is_near(most);
        let is_byte = (least >= 0.0 && most <= 255.0) || (least >= -128.0 && most <= 127.0);
        let has = std::arch::is_x86_feature_detected!("avx2");
        // A bias may leave little of large products, so that single floats would tell nothing.
        let is_tellable = is_double && (self.is_unbiased || bias.iter().all(|x| *x == 0.0));
        (has && are_whole && is_byte && least <= most).then_some(Registers {
            least: least - zero,
            most: most - zero,
            zero: zero as i32,
            is_signed: least < 0.0,
            way: match (is_double, is_tellable) {
                (false, _) => RoundingMethod::Single,
                (true, true) => RoundingMethod::Told,
                (true, false) => RoundingMethod::Double,
            },
        })
    }
}

/// [`Bytes::run`] without vector instructions, as every processor computes it.
struct Plain<'r, A, const DOUBLE: bool> {
    it: Rows<'r, A>,
    out: &'r mut [u8],
    sum: Option<&'r [i32]>,
    zero: f32,
}

impl<A: Total, const DOUBLE: bool> Body for Plain<'_, A, DOUBLE> {
    /// Nothing if not all is there.
    type Out = Option<()>;

    #[inline(always)]
    fn run<const FUSED: bool>(self) -> Option<()> {
        // Added to a small integer, its last bits are those of the integer.
        const SINGLE: f32 = 12_582_912.0;
        const BOTH: f64 = 6_755_399_441_055_744.0;
        let Plain {
            it: Rows { totals, of_totals, of_out, rows, scale, bias, less, least, most, .. }, ..
        } = self;
        let Plain { out, sum, zero, .. } = self;
        let columns = scale.len();
        let byte = |x: A, sum: i32, scale: f32, bias: f32| {
            if DOUBLE {
                let y = x.double_with(sum) * f64::from(scale) + f64::from(bias);
                let y = y.round_ties_even() + f64::from(zero);
                let y = if y > f64::from(least) { y } else { f64::from(least) };
                let y = if y < f64::from(most) { y } else { f64::from(most) };
                return (y + BOTH).to_bits() as u8;
            }
            let y = (x.single() * scale + bias).round_ties_even() + zero;
            let y = if y > least { y } else { least };
            let y = if y < most { y } else { most };
            (y + SINGLE).to_bits() as u8
        };
        for row in 0..rows {
            let totals = totals.get(row * of_totals..)?.get(..columns)?;
            let out = out.get_mut(row * of_out..)?.get_mut(..columns)?;
            let of = zip(zip(zip(out, totals), less), zip(scale, bias));
            match sum.filter(|_| DOUBLE) {
                None => of.for_each(|(((out, x), less), (scale, bias))| {
                    *out = byte(x.less(*less), 0, *scale, *bias);
                }),
                Some(sum) => zip(of, sum).for_each(|((((out, x), less), (scale, bias)), sum)| {
                    *out = byte(x.less(*less), *sum, *scale, *bias);
                }),
            }
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All bytes by registers, where the processor has them, and by the plain way.
    fn check<A: Total>(totals: &[A], columns: usize, [zero, least, most]: [f32; 3], scale: f32, bias: f32) {
        let (of_totals, of_out, rows) = (columns + 3, columns + 5, totals.len() / (columns + 3));
        let scale: Vec<f32> = (0..columns).map(|at| scale * (1.0 + at as f32 / 64.0)).collect();
        let bias = vec![bias; columns];
        let less: Vec<i32> = (0..columns as i32).map(|at| at * 37 - 100).collect();
        let sum: Vec<i32> = (0..columns as i32).map(|at| 500 - at * 91).collect();
        for (is_double, has_sum) in [(false, false), (true, false), (true, true)] {
            let (scale, bias, less) = (&scale[..], &bias[..], &less[..]);
            let of_rows = None;
            let it = Rows { totals, of_totals, of_out, rows, scale, bias, of_rows, less, least, most };
            let sum = has_sum.then_some(&sum[..]);
            let (mut fast, mut plain) = (vec![7; rows * of_out], vec![7; rows * of_out]);
            Bytes { it, out: &mut fast, sum, zero, is_double, is_unbiased: false, table: None }
                .run()
                .unwrap();
            let out = &mut plain[..];
            match is_double {
                true => widest(Plain::<A, true> { it, out, sum, zero }),
                false => widest(Plain::<A, false> { it, out, sum, zero }),
            }
            .unwrap();
            assert_eq!(fast, plain, "{columns} columns, double: {is_double}, sum: {has_sum}");
            // Narrower registers, where wide ones were used.
            #[cfg(target_arch = "x86_64")]
            {
                let mut narrow = vec![7; rows * of_out];
                let mut bytes =
                    Bytes { it, out: &mut narrow, sum, zero, is_double, is_unbiased: false, table: None };
                if let Some(registers) = bytes.registers() {
                    registers.run(&mut bytes);
                    assert_eq!(
                        narrow, plain,
                        "{columns} columns by AVX2, double: {is_double}, sum: {has_sum}"
                    );
                }
            }
        }
    }

    #[test]
    fn registers_round_as_the_plain_way_does() {
        for columns in (1..=9).chain([16, 24, 31, 32, 33, 40, 64, 71, 145]) {
            let count = (columns + 3) * 4;
            let wholes: Vec<i32> = (0..count as i32).map(|at| (at * 7919) % 60_000 - 30_000).collect();
            let mut large = wholes.clone();
            large.iter_mut().for_each(|x| *x = x.wrapping_mul(71_993));
            let floats: Vec<f32> = wholes.iter().map(|x| *x as f32 / 4.0).collect();
            let odd = [f32::NAN, f32::INFINITY, -f32::INFINITY, 1e30, -1e30];
            let odd: Vec<f32> = odd.into_iter().cycle().take(count).collect();
            // Halves, and what is next to them.
            let scales = [0.5, 0.25, 0.003, 0.5f32.next_up(), 0.5f32.next_down(), f32::INFINITY];
            for (scale, bias) in
                scales.into_iter().flat_map(|scale| [0.0, -0.0, 1.5].map(|bias| (scale, bias)))
            {
                for limits in [[3.0, 0.0, 255.0], [-5.0, -128.0, 127.0], [128.0, 128.0, 200.0]] {
                    check(&wholes, columns, limits, scale, bias);
                    check(&large, columns, limits, scale, bias);
                    check(&floats, columns, limits, scale, bias);
                    check(&odd, columns, limits, scale, bias);
                }
            }
        }
    }
}
