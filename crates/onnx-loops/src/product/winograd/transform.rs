//! The transforms of Winograd's F(4×4, 3×3), from the points 0, ±1, ±2 and infinity.
//!
//! ```text
//! y = Aᵀ ((G g Gᵀ) · (Bᵀ d B)) A        d: 6×6 pixels of the input, g: 3×3 weights, y: 4×4 elements of the result
//! ```
//! Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks" (2016), section 4.3. Channels are lanes, so each transform
//! applies the same sums to 16 channels at a time.

use crate::lanes::multiversion::Body;
use crate::zip::zip;

/// The rows and columns of a tile of the result, and of its input.
pub(super) const OUT: usize = 4;
pub(super) const IN: usize = 6;
/// Products of a tile, for each pair of channels.
pub(super) const PRODUCTS: usize = IN * IN;
/// Channels that are transformed at once.
pub(super) const WIDE: usize = 16;

type Lanes = [f32; WIDE];

/// `x * factor + y`
#[inline(always)]
fn fused<const FUSED: bool>(x: Lanes, factor: f32, y: Lanes) -> Lanes {
    let mut sum = y;
    for lane in 0..WIDE {
        sum[lane] = if FUSED { x[lane].mul_add(factor, y[lane]) } else { x[lane] * factor + y[lane] };
    }
    sum
}

#[inline(always)]
fn add(x: Lanes, y: Lanes) -> Lanes {
    let mut sum = x;
    for lane in 0..WIDE {
        sum[lane] = x[lane] + y[lane];
    }
    sum
}

#[inline(always)]
fn sub(x: Lanes, y: Lanes) -> Lanes {
    let mut difference = x;
    for lane in 0..WIDE {
        difference[lane] = x[lane] - y[lane];
    }
    difference
}

/// `Bᵀ` times a column.
#[inline(always)]
fn forward<const FUSED: bool>([a, b, c, d, e, f]: [Lanes; IN]) -> [Lanes; IN] {
    let (even, odd) = (fused::<FUSED>(c, -4.0, e), fused::<FUSED>(b, -4.0, d));
    let (near, far) = (sub(e, c), sub(d, b));
    [
        fused::<FUSED>(a, 4.0, fused::<FUSED>(c, -5.0, e)),
        add(even, odd),
        sub(even, odd),
        fused::<FUSED>(far, 2.0, near),
        fused::<FUSED>(far, -2.0, near),
        fused::<FUSED>(b, 4.0, fused::<FUSED>(d, -5.0, f)),
    ]
}

/// `Aᵀ` times a column.
#[inline(always)]
fn backward<const FUSED: bool>([a, b, c, d, e, f]: [Lanes; IN]) -> [Lanes; OUT] {
    let (near, far) = (add(b, c), add(d, e));
    let (apart, wide) = (sub(b, c), sub(d, e));
    [
        add(a, add(near, far)),
        fused::<FUSED>(wide, 2.0, apart),
        fused::<FUSED>(far, 4.0, near),
        fused::<FUSED>(wide, 8.0, add(apart, f)),
    ]
}

#[inline(always)]
fn load(from: &[f32], at: usize) -> Option<Lanes> {
    from.get(at..)?.first_chunk::<WIDE>().copied()
}

/// `G g Gᵀ` in double precision.
pub(super) fn of_weights(weights: [[f64; 3]; 3]) -> [[f64; IN]; IN] {
    let column = |[a, b, c]: [f64; 3]| {
        let (even, far) = (a + c, a / 24.0 + c / 6.0);
        [a / 4.0, -(even + b) / 6.0, -(even - b) / 6.0, far + b / 12.0, far - b / 12.0, c]
    };
    let rows = weights.map(column);
    let mut all = [[0.0; IN]; IN];
    for j in 0..IN {
        let down = column([rows[0][j], rows[1][j], rows[2][j]]);
        for i in 0..IN {
            all[i][j] = down[i];
        }
    }
    all
}

/// Transforms tiles of the input.
pub(super) struct Forward<'f> {
    /// Pixels with contiguous channels.
    pub(super) copy: &'f [f32],
    /// The offsets of the pixels of each tile.
    pub(super) tiles: &'f [[[usize; IN]; IN]],
    pub(super) channels: usize,
    /// For each product the tiles, `pitch` apart; products are `each` apart.
    pub(super) out: &'f mut [f32],
    pub(super) pitch: usize,
    pub(super) each: usize,
}

