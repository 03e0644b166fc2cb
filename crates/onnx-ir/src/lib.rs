//! An arena-based SSA graph that can hold any ONNX model, right or wrong.
//!
//! This crate is the common representation of the project: it knows no file format and does no I/O. `onnx-text` and `onnx-proto`
//! convert one format each to a [`Model`] and back.
//!
//! - A [`Model`] owns names, types, and bodies. A [`Body`] is a main graph or a function with all that is nested in
//!   it; its arenas hold [`Graph`]s, [`Node`]s, [`Value`]s and tensors under typed ids.
//! - [`BodyBuilder`] fills a body and resolves names.
//! - [`Data`] is a value in a separate file, such as an input of a test case; [`OperatorSet`] is a file of operators.
//! - [`Cursor`] edits a body, with the [`Uses`] of its values.
//! - [`verify()`] checks a model and returns [`Diagnostic`](diag::Diagnostic)s; it does not change the model.
//! - Every field of the wire format is represented, including its presence, so that a model can be written as it was read.
//! - The verifier with the passes, and the rules for versions, are features: `verify` and `semver`, both there by default.

//!
//! ```
//! use onnx_ir::{ElemType, GraphBuilder, Model, VerifyOptions, verify};
//!
//! let mut model = Model::of_opset(21);
//! let mut b = GraphBuilder::main(&mut model, "g");
//! let ty = b.tensor_type(ElemType::FLOAT, [2, 3]);
//! let x = b.input("x", ty);
//! let t = b.op("Abs", [x]);
//! let y = b.op("Sqrt", [t]);
//! b.output("y", y, ty);
//! b.finish();
//!
//! assert!(verify(&model, &VerifyOptions::default()).is_empty());
//! let operators: Vec<&str> = model.walk_main().map(|node| node.op()).collect();
//! assert_eq!(operators, ["Abs", "Sqrt"]);
//! ```

#![forbid(unsafe_code)]

mod attr;
mod body;
mod build;
mod data;
pub mod diag;
mod edit;
mod entity;
pub mod float;
mod ids;
pub mod list;
mod model;
mod names;
mod node;
mod opset;
#[cfg(feature = "verify")]
mod order;
#[cfg(feature = "verify")]
pub mod pass;
pub mod releases;
#[cfg(feature = "semver")]
pub mod semver;
mod show;
mod tensor;
mod types;
#[cfg(feature = "verify")]
mod verify;
mod visible;
mod walk;

pub use attr::{Attr, AttrError, AttrType, AttrValue, Attrs, FromAttr};
pub use body::{
    Body, DeviceGroup, Graph, Initializer, Node, NodeDeviceConfiguration, NodeExtra, Origin, Port,
    QuantizationAnnotation, ShardedAxis, ShardingSpec, SimpleSharding, SparseInitializer, Value, ValueDef,
};
pub use build::{BodyBuilder, GraphBuilder, NewNode, NodeSpec, PausedBody};
pub use data::{Data, DataKind, DataRef, MapData, OptionalData, Sequence, SparseData};
pub use edit::{Cursor, Declaration, NodeNameSet, Use, Uses, drop_declarations};
#[doc(hidden)]
pub use entity::Arena;
pub use entity::{EntityId, PrimaryMap, SecondaryMap};
pub use ids::{BodyId, FunctionId, GraphId, NodeId, TensorId, TypeId, ValueId};
pub use model::{DeviceConfiguration, Function, Header, Model, OpsetImport, TrainingInfo, normalize_domain};
pub use names::{Name, Names};
pub use node::NodeRef;
pub use opset::{
    Definition, Formal, FormalAttr, FormalKind, FormalType, OPSET_MAGIC, Operator, OperatorSet,
    OperatorStatus, Presence, Signature, Signatures, Trait, TypeVariable,
};
pub use show::{TypeLevel, dense_type_text, elem_text, nested_type_text, tensor_type_text, type_text};
pub use tensor::{
    Bits, DataLocation, Entry, Payload, Segment, SparseTensor, Tensor, TensorElement, TensorError,
    TensorExtra,
};
pub use types::{Dim, DimValue, ElemType, Field, TensorType, Type, TypeKind, Types};
#[cfg(feature = "verify")]
pub use verify::{
    FileFacts, INLINE_KEY, VerifyOptions, check_file, check_location, verify, verify_data,
    verify_operator_set, verify_with,
};
pub use visible::is_active;
pub use walk::{Walk, WalkEvent};
