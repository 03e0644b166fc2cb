//! Random networks over images and signals, as texts: convolutions of all kinds, pools, residuals, concatenations, shuffled
//! channels, squeeze-and-excite, in floats or quantized from end to end.
//!
//! Scales are powers of two and quantized biases are multiples of them, so that all that is added up is exact and rounding is the
//! same whatever the order.

use crate::random::Random;
use std::fmt::Write as _;

/// A network, and the extents of its input `x`, which is of single floats.
pub struct Network {
    /// The model.
    pub text: String,
    /// The extents of the input.
    pub dims: Vec<usize>,
}

#[derive(Clone)]
struct Image {
    name: String,
    channels: usize,
    /// The sizes after the channels.
    extents: Vec<usize>,
}

struct Draw {
    random: Random,
    count: usize,
    nodes: String,
    weights: String,
    is_quantized: bool,
    batch: usize,
}

/// A network of about so many layers; every third one is quantized.
pub fn random(seed: u64, layers: usize) -> Network {
    let mut random = Random::new(seed);
    let axes = [2, 2, 2, 1, 3][random.below(5)];
    let channels = [1, 3, 4, 6, 8, 16, 17, 24, 32][random.below(9)];
    let extents: Vec<usize> = (0..axes).map(|_| 3 + random.below(if axes == 3 { 4 } else { 12 })).collect();
    let batch = 1 + random.below(2);
    let is_quantized = seed % 3 == 2;
    let mut draw =
        Draw { random, count: 0, nodes: String::new(), weights: String::new(), is_quantized, batch };
    let mut images = vec![Image { name: "x".to_owned(), channels, extents: extents.clone() }];
    if is_quantized {
        images[0] = draw.quantized("x", images[0].clone());
    }
    for _ in 0..layers {
        let of = draw.random.below(images.len().min(3));
        let image = images[images.len() - 1 - of].clone();
        let made = draw.layer(&image, &images);
        images.extend(made);
    }
    let last = images.last().map_or("x", |image| &image.name).to_owned();
    let other = images[draw.random.below(images.len())].name.clone();
    let dims: Vec<usize> = [batch, channels].into_iter().chain(extents).collect();
    let shape: Vec<String> = dims.iter().map(usize::to_string).collect();
    let text = format!(
        "<ir_version: 10, opset_import: [\"\": 21]>\ng (float[{}] x) => (float y, float z)\n<float one = {{1}}{}>\n{{\n{}\
         y = Identity({last})\nz = Identity({other})\n}}\n",
        shape.join(", "),
        draw.weights,
        draw.nodes
    );
    Network { text, dims }
}

impl Draw {
    fn name(&mut self) -> String {
        self.count += 1;
        format!("v{}", self.count)
    }

    fn node(&mut self, text: &str) {
        let _ = writeln!(self.nodes, "{text}");
    }

    /// A constant of single floats, each a multiple of 1/64 between -1 and 1.
    fn floats(&mut self, dims: &[usize]) -> String {
        let name = self.name();
        let count = dims.iter().product();
        let numbers: Vec<String> =
            (0..count).map(|_| format!("{}", (self.random.below(65) as f64 - 32.0) / 64.0)).collect();
        let dims: Vec<String> = dims.iter().map(usize::to_string).collect();
        let _ = write!(self.weights, ", float[{}] {name} = {{{}}}", dims.join(", "), numbers.join(", "));
        name
    }

    /// Bytes and their scale, dequantized.
    fn bytes(&mut self, dims: &[usize], channels: usize) -> String {
        let (w, y) = (self.name(), self.name());
        let count = dims.iter().product();
        let numbers: Vec<String> =
            (0..count).map(|_| format!("{}", self.random.below(15) as i64 - 7)).collect();
        let shape: Vec<String> = dims.iter().map(usize::to_string).collect();
        let scales: Vec<String> =
            (0..channels).map(|_| ["0.0625", "0.125"][self.random.below(2)].to_owned()).collect();
        let is_even = self.random.below(3) > 0;
        let zeros: Vec<String> =
            (0..channels).map(|_| if is_even { 0 } else { self.random.below(3) }.to_string()).collect();
        let _ = write!(
            self.weights,
            ", int8[{}] {w} = {{{}}}, float[{channels}] {w}_s = {{{}}}, int8[{channels}] {w}_z = {{{}}}",
            shape.join(", "),
            numbers.join(", "),
            scales.join(", "),
            zeros.join(", ")
        );
        self.node(&format!("{y} = DequantizeLinear <axis = 0> ({w}, {w}_s, {w}_z)"));
        y
    }