impl Body for Forward<'_> {
    /// `None` if an offset is out of range.
    type Out = Option<()>;

    #[inline(always)]
    fn run<const FUSED: bool>(self) -> Option<()> {
        let Forward { copy, tiles, channels, out, pitch, each } = self;
        for (tile, pixels) in tiles.iter().enumerate() {
            for channel in (0..channels).step_by(WIDE) {
                let mut half = [[[0.0; WIDE]; IN]; IN];
                for (half, line) in zip(&mut half, pixels) {
                    let [a, b, c, d, e, f] = *line;
                    let at = |pixel: usize| load(copy, pixel + channel);
                    *half = forward::<FUSED>([at(a)?, at(b)?, at(c)?, at(d)?, at(e)?, at(f)?]);
                }
                let [a, b, c, d, e, f] = &half;
                let mut to = tile * pitch + channel;
                for j in 0..IN {
                    let column = forward::<FUSED>([a[j], b[j], c[j], d[j], e[j], f[j]]);
                    for (i, lanes) in column.iter().enumerate() {
                        let at = to + i * IN * each;
                        *out.get_mut(at..)?.first_chunk_mut::<WIDE>()? = *lanes;
                    }
                    to += each;
                }
            }
        }
        Some(())
    }
}

/// Transforms sums of products of adjacent tiles to elements of the result.
pub(super) struct Backward<'b> {
    /// For each product the tiles, `pitch` apart; products are `each` apart.
    pub(super) sums: &'b [f32],
    pub(super) pitch: usize,
    pub(super) each: usize,
    /// The number of tiles.
    pub(super) tiles: usize,
    /// Lines of elements, `pitch` apart.
    pub(super) out: &'b mut [f32],
}

impl Body for Backward<'_> {
    /// `None` if an offset is out of range.
    type Out = Option<()>;

    #[inline(always)]
    fn run<const FUSED: bool>(self) -> Option<()> {
        let Backward { sums, pitch, each, tiles, out } = self;
        let line = tiles * OUT * pitch;
        for tile in 0..tiles {
            for channel in (0..pitch).step_by(WIDE) {
                let first = tile * pitch + channel;
                let mut half = [[[0.0; WIDE]; OUT]; IN];
                for (i, half) in half.iter_mut().enumerate() {
                    let at = |j: usize| load(sums, first + (i * IN + j) * each);
                    *half = backward::<FUSED>([at(0)?, at(1)?, at(2)?, at(3)?, at(4)?, at(5)?]);
                }
                let [a, b, c, d, e, f] = &half;
                for j in 0..OUT {
                    let column = backward::<FUSED>([a[j], b[j], c[j], d[j], e[j], f[j]]);
                    for (i, lanes) in column.iter().enumerate() {
                        let at = i * line + (tile * OUT + j) * pitch + channel;
                        *out.get_mut(at..)?.first_chunk_mut::<WIDE>()? = *lanes;
                    }
                }
            }
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lanes::multiversion::widest;

    #[test]
    fn a_tile_is_what_the_sums_of_products_are() {
        let pixel = |i: usize, j: usize| ((i * 7 + j * 5) % 11) as f32 - 5.0;
        let weight = |k: usize, l: usize| ((k * 3 + l * 4) % 7) as f32 - 2.5;
        let mut copy = vec![0.0; PRODUCTS * WIDE];
        let mut tile = [[0; IN]; IN];
        for (i, j) in (0..IN).flat_map(|i| (0..IN).map(move |j| (i, j))) {
            tile[i][j] = (i * IN + j) * WIDE;
            copy[tile[i][j]..][..WIDE].fill(pixel(i, j));
        }
        let mut out = vec![0.0; PRODUCTS * WIDE];
        let it =
            Forward { copy: &copy, tiles: &[tile], channels: WIDE, out: &mut out, pitch: WIDE, each: WIDE };
        widest(it).unwrap();
        let weights = of_weights([0, 1, 2].map(|k| [0, 1, 2].map(|l| f64::from(weight(k, l)))));
        for (at, x) in out.iter_mut().enumerate() {
            *x *= weights[at / WIDE / IN][at / WIDE % IN] as f32;
        }
        let mut result = vec![0.0; OUT * OUT * WIDE];
        let (sums, result_of) = (&out[..], &mut result[..]);
        widest(Backward { sums, pitch: WIDE, each: WIDE, tiles: 1, out: result_of }).unwrap();
        for (at, y) in result.iter().enumerate() {
            let (i, j) = (at / WIDE / OUT, at / WIDE % OUT);
            let taps = (0..3).flat_map(|k| (0..3).map(move |l| (k, l)));
            let sum: f32 = taps.map(|(k, l)| pixel(i + k, j + l) * weight(k, l)).sum();
            assert!((y - sum).abs() < 1e-4, "{y} is not {sum}");
        }
    }
}
