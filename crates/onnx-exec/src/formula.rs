//! Nodes that have a formula: specialized to the types and shapes of their inputs, then evaluated.

use crate::budget::{self, Charge};
use crate::compile::Executable;
use crate::failure::{Failure, fail};
use crate::list::Strings;
use crate::loops::{self, Nest, Packed, Precision, View, Workers};
use crate::tensor::{Tensor, width};
use crate::value::Value;
use onnx_ir::{ElemType, EntityId, NodeId};
use onnx_ops::dims::Dim;
use onnx_ops::infer::{Fact, Ty};
use onnx_ops::meaning::{
    Attributes, Cx, Definition, Dense, ElementSource, Elements, Formula, Mode, Number, Operand, Output,
    define, open_shape, value_inputs,
};
use onnx_ops::schema::{Schema, SchemaId};

/// Inputs with more elements do not count as shapes.
const MOST_VALUES: usize = 1 << 16;

/// A tensor input of a node: its type, and its elements if they are available.
#[derive(Clone, Copy)]
pub(crate) struct Input<'a> {
    pub(crate) elem: ElemType,
    pub(crate) dims: &'a [usize],
    pub(crate) tensor: Option<&'a Tensor>,
}

impl<'a> Input<'a> {
    fn of(tensor: &'a Tensor) -> Self {
        Input { elem: tensor.elem(), dims: tensor.dims(), tensor: Some(tensor) }
    }
}

/// [`definition`] for values; also `None` if one of them is not a tensor.
pub(crate) fn definition_of_values(
    executable: &Executable<'_>,
    node: NodeId,
    schema: SchemaId,
    inputs: &[Option<Value>],
    outputs: &[Fact],
) -> Option<Definition> {
    let inputs: Vec<Option<Input<'_>>> = inputs
        .iter()
        .map(|value| match value {
            Some(value) => value.tensor().ok().map(|tensor| Some(Input::of(tensor))),
            None => Some(None),
        })
        .collect::<Option<_>>()?;
    definition(executable, node, schema, &inputs, outputs)
}

/// Tensors of more axes have no formulas: lowering looks at each pair of axes. NumPy has 64 axes at most.
pub(crate) const MOST_RANK: usize = 255;

/// The definition of a node for these inputs and the inferred `outputs`. `None` if it has no formula.
pub(crate) fn definition(
    executable: &Executable<'_>,
    node: NodeId,
    schema: SchemaId,
    inputs: &[Option<Input<'_>>],
    outputs: &[Fact],
) -> Option<Definition> {
    let (model, body) = (executable.model(), executable.body());
    let n = &body.nodes[node];
    let schema = executable.registry.get(schema);
    let attributes = Attributes::of(model, body, n, schema)?;
    let known = value_inputs(schema);
    let is_shape = |i: usize, tensor: &Tensor| known.contains(&i) && tensor.len() <= MOST_VALUES;
    let values: Vec<Option<Dense>> = inputs
        .iter()
        .enumerate()
        .map(|(i, input)| (*input)?.tensor.filter(|tensor| is_shape(i, tensor)).and_then(dense))
        .collect();
    let operands: Vec<Option<Operand<'_>>> = inputs
        .iter()
        .zip(&values)
        .map(|(input, value)| input.map(|i| Operand { elem: i.elem, dims: i.dims, value: value.as_ref() }))
        .collect();
    // Where the documentation leaves the shape open, all implementations agree.
    let open = |elem| Some((elem, open_shape(&attributes, inputs.first()?.as_ref()?.dims)?));
    let extents: Vec<Option<(ElemType, Vec<usize>)>> = n
        .outputs
        .iter()
        .zip(outputs)
        .map(|(output, fact)| match output {
            None => Some(None),
            Some(_) => extents(&fact.ty).or_else(|| open(fact.ty.elem()?)).map(Some),
        })
        .collect::<Option<_>>()?;
    let given = inputs.iter().flatten().map(|input| input.dims.len());
    let made = extents.iter().flatten().map(|(_, dims)| dims.len());
    if given.chain(made).any(|rank| rank > MOST_RANK) {
        return None;
    }
    let outputs: Vec<Option<Output<'_>>> =
        extents.iter().map(|o| o.as_ref().map(|(elem, dims)| Output { elem: *elem, dims })).collect();
    define(&Cx { inputs: &operands, outputs: &outputs, attributes: &attributes })
}

/// Element type and shape, if both are known.
pub(crate) fn extents(ty: &Ty) -> Option<(ElemType, Vec<usize>)> {
    let Ty::Tensor(tensor) = ty else { return None };
    let number = |d: &Dim| match d {
        Dim::Const(n) => usize::try_from(*n).ok(),
        Dim::Unknown | Dim::Expr(_) => None,
    };
    Some((tensor.elem?, tensor.shape.as_ref()?.iter().map(number).collect::<Option<_>>()?))
}

/// Converts a tensor of numbers to the form that formulas use.
fn dense(tensor: &Tensor) -> Option<Dense> {
    let numbers = (0..tensor.len()).map(|i| tensor.number(i)).collect::<Option<_>>()?;
    Some(Dense { elem: tensor.elem(), dims: tensor.dims().to_vec(), numbers })
}

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
                    if is_checked && effort(formula) <= MOST_CHECKED {
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
const MOST_CHECKED: usize = 1 << 17;

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