    /// Quantizes an image and dequantizes it.
    fn quantized(&mut self, from: &str, image: Image) -> Image {
        let (q, y) = (self.name(), self.name());
        let (elem, zero) = [("uint8", 128), ("uint8", 0), ("int8", 0), ("int8", -3)][self.random.below(4)];
        let scale = ["0.0625", "0.125"][self.random.below(2)];
        let _ = write!(self.weights, ", float {q}_s = {{{scale}}}, {elem} {q}_z = {{{zero}}}");
        self.node(&format!("{q} = QuantizeLinear({from}, {q}_s, {q}_z)"));
        self.node(&format!("{y} = DequantizeLinear({q}, {q}_s, {q}_z)"));
        Image { name: y, ..image }
    }

    fn finished(&mut self, image: Image) -> Image {
        if !self.is_quantized {
            return image;
        }
        let name = image.name.clone();
        self.quantized(&name, image)
    }

    fn layer(&mut self, image: &Image, all: &[Image]) -> Option<Image> {
        let made = match self.random.below(12) {
            0..=4 => self.convolution(image)?,
            5 => self.pool(image)?,
            6 => self.activation(image),
            7 => self.residual(image, all)?,
            8 => self.joined(image, all)?,
            9 => self.shuffled(image)?,
            10 => self.excited(image),
            _ => self.sliced(image)?,
        };
        Some(self.finished(made))
    }

    fn convolution(&mut self, image: &Image) -> Option<Image> {
        let channels = image.channels;
        let divisors: Vec<usize> = (1..=channels).filter(|d| channels.is_multiple_of(*d)).collect();
        let groups = [1, 1, channels, divisors[self.random.below(divisors.len())]][self.random.below(4)];
        let out = match (groups, self.random.below(4)) {
            (1, n) => [4, 8, 12, 16][n],
            (g, 0) if g < channels => 2 * g,
            (g, 1) => 2 * g,
            (_, _) => channels,
        };
        let mut kernel = Vec::new();
        let (mut strides, mut dilations, mut pads, mut extents) = (vec![], vec![], (vec![], vec![]), vec![]);
        for &extent in &image.extents {
            let k = [1, 1, 3, 3, 5][self.random.below(5)];
            let (stride, dilation) = (1 + self.random.below(2), 1 + usize::from(self.random.below(5) == 0));
            // Some pixels may see padding only.
            let most = if self.random.below(6) == 0 { k + 4 } else { k };
            let [before, after] = [0, 1].map(|_| self.random.below(most));
            let reach = (k - 1) * dilation + 1;
            let room = (extent + before + after).checked_sub(reach)?;
            kernel.push(k);
            strides.push(stride);
            dilations.push(dilation);
            pads.0.push(before);
            pads.1.push(after);
            extents.push(room / stride + 1);
        }
        pads.0.extend(pads.1);
        let dims: Vec<usize> = [out, channels / groups].into_iter().chain(kernel).collect();
        let w = if self.is_quantized { self.bytes(&dims, out) } else { self.floats(&dims) };
        let bias =
            if self.random.below(3) > 0 { format!(", {}", self.floats(&[out])) } else { String::new() };
        let y = self.name();
        self.node(&format!(
            "{y} = Conv <group = {groups}, strides = {strides:?}, dilations = {dilations:?}, pads = {:?}> ({}, {w}{bias})",
            pads.0, image.name
        ));
        let made = Image { name: y, channels: out, extents };
        // The following operators are fused.
        let mut made =
            if !self.is_quantized && self.random.below(4) == 0 { self.scaled(&made) } else { made };
        if self.random.below(2) == 0 {
            made = self.activation(&made);
        }
        // Sums stay small.
        if !self.is_quantized {
            let y = self.name();
            self.node(&format!("{y} = Clip({}, , one)", made.name));
            made.name = y;
        }
        Some(made)
    }

    fn scaled(&mut self, image: &Image) -> Image {
        let y = self.name();
        let [scale, bias, mean] = [0, 1, 2].map(|_| self.floats(&[image.channels]));
        let variance = self.name();
        let ones = vec!["0.75"; image.channels].join(", ");
        let _ = write!(self.weights, ", float[{}] {variance} = {{{ones}}}", image.channels);
        self.node(&format!("{y} = BatchNormalization({}, {scale}, {bias}, {mean}, {variance})", image.name));
        Image { name: y, ..image.clone() }
    }

    fn activation(&mut self, image: &Image) -> Image {
        let (x, y) = (&image.name, self.name());
        let kinds = if self.is_quantized { 3 } else { 7 };
        let text = match self.random.below(kinds) {
            0 => format!("{y} = Relu({x})"),
            1 => format!("{y} = Clip({x}, , one)"),
            2 => format!("{y} = LeakyRelu <alpha = 0.25> ({x})"),
            3 => format!("{y}s = Sigmoid({x})\n{y} = Mul({x}, {y}s)"),
            4 => format!("{y} = HardSwish({x})"),
            5 => format!("{y} = HardSigmoid({x})"),
            _ => format!("{y} = Sigmoid({x})"),
        };
        self.node(&text);
        Image { name: y, ..image.clone() }
    }

