//! Resizing of an axis: the source elements of each result and their weights.

use onnx_loops::failure::{Failure, fail};
use onnx_loops::list::List;

/// The coordinate transformation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Coordinates {
    AlignCorners,
    Asymmetric,
    /// `Asymmetric` in single precision, for compatibility with versions before 11.
    AsymmetricSingle,
    HalfPixel,
    HalfPixelSymmetric,
    PytorchHalfPixel,
    /// Inside the region of interest.
    TfCropAndResize,
    TfHalfPixelForNearest,
}

impl Coordinates {
    pub(super) fn named(name: &str) -> Result<Coordinates, Failure> {
        Ok(match name {
            "align_corners" => Coordinates::AlignCorners,
            "asymmetric" => Coordinates::Asymmetric,
            "half_pixel" => Coordinates::HalfPixel,
            "half_pixel_symmetric" => Coordinates::HalfPixelSymmetric,
            "pytorch_half_pixel" => Coordinates::PytorchHalfPixel,
            "tf_crop_and_resize" => Coordinates::TfCropAndResize,
            "tf_half_pixel_for_nn" => Coordinates::TfHalfPixelForNearest,
            _ => fail!("there is no coordinate transformation `{name}`"),
        })
    }
}

/// The rounding of a coordinate to the nearest element.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Rounding {
    PreferFloor,
    PreferCeil,
    Floor,
    Ceil,
}

impl Rounding {
    pub(super) fn named(name: &str) -> Result<Rounding, Failure> {
        Ok(match name {
            "round_prefer_floor" => Rounding::PreferFloor,
            "round_prefer_ceil" => Rounding::PreferCeil,
            "floor" => Rounding::Floor,
            "ceil" => Rounding::Ceil,
            _ => fail!("there is no way `{name}` to the nearest element"),
        })
    }
}

/// The interpolation filter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Filter {
    Nearest(Rounding),
    Linear,
    /// Keys, Cubic convolution interpolation for digital image processing, 1981.
    Cubic {
        a: f64,
    },
}

/// An axis to be resized.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axis {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) scale: f64,
    /// The region of interest, in the range 0 to 1.
    pub(super) roi: (f64, f64),
    pub(super) coordinates: Coordinates,
}

impl Axis {
    /// Whether every element stays unchanged.
    pub(super) fn is_same(&self) -> bool {
        let close = |a: f64, b: f64| (a - b).abs() <= 1e-9 * a.abs().max(b.abs());
        self.from == self.to && close(self.scale, 1.0) && self.roi.0 == 0.0 && close(self.roi.1, 1.0)
    }

    /// The source coordinate of an element of the result; `None` outside the region of interest.
    fn place(&self, i: usize) -> Option<f64> {
        let (i, from, to) = (i as f64, self.from as f64, self.to as f64);
        let exact = self.scale * from;
        Some(match self.coordinates {
            Coordinates::AlignCorners if exact == 1.0 => 0.0,
            Coordinates::AlignCorners => i * (from - 1.0) / (exact - 1.0),
            Coordinates::Asymmetric => i / self.scale,
            Coordinates::AsymmetricSingle => f64::from(i as f32 / self.scale as f32),
            Coordinates::HalfPixel => (i + 0.5) / self.scale - 0.5,
            Coordinates::HalfPixelSymmetric => {
                let offset = from / 2.0 * (1.0 - to / exact);
                offset + (i + 0.5) / self.scale - 0.5
            }
            Coordinates::PytorchHalfPixel if self.to <= 1 => 0.0,
            Coordinates::PytorchHalfPixel => (i + 0.5) / self.scale - 0.5,
            Coordinates::TfCropAndResize => {
                let (start, end) = self.roi;
                let within = if exact == 1.0 {
                    (end - start) * (from - 1.0) / 2.0
                } else {
                    i * (end - start) * (from - 1.0) / (exact - 1.0)
                };
                let at = within + start * (from - 1.0);
                return (at >= 0.0 && at <= from - 1.0).then_some(at);
            }
            Coordinates::TfHalfPixelForNearest => (i + 0.5) / self.scale,
        })
    }

    /// The nearest element for each one of the result; `None` outside the region of interest.
    pub(super) fn nearest(&self, rounding: Rounding) -> Result<List<Option<usize>>, Failure> {
        let mut all = List::with_room(self.to)?;
        all.extend((0..self.to).map(|i| {
            let at = self.place(i)?;
            let rounded = match rounding {
                Rounding::PreferFloor => (at - 0.5).ceil(),
                Rounding::PreferCeil => (at + 0.5).floor(),
                Rounding::Floor => at.floor(),
                Rounding::Ceil => at.ceil(),
            };
            // Negative numbers and NaN become 0.
            Some((rounded as usize).min(self.from.saturating_sub(1)))
        }))?;
        Ok(all)
    }

