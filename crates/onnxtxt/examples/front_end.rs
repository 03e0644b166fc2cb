//! A front end: the syntax tree of a small language becomes a model, which is checked and printed as ONNX text.
//!
//! ```sh
//! cargo run -p onnxtxt --example front_end
//! ```

use onnxtxt::ir::diag::{Code, Diagnostic, Level, Place, Severity};
use onnxtxt::ir::{ElemType, GraphBuilder, Model, Tensor, ValueId};
use std::collections::HashMap;
use std::error::Error;
use std::io::Write;

/// An expression over matrices.
pub(crate) enum Expr {
    /// A parameter or a name that was bound before.
    Name(&'static str),
    /// A number.
    Number(f32),
    /// A matrix of weights, row by row.
    Matrix { rows: i64, columns: i64, weights: Vec<f32> },
    /// An operator between two expressions: `+`, `-`, `*`, `@`.
    Binary(char, Box<Expr>, Box<Expr>),
    /// A function of one argument: `relu`, `tanh`, `sum`.
    Call(&'static str, Box<Expr>),
    /// One of two expressions, as the sign of a number says.
    IfPositive(Box<Expr>, Box<Expr>, Box<Expr>),
}

/// A program: parameters, bindings in order, and the result.
pub(crate) struct Program {
    /// Names with the sizes of their dimensions; a letter is a symbol.
    pub(crate) parameters: Vec<(&'static str, Vec<Size>)>,
    /// `let name = expression`
    pub(crate) bindings: Vec<(&'static str, Expr)>,
    /// The result expression.
    pub(crate) result: Expr,
}

/// The size of a dimension.
pub(crate) enum Size {
    /// A number.
    Number(i64),
    /// A symbol.
    Symbol(&'static str),
}

/// Errors of the language have codes of their own.
static UNKNOWN: Code = Code {
    id: "E9001",
    name: "unknown-name",
    rule: None,
    severity: Severity::Error,
    level: Level::Syntax,
    clear: None,
    explain: "A name, an operator or a function of the program is not defined.",
};

fn main() -> Result<(), Box<dyn Error>> {
    run(&example(), &mut std::io::stdout().lock())
}

/// Compiles a program, and writes the model as text.
pub(crate) fn run(program: &Program, out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    let mut loaded = onnxtxt::Loaded::from(compile(program)?);
    // The types of all values are found out, that of the result too. Findings are what is wrong with them: a sum of matrices that do
    // not fit, say.
    loaded.infer();
    let found = loaded.check(Level::Types);
    if !found.is_empty() {
        found.iter().try_for_each(|finding| write!(out, "{}", loaded.render(finding)))?;
        return Err("the program does not compile".into());
    }
    write!(out, "{}", loaded.text())?;
    Ok(())
}

/// `let h = relu(x @ w + 0.5); if sum(h) > 0 then tanh(h) else h - 1`
pub(crate) fn example() -> Program {
    let weights = Expr::Matrix { rows: 2, columns: 3, weights: vec![1.0, 0.0, -1.0, 0.5, 2.0, 0.0] };
    let product = Expr::Binary('@', Expr::Name("x").into(), weights.into());
    let sum = Expr::Binary('+', product.into(), Expr::Number(0.5).into());
    let h = || Box::new(Expr::Name("h"));
    Program {
        parameters: vec![("x", vec![Size::Symbol("N"), Size::Number(2)])],
        bindings: vec![("h", Expr::Call("relu", sum.into()))],
        result: Expr::IfPositive(
            Expr::Call("sum", h()).into(),
            Expr::Call("tanh", h()).into(),
            Expr::Binary('-', h(), Expr::Number(1.0).into()).into(),
        ),
    }
}

/// The model of a program.
pub(crate) fn compile(program: &Program) -> Result<Model, Box<Diagnostic>> {
    let mut model = Model::of_opset(21);
    let mut b = GraphBuilder::main(&mut model, "program");
    let mut names = HashMap::new();
    for (name, sizes) in &program.parameters {
        let dims: Vec<_> = (sizes.iter())
            .map(|size| match size {
                Size::Number(size) => (*size).into(),
                Size::Symbol(symbol) => b.symbol(symbol),
            })
            .collect();
        let ty = b.tensor_type(ElemType::FLOAT, dims);
        names.insert(*name, b.input(name, ty));
    }
    for (name, expr) in &program.bindings {
        let value = lower(&mut b, &names, expr)?;
        names.insert(name, value);
    }
    let result = lower(&mut b, &names, &program.result)?;
    // Of any shape: inference finds it out.
    let ty = b.unranked_type(ElemType::FLOAT);
    b.output("result", result, ty);
    b.finish();
    Ok(model)
}

fn lower(
    b: &mut GraphBuilder<'_>,
    names: &HashMap<&str, ValueId>,
    expr: &Expr,
) -> Result<ValueId, Box<Diagnostic>> {
    let unknown = |what: &str| Err(Box::new(Diagnostic::new(&UNKNOWN, Place::Nowhere, what)));
    Ok(match expr {
        Expr::Name(name) => match names.get(name) {
            Some(value) => *value,
            None => return unknown(&format!("use of undefined name `{name}`")),
        },
        Expr::Number(number) => b.constant(Tensor::scalar(*number)),
        Expr::Matrix { rows, columns, weights } => {
            b.constant(Tensor::new([*rows, *columns], weights.clone()))
        }
        Expr::Binary(operator, left, right) => {
            let op = match operator {
                '+' => "Add",
                '-' => "Sub",
                '*' => "Mul",
                '@' => "MatMul",
                _ => return unknown(&format!("unknown operator `{operator}`")),
            };
            let (left, right) = (lower(b, names, left)?, lower(b, names, right)?);
            b.op(op, [left, right])
        }
        Expr::Call(function, argument) => {
            let argument = lower(b, names, argument)?;
            match *function {
                "relu" => b.op("Relu", [argument]),
                "tanh" => b.op("Tanh", [argument]),
                "sum" => b.node("ReduceSum").input(argument).attr("keepdims", false).value(),
                _ => return unknown(&format!("unknown function `{function}`")),
            }
        }
        Expr::IfPositive(number, then, other) => {
            let (number, zero) = (lower(b, names, number)?, b.constant(Tensor::scalar(0f32)));
            let condition = b.op("Greater", [number, zero]);
            // An expression in a branch is evaluated only if the branch is taken.
            let mut results = Vec::new();
            let mut branch = |b: &mut GraphBuilder<'_>, expr: &Expr| {
                let result = lower(b, names, expr);
                let ty = b.unranked_type(ElemType::FLOAT);
                results.push(result.map(|value| b.output("value", value, ty)));
            };
            let value = b
                .node("If")
                .input(condition)
                .graph("then_branch", "then", |b| branch(b, then))
                .graph("else_branch", "else", |b| branch(b, other))
                .value();
            results.into_iter().collect::<Result<Vec<ValueId>, Box<Diagnostic>>>()?;
            value
        }
    })
}
