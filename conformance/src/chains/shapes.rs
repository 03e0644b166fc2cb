//! Nodes that move elements, combine them along axes, or have parameters of fitting extents.

use super::{Chain, MAX_ELEMENTS, Named};
use onnx_exec::Tensor;

const REDUCTIONS: &[&str] = &[
    "ReduceSum",
    "ReduceMean",
    "ReduceMax",
    "ReduceMin",
    "ReduceL1",
    "ReduceL2",
    "ReduceProd",
    "ReduceSumSquare",
    "ReduceLogSumExp",
    "ReduceLogSum",
];

impl Chain {
    pub(super) fn view(&mut self, x: &Named) -> (String, Vec<String>) {
        let (rank, dims, name) = (x.tensor.rank(), x.tensor.dims().to_vec(), x.name.clone());
        let axis = self.below(rank);
        let count = x.tensor.len();
        let list = |all: &[usize]| all.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
        match self.below(19) {
            // Positions that depend on data.
            14 => {
                let places: Vec<i64> = (0..count).map(|i| (i * 7 % dims[axis].max(1)) as i64).collect();
                let places = self.keep(Tensor::of(&dims, &places).expect("as many"), true);
                (format!("GatherElements <axis = {axis}>"), vec![name, places])
            }
            15 if count > 0 => {
                let places: Vec<i64> = (0..3)
                    .map(|i| (i * 5 % dims[0]) as i64 - if i == 1 { dims[0] as i64 } else { 0 })
                    .collect();
                let places = self.keep(Tensor::of(&[3, 1], &places).expect("as many"), true);
                ("GatherND".to_owned(), vec![name, places])
            }
            // Shapes, and blocks of channels.
            16 => (self.one_of(&["Shape", "Size", "EyeLike"]).to_owned(), vec![name]),
            17 if rank == 4 => (
                self.one_of(&[
                    "DepthToSpace <blocksize = 2>",
                    "SpaceToDepth <blocksize = 1>",
                    "DepthToSpace <blocksize = 1, mode = \"CRD\">",
                ])
                .to_owned(),
                vec![name],
            ),
            18 if rank >= 2 => {
                let lengths: Vec<i64> = (0..dims[1]).map(|i| (1 + i % dims[0].max(1)) as i64).collect();
                let lengths = self.ints(&lengths);
                ("ReverseSequence".to_owned(), vec![name, lengths])
            }
            // Other axes over the same elements.
            0 | 1 => {
                let mut perm: Vec<usize> = (0..rank).collect();
                for i in (1..rank).rev() {
                    perm.swap(i, self.random.below(i + 1));
                }
                (format!("Transpose <perm = [{}]>", list(&perm)), vec![name])
            }
            2 | 3 => {
                // The first axes together, or an axis in two.
                let mut shape: Vec<i64> = dims.iter().map(|&d| d as i64).collect();
                if let Some(by) = (2..9).find(|by| dims[axis] > 0 && dims[axis].is_multiple_of(*by)) {
                    shape.splice(axis..=axis, [(dims[axis] / by) as i64, by as i64]);
                } else {
                    let rest: i64 = shape[axis..].iter().product();
                    shape.splice(axis.., [rest]);
                }
                if count > 0 && self.chance(2) {
                    let at = self.below(shape.len());
                    shape[at] = -1;
                }
                let zero = if dims.contains(&0) { " <allowzero = 1>" } else { "" };
                let shape = self.ints(&shape);
                (format!("Reshape{zero}"), vec![name, shape])
            }
            4 => {
                let axis = self.ints(&[axis as i64]);
                ("Unsqueeze".to_owned(), vec![name, axis])
            }
            5 => ("Squeeze".to_owned(), vec![name]),
            // Some of the elements.
            6 | 7 => {
                let (start, end) = (
                    self.below(dims[axis] + 2) as i64 - 1,
                    self.below(2 * dims[axis] + 2) as i64 - dims[axis] as i64,
                );
                let step = self.one_of(&[1, 1, 2, 3, -1, -2]);
                let (start, end) = if step < 0 { (end, start - 3 - dims[axis] as i64) } else { (start, end) };
                let inputs = [&[start][..], &[end], &[axis as i64], &[step]].map(|list| self.ints(list));
                ("Slice".to_owned(), [&[name], &inputs[..]].concat())
            }
            // Elements that are repeated, padded or joined.
            8 => {
                let mut shape: Vec<i64> = dims.iter().map(|&d| d as i64).collect();
                if count <= MAX_ELEMENTS / 4 {
                    shape.insert(0, self.one_of(&[1, 2, 3]));
                }
                let shape = self.ints(&shape);
                ("Expand".to_owned(), vec![name, shape])
            }
            9 if count <= MAX_ELEMENTS / 8 => {
                let repeats: Vec<i64> =
                    (0..rank).map(|i| if i == axis { self.one_of(&[1, 2, 3, 0]) } else { 1 }).collect();
                let repeats = self.ints(&repeats);
                ("Tile".to_owned(), vec![name, repeats])
            }
            10 => {
                let mut pads: Vec<i64> = vec![0; 2 * rank];
                (pads[axis], pads[rank + axis]) = (self.below(4) as i64 - 1, self.below(4) as i64);
                let mode = self.one_of(&["constant", "constant", "edge", "reflect", "wrap"]);
                let pads = self.ints(&pads);
                (format!("Pad <mode = \"{mode}\">"), vec![name, pads])
            }
            11 => {
                let mut beside = dims.clone();
                beside[axis] = self.one_of(&[0, 1, 3]);
                let other = self.value(x.tensor.elem(), &beside, true);
                let mut all = vec![name.clone(), other];
                if self.chance(2) && count <= MAX_ELEMENTS / 4 {
                    all.push(name);
                }
                (format!("Concat <axis = {axis}>"), all)
            }
            12 if dims[axis] > 0 => {
                let picked: Vec<i64> = (0..1 + self.below(4))
                    .map(|_| self.random.below(2 * dims[axis]) as i64 - dims[axis] as i64)
                    .collect();
                let picked = self.ints(&picked);
                (format!("Gather <axis = {axis}>"), vec![name, picked])
            }
            13 if rank >= 2 => {
                let k = self.one_of(&[-2, -1, 0, 1, 2]);
                let k = self.keep(Tensor::scalar(k as i64).expect("one"), true);
                (format!("Trilu <upper = {}>", self.below(2)), vec![name, k])
            }
            _ => (format!("Flatten <axis = {axis}>"), vec![name]),
        }
    }

