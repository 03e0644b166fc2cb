//! Random models with a chain of nodes, each of which fits the results of the previous ones.
//!
//! A node is drawn for an existing value: its operator by the element type, its attributes by the shape. The caller must run each
//! node at once and pass its results to [`Chain::add`], so no shapes are computed here.

mod draw;
mod shapes;

use crate::random::Random;
use onnx_exec::{Tensor, Value};
use onnx_ir::ElemType;

/// A value with its name.
#[derive(Clone, Debug)]
pub struct Named {
    /// Its name.
    pub name: String,
    /// The tensor.
    pub tensor: Tensor,
    /// Whether a model stores it.
    pub is_stored: bool,
}

/// Nodes as text, and the values between them.
pub struct Chain {
    random: Random,
    /// All values, in the order in which they came to be.
    pub values: Vec<Named>,
    /// The nodes that have been added.
    pub nodes: Vec<ChainNode>,
    fresh: usize,
}

/// A node as text.
#[derive(Clone, Debug)]
pub struct ChainNode {
    /// The output.
    pub output: String,
    /// `Add <…> (a, b)`.
    pub text: String,
    /// The inputs.
    pub inputs: Vec<String>,
}

/// Extents: few and many, also more than a strip of loops has.
const EXTENTS: &[usize] = &[0, 1, 1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 31, 33, 64, 100, 255, 257, 300, 513];

/// No value is larger.
const MAX_ELEMENTS: usize = 1 << 13;

impl Chain {
    /// The chain of a seed: its inputs.
    pub fn new(seed: u64) -> Chain {
        let mut chain = Chain { random: Random::new(seed), values: Vec::new(), nodes: Vec::new(), fresh: 0 };
        let elems = [
            ElemType::FLOAT,
            ElemType::FLOAT,
            ElemType::FLOAT,
            ElemType::DOUBLE,
            ElemType::FLOAT16,
            ElemType::INT32,
            ElemType::INT64,
        ];
        let elem = elems[chain.below(elems.len())];
        for _ in 0..1 + chain.below(2) {
            let rank = chain.below(5);
            let dims = loop {
                let dims: Vec<usize> = (0..rank).map(|_| chain.one_of(EXTENTS)).collect();
                if dims.iter().product::<usize>() <= MAX_ELEMENTS / 4 {
                    break dims;
                }
            };
            chain.value(elem, &dims, false);
        }
        chain
    }

    /// A number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        self.random.below(n)
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.random.below(all.len())]
    }

    fn chance(&mut self, one_in: usize) -> bool {
        self.random.below(one_in) == 0
    }

    /// Adds a value of random numbers.
    fn value(&mut self, elem: ElemType, dims: &[usize], is_stored: bool) -> String {
        let count: usize = dims.iter().product();
        let scale = self.one_of(&[0.5, 2.0, 2.0, 4.0]);
        let numbers: Vec<f64> = (0..count)
            .map(|_| {
                (self.random.below(4001) as f64 - 2000.0) / 2000.0
                    * scale
                    * if elem.is_integer() { 8.0 } else { 1.0 }
            })
            .collect();
        let tensor = Tensor::of_floats(elem, dims, &numbers).expect("numbers of such a type");
        self.keep(tensor, is_stored)
    }

    fn keep(&mut self, tensor: Tensor, is_stored: bool) -> String {
        let name = format!("{}{}", if is_stored { "w" } else { "x" }, self.values.len());
        self.values.push(Named { name: name.clone(), tensor, is_stored });
        name
    }

    fn ints(&mut self, list: &[i64]) -> String {
        self.keep(Tensor::of(&[list.len()], list).expect("as many"), true)
    }

    /// The value of a name.
    pub fn get(&self, name: &str) -> Option<&Named> {
        self.values.iter().find(|value| value.name == name)
    }

    /// Adds a node and what it gives.
    pub fn add(&mut self, line: ChainNode, result: &Value) {
        if let Value::Tensor(tensor) = result {
            self.values.push(Named { name: line.output.clone(), tensor: tensor.clone(), is_stored: false });
            self.nodes.push(line);
        }
    }

    /// An operand: mostly what came last.
    fn operand(&mut self) -> Named {
        let computed: Vec<usize> = (0..self.values.len()).filter(|&i| !self.values[i].is_stored).collect();
        let at = if self.chance(4) { self.below(computed.len()) } else { computed.len() - 1 };
        self.values[computed[at]].clone()
    }

    /// Another operand of the same type, whose extents broadcast: stored, or one that is there.
    fn partner(&mut self, of: &Named) -> String {
        if self.chance(3) {
            let fits = |other: &&Named| {
                let pairs = other.tensor.dims().iter().rev().zip(of.tensor.dims().iter().rev());
                let longer = if other.tensor.rank() > of.tensor.rank() { &other.tensor } else { &of.tensor };
                let dims = pairs.clone().map(|(a, b)| a.max(b)).product::<usize>();
                let rest: usize = longer.dims()[..longer.rank() - pairs.len()].iter().product();
                other.tensor.elem() == of.tensor.elem()
                    && pairs.clone().all(|(a, b)| a == b || *a == 1 || *b == 1)
                    && dims * rest <= MAX_ELEMENTS
            };
            let others: Vec<String> =
                self.values.iter().filter(fits).map(|other| other.name.clone()).collect();
            if !others.is_empty() {
                let at = self.below(others.len());
                return others[at].clone();
            }
        }
        let mut dims = of.tensor.dims().to_vec();
        for d in &mut dims {
            if self.chance(3) {
                *d = 1;
            }
        }
        let dropped = if self.chance(2) { self.below(dims.len() + 1) } else { 0 };
        let mut dims = dims[dropped..].to_vec();
        if dims.is_empty() && self.chance(4) {
            dims.push(self.one_of(&[1, 3, 40]));
        }
        self.value(of.tensor.elem(), &dims, true)
    }
}
