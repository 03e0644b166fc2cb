//! Casts inputs to the element types that the model declares, as `Cast` does.

use onnx_exec::{CompileOptions, RunOptions, Value, compile};
use onnx_ir::ElemType;
use onnx_ops::schema::Registry;

/// The value with elements of another type; `None` if `Cast` does not support it.
pub(crate) fn cast(value: &Value, to: ElemType) -> Option<Value> {
    let Value::Tensor(tensor) = value else { return None };
    let (from, into) = (tensor.elem().name()?, to.name()?);
    let text = format!(
        "<ir_version: 13, opset_import: [\"\": 24]>\n\
         g ({from}[] x) => ({into}[] y) {{ y = Cast <to = {}> (x) }}\n",
        to.0
    );
    let model = onnx_text::read_model(&text).value;
    let executable = compile(&model, Registry::builtin(), &CompileOptions::default()).ok()?;
    executable.run(vec![Some(value.clone())], &RunOptions::default()).ok()?.pop()
}
