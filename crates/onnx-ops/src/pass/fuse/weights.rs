//! Arithmetic on float weights: in double precision, rounded once.

use bytes::Bytes;
use onnx_ir::float::{Format, format};
use onnx_ir::{ElemType, Field, Payload, Tensor};

/// The elements of a tensor that is stored in the model.
pub(super) struct Floats<'t> {
    elem: ElemType,
    format: Format,
    bytes: &'t [u8],
    /// Bytes of an element, and of its entry.
    size: usize,
    entry: usize,
}

impl<'t> Floats<'t> {
    /// The floats of a valid tensor; `None` for another type, or external data.
    pub(super) fn of(tensor: &'t Tensor) -> Option<Floats<'t>> {
        use ElemType as E;
        let elem = tensor.elem.filter(|e| matches!(*e, E::FLOAT | E::DOUBLE | E::FLOAT16 | E::BFLOAT16))?;
        let size = usize::try_from(elem.bits()? / 8).ok()?;
        let count = usize::try_from(tensor.element_count()?).ok()?;
        if tensor.is_external() || tensor.extra().segment.is_some() {
            return None;
        }
        let (field, bytes): (Field, &[u8]) = match &tensor.data[..] {
            [Payload::Entries { field, bytes }] => (*field, bytes),
            [] if count == 0 => (Field::Raw, &[]),
            _ => return None,
        };
        let entry = if field == Field::Raw { size } else { field.entry_size() };
        let is_sound = field == Field::Raw || elem.field() == Some(field);
        let is_whole = count.checked_mul(entry) == Some(bytes.len());
        (is_sound && is_whole).then_some(Floats { elem, format: format(elem)?, bytes, size, entry })
    }

    /// The number of elements.
    pub(super) fn len(&self) -> usize {
        self.bytes.len() / self.entry
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = f64> + '_ {
        self.bytes.chunks_exact(self.entry).map(|entry| self.number(entry))
    }

    fn number(&self, entry: &[u8]) -> f64 {
        match *entry {
            [a, b, c, d] if self.size == 4 => f64::from(f32::from_le_bytes([a, b, c, d])),
            [a, b, c, d, e, f, g, h] => f64::from_le_bytes([a, b, c, d, e, f, g, h]),
            [a, b, ..] => self.format.decode(u16::from_le_bytes([a, b]).into()),
            _ => f64::NAN,
        }
    }

    /// The tensor with each element multiplied by a factor, which depends on its index; `None` if one becomes infinite, or 0
    /// although it was not.
    pub(super) fn times(&self, factor: impl Fn(usize) -> f64, like: &Tensor) -> Option<Tensor> {
        let mut out: Vec<u8> = Vec::with_capacity(self.len() * self.size);
        for (i, x) in self.iter().enumerate() {
            let factor = factor(i);
            let product = x * factor;
            let stored = push(&mut out, self.elem, self.format, product);
            let is_lost = stored == 0.0 && x != 0.0 && factor != 0.0;
            if !stored.is_finite() || is_lost {
                return None;
            }
        }
        Some(tensor(self.elem, like.dims.iter().copied(), out))
    }
}

/// A tensor of rank 1; `None` if a number is infinite or NaN.
pub(super) fn vector(elem: ElemType, numbers: &[f64]) -> Option<Tensor> {
    let format = format(elem)?;
    let mut out = Vec::new();
    for x in numbers {
        push(&mut out, elem, format, *x).is_finite().then_some(())?;
    }
    Some(tensor(elem, [i64::try_from(numbers.len()).ok()?], out))
}

fn tensor(elem: ElemType, dims: impl IntoIterator<Item = i64>, bytes: Vec<u8>) -> Tensor {
    let mut tensor = Tensor { elem: Some(elem), dims: dims.into_iter().collect(), ..Tensor::default() };
    if !bytes.is_empty() {
        tensor.data.push(Payload::Entries { field: Field::Raw, bytes: Bytes::from(bytes) });
    }
    tensor
}

/// Appends a number in the format of its type, and returns the rounded value.
fn push(out: &mut Vec<u8>, elem: ElemType, format: Format, x: f64) -> f64 {
    match elem {
        ElemType::FLOAT => {
            out.extend((x as f32).to_le_bytes());
            f64::from(x as f32)
        }
        ElemType::DOUBLE => {
            out.extend(x.to_le_bytes());
            x
        }
        _ => {
            let bits = format.encode(x);
            out.extend((bits as u16).to_le_bytes());
            format.decode(bits)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn floats(list: &[f32]) -> Tensor {
        let mut tensor = Tensor { elem: Some(ElemType::FLOAT), ..Tensor::default() };
        tensor.dims.push(list.len() as i64);
        tensor.data.push(Payload::floats(list.to_vec()));
        tensor
    }

    #[test]
    fn products_are_rounded_once_and_refused_where_they_overflow() {
        let one = floats(&[1.0, -3.0]);
        let twice = Floats::of(&one).unwrap().times(|i| [2.0, 0.1][i], &one).unwrap();
        let list: Vec<f64> = Floats::of(&twice).unwrap().iter().collect();
        assert_eq!(list, [2.0, f64::from(-0.3f32)]);
        assert!(Floats::of(&one).unwrap().times(|_| 1e39, &one).is_none());
        assert!(Floats::of(&one).unwrap().times(|_| 1e-60, &one).is_none());
        assert!(Floats::of(&one).unwrap().times(|_| 0.0, &one).is_some());
    }

    #[test]
    fn narrow_floats_are_read_from_either_field() {
        let half = vector(ElemType::FLOAT16, &[0.5, -2.0]).unwrap();
        assert_eq!(Floats::of(&half).unwrap().iter().collect::<Vec<_>>(), [0.5, -2.0]);
        let mut typed = Tensor { data: Default::default(), ..half };
        typed.data.push(Payload::int32s(vec![0x3800, 0xC000]));
        assert_eq!(Floats::of(&typed).unwrap().iter().collect::<Vec<_>>(), [0.5, -2.0]);
        assert!(vector(ElemType::FLOAT16, &[1e6]).is_none());
    }

    #[test]
    fn broken_tensors_have_no_floats() {
        let mut short = floats(&[1.0, 2.0]);
        short.dims[0] = 3;
        assert!(Floats::of(&short).is_none());
        short.dims[0] = -1;
        assert!(Floats::of(&short).is_none());
    }
}
