//! Operators that the caller of [`compile`](crate::compile()) provides.

use crate::failure::Failure;
use foldhash::HashMap;
use onnx_ir::{Body, ElemType, Model, Node, normalize_domain};
use onnx_kernels::Value;
use std::fmt;
use std::sync::Arc;

/// Operators by domain and name, for [`CompileOptions::custom`](crate::CompileOptions::custom). They replace operators of ONNX of the
/// same name; functions of the model replace them.
///
/// ```
/// use onnx_exec::{CompileOptions, CustomOperators, RunOptions, Tensor, Value, compile};
/// use onnx_ops::schema::Registry;
///
/// let mut custom = CustomOperators::default();
/// custom.insert_function("my", "Double", |inputs: &[Option<Value>]| {
///     let Some(Some(x)) = inputs.first() else { return Err(onnx_exec::Failure::new("input 0 is left out")) };
///     let doubled: Vec<f32> = x.tensor()?.slice::<f32>()?.iter().map(|x| x * 2.0).collect();
///     Ok(vec![Tensor::of(x.tensor()?.dims(), &doubled)?.into()])
/// });
/// let text = r#"<ir_version: 10, opset_import: ["": 21, "my": 1]> g (float[N] x) => (float[N] y) { t = my.Double(x) y = Neg(t) }"#;
/// let model = onnx_text::read_model(text).value;
/// let options = CompileOptions { custom, ..CompileOptions::default() };
/// let executable = compile(&model, Registry::builtin(), &options).expect("the model can be run");
/// let x = Tensor::of(&[2], &[1.0f32, -3.0])?;
/// let results = executable.run(vec![Some(x.into())], &RunOptions::default())?;
/// assert_eq!(results[0].tensor()?.slice::<f32>()?, [-2.0, 6.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default)]
pub struct CustomOperators {
    operators: HashMap<(String, String), Arc<dyn CustomOperator>>,
}

/// An operator that the caller provides.
pub trait CustomOperator: Send + Sync {
    /// Prepares a node, once when the model is compiled.
    ///
    /// # Errors
    ///
    /// The operator cannot run this node, for example because an attribute is missing.
    fn kernel(&self, node: &CustomNode<'_>) -> Result<Arc<dyn CustomKernel>, Failure>;
}

/// A node of an operator that the caller provides.
pub trait CustomKernel: Send + Sync {
    /// Computes the outputs, in order; outputs after the last used one may be missing. An input that is left out is `None`. Several
    /// threads may call it at once; a run calls it on its own thread.
    ///
    /// # Errors
    ///
    /// The reason becomes a finding about the node.
    fn run(&self, inputs: &[Option<Value>]) -> Result<Vec<Value>, Failure>;

    /// The element types and shapes of the outputs for inputs of these types; `None` if they are known only after the node has run.
    /// With them, nodes after this one are planned together with those before it. Called once for each plan.
    ///
    /// # Errors
    ///
    /// The inputs do not fit the operator. The reason becomes a finding about the node when it runs.
    fn infer(&self, inputs: &[Option<(ElemType, &[usize])>]) -> Result<Option<Vec<CustomType>>, Failure> {
        _ = inputs;
        Ok(None)
    }
}

/// The element type and the shape of an output.
pub type CustomType = (ElemType, Vec<usize>);

/// A node, as [`CustomOperator::kernel`] receives it.
#[derive(Clone, Copy)]
pub struct CustomNode<'n> {
    /// The model that is compiled: it has the names and types.
    pub model: &'n Model,
    /// The body with the tensors and graphs of attributes.
    pub body: &'n Body,
    /// The node.
    pub node: &'n Node,
}

impl<F: Fn(&[Option<Value>]) -> Result<Vec<Value>, Failure> + Send + Sync> CustomKernel for F {
    fn run(&self, inputs: &[Option<Value>]) -> Result<Vec<Value>, Failure> {
        self(inputs)
    }
}

/// An operator without attributes.
struct Function(Arc<dyn CustomKernel>);

impl CustomOperator for Function {
    fn kernel(&self, _: &CustomNode<'_>) -> Result<Arc<dyn CustomKernel>, Failure> {
        Ok(Arc::clone(&self.0))
    }
}