    pub(super) fn reduction(&mut self, x: &Named, is_float: bool) -> (String, Vec<String>) {
        let axis = self.below(x.tensor.rank());
        let keepdims = self.below(2);
        if self.chance(5) {
            let op = self.one_of(&["ArgMax", "ArgMin"]);
            let last = self.below(2);
            return (
                format!("{op} <axis = {axis}, keepdims = {keepdims}, select_last_index = {last}>"),
                vec![x.name.clone()],
            );
        }
        let ops = if is_float { REDUCTIONS } else { &REDUCTIONS[..4] };
        let op = self.one_of(ops);
        let mut axes = vec![axis as i64 - if self.chance(2) { x.tensor.rank() as i64 } else { 0 }];
        let second = self.below(x.tensor.rank());
        if self.chance(3) && second != axis {
            axes.push(second as i64);
        }
        let axes = self.ints(&axes);
        (format!("{op} <keepdims = {keepdims}>"), vec![x.name.clone(), axes])
    }

    pub(super) fn contraction(&mut self, x: &Named) -> (String, Vec<String>) {
        let (elem, dims, name) = (x.tensor.elem(), x.tensor.dims().to_vec(), x.name.clone());
        let last = dims[dims.len() - 1];
        let n = self.one_of(&[1, 2, 5, 16, 33]);
        match (dims.len(), self.below(3)) {
            (3..=5, 0) if dims[1] <= 64 && dims[2..].iter().all(|d| *d >= 1) => {
                let axes = dims.len() - 2;
                let kernel: Vec<usize> =
                    (0..axes).map(|i| 1 + self.random.below(dims[2 + i].min(3))).collect();
                let w = self.value(elem, &[&[n.min(5), dims[1]], &kernel[..]].concat(), true);
                let b = self.value(elem, &[n.min(5)], true);
                let padding = self.one_of(&["", "auto_pad = \"SAME_UPPER\"", "auto_pad = \"SAME_LOWER\""]);
                (format!("Conv <{padding}>"), vec![name, w, b])
            }
            (3..=5, 1) if self.chance(3) && dims[1] <= 64 => {
                let kernel: Vec<usize> = (2..dims.len()).map(|_| 1 + self.random.below(3)).collect();
                let w = self.value(elem, &[&[dims[1], n.min(3)], &kernel[..]].concat(), true);
                ("ConvTranspose".to_owned(), vec![name, w])
            }
            (2 | 3, 2) if self.chance(2) => {
                let w = self.value(elem, &[n, last], true);
                let equation = if dims.len() == 2 { "ij,kj->ki" } else { "bij,kj->bik" };
                (format!("Einsum <equation = \"{equation}\">"), vec![name, w])
            }
            (3..=5, 1) => {
                let op = self.one_of(&["MaxPool", "AveragePool", "LpPool"]);
                let axes = dims.len() - 2;
                let kernel = vec![if self.chance(2) { "1" } else { "2" }; axes].join(", ");
                (format!("{op} <kernel_shape = [{kernel}]>"), vec![name])
            }
            (2, 0) => {
                let turned = self.below(2);
                let w = self.value(elem, &if turned == 1 { [n, last] } else { [last, n] }, true);
                let c = self.value(elem, &[n], true);
                (format!("Gemm <transB = {turned}, alpha = 0.5>"), vec![name, w, c])
            }
            _ => {
                let w = self.value(elem, &[last, n], true);
                ("MatMul".to_owned(), vec![name, w])
            }
        }
    }

