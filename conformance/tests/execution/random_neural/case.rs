//! One node at random, and all that it needs.

use conformance::convert::read_text;
use conformance::oracle::products_saturate;
use conformance::random::Random;
use onnx_exec::{Tensor, Value};
use onnx_ir::{ElemType, Initializer, Model, ValueDef};

/// An operand with its name.
pub(crate) struct Operand {
    name: String,
    tensor: Tensor,
    /// Whether our model stores it. The judge's model stores all.
    is_stored: bool,
    /// Which extents are symbols where inference is judged.
    are_symbols: Vec<bool>,
}

/// How a model provides the operands of its node.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// All values.
    Stored,
    /// Some values, and the types of the others.
    Given,
    /// The same, with symbols for some of the extents.
    Symbolic,
}

/// A node that is being drawn: its operands and attributes so far.
pub(crate) struct Draw {
    random: Random,
    operands: Vec<Operand>,
    inputs: Vec<String>,
    attributes: Vec<String>,
    outputs: Vec<String>,
    /// How far results may be apart, as a part of the largest magnitude; `None` is what the type of the results says.
    pub(crate) tolerance: Option<f64>,
    /// Whether ONNX Runtime alone is asked: the reference evaluator is known to be wrong.
    pub(crate) is_for_runtime: bool,
}

/// A node that has been drawn.
pub(crate) struct Case {
    pub(crate) op: &'static str,
    pub(crate) version: i64,
    pub(crate) node: String,
    pub(crate) tolerance: Option<f64>,
    pub(crate) is_for_runtime: bool,
    operands: Vec<Operand>,
    outputs: String,
}

impl Draw {
    pub(crate) fn new(seed: u64) -> Draw {
        let mut random = Random::new(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        random.choices(8);
        Draw {
            random,
            operands: Vec::new(),
            inputs: Vec::new(),
            attributes: Vec::new(),
            outputs: vec!["y".to_owned()],
            tolerance: None,
            is_for_runtime: false,
        }
    }

    /// A number below `n`.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.random.below(n)
    }

    /// A number between these.
    pub(crate) fn within(&mut self, least: i64, most: i64) -> i64 {
        least + self.below((most - least + 1) as usize) as i64
    }

    pub(crate) fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    pub(crate) fn chance(&mut self, one_in: usize) -> bool {
        self.below(one_in) == 0
    }

    /// A number of sizes in this range.
    pub(crate) fn extents(&mut self, count: usize, least: usize, most: usize) -> Vec<usize> {
        (0..count).map(|_| least + self.below(most - least + 1)).collect()
    }

