//! A node with the facts that its derivative depends on, and a builder for the text of the derivative.
//!
//! A derivative is a function in ONNX text. Its inputs are the operands of the node (`x0`, `x1` …), its results (`y0` …) and
//! their gradients (`dy0` …); its outputs are the gradients of the operands (`dx0` …).
//!
//! ```text
//! node:        c = Mul (a, b)
//! derivative:  Mul (x0, x1, y0, dy0) => (dx0, dx1) { dx0 = Mul (dy0, x1)  dx1 = Mul (dy0, x0) }
//! ```

use crate::bodies::site::CallSite;
use crate::dims::Dim;
use crate::facts::{Fact, Shape, Ty};
use onnx_ir::ElemType;
use std::fmt::{Display, Write as _};

/// The outcome of a rule. An error is the reason why the node cannot be differentiated.
pub(crate) type Done = Result<(), String>;

/// A node, and the lines of its derivative.
pub(crate) struct Cell<'a> {
    /// Attributes and types of operands.
    pub(crate) site: CallSite<'a>,
    /// Facts of operands; `None` for omitted ones.
    pub(crate) inputs: Vec<Option<Fact>>,
    /// Facts of results; `None` for omitted ones.
    pub(crate) outputs: Vec<Option<Fact>>,
    /// Which results have a gradient; the others have gradient zero.
    pub(crate) gradients: Vec<bool>,
    lines: String,
    count: usize,
    results: Vec<Option<String>>,
}

impl<'a> Cell<'a> {
    pub(crate) fn new(
        site: CallSite<'a>,
        inputs: Vec<Option<Fact>>,
        outputs: Vec<Option<Fact>>,
        gradients: Vec<bool>,
    ) -> Self {
        let results = inputs.iter().map(|_| None).collect();
        Cell { site, inputs, outputs, gradients, lines: String::new(), count: 0, results }
    }

    /// The imported version of ai.onnx.
    pub(crate) fn version(&self) -> i64 {
        self.site.version
    }

    /// Fails for older versions of ai.onnx.
    pub(crate) fn need(&self, version: i64) -> Done {
        match self.version() >= version {
            true => Ok(()),
            false => Err(format!(
                "its derivative needs version {version} of ai.onnx, and the model imports {}",
                self.version()
            )),
        }
    }

    /// The number of operands, including omitted ones.
    pub(crate) fn arity(&self) -> usize {
        self.inputs.len()
    }

    /// Whether an operand is present.
    pub(crate) fn has(&self, i: usize) -> bool {
        self.inputs.get(i).is_some_and(Option::is_some)
    }

    /// Whether a result has a gradient.
    pub(crate) fn has_gradient(&self, j: usize) -> bool {
        self.gradients.get(j).copied().unwrap_or(false)
    }

    /// The shape of an operand, if its rank is known.
    pub(crate) fn shape(&self, i: usize) -> Option<&Shape> {
        self.inputs.get(i)?.as_ref()?.ty.shape()
    }

    /// The shape of a result, if its rank is known.
    pub(crate) fn result_shape(&self, j: usize) -> Option<&Shape> {
        self.outputs.get(j)?.as_ref()?.ty.shape()
    }

    /// The rank of an operand; fails if it is unknown.
    pub(crate) fn rank(&self, i: usize) -> Result<i64, String> {
        let rank = self.shape(i).map(|shape| shape.len());
        rank.and_then(|rank| i64::try_from(rank).ok())
            .ok_or_else(|| format!("the rank of operand {i} is unknown"))
    }

    /// The extents of an operand, if all are numbers.
    pub(crate) fn extents(&self, i: usize) -> Option<Vec<i64>> {
        numbers(self.shape(i)?)
    }

    /// The element type of an operand.
    pub(crate) fn elem(&self, i: usize) -> Result<ElemType, String> {
        let ty = self.inputs.get(i).and_then(Option::as_ref).map(|fact| &fact.ty);
        ty.and_then(Ty::elem).ok_or_else(|| format!("the element type of operand {i} is unknown"))
    }

