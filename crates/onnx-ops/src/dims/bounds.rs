//! Bounds of an expression by interval arithmetic. Symbols are sizes: at least 0.

/// Both ends are included; `i64::MIN` and `i64::MAX` mean unbounded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Interval {
    pub(super) low: i64,
    pub(super) high: i64,
}

/// No bound, in the wider numbers in which ends are calculated.
const INFINITE: i128 = i128::MAX;

impl Interval {
    /// The range of a size.
    pub(super) const EXTENT: Self = Self { low: 0, high: i64::MAX };
    /// Nothing known.
    pub(super) const ANY: Self = Self { low: i64::MIN, high: i64::MAX };

    pub(super) fn point(value: i64) -> Self {
        Self { low: value, high: value }
    }

    /// The number, if there is only one in it.
    pub(super) fn as_point(self) -> Option<i64> {
        (self.low == self.high && self.low != i64::MIN && self.low != i64::MAX).then_some(self.low)
    }

    pub(super) fn lower(self) -> Option<i64> {
        (self.low != i64::MIN).then_some(self.low)
    }

    pub(super) fn upper(self) -> Option<i64> {
        (self.high != i64::MAX).then_some(self.high)
    }

    pub(super) fn contains(self, value: i64) -> bool {
        self.low <= value && value <= self.high
    }

    pub(super) fn is_extent(self) -> bool {
        self.low >= 0
    }

    fn wide(self) -> (i128, i128) {
        let low = if self.low == i64::MIN { -INFINITE } else { i128::from(self.low) };
        let high = if self.high == i64::MAX { INFINITE } else { i128::from(self.high) };
        (low, high)
    }

    /// Ends that do not fit become no bound, or the weaker bound that fits.
    fn narrow(low: i128, high: i128) -> Self {
        let clamp = |end: i128| i64::try_from(end).unwrap_or(if end < 0 { i64::MIN } else { i64::MAX });
        Self { low: clamp(low).min(i64::MAX - 1), high: clamp(high).max(i64::MIN + 1) }
    }

    pub(super) fn plus(self, other: Self) -> Self {
        self.short_sum(other).unwrap_or_else(|| self.wide_sum(other))
    }

    /// [`plus`](Self::plus) where every end fits.
    fn short_sum(self, other: Self) -> Option<Self> {
        let end =
            |a: i64, b: i64, open: i64| if a == open || b == open { Some(open) } else { a.checked_add(b) };
        let low = end(self.low, other.low, i64::MIN)?;
        let high = end(self.high, other.high, i64::MAX)?;
        (low < i64::MAX && high > i64::MIN).then_some(Self { low, high })
    }

    fn wide_sum(self, other: Self) -> Self {
        let ((a, b), (c, d)) = (self.wide(), other.wide());
        let low = if a == -INFINITE || c == -INFINITE { -INFINITE } else { a + c };
        let high = if b == INFINITE || d == INFINITE { INFINITE } else { b + d };
        Self::narrow(low, high)
    }

    pub(super) fn times(self, other: Self) -> Self {
        self.scaled(other).unwrap_or_else(|| self.wide_product(other))
    }

    fn wide_product(self, other: Self) -> Self {
        let ((a, b), (c, d)) = (self.wide(), other.wide());
        let corners = [multiply(a, c), multiply(a, d), multiply(b, c), multiply(b, d)];
        let low = corners.into_iter().fold(INFINITE, i128::min);
        let high = corners.into_iter().fold(-INFINITE, i128::max);
        Self::narrow(low, high)
    }

    /// [`times`](Self::times) a number above 0, where every end fits: most products are these.
    fn scaled(self, other: Self) -> Option<Self> {
        let by = other.as_point().filter(|&by| by > 0 && self.low <= self.high)?;
        let end = |end: i64, open: i64| if end == open { Some(open) } else { end.checked_mul(by) };
        let (low, high) = (end(self.low, i64::MIN)?, end(self.high, i64::MAX)?);
        (low < i64::MAX && high > i64::MIN).then_some(Self { low, high })
    }