    /// Operators with several operands or with parameters of their own.
    pub(super) fn several(&mut self, x: &Named) -> (String, Vec<String>) {
        let (elem, dims, name) = (x.tensor.elem(), x.tensor.dims().to_vec(), x.name.clone());
        let scalar = |this: &mut Self, number: f64| {
            this.keep(Tensor::of_floats(elem, &[], &[number]).expect("one"), true)
        };
        match self.below(10) {
            0 => {
                let (low, high) = (scalar(self, -1.0), scalar(self, 1.5));
                ("Clip".to_owned(), vec![name, low, high])
            }
            1 => ("Clip".to_owned(), vec![name, String::new(), scalar(self, 0.75)]),
            2 | 3 => {
                let (a, b) = (self.partner(x), self.partner(x));
                (self.one_of(&["Sum", "Max", "Min", "Mean"]).to_owned(), vec![a, name, b])
            }
            4 | 5 if !dims.is_empty() => {
                let last = dims[dims.len() - 1];
                let (scale, bias) = (self.value(elem, &[last], true), self.value(elem, &[last], true));
                match self.below(2) {
                    0 => ("LayerNormalization".to_owned(), vec![name, scale, bias]),
                    _ => ("RMSNormalization".to_owned(), vec![name, scale]),
                }
            }
            6 if dims.len() >= 2 => {
                let c = dims[1];
                let [scale, bias, mean] = [(); 3].map(|()| self.value(elem, &[c], true));
                let variance: Vec<f64> = (0..c).map(|i| 0.5 + i as f64 / 7.0).collect();
                let variance = self.keep(Tensor::of_floats(elem, &[c], &variance).expect("as many"), true);
                match self.below(5) {
                    3 if dims.len() >= 3 => ("LRN <size = 3>".to_owned(), vec![name]),
                    4 if dims.len() >= 3 => {
                        (format!("GroupNormalization <num_groups = {c}>"), vec![name, scale, bias])
                    }
                    0 if dims.len() >= 3 => ("InstanceNormalization".to_owned(), vec![name, scale, bias]),
                    1 if dims.len() >= 3 => (
                        self.one_of(&["GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"]).to_owned(),
                        vec![name],
                    ),
                    _ => ("BatchNormalization".to_owned(), vec![name, scale, bias, mean, variance]),
                }
            }
            7 => {
                let step = scalar(self, 0.0625);
                let zero = self.keep(Tensor::of(&[], &[128u8]).expect("one"), true);
                ("QuantizeLinear".to_owned(), vec![name, step, zero])
            }
            8 => (self.one_of(&["IsNaN", "IsInf", "Dropout"]).to_owned(), vec![name]),
            _ => {
                let (a, b) = (self.partner(x), self.partner(x));
                let condition =
                    Tensor::of_bools(&dims, (0..dims.iter().product()).map(|i| i % 3 == 0)).expect("as many");
                let condition = self.keep(condition, true);
                ("Where".to_owned(), vec![condition, a, b])
            }
        }
    }
}