    /// The elements of an operand, if they are known integers.
    pub(crate) fn known(&self, i: usize) -> Option<Vec<i64>> {
        let value = self.inputs.get(i)?.as_ref()?.value.as_ref()?;
        let number = |elem: &crate::facts::Elem| match elem.int() {
            Dim::Const(n) => Some(n),
            Dim::Unknown | Dim::Expr(_) => None,
        };
        value.elems.iter().map(number).collect()
    }

    /// The elements of an operand, if they are known numbers.
    pub(crate) fn known_floats(&self, i: usize) -> Option<Vec<f64>> {
        let value = self.inputs.get(i)?.as_ref()?.value.as_ref()?;
        value.elems.iter().map(|elem| elem.number()).collect()
    }

    /// The name of the operator.
    pub(crate) fn operator(&self) -> &str {
        &self.site.schema.name
    }

    /// An axis attribute, resolved for a rank.
    pub(crate) fn axis(&self, name: &str, rank: i64) -> Result<i64, String> {
        let axis = self.site.int(name).ok_or_else(|| format!("attribute `{name}` is unknown"))?;
        Ok(if axis < 0 { axis + rank } else { axis })
    }

    /// Existing attributes of the node as text.
    pub(crate) fn copied(&self, names: &[&str]) -> String {
        let copied = |name: &&str| {
            let site = &self.site;
            let text = if let Some(value) = site.int(name) {
                value.to_string()
            } else if let Some(value) = site.float(name) {
                format!("{value:?}")
            } else if let Some(values) = site.ints(name) {
                format!("[{}]", super::shapes::listed(&values))
            } else {
                format!("\"{}\"", site.string(name)?)
            };
            Some(format!("{name} = {text}"))
        };
        let all: Vec<String> = names.iter().filter_map(copied).collect();
        all.join(", ")
    }

    /// Adds a line.
    pub(crate) fn line(&mut self, line: impl Display) {
        let _ = writeln!(self.lines, "    {line}");
    }

    /// An unused name.
    pub(crate) fn name(&mut self, stem: &str) -> String {
        self.count += 1;
        format!("{stem}_{}", self.count)
    }

    /// Adds a node; returns its result.
    pub(crate) fn op(&mut self, op: &str, operands: &[&str]) -> String {
        self.op_with(op, "", operands)
    }

    /// Adds a node with attributes; returns its result.
    pub(crate) fn op_with(&mut self, op: &str, attrs: &str, operands: &[&str]) -> String {
        let name = self.name(&op.to_lowercase());
        let attrs = if attrs.is_empty() { String::new() } else { format!("<{attrs}> ") };
        self.line(format_args!("{name} = {op} {attrs}({})", operands.join(", ")));
        name
    }

    /// A scalar of the element type of an operand.
    pub(crate) fn number(&mut self, value: f64, like: usize) -> String {
        match self.elem(like) {
            Ok(elem) => self.number_of(value, elem),
            Err(_) => {
                let float = self.number_of(value, ElemType::FLOAT);
                self.op("CastLike", &[&float, &format!("x{like}")])
            }
        }
    }

    /// A scalar of an element type. Text has only bit patterns for elements of short floats, so these are cast.
    pub(crate) fn number_of(&mut self, value: f64, elem: ElemType) -> String {
        match elem {
            ElemType::FLOAT | ElemType::DOUBLE => {
                let ty = elem.name().unwrap_or_default();
                self.op_with("Constant", &format!("value = {ty} {{{value:?}}}"), &[])
            }
            ElemType::INT32 | ElemType::INT64 | ElemType::BOOL => {
                let ty = elem.name().unwrap_or_default();
                self.op_with("Constant", &format!("value = {ty} {{{}}}", value as i64), &[])
            }
            _ => {
                let float = self.op_with("Constant", &format!("value = float {{{value:?}}}"), &[]);
                self.op_with("Cast", &format!("to = {}", elem.0), &[&float])
            }
        }
    }

