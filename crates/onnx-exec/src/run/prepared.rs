//! The formulas of a single node, lowered to loops for the types of its inputs.

use crate::budget::{self, Charge};
use crate::failure::{Failure, fail};
use crate::list::Strings;
use crate::loops::{self, Nest, Packed, Precision, View, Workers};
use crate::tensor::{Tensor, width};
use onnx_formula::{Definition, Dense, ElementSource, Elements, Formula, Mode, Number};
use onnx_ir::{ElemType, EntityId, NodeId};
use onnx_kernels::Value;
use onnx_ops::meaning::value_inputs;
use onnx_ops::schema::Schema;

/// A definition that is ready to run.
pub(crate) struct Prepared {
    definition: Definition,
    /// The loops of each formula, if it could be lowered to loops.
    nests: Vec<Option<(Nest, Workers)>>,
}

/// The key of a definition: the node, the types of its inputs, and the elements of inputs that determine shapes.
pub(crate) type Signature = Vec<u8>;

/// Computes the signature of a node.
pub(crate) fn signature(
    node: NodeId,
    schema: &Schema,
    inputs: &[Option<Value>],
) -> Result<Signature, Failure> {
    let mut key = Vec::with_capacity(16 + 48 * inputs.len());
    let mut push = |n: usize| key.extend_from_slice(&n.to_le_bytes());
    push(node.index());
    for (i, input) in inputs.iter().enumerate() {
        let Some(value) = input else {
            push(usize::MAX);
            continue;
        };
        let tensor = value.tensor()?;
        push(tensor.elem().0 as usize);
        push(tensor.rank());
        tensor.dims().iter().for_each(|&d| push(d));
        if value_inputs(schema).contains(&i) {
            tensor.bytes().iter().for_each(|&byte| push(byte.into()));
        }
    }
    Ok(key)
}

impl Prepared {
    /// Lowers the formulas to loops for inputs of these types and packs the constant inputs.
    pub(crate) fn new(
        definition: Definition,
        inputs: &[Option<Value>],
        is_constant: &[bool],
        packed: &mut Packed,
    ) -> Prepared {
        let tensors: Vec<Option<&Tensor>> =
            inputs.iter().map(|v| v.as_ref().and_then(|v| v.tensor().ok())).collect();
        let constants: Vec<Option<&Tensor>> = tensors
            .iter()
            .zip(is_constant)
            .map(|(tensor, is_constant)| tensor.filter(|_| *is_constant))
            .collect();
        let mut operands: Vec<Option<loops::Operand<'_>>> = Vec::with_capacity(definition.inputs);
        for (tensor, constant) in tensors.iter().zip(&constants) {
            let is_constant = constant.is_some();
            operands.push(tensor.map(|t| loops::Operand { elem: t.elem(), dims: t.dims(), is_constant }));
        }
        operands.resize(definition.inputs, None);
        let mut nests = Vec::with_capacity(definition.formulas.len());
        for formula in &definition.formulas {
            let mut nest = Nest::of(formula, &|i| operands.get(i).copied().flatten());
            if let Some(nest) = &mut nest {
                // Without memory for it, packing happens in each run.
                _ = nest.pack_constants(&constants, packed, Precision::Exact);
            }
            nests.push(nest.map(|nest| (nest, Workers::default())));
            let (elem, dims) = (formula.elem, &formula.dims[..]);
            operands.push(Some(loops::Operand { elem, dims, is_constant: false }));
        }
        Prepared { definition, nests }
    }

    /// Computes the outputs; with `is_checked`, compares them with the reference evaluation.
    pub(crate) fn run(&self, inputs: &[Option<Value>], is_checked: bool) -> Result<Vec<Value>, Failure> {
        let Prepared { definition, nests } = self;
        let mut tensors: Vec<Option<Tensor>> =
            Vec::with_capacity(definition.inputs + definition.formulas.len());
        for input in inputs {
            tensors.push(input.as_ref().map(|v| v.tensor().cloned()).transpose()?);
        }
        tensors.resize(definition.inputs, None);
        for (formula, nest) in definition.formulas.iter().zip(nests) {
            budget::spend(effort(formula))?;
            let result = match nest {
                Some((nest, workers)) => {
                    // Tensors that are too large fail before anything is computed.
                    let mut result = Tensor::zeros(formula.elem, &formula.dims)?;
                    let loads: Vec<Option<View<'_>>> =
                        tensors.iter().map(|t| t.as_ref().map(View::of)).collect();
                    nest.run_all(&loads, result.bytes_mut()?, workers)?;
                    if is_checked && effort(formula) <= MAX_CHECKED_STEPS {
                        loops::agree(&result, &evaluated(formula, &tensors)?)?;
                    }
                    result
                }
                None => evaluated(formula, &tensors)?,
            };
            tensors.push(Some(result));
        }
        let output = |formula: &Option<usize>| match formula {
            Some(formula) => match tensors.get(definition.inputs + formula) {
                Some(Some(tensor)) => Ok(Value::Tensor(tensor.clone())),
                Some(None) | None => fail!("an output has no formula"),
            },
            // An output that is left out gets a placeholder.
            None => Ok(Value::Optional(None)),
        };
        definition.outputs.iter().map(output).collect()
    }
}

