//! The list of the operators of ONNX Runtime's CPU provider, `onnxruntime-operators.txt`, and what becomes of each here.

/// How the library treats an operator of ONNX Runtime.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// Random nodes, or those of a table, are compared with ONNX Runtime.
    Equal,
    /// It runs, and other tests compare it with what the documentation says, or with the reference.
    Runs,
    /// It does not run, for this reason.
    Refused(&'static str),
}

/// An operator of the list.
#[derive(Clone, Debug)]
pub struct Listed {
    /// The domain, `ai.onnx` for that of ONNX.
    pub domain: &'static str,
    /// The operator.
    pub op: &'static str,
    /// How the library treats it.
    pub state: State,
}

impl Listed {
    /// Domain and operator.
    pub fn name(&self) -> String {
        format!("{} {}", self.domain, self.op)
    }
}

/// The list.
///
/// # Panics
/// If a line has another form than `DOMAIN OPERATOR STATE`.
pub fn operators() -> Vec<Listed> {
    let lines = include_str!("../onnxruntime-operators.txt").lines().filter(|line| !line.starts_with('#'));
    let listed = |line: &'static str| {
        let mut words = line.splitn(3, ' ');
        let (domain, op, state) = (words.next()?, words.next()?, words.next()?);
        let state = match state {
            "equal" => State::Equal,
            "runs" => State::Runs,
            _ => State::Refused(state.strip_prefix("refused: ")?),
        };
        Some(Listed { domain, op, state })
    };
    lines.map(|line| listed(line).unwrap_or_else(|| panic!("`{line}` is not a line of the list"))).collect()
}