    /// A list of integers.
    pub(crate) fn list(&mut self, values: &[i64]) -> String {
        let text: Vec<String> = values.iter().map(i64::to_string).collect();
        let (len, text) = (text.len(), text.join(", "));
        self.op_with("Constant", &format!("value = int64[{len}] {{{text}}}"), &[])
    }

    /// Sets the gradient of an operand.
    pub(crate) fn give(&mut self, i: usize, name: impl Into<String>) {
        if let Some(result) = self.results.get_mut(i) {
            *result = Some(name.into());
        }
    }

    /// Adds lines of ONNX text, in which a number as an operand is a scalar of the type of `x0`. Gradients are `dx0`, `dx1` and
    /// so on; those of broadcast operands are summed.
    pub(crate) fn text(&mut self, text: &str) -> Done {
        let is_broadcast = self.arity() > 1;
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let (Some(open), Some((name, _))) = (line.rfind('('), line.split_once('=')) else {
                return Err("its derivative is not a line of ONNX text".to_owned());
            };
            let operands: Vec<String> = line[open + 1..]
                .trim_end_matches(')')
                .split(',')
                .map(|operand| match operand.trim().parse::<f64>() {
                    Ok(value) => self.number(value, 0),
                    Err(_) => operand.trim().to_owned(),
                })
                .collect();
            let (name, head) = (name.trim(), &line[..open]);
            self.line(format_args!("{head}({})", operands.join(", ")));
            if let Some(i) = name.strip_prefix("dx").and_then(|i| i.parse().ok()) {
                let sum = if is_broadcast { self.unbroadcast(i, name) } else { name.to_owned() };
                self.give(i, sum);
            }
        }
        Ok(())
    }

    /// Which operands have a gradient.
    pub(crate) fn given(&self) -> Vec<bool> {
        self.results.iter().map(Option::is_some).collect()
    }

    /// The text of the derivative.
    pub(crate) fn derivative(mut self) -> String {
        let mut outputs = Vec::new();
        for result in std::mem::take(&mut self.results).into_iter().flatten() {
            // Each output of a function must be a node result with a unique name.
            let is_own = self.lines.contains(&format!("    {result} = ")) && !outputs.contains(&result);
            outputs.push(if is_own { result } else { self.op("Identity", &[&result]) });
        }
        let mut inputs = numbered("x", self.inputs.len());
        inputs.extend(numbered("y", self.outputs.len()));
        inputs.extend(numbered("dy", self.gradients.len()));
        self.function(&inputs, &outputs)
    }

    /// The text of a function from operands to results, which were set as `y0`, `y1` …
    pub(crate) fn rewritten(self) -> String {
        let (inputs, outputs) = (numbered("x", self.inputs.len()), numbered("y", self.outputs.len()));
        self.function(&inputs, &outputs)
    }

    fn function(&self, inputs: &[String], outputs: &[String]) -> String {
        format!(
            "<domain: \"ai.onnx\", opset_import: [\"\": {}]>\n{} ({}) => ({})\n{{\n{}}}\n",
            self.version(),
            self.site.schema.name,
            inputs.join(", "),
            outputs.join(", "),
            self.lines
        )
    }
}

fn numbered(stem: &str, count: usize) -> Vec<String> {
    (0..count).map(|i| format!("{stem}{i}")).collect()
}

/// A size, if it is a number.
pub(crate) fn number(dim: &Dim) -> Option<i64> {
    match dim {
        Dim::Const(n) => Some(*n),
        Dim::Unknown | Dim::Expr(_) => None,
    }
}

/// The sizes of a shape, if all are numbers.
pub(crate) fn numbers(shape: &Shape) -> Option<Vec<i64>> {
    shape.iter().map(number).collect()
}

/// A number below all others of a type of floats that matter, and finite.
pub(crate) fn least(elem: ElemType) -> f64 {
    match elem {
        ElemType::FLOAT16 => -65504.0,
        ElemType::DOUBLE => -1e300,
        _ => -3e38,
    }
}
