//! tract: `into_optimized`, for inputs of the shapes that they have.

use anyhow::{Result, bail};
use peers::{Elements, Runtime, Tensor, serve};
use std::path::Path;
use std::sync::Arc;
use tract_linalg::multithread::{Executor, set_default_executor};
use tract_onnx::prelude::*;
use tract_onnx::tract_hir::internal::*;

fn main() -> Result<()> {
    serve::<Tract>()
}

struct Tract {
    plan: Arc<TypedRunnableModel>,
    inputs: TVec<TValue>,
}

impl Runtime for Tract {
    type Outputs = TVec<TValue>;

    /// Where what the model says of its results is in the way, it is ignored.
    fn load(model: &Path, inputs: Vec<Tensor>, threads: usize) -> Result<Tract> {
        set_default_executor(match threads {
            0 | 1 => Executor::SingleThread,
            threads => Executor::multithread(threads),
        });
        let inputs: Vec<(String, tract_onnx::prelude::Tensor)> =
            inputs.iter().map(|input| Ok((input.name.clone(), from(input)?))).collect::<Result<_>>()?;
        let ignoring = tract_onnx::onnx()
            .with_ignore_output_shapes(true)
            .with_ignore_output_types(true)
            .with_ignore_value_info(true);
        plan(tract_onnx::onnx(), model, &inputs)
            .or_else(|error| plan(ignoring, model, &inputs).map_err(|_| error))
    }

    fn run(&mut self) -> Result<Self::Outputs> {
        self.plan.run(self.inputs.clone())
    }

    fn tensors(outputs: Self::Outputs) -> Result<Vec<Tensor>> {
        outputs.iter().map(|output| to(output)).collect()
    }
}

fn plan(
    onnx: tract_onnx::Onnx,
    model: &Path,
    inputs: &[(String, tract_onnx::prelude::Tensor)],
) -> Result<Tract> {
    let mut model = onnx.model_for_path(model)?;
    let mut values = tvec![];
    for outlet in model.input_outlets()?.to_vec() {
        let name = &model.node(outlet.node).name;
        let (_, tensor) =
            inputs.iter().find(|(input, _)| input == name).with_context(|| format!("no input `{name}`"))?;
        let fact = InferenceFact::dt_shape(tensor.datum_type(), tensor.shape());
        model.set_outlet_fact(outlet, fact)?;
        values.push(tensor.clone().into_tvalue());
    }
    Ok(Tract { plan: model.into_optimized()?.into_runnable()?, inputs: values })
}

fn from(tensor: &Tensor) -> Result<tract_onnx::prelude::Tensor> {
    use tract_onnx::prelude::Tensor as Of;
    let dims = &tensor.dims;
    match &tensor.elements {
        Elements::Float(elements) => Of::from_shape(dims, elements),
        Elements::Half(elements) => Of::from_shape(dims, elements),
        Elements::Double(elements) => Of::from_shape(dims, elements),
        Elements::Int64(elements) => Of::from_shape(dims, elements),
        Elements::Int32(elements) => Of::from_shape(dims, elements),
        Elements::Uint8(elements) => Of::from_shape(dims, elements),
        Elements::Int8(elements) => Of::from_shape(dims, elements),
        Elements::Bool(elements) => Of::from_shape(dims, elements),
    }
}

fn to(tensor: &tract_onnx::prelude::Tensor) -> Result<Tensor> {
    let tensor = match tensor.datum_type() {
        DatumType::TDim => tensor.cast_to::<i64>()?.into_owned(),
        _ => tensor.clone(),
    };
    fn all<T: Datum>(tensor: &tract_onnx::prelude::Tensor) -> Result<Vec<T>> {
        Ok(tensor.to_plain_array_view::<T>()?.iter().cloned().collect())
    }
    let elements = match tensor.datum_type() {
        DatumType::F32 => Elements::Float(all(&tensor)?),
        DatumType::F16 => Elements::Half(all(&tensor)?),
        DatumType::F64 => Elements::Double(all(&tensor)?),
        DatumType::I64 => Elements::Int64(all(&tensor)?),
        DatumType::I32 => Elements::Int32(all(&tensor)?),
        DatumType::U8 => Elements::Uint8(all(&tensor)?),
        DatumType::I8 => Elements::Int8(all(&tensor)?),
        DatumType::Bool => Elements::Bool(all(&tensor)?),
        ty => bail!("outputs of {ty:?} are not passed on"),
    };
    Ok(Tensor { name: String::new(), dims: tensor.shape().to_vec(), elements })
}
