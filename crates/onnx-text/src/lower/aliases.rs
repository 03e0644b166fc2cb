//! Names that other tools have for the types of ONNX.

/// The element type of a name in ONNX text or in another tool: `int64`, `np.int64`, `INT64`.
#[must_use]
pub fn elem_type_named(name: &str) -> Option<onnx_ir::ElemType> {
    onnx_ir::ElemType::from_name(name).or_else(|| onnx_ir::ElemType::from_name(elem_type(name)?))
}

/// The element type for a name of another tool.
pub(super) fn elem_type(name: &str) -> Option<&'static str> {
    // `np.float32`, `onnx.TensorProto.FLOAT`
    let name = match name.rsplit_once('.') {
        Some((module, name)) if MODULES.iter().any(|known| module.split('.').any(|part| part == *known)) => {
            name
        }
        _ => name,
    };
    let lower = name.to_ascii_lowercase();
    let known = onnx_ir::ElemType::ALL.iter().filter_map(|e| e.name());
    if let Some(same) = known.into_iter().find(|known| *known == lower) {
        return Some(same);
    }
    Some(match lower.as_str() {
        "float32" | "fp32" | "f32" | "single" | "float_" => "float",
        "float64" | "fp64" | "f64" | "float64_t" => "double",
        "fp16" | "f16" | "half" | "float16_t" => "float16",
        "bf16" | "brain" => "bfloat16",
        "i8" | "s8" | "int8_t" | "sint8" => "int8",
        "i16" | "s16" | "int16_t" | "short" => "int16",
        "i32" | "s32" | "int32_t" => "int32",
        "i64" | "s64" | "int64_t" | "long" => "int64",
        "u8" | "uint8_t" | "byte" | "uchar" => "uint8",
        "u16" | "uint16_t" | "ushort" => "uint16",
        "u32" | "uint32_t" => "uint32",
        "u64" | "uint64_t" | "ulong" => "uint64",
        "i4" | "s4" => "int4",
        "u4" => "uint4",
        "boolean" | "bool_" | "i1" => "bool",
        "str" | "text" | "utf8" => "string",
        "c64" => "complex64",
        "c128" => "complex128",
        "float8_e4m3fn" | "f8e4m3fn" | "fp8e4m3fn" => "float8e4m3fn",
        "float8_e4m3fnuz" | "f8e4m3fnuz" | "fp8e4m3fnuz" => "float8e4m3fnuz",
        "float8_e5m2" | "f8e5m2" | "fp8e5m2" => "float8e5m2",
        "float8_e5m2fnuz" | "f8e5m2fnuz" | "fp8e5m2fnuz" => "float8e5m2fnuz",
        "float8_e8m0" | "float8_e8m0fnu" | "f8e8m0fnu" => "float8e8m0",
        "float4_e2m1" | "f4e2m1" | "fp4" => "float4e2m1",
        _ => return None,
    })
}

/// Module prefixes of type names in other tools.
const MODULES: [&str; 8] = ["np", "numpy", "torch", "tf", "jnp", "onnx", "TensorProto", "DataType"];

/// The likely replacement for a name that is ambiguous between element types.
pub(super) fn likely_elem_type(name: &str) -> Option<&'static str> {
    Some(match name.to_ascii_lowercase().as_str() {
        "int" | "integer" => "int64",
        "uint" | "unsigned" => "uint64",
        "number" | "real" => "float",
        "complex" => "complex64",
        "float8" | "fp8" | "e4m3" | "f8e4m3" => "float8e4m3fn",
        "e5m2" => "float8e5m2",
        _ => return None,
    })
}

/// The attribute type for the name of an element type, or for a name of another tool.
pub(super) fn attr_type(name: &str) -> Option<&'static str> {
    let lower = name.to_ascii_lowercase();
    if let Some(same) = onnx_ir::AttrType::ALL.iter().filter_map(|t| t.name()).find(|known| *known == lower) {
        return Some(same);
    }
    Some(match lower.as_str() {
        "float32" | "float64" | "double" | "fp32" | "f32" | "f64" => "float",
        "float32s" | "float64s" | "doubles" => "floats",
        "int64" | "int32" | "i64" | "i32" | "integer" | "long" | "bool" | "boolean" => "int",
        "int64s" | "int32s" | "integers" | "bools" => "ints",
        "str" | "bytes" => "string",
        "strs" => "strings",
        "type" => "type_proto",
        _ => return None,
    })
}