    /// Of `self / divisor` rounded down. A divisor that can be 0 is taken as defined, so not 0.
    pub(super) fn floor_div(self, divisor: Self) -> Self {
        if divisor.low < 0 {
            return Self::ANY;
        }
        let ((low, high), (small, large)) = (self.wide(), divisor.wide());
        let small = small.max(1);
        let large = large.max(small);
        // Values grow with the dividend, and their distance from 0 shrinks with the divisor.
        let low = divide(low, if low < 0 { small } else { large });
        let high = divide(high, if high < 0 { large } else { small });
        Self::narrow(low, high)
    }

    /// Of the rest of `self / divisor`, which has the sign of the divisor.
    pub(super) fn modulo(self, divisor: Self) -> Self {
        if divisor.low < 0 {
            return Self::ANY;
        }
        let largest = if divisor.high == i64::MAX { i64::MAX } else { (divisor.high - 1).max(0) };
        let high = if self.low >= 0 { largest.min(self.high) } else { largest };
        Self { low: 0, high }
    }

    pub(super) fn min(self, other: Self) -> Self {
        Self { low: self.low.min(other.low), high: self.high.min(other.high) }
    }

    pub(super) fn max(self, other: Self) -> Self {
        Self { low: self.low.max(other.low), high: self.high.max(other.high) }
    }

    /// Of a value that is one of two.
    pub(super) fn either(self, other: Self) -> Self {
        Self { low: self.low.min(other.low), high: self.high.max(other.high) }
    }
}

fn multiply(a: i128, b: i128) -> i128 {
    if a == 0 || b == 0 {
        0
    } else if a.abs() == INFINITE || b.abs() == INFINITE {
        if (a < 0) == (b < 0) { INFINITE } else { -INFINITE }
    } else {
        a * b
    }
}

/// The divisor is positive.
fn divide(a: i128, b: i128) -> i128 {
    if a.abs() == INFINITE {
        a
    } else if b == INFINITE {
        if a < 0 { -1 } else { 0 }
    } else {
        a.div_euclid(b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_hold_for_all_numbers_between_them() {
        let ends = [-3, -1, 0, 1, 2, 4];
        let intervals: Vec<Interval> = ends
            .iter()
            .flat_map(|&low| ends.iter().map(move |&high| Interval { low, high }))
            .filter(|i| i.low <= i.high)
            .collect();
        for a in &intervals {
            for b in &intervals {
                for x in a.low..=a.high {
                    for y in b.low..=b.high {
                        assert!(a.plus(*b).contains(x + y));
                        assert!(a.times(*b).contains(x * y));
                        assert!(a.min(*b).contains(x.min(y)));
                        assert!(a.max(*b).contains(x.max(y)));
                        if y != 0 {
                            let floor = super::super::poly::floor_div(x, y).unwrap();
                            assert!(a.floor_div(*b).contains(floor), "{x} / {y} in {a:?} / {b:?}");
                            assert!(a.modulo(*b).contains(x - y * floor), "{x} mod {y} in {a:?}, {b:?}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn the_short_ways_give_what_the_wide_ones_give() {
        let ends = [i64::MIN, i64::MIN + 1, -7, -1, 0, 1, 3, i64::MAX / 3, i64::MAX - 1, i64::MAX];
        let pairs = ends.iter().flat_map(|&low| ends.iter().map(move |&high| Interval { low, high }));
        let intervals: Vec<Interval> = pairs.collect();
        for a in &intervals {
            for b in &intervals {
                assert_eq!(a.plus(*b), a.wide_sum(*b), "{a:?} + {b:?}");
                assert_eq!(a.times(*b), a.wide_product(*b), "{a:?} * {b:?}");
            }
        }
    }

    #[test]
    fn no_bound_stays_none() {
        let any = Interval::ANY;
        assert_eq!(Interval::EXTENT.plus(Interval::point(-1)), Interval { low: -1, high: i64::MAX });
        assert_eq!(Interval::EXTENT.times(Interval::point(-2)), Interval { low: i64::MIN, high: 0 });
        assert_eq!(any.times(Interval::point(0)), Interval::point(0));
        assert_eq!(any.plus(any), any);
        assert_eq!(Interval::EXTENT.floor_div(Interval::EXTENT), Interval::EXTENT);
        let large = Interval::point(i64::MAX - 1);
        assert_eq!(large.times(large), Interval { low: i64::MAX - 1, high: i64::MAX });
    }
}
