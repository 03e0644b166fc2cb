//! Builds function bodies as ONNX text.

use super::site::CallSite;
use onnx_ir::{ElemType, normalize_domain};
use std::fmt::{Display, Write as _};

/// Lines of nodes. Inputs and outputs have the names of the schema; a draft defines all outputs of its node, used or not.
#[derive(Default)]
pub(crate) struct Draft {
    lines: String,
    /// Parameters of the function with their defaults.
    params: Vec<String>,
    /// Names of inputs and outputs, if they differ from the schema.
    names: Option<[Vec<String>; 2]>,
}

impl Draft {
    pub(crate) fn new() -> Self {
        Draft::default()
    }

    /// Adds a node.
    pub(crate) fn add(&mut self, line: impl Display) {
        let _ = writeln!(self.lines, "    {line}");
    }

    /// Adds a parameter that nodes refer to.
    pub(crate) fn param(&mut self, param: impl Into<String>) {
        self.params.push(param.into());
    }

    /// Renames the inputs and outputs.
    pub(crate) fn rename(&mut self, inputs: Vec<String>, outputs: Vec<String>) {
        self.names = Some([inputs, outputs]);
    }

    /// Adds a scalar. Text has only bit patterns for elements of short floats, so these are cast.
    pub(crate) fn scalar(&mut self, name: &str, elem: ElemType, value: impl Display) {
        match elem {
            ElemType::FLOAT | ElemType::DOUBLE | ElemType::INT32 | ElemType::INT64 | ElemType::BOOL => {
                let ty = elem.name().unwrap_or_default();
                self.add(format_args!("{name} = Constant <value = {ty} {{{value}}}> ()"));
            }
            _ => self.cast(name, elem, format_args!("value = float {{{value}}}")),
        }
    }

    /// Adds minus infinity, which text cannot express as an element.
    pub(crate) fn minus_infinity(&mut self, name: &str, elem: ElemType) {
        self.cast(name, elem, "value_float = -inf");
    }

    fn cast(&mut self, name: &str, elem: ElemType, value: impl Display) {
        self.add(format_args!("{name}_float = Constant <{value}> ()"));
        self.add(format_args!("{name} = Cast <to = {}> ({name}_float)", elem.0));
    }

    /// Adds a list of integers.
    pub(crate) fn list(&mut self, name: &str, values: &[i64]) {
        let text: Vec<String> = values.iter().map(i64::to_string).collect();
        let (len, text) = (text.len(), text.join(", "));
        self.add(format_args!("{name} = Constant <value = int64[{len}] {{{text}}}> ()"));
    }

    /// Adds the size of an axis, as a list of one element.
    pub(crate) fn extent(&mut self, name: &str, of: &str, axis: i64) {
        self.extents(name, of, axis, axis + 1);
    }

    /// Adds the sizes of a range of axes. (These attributes of Shape exist since version 15.)
    pub(crate) fn extents(&mut self, name: &str, of: &str, start: i64, end: i64) {
        match end {
            0 => self.add(format_args!("{name} = Shape <start = {start}> ({of})")),
            _ => self.add(format_args!("{name} = Shape <start = {start}, end = {end}> ({of})")),
        }
    }

    /// Adds a node whose axes are an attribute before version `since`, and an input since then.
    pub(crate) fn with_axes(
        &mut self,
        line: &str,
        (operand, axes): (&str, &[i64]),
        more: &str,
        is_input: bool,
    ) {
        let list: Vec<String> = axes.iter().map(i64::to_string).collect();
        let list = list.join(", ");
        if is_input {
            let name = line.split(' ').next().unwrap_or_default();
            self.list(&format!("{name}_axes"), axes);
            let attrs = if more.is_empty() { String::new() } else { format!(" <{more}>") };
            self.add(format_args!("{line}{attrs} ({operand}, {name}_axes)"));
        } else {
            let comma = if more.is_empty() { "" } else { ", " };
            self.add(format_args!("{line} <axes = [{list}]{comma}{more}> ({operand})"));
        }
    }

    /// The text of the function.
    pub(crate) fn text(self, site: &CallSite<'_>) -> String {
        let schema = site.schema;
        let [inputs, outputs] = self.names.unwrap_or_else(|| {
            let wanted = site.output_count().min(schema.outputs.len());
            let inputs = schema.inputs.iter().map(|p| p.name.to_string());
            let outputs = schema.outputs[..wanted].iter().map(|p| p.name.to_string());
            [inputs.collect(), outputs.collect()]
        });
        let params =
            if self.params.is_empty() { String::new() } else { format!(" <{}>", self.params.join(", ")) };
        let other = match normalize_domain(&schema.domain) {
            "com.microsoft" => ", \"com.microsoft\": 1",
            _ => "",
        };
        format!(
            "<domain: \"ai.onnx\", opset_import: [\"\": {}{other}]>\n{}{params} ({}) => ({})\n{{\n{}}}\n",
            site.version,
            schema.name,
            inputs.join(", "),
            outputs.join(", "),
            self.lines
        )
    }
}

/// A float attribute as a tensor element.
pub(crate) fn number(value: f32, elem: ElemType) -> String {
    match elem {
        ElemType::DOUBLE => format!("{:?}", f64::from(value)),
        _ => format!("{value:?}"),
    }
}