    /// The source elements and weights for each one of the result.
    pub(super) fn weights(
        &self,
        filter: Filter,
        is_antialiased: bool,
        exclude_outside: bool,
    ) -> Result<Weights, Failure> {
        // With antialiasing, downscaling widens the filter.
        let stretch = if is_antialiased { self.scale.min(1.0) } else { 1.0 };
        let reach = match filter {
            Filter::Nearest(_) | Filter::Linear => 1.0,
            Filter::Cubic { .. } => 2.0,
        };
        let before = (reach / stretch).ceil() as usize;
        let taps = before.saturating_mul(2);
        let count = taps.saturating_mul(self.to);
        let (first, outside) = (List::with_room(self.to)?, List::new());
        let mut weights = Weights { taps, first, weights: List::with_room(count)?, outside };
        for i in 0..self.to {
            let at = match self.place(i) {
                Some(at) => at,
                None => {
                    weights.outside.push(i)?;
                    0.0
                }
            };
            // An exact element belongs to the interval before it.
            let left = at.ceil() - 1.0;
            let first = left - (before as f64 - 1.0);
            let start = weights.weights.len();
            for k in 0..taps {
                let tap = first + k as f64;
                let is_outside = tap < 0.0 || tap >= self.from as f64;
                let weight = filter.weight((tap - at) * stretch);
                weights.weights.push(if exclude_outside && is_outside { 0.0 } else { weight })?;
            }
            if is_antialiased || exclude_outside {
                let sum: f64 = weights.weights[start..].iter().sum();
                if sum != 0.0 {
                    weights.weights[start..].iter_mut().for_each(|weight| *weight /= sum);
                }
            }
            weights.first.push(first as i64)?;
        }
        Ok(weights)
    }
}

impl Filter {
    /// The weight at a distance.
    fn weight(self, distance: f64) -> f64 {
        let x = distance.abs();
        match self {
            Filter::Nearest(_) => f64::from(u8::from(x == 0.0)),
            Filter::Linear => (1.0 - x).max(0.0),
            Filter::Cubic { a } if x <= 1.0 => ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0,
            Filter::Cubic { a } if x < 2.0 => ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a,
            Filter::Cubic { .. } => 0.0,
        }
    }
}

/// A source element and its weight.
type Weighted = (usize, f64);

/// The source elements of each result element: equally many for each, with indices clamped to the axis.
pub(super) struct Weights {
    pub(super) taps: usize,
    /// The first source element of each.
    first: List<i64>,
    weights: List<f64>,
    /// Elements of the result outside the region of interest.
    pub(super) outside: List<usize>,
}

impl Weights {
    /// Source elements and weights, for one element of the result after the other, and where those of each end. An element without
    /// weight does not contribute, even if it is infinite.
    pub(super) fn elements(&self, extent: usize) -> Result<(List<Weighted>, List<usize>), Failure> {
        let last = i64::try_from(extent).unwrap_or(i64::MAX).saturating_sub(1).max(0);
        let (mut all, mut ends) = (List::with_room(self.weights.len())?, List::with_room(self.first.len())?);
        for (&first, weights) in self.first.iter().zip(self.weights.chunks_exact(self.taps.max(1))) {
            let weighted = weights.iter().enumerate().filter(|(_, weight)| **weight != 0.0);
            all.extend(weighted.map(|(k, &weight)| {
                let tap = first.saturating_add_unsigned(k as u64).clamp(0, last);
                (usize::try_from(tap).unwrap_or(0), weight)
            }))?;
            ends.push(all.len())?;
        }
        Ok((all, ends))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(from: usize, to: usize, coordinates: Coordinates) -> Axis {
        Axis { from, to, scale: to as f64 / from as f64, roi: (0.0, 1.0), coordinates }
    }

    #[test]
    fn the_nearest_of_two_is_the_one_that_is_asked_for() {
        let half = Axis { scale: 0.5, ..axis(8, 4, Coordinates::HalfPixel) };
        let nearest =
            |rounding| half.nearest(rounding).expect("small").into_iter().flatten().collect::<Vec<_>>();
        assert_eq!(nearest(Rounding::PreferFloor), [0, 2, 4, 6]);
        assert_eq!(nearest(Rounding::PreferCeil), [1, 3, 5, 7]);
    }

    #[test]
    fn weights_sum_to_one_and_reach_as_far_as_the_axis_shrinks() {
        for filter in [Filter::Linear, Filter::Cubic { a: -0.75 }] {
            for to in [3, 7, 20] {
                let axis = axis(10, to, Coordinates::HalfPixel);
                let weights = axis.weights(filter, true, false).expect("small");
                let (elements, ends) = weights.elements(10).expect("small");
                assert!(elements.iter().all(|(_, weight)| *weight != 0.0));
                assert_eq!((ends.len(), ends.last()), (to, Some(&elements.len())));
                let mut start = 0;
                for (i, end) in ends.into_iter().enumerate() {
                    let elements = &elements[std::mem::replace(&mut start, end)..end];
                    let sum: f64 = elements.iter().map(|(_, weight)| weight).sum();
                    assert!((sum - 1.0).abs() < 1e-12, "{filter:?} {to} {i}: {sum}");
                }
            }
        }
        assert_eq!(
            axis(10, 5, Coordinates::HalfPixel).weights(Filter::Linear, true, false).expect("small").taps,
            4
        );
    }
}
