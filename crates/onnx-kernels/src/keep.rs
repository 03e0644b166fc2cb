//! A cache of data that kernels derive from attributes and constant inputs, such as tree tables and packed weights.

use foldhash::HashMap;
use onnx_ir::NodeId;
use onnx_loops::PackedStore;
use onnx_loops::failure::Failure;
use onnx_loops::sync::lock;
use onnx_loops::tensor::Tensor;
use std::any::Any;
use std::sync::{Arc, Mutex};

/// The cached data of an executable, by node.
#[derive(Debug, Default)]
pub struct Keep {
    data: Mutex<HashMap<NodeId, Kept>>,
    /// Where packed weights are looked for before they are packed.
    pub(crate) store: Option<Arc<dyn PackedStore>>,
}

impl Keep {
    /// No data yet; large packed weights are shared with other programs by a store, if there is one.
    pub fn new(store: Option<&Arc<dyn PackedStore>>) -> Keep {
        Keep { data: Mutex::default(), store: store.cloned() }
    }
}

#[derive(Debug)]
enum Kept {
    /// The data and the inputs that they were derived from.
    Made(Vec<Option<Tensor>>, Arc<dyn Any + Send + Sync>),
    /// Nothing, because the inputs have changed before.
    Changes,
}

/// The cached data of a node for these inputs, computed if missing.
pub(crate) fn kept<T: Any + Send + Sync>(
    keep: &Keep,
    node: NodeId,
    inputs: Vec<Option<Tensor>>,
    make: impl FnOnce() -> Result<T, Failure>,
) -> Result<Arc<T>, Failure> {
    // Its owner may change lent memory, and it would be the same memory then.
    if inputs.iter().flatten().any(Tensor::is_lent) {
        return Ok(Arc::new(make()?));
    }
    let is_first = match lock(&keep.data).get(&node) {
        None => true,
        Some(Kept::Made(of, made)) => {
            let is_same = |(a, b): (&Option<Tensor>, &Option<Tensor>)| match (a, b) {
                (Some(a), Some(b)) => a.is_identical(b),
                (None, None) => true,
                (Some(_), None) | (None, Some(_)) => false,
            };
            if of.len() == inputs.len()
                && of.iter().zip(&inputs).all(is_same)
                && let Ok(made) = Arc::clone(made).downcast()
            {
                return Ok(made);
            }
            false
        }
        Some(Kept::Changes) => false,
    };
    let made = Arc::new(make()?);
    let now = if is_first { Kept::Made(inputs, Arc::clone(&made) as _) } else { Kept::Changes };
    lock(&keep.data).insert(node, now);
    Ok(made)
}

#[cfg(test)]
mod tests {
    use super::*;
    use onnx_ir::PrimaryMap;
    use std::cell::Cell;

    #[test]
    fn the_same_inputs_are_prepared_once_and_changing_ones_are_not_kept() {
        let keep = Keep::default();
        let (node, made) = (PrimaryMap::<NodeId, ()>::new().push(()), Cell::new(0));
        let a = Tensor::scalar(1.0f32).expect("a tensor");
        let b = Tensor::scalar(1.0f32).expect("a tensor");
        let ask = |inputs: &[&Tensor]| {
            let inputs = inputs.iter().map(|t| Some((*t).clone())).collect();
            kept(&keep, node, inputs, || {
                made.set(made.get() + 1);
                Ok(made.get())
            })
        };
        assert_eq!(*ask(&[&a]).expect("made"), 1);
        assert_eq!(*ask(&[&a]).expect("kept"), 1);
        assert_eq!(*ask(&[&b]).expect("another tensor, though equal"), 2);
        assert_eq!(*ask(&[&a]).expect("not kept"), 3);
        assert!(matches!(lock(&keep.data)[&node], Kept::Changes));
    }

    #[test]
    fn nothing_is_kept_of_lent_inputs() {
        let (keep, node) = (Keep::default(), PrimaryMap::<NodeId, ()>::new().push(()));
        let lent =
            Tensor::lent(onnx_ir::ElemType::UINT8, &[1], bytes::Bytes::from_static(&[1])).expect("one");
        for made in 0..2 {
            assert_eq!(*kept(&keep, node, vec![Some(lent.clone())], || Ok(made)).expect("made"), made);
        }
        assert!(lock(&keep.data).is_empty());
    }
}