    /// A number between -1 and 1.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.below(4001) as f64 - 2000.0) / 2000.0
    }

    /// The next operand.
    pub(crate) fn tensor(&mut self, tensor: Tensor) {
        let is_stored = self.chance(2);
        self.operand(tensor, is_stored);
    }

    fn operand(&mut self, tensor: Tensor, is_stored: bool) {
        let name = format!("x{}", self.inputs.len());
        self.inputs.push(name.clone());
        let are_symbols = tensor.dims().iter().map(|_| self.chance(2)).collect();
        self.operands.push(Operand { name, tensor, is_stored, are_symbols });
    }

    /// The next operand is omitted.
    pub(crate) fn omit(&mut self) {
        self.inputs.push(String::new());
    }

    /// The next operand: numbers of up to this magnitude.
    pub(crate) fn floats(&mut self, elem: ElemType, dims: &[usize], scale: f64) {
        let tensor = self.random_floats(elem, dims, -scale, scale);
        self.tensor(tensor);
    }

    /// Numbers between these.
    pub(crate) fn random_floats(&mut self, elem: ElemType, dims: &[usize], least: f64, most: f64) -> Tensor {
        let count: usize = dims.iter().product();
        let numbers: Vec<f64> =
            (0..count).map(|_| least + (most - least) * (self.unit() + 1.0) / 2.0).collect();
        floats(elem, dims, &numbers)
    }

    /// The next operand: integers between these.
    pub(crate) fn ints(&mut self, elem: ElemType, dims: &[usize], least: i64, most: i64) {
        let tensor = self.random_ints(elem, dims, least, most);
        self.tensor(tensor);
    }

    /// Integers between these.
    pub(crate) fn random_ints(&mut self, elem: ElemType, dims: &[usize], least: i64, most: i64) -> Tensor {
        let count: usize = dims.iter().product();
        let numbers: Vec<i64> = (0..count).map(|_| self.within(least, most)).collect();
        integers(elem, dims, &numbers)
    }

    /// Numbers of any type, of up to this magnitude if it is large enough.
    pub(crate) fn numbers(&mut self, elem: ElemType, dims: &[usize], scale: f64) {
        match range(elem) {
            Some((least, most)) => {
                let magnitude = scale as i64;
                self.ints(elem, dims, least.max(-magnitude), most.min(magnitude));
            }
            None => self.floats(elem, dims, scale),
        }
    }

    pub(crate) fn attribute(&mut self, name: &str, value: impl std::fmt::Display) {
        self.attributes.push(format!("{name} = {value}"));
    }

    pub(crate) fn text(&mut self, name: &str, value: &str) {
        self.attribute(name, format!("\"{value}\""));
    }

    pub(crate) fn list<T: std::fmt::Display>(&mut self, name: &str, values: &[T]) {
        let values: Vec<String> = values.iter().map(T::to_string).collect();
        self.attribute(name, format!("[{}]", values.join(", ")));
    }

    /// An attribute in one of so many cases.
    pub(crate) fn maybe(&mut self, one_in: usize, name: &str, value: impl std::fmt::Display) {
        if self.chance(one_in) {
            self.attribute(name, value);
        }
    }

    pub(crate) fn float(&mut self, name: &str, value: f64) {
        self.attribute(name, format!("{value:?}"));
    }

    /// Which outputs there are.
    pub(crate) fn outputs(&mut self, present: &[bool]) {
        let name = |(i, is_there): (usize, &bool)| if *is_there { format!("y{i}") } else { String::new() };
        let mut names: Vec<String> = present.iter().enumerate().map(name).collect();
        while names.last().is_some_and(String::is_empty) {
            names.pop();
        }
        self.outputs = names;
    }

    /// The next operand, which the model stores.
    pub(crate) fn stored(&mut self, tensor: Tensor) {
        self.operand(tensor, true);
    }

    pub(crate) fn float_list(&mut self, name: &str, values: &[f64]) {
        let values: Vec<String> = values.iter().map(|x| format!("{x:?}")).collect();
        self.attribute(name, format!("[{}]", values.join(", ")));
    }

    pub(crate) fn case(mut self, op: &'static str, version: i64) -> Case {
        while self.inputs.last().is_some_and(String::is_empty) {
            self.inputs.pop();
        }
        let attributes = match self.attributes.is_empty() {
            true => String::new(),
            false => format!(" <{}> ", self.attributes.join(", ")),
        };
        let node = format!("{} = {op}{attributes}({})", self.outputs.join(", "), self.inputs.join(", "));
        let outputs: Vec<String> = self.outputs.iter().filter(|name| !name.is_empty()).cloned().collect();
        Case {
            op,
            version,
            node,
            tolerance: self.tolerance,
            is_for_runtime: self.is_for_runtime,
            operands: self.operands,
            outputs: outputs.join(", "),
        }
    }
}

