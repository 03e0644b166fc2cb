//! The Dropout kernel for training: drops elements at random.
//!
//! A node with a seed drops the same elements as the reference, which uses the Mersenne Twister (Matsumoto, Nishimura 1998).

use crate::value::Value;
use crate::{Call, Nodes, Row, row};
use onnx_ir::ElemType;
use onnx_loops::failure::{Failure, fail};
use onnx_loops::list::List;
use onnx_loops::random::Random;
use onnx_loops::tensor::Tensor;

pub(crate) const ROWS: &[Row] = &[row("", "Dropout", dropout).only(Nodes::Unsupported)];

fn dropout(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let x = call.tensor(0)?;
    let ratio = match call.optional_tensor(1)? {
        Some(ratio) => match ratio.floats()?[..] {
            [ratio] => ratio,
            _ => fail!("the ratio is one number, not {}", ratio.len()),
        },
        None => f64::from(call.attrs.float("ratio").unwrap_or(0.5)),
    };
    if !(0.0..=1.0).contains(&ratio) {
        fail!("a ratio of {ratio} is not one of 0 to 1");
    }
    // Versions 7 to 11 have no training mode.
    let is_training = match call.since() {
        since if since < 7 => !call.attrs.flag("is_test"),
        since if since < 12 => false,
        _ => match call.optional_tensor(2)? {
            Some(training) => match training.words::<u8>() {
                [training] => *training != 0,
                _ => fail!("`training_mode` is one boolean, not {}", training.len()),
            },
            None => false,
        },
    };
    let mask_elem = if call.since() < 10 { x.elem() } else { ElemType::BOOL };
    let ones = |dims: &[usize], kept: List<bool>| -> Result<Tensor, Failure> {
        if mask_elem == ElemType::BOOL {
            return Tensor::of_bools(dims, kept);
        }
        Tensor::from_floats(mask_elem, dims, kept.into_iter().map(|k| f64::from(u8::from(k))))
    };
    if !is_training || ratio == 0.0 {
        let mut outputs = vec![x.clone().into()];
        if call.wants(1) {
            outputs.push(ones(x.dims(), onnx_loops::list::filled(x.len(), true)?)?.into());
        }
        return Ok(outputs);
    }
    let mut kept = List::with_room(x.len())?;
    match call.attrs.int("seed") {
        Some(seed) => {
            let mut twister = Twister::new(seed as u32);
            kept.extend((0..x.len()).map(|_| twister.uniform() >= ratio))?;
        }
        None => {
            let mut random: Random = call.random.clone();
            kept.extend((0..x.len()).map(|_| random.uniform() >= ratio))?;
        }
    }
    let scale = 1.0 / (1.0 - ratio);
    let numbers = x.floats()?.into_iter().zip(&kept).map(|(x, &k)| if k { x * scale } else { 0.0 });
    let y = Tensor::from_floats(x.elem(), x.dims(), numbers)?;
    Ok(vec![y.into(), ones(x.dims(), kept)?.into()])
}

/// MT19937.
struct Twister {
    state: Vec<u32>,
    at: usize,
}

const LENGTH: usize = 624;

impl Twister {
    fn new(seed: u32) -> Twister {
        let mut state = Vec::with_capacity(LENGTH);
        let mut last = seed;
        for i in 0..LENGTH as u32 {
            if i > 0 {
                last = (last ^ (last >> 30)).wrapping_mul(1_812_433_253).wrapping_add(i);
            }
            state.push(last);
        }
        Twister { state, at: LENGTH }
    }

    fn next(&mut self) -> u32 {
        if self.at == LENGTH {
            for i in 0..LENGTH {
                let y = (self.state[i] & 0x8000_0000) | (self.state[(i + 1) % LENGTH] & 0x7fff_ffff);
                let odd = if y & 1 == 1 { 0x9908_b0df } else { 0 };
                self.state[i] = self.state[(i + 397) % LENGTH] ^ (y >> 1) ^ odd;
            }
            self.at = 0;
        }
        let mut y = self.state[self.at];
        self.at += 1;
        y ^= y >> 11;
        y ^= (y << 7) & 0x9d2c_5680;
        y ^= (y << 15) & 0xefc6_0000;
        y ^ (y >> 18)
    }

    /// A number in [0, 1) with 53 bits.
    fn uniform(&mut self) -> f64 {
        let (a, b) = (self.next() >> 5, self.next() >> 6);
        (f64::from(a) * 67_108_864.0 + f64::from(b)) / 9_007_199_254_740_992.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_twister_gives_its_known_numbers() {
        // The first and the ten thousandth number for the seed that its authors use.
        let mut twister = Twister::new(5489);
        assert_eq!(twister.next(), 3_499_211_612);
        let last = (1..10_000).map(|_| twister.next()).last();
        assert_eq!(last, Some(4_123_659_995));
    }
}