/// Formulas with more steps are not checked.
const MAX_CHECKED_STEPS: usize = 1 << 17;

/// The number of evaluated elements, counting the elements of reductions.
fn effort(formula: &Formula) -> usize {
    let over = formula.over.iter().flat_map(|over| &over.dims);
    formula.dims.iter().chain(over).fold(1, |n, d| n.saturating_mul(*d))
}

/// Reference evaluation of a formula, element by element.
fn evaluated(formula: &Formula, tensors: &[Option<Tensor>]) -> Result<Tensor, Failure> {
    let mut result = Tensor::zeros(formula.elem, &formula.dims)?;
    let _numbers = Charge::of(result.len().saturating_mul(size_of::<Number>()))?;
    let loads: Vec<Option<&dyn Elements>> =
        tensors.iter().map(|t| t.as_ref().map(|t| t as &dyn Elements)).collect();
    let is_number = Number::from_bits(formula.elem, 0).is_some();
    if is_number {
        let Some(dense) = formula.evaluate(&loads, Mode::Reference, usize::MAX) else {
            fail!("an index is out of bounds, or the reduction has nothing to choose from")
        };
        write(&mut result, &dense)?;
        return Ok(result);
    }
    let Some(sources) = formula.sources(&loads, usize::MAX) else { fail!("an index is out of bounds") };
    moved(formula.elem, &formula.dims, tensors, &sources)
}

fn write(to: &mut Tensor, from: &Dense) -> Result<(), Failure> {
    let elem = to.elem();
    let width = width(elem).unwrap_or(1);
    let is_signed = matches!(elem, ElemType::INT4 | ElemType::INT2);
    for (to, number) in to.bytes_mut()?.chunks_exact_mut(width).zip(&from.numbers) {
        let Some(bits) = number.to_bits(elem) else { fail!("a result is not a number of its type") };
        let bits = match (is_signed, number) {
            // Sign extension to the whole byte.
            (true, Number::Int(n)) => *n as u64,
            (true, Number::Float(_)) | (false, _) => bits,
        };
        to.copy_from_slice(&bits.to_le_bytes()[..width]);
    }
    Ok(())
}

/// Rearranges elements of any type; each source is an element or a number that fills a gap.
fn moved(
    elem: ElemType,
    dims: &[usize],
    from: &[Option<Tensor>],
    sources: &[ElementSource],
) -> Result<Tensor, Failure> {
    let of = |input: usize| match from.get(input) {
        Some(Some(tensor)) => Ok(tensor),
        Some(None) | None => fail!("an input is left out"),
    };
    if elem == ElemType::STRING {
        let mut strings = Strings::with_room(sources.len())?;
        for source in sources {
            match source {
                ElementSource::Element(input, at) => match of(*input)?.string_slice()?.get(*at) {
                    Some(string) => strings.push_copy(string)?,
                    None => fail!("an index is out of bounds"),
                },
                ElementSource::Number(_) => strings.push_copy("")?,
            }
        }
        return Tensor::of_texts(dims, strings);
    }
    let mut moved = Tensor::zeros(elem, dims)?;
    let width = width(elem).unwrap_or(1);
    for (to, source) in moved.bytes_mut()?.chunks_exact_mut(width).zip(sources) {
        if let ElementSource::Element(input, at) = source {
            let Some(bytes) = of(*input)?.bytes().get(at * width..(at + 1) * width) else {
                fail!("an index is out of bounds")
            };
            to.copy_from_slice(bytes);
        }
    }
    Ok(moved)
}