impl Case {
    /// The model, and the values of the operands that it does not store.
    pub(crate) fn model(&self, form: Form) -> (Model, Vec<Option<Value>>) {
        let is_stored = |operand: &Operand| operand.is_stored || form == Form::Stored;
        let port = |operand: &Operand| {
            let Operand { name, tensor, are_symbols, .. } = operand;
            let elem = tensor.elem().name().expect("a type");
            let dims = tensor.dims().iter().zip(are_symbols).enumerate().map(|(i, (extent, is_symbol))| {
                match *is_symbol && form == Form::Symbolic && !operand.is_stored {
                    true => format!("{name}_{i}"),
                    false => extent.to_string(),
                }
            });
            format!("{elem}[{}] {name}", dims.collect::<Vec<_>>().join(",")).replace("[]", "")
        };
        let ports: Vec<String> = self.operands.iter().map(port).collect();
        let text = format!(
            "<ir_version: 11, opset_import: [\"\": {}, \"com.microsoft\": 1]> g ({}) => ({}) {{ {} }}",
            self.version,
            ports.join(", "),
            self.outputs,
            self.node
        );
        let mut model = read_text(&text).unwrap_or_else(|how| panic!("{text}: {how}"));
        let body = &mut model.bodies[model.main.expect("it has a graph")];
        let root = body.root().expect("it has a graph");
        let inputs = body.graphs[root].inputs.clone();
        let mut given = Vec::new();
        body.graphs[root].inputs.clear();
        for (operand, input) in self.operands.iter().zip(inputs) {
            if is_stored(operand) {
                let value = input.value.expect("an input is a value");
                let mut tensor = operand.tensor.to_stored().expect("there is room");
                tensor.name = input.name;
                let tensor = body.tensors.push(tensor);
                body.values[value].def = ValueDef::Initializer(root);
                body.graphs[root].initializers.push(Initializer { value, tensor });
            } else {
                body.graphs[root].inputs.push(input);
                given.push(Some(Value::Tensor(operand.tensor.clone())));
            }
        }
        (model, given)
    }

    /// A description for messages.
    pub(crate) fn told(&self) -> String {
        let operand = |operand: &Operand| {
            let elem = operand.tensor.elem().name().unwrap_or("?");
            let stored = if operand.is_stored { " stored" } else { "" };
            let few = match operand.tensor.floats() {
                Ok(numbers) if numbers.len() <= 8 => format!("={numbers:?}"),
                _ => String::new(),
            };
            format!("{}: {elem}{:?}{few}{stored}", operand.name, operand.tensor.dims())
        };
        let operands: Vec<String> = self.operands.iter().map(operand).collect();
        format!("opset {}: {}  {}", self.version, self.node, operands.join(" "))
    }
}

/// The least and the most number of a type of integers.
pub(crate) fn range(elem: ElemType) -> Option<(i64, i64)> {
    use ElemType as E;
    Some(match elem {
        E::BOOL => (0, 1),
        E::UINT2 => (0, 3),
        E::INT2 => (-2, 1),
        E::UINT4 => (0, 15),
        E::INT4 => (-8, 7),
        E::UINT8 => (0, 255),
        E::INT8 if products_saturate() => (-64, 63),
        E::INT8 => (-128, 127),
        E::UINT16 => (0, 65535),
        E::INT16 => (-32768, 32767),
        E::UINT32 | E::UINT64 => (0, 1 << 20),
        E::INT32 | E::INT64 => (-(1 << 20), 1 << 20),
        _ => return None,
    })
}

pub(crate) fn floats(elem: ElemType, dims: &[usize], numbers: &[f64]) -> Tensor {
    Tensor::of_floats(elem, dims, numbers).expect("numbers of such a type")
}

pub(crate) fn integers(elem: ElemType, dims: &[usize], numbers: &[i64]) -> Tensor {
    use ElemType as E;
    let small: Vec<u8> = numbers.iter().map(|&x| x as u8).collect();
    let made = match elem {
        E::UINT2 | E::INT2 | E::UINT4 | E::INT4 => Tensor::of_raw(elem, dims, &small),
        E::INT64 => Tensor::of(dims, numbers),
        _ => Tensor::of_floats(elem, dims, &numbers.iter().map(|&x| x as f64).collect::<Vec<_>>()),
    };
    made.expect("as many numbers")
}
