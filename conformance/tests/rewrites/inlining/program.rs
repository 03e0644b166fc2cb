//! Random models with functions, as text.

use conformance::random::Random;
use std::fmt::Write as _;

/// Which functions.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Plain,
    Any,
}

/// A random model with functions, as text. All values are `float[3]`.
pub(crate) struct Program {
    random: Random,
    kind: Kind,
    functions: Vec<Signature>,
    fresh: usize,
}

/// A callable function.
struct Signature {
    inputs: usize,
    /// The last input may be omitted.
    has_optional: bool,
    outputs: usize,
    attributes: usize,
    has_default: bool,
}

impl Program {
    pub(crate) fn new(seed: u64, kind: Kind) -> Self {
        Program { random: Random::new(seed), kind, functions: Vec::new(), fresh: 0 }
    }

    /// The model.
    pub(crate) fn text(mut self) -> String {
        let mut functions = String::new();
        for i in 0..2 + self.random.below(4) {
            functions += &self.function(i);
        }
        let (body, values) = self.nodes(&["x".into(), "z".into()], 0, 3, 0);
        let [first, second] = [0, 1].map(|_| values[self.random.below(values.len())].clone());
        format!(
            "<ir_version: 10, opset_import: [\"\": 21, \"l\": 1]>\n\
             g (bool c, float[3] x, float[3] z) => (float[3] y, float[3] w)\n\
             {{\n{body}   y = Abs({first})\n   w = Neg({second})\n}}\n{functions}"
        )
    }

    fn function(&mut self, i: usize) -> String {
        let inputs = 1 + self.random.below(3);
        let has_optional = self.kind == Kind::Any && self.random.below(2) == 0;
        let attributes = self.random.below(3);
        let has_default = self.kind == Kind::Any && attributes > 0;
        let names: Vec<String> = (0..inputs).map(|i| format!("a{i}")).collect();
        let (mut body, mut values) = self.nodes(&names, attributes, 1, 0);
        let mut formals = format!("c, {}", names.join(", "));
        if has_optional {
            let (from, to) = (values[self.random.below(values.len())].clone(), self.name());
            let _ = writeln!(body, "   {to} = Clip({from}, low)");
            values.push(to);
            formals += ", low";
        }
        let mut outputs: Vec<String> = Vec::new();
        for _ in 0..1 + self.random.below(2) {
            let value = values[self.random.below(values.len())].clone();
            let is_argument = names.contains(&value) || outputs.contains(&value);
            if is_argument && (self.kind == Kind::Plain || outputs.contains(&value)) {
                let copy = self.name();
                let _ = writeln!(body, "   {copy} = Exp({value})");
                outputs.push(copy);
            } else {
                outputs.push(value);
            }
        }
        let parameter = |i: usize| match i {
            0 if has_default => "p0: float = 0.25".to_owned(),
            i => format!("p{i}"),
        };
        let parameters: Vec<String> = (0..attributes).map(parameter).collect();
        let parameters = if attributes > 0 { format!(" <{}>", parameters.join(", ")) } else { String::new() };
        self.functions.push(Signature {
            inputs,
            has_optional,
            outputs: outputs.len(),
            attributes,
            has_default,
        });
        format!(
            "<domain: \"l\", opset_import: [\"\": 21, \"l\": 1]>\n\
             f{i}{parameters} ({formals}) => ({})\n{{\n{body}}}\n",
            outputs.join(", ")
        )
    }

    fn name(&mut self) -> String {
        self.fresh += 1;
        format!("t{}", self.fresh)
    }

    /// Some lines, which may refer to so many parameters, and the values that are there behind them.
    fn nodes(
        &mut self,
        given: &[String],
        parameters: usize,
        least: usize,
        depth: usize,
    ) -> (String, Vec<String>) {
        let (mut text, mut values) = (String::new(), given.to_vec());
        for _ in 0..least + self.random.below(4) {
            let pick = |this: &mut Self| values[this.random.below(values.len())].clone();
            let (a, b) = (pick(self), pick(self));
            let result = self.name();
            match self.random.below(8) {
                0 => _ = writeln!(text, "   {result} = Sin({a})"),
                1 => _ = writeln!(text, "   {result} = Add({a}, {b})"),
                2 => {
                    let alpha = match parameters {
                        0 => "alpha = 0.5".to_owned(),
                        n => format!("alpha: float = @p{}", self.random.below(n)),
                    };
                    let _ = writeln!(text, "   {result} = LeakyRelu <{alpha}> ({a})");
                }
                3 if depth < 2 => {
                    let branch = |this: &mut Self| {
                        let (text, values) = this.nodes(&values, parameters, 0, depth + 1);
                        let (name, last) = (this.name(), values[values.len() - 1].clone());
                        format!("{} () => ({name}) {{\n{text}   {name} = Neg({last})\n}}", this.name())
                    };
                    let (then, other) = (branch(self), branch(self));
                    let _ =
                        writeln!(text, "   {result} = If (c) <then_branch = {then}, else_branch = {other}>");
                }
                4..8 if !self.functions.is_empty() => {
                    let call = self.call(&values, parameters, &result);
                    text += &call;
                }
                _ => _ = writeln!(text, "   {result} = Mul({a}, {b})"),
            }
            values.push(result);
        }
        (text, values)
    }

    fn call(&mut self, values: &[String], parameters: usize, result: &str) -> String {
        let which = self.random.below(self.functions.len());
        let Signature { inputs, has_optional, outputs, attributes, has_default } = self.functions[which];
        let mut arguments = vec!["c".to_owned()];
        arguments.extend((0..inputs).map(|_| values[self.random.below(values.len())].clone()));
        let mut text = String::new();
        if has_optional && self.random.below(2) == 0 {
            let low = self.name();
            let _ = writeln!(text, "   {low} = Constant <value_float = -0.5> ()");
            arguments.push(low);
        }
        let mut given: Vec<String> = Vec::new();
        for i in 0..attributes {
            let is_left_out = i == 0 && has_default && self.random.below(2) == 0;
            // A parameter that may be missing is not passed on: its default would be lost.
            let passed = (1..parameters).next().filter(|_| self.random.below(2) == 0);
            match passed {
                _ if is_left_out => {}
                Some(p) => given.push(format!("p{i}: float = @p{p}")),
                None => given.push(format!("p{i} = {}.5", self.random.below(3))),
            }
        }
        let attributes = if given.is_empty() { String::new() } else { format!(" <{}>", given.join(", ")) };
        let mut results = vec![result.to_owned()];
        if outputs > 1 && self.random.below(2) == 0 {
            let more = self.name();
            results.push(more);
        }
        let _ =
            writeln!(text, "   {} = l.f{which}{attributes}({})", results.join(", "), arguments.join(", "));
        text
    }
}
