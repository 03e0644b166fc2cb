//! rten, with prepared weights. It has no integers of 64 bits and no booleans: such inputs are integers of 32 bits, as its
//! loader declares them.

use anyhow::{Result, anyhow, bail};
use peers::{Elements, Runtime, Tensor, serve};
use rten::{Model, ModelOptions, NodeId, RunOptions, ThreadPool, Value};
use rten_tensor::prelude::*;
use std::path::Path;
use std::sync::Arc;

fn main() -> Result<()> {
    serve::<Rten>()
}

struct Rten {
    model: Model,
    inputs: Vec<(NodeId, Value)>,
    options: RunOptions,
}

impl Runtime for Rten {
    type Outputs = Vec<Value>;

    fn load(model: &Path, inputs: Vec<Tensor>, threads: usize) -> Result<Rten> {
        let model = ModelOptions::with_all_ops().prepack_weights(true).load_file(model)?;
        let inputs = inputs
            .into_iter()
            .map(|input| Ok((model.node_id(&input.name)?, from(input)?)))
            .collect::<Result<_>>()?;
        let pool = Arc::new(ThreadPool::with_num_threads(threads));
        Ok(Rten { model, inputs, options: RunOptions::default().with_thread_pool(Some(pool)) })
    }

    fn run(&mut self) -> Result<Self::Outputs> {
        let inputs = self.inputs.iter().map(|(id, value)| (*id, value.as_view().into())).collect();
        Ok(self.model.run(inputs, self.model.output_ids(), Some(self.options.clone()))?)
    }

    fn tensors(outputs: Self::Outputs) -> Result<Vec<Tensor>> {
        outputs.iter().map(to).collect()
    }
}

fn from(tensor: Tensor) -> Result<Value> {
    use rten_tensor::Tensor as Of;
    let dims = tensor.dims.as_slice();
    Ok(match tensor.elements {
        Elements::Float(elements) => Of::from_data(dims, elements).into(),
        Elements::Half(_) => bail!("inputs of float16 are not passed on"),
        Elements::Double(elements) => {
            Of::from_data(dims, elements.into_iter().map(|x| x as f32).collect::<Vec<_>>()).into()
        }
        Elements::Int64(elements) => {
            let narrow = elements.into_iter().map(i32::try_from).collect::<Result<Vec<_>, _>>();
            Of::from_data(dims, narrow.map_err(|_| anyhow!("an input has numbers of more than 32 bits"))?)
                .into()
        }
        Elements::Int32(elements) => Of::from_data(dims, elements).into(),
        Elements::Uint8(elements) => Of::from_data(dims, elements).into(),
        Elements::Int8(elements) => Of::from_data(dims, elements).into(),
        Elements::Bool(elements) => {
            Of::from_data(dims, elements.into_iter().map(i32::from).collect::<Vec<_>>()).into()
        }
    })
}

fn to(value: &Value) -> Result<Tensor> {
    let (dims, elements) = match value {
        Value::FloatTensor(tensor) => (tensor.shape().to_vec(), Elements::Float(tensor.to_vec())),
        Value::Int32Tensor(tensor) => (tensor.shape().to_vec(), Elements::Int32(tensor.to_vec())),
        Value::UInt8Tensor(tensor) => (tensor.shape().to_vec(), Elements::Uint8(tensor.to_vec())),
        Value::Int8Tensor(tensor) => (tensor.shape().to_vec(), Elements::Int8(tensor.to_vec())),
        _ => bail!("outputs other than tensors are not passed on"),
    };
    Ok(Tensor { name: String::new(), dims, elements })
}
