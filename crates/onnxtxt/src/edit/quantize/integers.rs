//! Floats as integers with scales.

use onnx_ir::{ElemType, Field, Payload, Tensor};

/// Which elements share a scale.
#[derive(Clone, Copy, Debug)]
pub(super) enum Grain {
    /// All.
    Tensor,
    /// Those with the same position on an axis.
    Channel(usize),
    /// Blocks of a number of elements along an axis, with the same position on the others.
    Block {
        /// The axis.
        axis: usize,
        /// The number of elements.
        size: usize,
    },
}

/// A tensor of float as integers, their scales as a tensor, and the scales. `Err`: why that cannot be.
pub(super) fn narrow(
    tensor: &Tensor,
    elem: ElemType,
    grain: Grain,
) -> Result<(Tensor, Tensor, Vec<f32>), String> {
    let numbers = tensor.view::<f32>().map_err(|error| error.to_string())?;
    if numbers.is_empty() || !numbers.iter().all(|x| x.is_finite()) {
        return Err("its weight is empty, or not finite".to_owned());
    }
    let dims: Vec<usize> = tensor.dims.iter().map(|&d| usize::try_from(d).unwrap_or(0)).collect();
    let (index, shape) = groups(&dims, grain);
    let count = shape.iter().product::<usize>().max(1);
    let max: f32 = if elem == ElemType::INT4 { 7.0 } else { 127.0 };
    let mut largest = vec![0f32; count];
    for (i, x) in numbers.iter().enumerate() {
        let slot = &mut largest[index(i)];
        *slot = slot.max(x.abs());
    }
    // A group of zeros has any scale.
    let scale = |largest: &f32| Some(largest / max).filter(|scale| scale.is_normal()).unwrap_or(1.0);
    let scales: Vec<f32> = largest.iter().map(scale).collect();
    #[allow(clippy::cast_possible_truncation, reason = "a whole number in the range of the type")]
    let integer = |(i, x): (usize, &f32)| (x / scales[index(i)]).round_ties_even().clamp(-max, max) as i8;
    let integers: Vec<i8> = numbers.iter().enumerate().map(integer).collect();
    let bytes: Vec<u8> = match elem {
        // The first of two elements is in the lower half of a byte.
        ElemType::INT4 => {
            let half = |x: Option<&i8>| x.map_or(0, |x| x.cast_unsigned() & 0xf);
            integers.chunks(2).map(|pair| half(pair.first()) | half(pair.get(1)) << 4).collect()
        }
        _ => integers.iter().map(|x| x.cast_unsigned()).collect(),
    };
    let mut narrow = Tensor { elem: Some(elem), dims: tensor.dims.clone(), ..Tensor::default() };
    narrow.data.push(Payload::Entries { field: Field::Raw, bytes: bytes.into() });
    let dims = shape.iter().map(|&d| i64::try_from(d).unwrap_or(i64::MAX));
    Ok((narrow, Tensor::new(dims, scales.clone()), scales))
}

/// The group of each element, and the shape of the scales.
fn groups(dims: &[usize], grain: Grain) -> (impl Fn(usize) -> usize + use<>, Vec<usize>) {
    let (axis, size) = match grain {
        Grain::Tensor => (None, 0),
        Grain::Channel(axis) => (Some(axis), 1),
        Grain::Block { axis, size } => (Some(axis), size.max(1)),
    };
    let shape: Vec<usize> = match (grain, axis) {
        (Grain::Block { .. }, Some(axis)) => {
            dims.iter().enumerate().map(|(i, &d)| if i == axis { d.div_ceil(size) } else { d }).collect()
        }
        (_, Some(axis)) => vec![dims.get(axis).copied().unwrap_or(1)],
        (_, None) => Vec::new(),
    };
    let is_block = matches!(grain, Grain::Block { .. });
    let extent = axis.and_then(|axis| dims.get(axis)).copied().unwrap_or(1).max(1);
    let inner: usize = axis.map_or(1, |axis| dims.iter().skip(axis + 1).product::<usize>()).max(1);
    let blocks = extent.div_ceil(size.max(1));
    let index = move |i: usize| match axis {
        None => 0,
        Some(_) if !is_block => i / inner % extent,
        Some(_) => {
            let (outer, at, rest) = (i / (inner * extent), i / inner % extent, i % inner);
            (outer * blocks + at / size) * inner + rest
        }
    };
    (index, shape)
}

/// A bias as int32, with the product of the scales of activation and weight. `None`: it is not a list of floats, or too large.
pub(super) fn bias(tensor: &Tensor, activation: f32, weights: &[f32]) -> Option<(Tensor, Tensor)> {
    let numbers = tensor.view::<f32>().ok()?;
    if tensor.dims.len() != 1 || weights.len() != 1 && weights.len() != numbers.len() {
        return None;
    }
    let scales: Vec<f32> = weights.iter().map(|weight| activation * weight).collect();
    let integer = |(x, scale): (&f32, &f32)| {
        let quotient = (f64::from(*x) / f64::from(*scale)).round_ties_even();
        #[allow(clippy::cast_possible_truncation, reason = "in the range of the type")]
        (quotient.abs() <= f64::from(i32::MAX)).then_some(quotient as i32)
    };
    let all = numbers.iter().zip(scales.iter().cycle());
    let integers: Vec<i32> = all.map(integer).collect::<Option<_>>()?;
    let scale = if let [scale] = scales[..] { Tensor::scalar(scale) } else { Tensor::list(scales) };
    Some((Tensor::list(integers), scale))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_share_the_scale_of_their_group() {
        let tensor = Tensor::new([3, 2], vec![127.0f32, 2.0, -12.7, 4.0, 0.0, -254.0]);
        let (integers, scale, _) = narrow(&tensor, ElemType::INT8, Grain::Tensor).unwrap();
        assert_eq!((scale.dims.len(), scale.view::<f32>().unwrap()[0]), (0, 2.0));
        assert_eq!(integers.view::<i8>().unwrap().as_ref(), [64, 1, -6, 2, 0, -127]);
        let (integers, scale, _) = narrow(&tensor, ElemType::INT8, Grain::Channel(1)).unwrap();
        assert_eq!(scale.view::<f32>().unwrap().as_ref(), [1.0, 2.0]);
        assert_eq!(integers.view::<i8>().unwrap().as_ref(), [127, 1, -13, 2, 0, -127]);
        let (_, scale, _) = narrow(&tensor, ElemType::INT8, Grain::Block { axis: 0, size: 2 }).unwrap();
        assert_eq!((&scale.dims[..], scale.view::<f32>().unwrap().len()), (&[2, 2][..], 4));
        let (integers, scale, _) =
            narrow(&tensor, ElemType::INT4, Grain::Block { axis: 0, size: 4 }).unwrap();
        assert_eq!(&scale.dims[..], [1, 2]);
        assert_eq!(integers.data[0].len(), 3);
    }
}