impl CustomOperators {
    /// Adds an operator; replaces one of the same name.
    pub fn insert(&mut self, domain: &str, name: &str, operator: Arc<dyn CustomOperator>) {
        self.operators.insert((normalize_domain(domain).to_owned(), name.to_owned()), operator);
    }

    /// Adds an operator that needs no attributes.
    pub fn insert_function(
        &mut self,
        domain: &str,
        name: &str,
        function: impl Fn(&[Option<Value>]) -> Result<Vec<Value>, Failure> + Send + Sync + 'static,
    ) {
        self.insert(domain, name, Arc::new(Function(Arc::new(function))));
    }

    /// Whether it has no operators.
    pub fn is_empty(&self) -> bool {
        self.operators.is_empty()
    }

    /// The operator of a name. The domain is normalized.
    pub(crate) fn find(&self, domain: &str, name: &str) -> Option<&Arc<dyn CustomOperator>> {
        // Most models have none, and then no key is made.
        if self.is_empty() { None } else { self.operators.get(&(domain.to_owned(), name.to_owned())) }
    }
}

impl fmt::Debug for CustomOperators {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.operators.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CompileOptions, Executable, RunOptions, Tensor, compile};
    use onnx_ops::schema::Registry;

    fn compiled(custom: CustomOperators, text: &str) -> Result<Executable<'static>, String> {
        let head = r#"<ir_version: 10, opset_import: ["": 21, "my": 1]> g "#;
        let model = onnx_text::read_model(&format!("{head}{text}")).value;
        let options = CompileOptions { custom, ..CompileOptions::default() };
        compile(&model, Registry::builtin(), &options).map_err(|found| found[0].to_string())
    }

    fn run(executable: &Executable<'_>, x: &[f32]) -> Result<Vec<f32>, String> {
        let x = Tensor::of(&[x.len()], x).expect("as many");
        let results = executable.run(vec![Some(x.into())], &RunOptions::default());
        let results = results.map_err(|found| found.to_string())?;
        Ok(results[0].tensor().and_then(|y| Ok(y.slice::<f32>()?.to_vec())).expect("floats"))
    }

    /// Adds the integer attribute `by` to each element.
    struct Plus;

    impl CustomOperator for Plus {
        fn kernel(&self, node: &CustomNode<'_>) -> Result<Arc<dyn CustomKernel>, Failure> {
            let by = node.node.attrs.iter().find(|attr| node.model.text(attr.name) == "by");
            let by = match by.map(|attr| attr.values.as_slice()) {
                Some([onnx_ir::AttrValue::Int(by)]) => *by as f32,
                _ => return Err(Failure::new("attribute `by` is missing")),
            };
            Ok(Arc::new(move |inputs: &[Option<Value>]| {
                let Some(Some(x)) = inputs.first() else { return Err(Failure::new("input 0 is left out")) };
                if x.tensor()?.is_empty() {
                    return Err(Failure::new("nothing to add to"));
                }
                let sums: Vec<f32> = x.tensor()?.slice::<f32>()?.iter().map(|x| x + by).collect();
                Ok(vec![Tensor::of(x.tensor()?.dims(), &sums)?.into()])
            }))
        }
    }

    #[test]
    fn nodes_are_prepared_once_and_may_be_anywhere() {
        let mut custom = CustomOperators::default();
        custom.insert("my", "Plus", Arc::new(Plus));
        let graph = "(float[N] x) => (float[N] y) { a = Abs(x) b = my.Plus <by = 1> (a) c = my.Plus <by = 10> (b) y = Neg(c) }";
        let whole = compiled(custom.clone(), graph).expect("it can be run");
        assert_eq!(run(&whole, &[-1.0, 2.0]), Ok(vec![-12.0, -13.0]));
        let branch = "(float[N] x) => (float[N] y) { c = Constant <value = bool {1}> () y = If (c) \
            <then_branch = t () => (z) { z = my.Plus <by = 2> (x) }, else_branch = e () => (w) { w = Abs(x) }> }";
        assert_eq!(run(&compiled(custom.clone(), branch).expect("it can be run"), &[1.0]), Ok(vec![3.0]));
        let missing = compiled(custom.clone(), "(float[N] x) => (float[N] y) { y = my.Plus(x) }");
        assert_eq!(
            missing.map(|_| ()),
            Err("error[E1601]: `Plus`, which computes `y`: attribute `by` is missing".to_owned())
        );
        assert_eq!(
            run(&whole, &[]),
            Err("error[E1603]: `Plus`, which computes `b`: nothing to add to".to_owned())
        );
        let short = "(float[N] x) => (float[N] y, float[N] z) { y, z = my.Plus <by = 1> (x) }";
        let short = run(&compiled(custom, short).expect("it can be run"), &[1.0]);
        assert_eq!(
            short,
            Err("error[E1603]: `Plus`, which computes `y`: 1 of 2 outputs are computed".to_owned())
        );
    }

    type Types = Result<Option<Vec<CustomType>>, Failure>;

    /// Doubles, with inference that says this type for the shape of the input.
    struct Typed(fn(&[usize]) -> Types);

    impl CustomOperator for Typed {
        fn kernel(&self, _: &CustomNode<'_>) -> Result<Arc<dyn CustomKernel>, Failure> {
            Ok(Arc::new(Typed(self.0)))
        }
    }

    impl CustomKernel for Typed {
        fn run(&self, inputs: &[Option<Value>]) -> Result<Vec<Value>, Failure> {
            let Some(Some(x)) = inputs.first() else { return Err(Failure::new("input 0 is left out")) };
            let doubled: Vec<f32> = x.tensor()?.slice::<f32>()?.iter().map(|x| x * 2.0).collect();
            Ok(vec![Tensor::of(x.tensor()?.dims(), &doubled)?.into()])
        }

        fn infer(&self, inputs: &[Option<(ElemType, &[usize])>]) -> Result<Option<Vec<CustomType>>, Failure> {
            let Some(Some((ElemType::FLOAT, dims))) = inputs.first() else { return Ok(None) };
            self.0(dims)
        }
    }

    #[test]
    fn with_inference_the_nodes_around_are_in_one_plan() {
        let of = |infer| {
            let mut custom = CustomOperators::default();
            custom.insert("my", "Double", Arc::new(Typed(infer)));
            let text = "(float[N] x) => (float[N] y) { a = Abs(x) b = Neg(a) c = my.Double(b) d = Neg(c) y = Sqrt(d) }";
            compiled(custom, text).expect("it can be run")
        };
        let plans = |executable: &Executable<'_>| {
            let x = Tensor::of(&[2], &[-2.0f32, 8.0]).expect("two");
            let schedule = executable.schedule(vec![Some(x.into())], &RunOptions::default());
            schedule.expect("it can be planned").text.matches("plan of nodes").count()
        };
        let same = of(|dims| Ok(Some(vec![(ElemType::FLOAT, dims.to_vec())])));
        assert_eq!(run(&same, &[-2.0, 8.0]), Ok(vec![2.0, 4.0]));
        let unknown = of(|_| Ok(None));
        assert_eq!(run(&unknown, &[-2.0, 8.0]), Ok(vec![2.0, 4.0]));
        assert_eq!((plans(&same), plans(&unknown)), (1, 2));
        let about = "error[E1603]: `Double`, which computes `c`: its ";
        for (infer, why) in [
            (
                (|_: &[usize]| Ok(Some(vec![(ElemType::FLOAT, vec![3])]))) as fn(&[usize]) -> _,
                "result `c` is float[2], but its inference says float[3]",
            ),
            (|_: &[usize]| Ok(Some(Vec::new())), "inference returns 0 types for 1 output"),
            (|_: &[usize]| Err(Failure::new("too long")), "inference fails: too long"),
        ] {
            assert_eq!(run(&of(infer), &[-2.0, 8.0]), Err(format!("{about}{why}")));
        }
    }

    #[test]
    fn operators_of_onnx_can_be_replaced() {
        let mut custom = CustomOperators::default();
        custom.insert_function("ai.onnx", "Relu", |inputs| Ok(inputs.iter().flatten().cloned().collect()));
        let text = "(float[N] x) => (float[N] y) { y = Relu(x) }";
        assert_eq!(run(&compiled(custom, text).expect("it can be run"), &[-1.0]), Ok(vec![-1.0]));
    }
}