    fn pool(&mut self, image: &Image) -> Option<Image> {
        let (mut kernel, mut strides, mut pads, mut extents) = (vec![], vec![], vec![], vec![]);
        for &extent in &image.extents {
            let (k, stride) = (2 + self.random.below(2), 1 + self.random.below(2));
            let pad = self.random.below(2);
            extents.push((extent + 2 * pad).checked_sub(k)? / stride + 1);
            kernel.push(k);
            strides.push(stride);
            pads.push(pad);
        }
        let both: Vec<usize> = pads.iter().chain(&pads).copied().collect();
        let op = if self.is_quantized || self.random.below(3) > 0 { "MaxPool" } else { "AveragePool" };
        let y = self.name();
        self.node(&format!(
            "{y} = {op} <kernel_shape = {kernel:?}, strides = {strides:?}, pads = {both:?}> ({})",
            image.name
        ));
        Some(Image { name: y, channels: image.channels, extents })
    }

    fn residual(&mut self, image: &Image, all: &[Image]) -> Option<Image> {
        let is_alike = |other: &&Image| {
            other.extents == image.extents && other.channels == image.channels && other.name != "x"
        };
        let alike: Vec<&Image> = all.iter().filter(is_alike).collect();
        let other = alike.get(self.random.below(alike.len()))?.name.clone();
        let (s, y) = (self.name(), self.name());
        self.node(&format!("{s} = Add({}, {other})\n{y} = Clip({s}, , one)", image.name));
        Some(Image { name: y, ..image.clone() })
    }

    fn joined(&mut self, image: &Image, all: &[Image]) -> Option<Image> {
        let alike: Vec<&Image> = all.iter().filter(|other| other.extents == image.extents).collect();
        let other = (*alike.get(self.random.below(alike.len()))?).clone();
        let channels = image.channels + other.channels;
        (channels <= 64).then_some(())?;
        let y = self.name();
        self.node(&format!("{y} = Concat <axis = 1> ({}, {})", image.name, other.name));
        Some(Image { name: y, channels, extents: image.extents.clone() })
    }

    fn list(&mut self, numbers: &[usize]) -> String {
        let name = self.name();
        let all: Vec<String> = numbers.iter().map(usize::to_string).collect();
        let _ = write!(self.weights, ", int64[{}] {name} = {{{}}}", numbers.len(), all.join(", "));
        name
    }

    /// The channels of groups in turn.
    fn shuffled(&mut self, image: &Image) -> Option<Image> {
        let groups = (2..image.channels).find(|d| image.channels.is_multiple_of(*d))?;
        let Image { name, channels, extents } = image;
        let dims = |front: &[usize]| -> Vec<usize> { front.iter().chain(extents).copied().collect() };
        let apart = self.list(&dims(&[self.batch, groups, channels / groups]));
        let together = self.list(&dims(&[self.batch, *channels]));
        let order: Vec<usize> = [0, 2, 1].into_iter().chain(3..extents.len() + 3).collect();
        let y = self.name();
        self.node(&format!(
            "{y}a = Reshape({name}, {apart})\n{y}b = Transpose <perm = {order:?}> ({y}a)\n{y} = Reshape({y}b, {together})"
        ));
        Some(Image { name: y, ..image.clone() })
    }

    /// Each channel times what is computed of the means of all.
    fn excited(&mut self, image: &Image) -> Image {
        let ones = vec![1; image.extents.len()];
        let dims: Vec<usize> = [image.channels, image.channels].into_iter().chain(ones).collect();
        let (w, y) = (self.floats(&dims), self.name());
        self.node(&format!(
            "{y}m = GlobalAveragePool({0})\n{y}c = Conv({y}m, {w})\n{y}s = HardSigmoid({y}c)\n{y} = Mul({0}, {y}s)",
            image.name
        ));
        Image { name: y, ..image.clone() }
    }

    /// Some of the channels.
    fn sliced(&mut self, image: &Image) -> Option<Image> {
        let end = image.channels.checked_sub(1).filter(|end| *end > 0)?;
        let start = self.random.below(end);
        let [from, to, axis] = [[start], [end], [1]].map(|numbers| self.list(&numbers));
        let y = self.name();
        self.node(&format!("{y} = Slice({}, {from}, {to}, {axis})", image.name));
        Some(Image { name: y, channels: end - start, extents: image.extents.clone() })
    }
}
