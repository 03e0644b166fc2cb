//! Reports of a training: scalars that a step computes, and the result as a whole.

use crate::emit::OutFile;
use crate::output::numbers::count;
use crate::output::{self, OutputTarget};
use crate::session::Session;
use anyhow::ensure;
use onnx_exec::{Tensor, Value};
use onnx_ir::diag::did_you_mean;
use serde_json::{Map, Value as Json, json};
use std::time::Duration;

/// Named numbers, the first of which is the loss.
pub(super) type Numbers = Vec<(String, f64)>;

/// The outputs that are numbers: those of rank 0, or if there are none, those with one element. With names, only these, in their
/// order; otherwise one named `loss` comes first.
pub(super) fn numbers(outputs: &[(String, Value)], names: &[String]) -> anyhow::Result<Numbers> {
    let tensor = |value: &'_ Value| -> Option<Tensor> { value.tensor().ok().cloned() };
    let number = |tensor: &Tensor| tensor.floats().ok()?.first().copied();
    if !names.is_empty() {
        let mut all = Numbers::new();
        for name in names {
            let value = outputs.iter().find(|(known, _)| known == name);
            let known = || outputs.iter().map(|(name, _)| name.as_str());
            let like = || did_you_mean(name, known()).map(|like| format!(": did you mean `{like}`?"));
            ensure!(value.is_some(), "a step has no output `{name}`{}", like().unwrap_or_default());
            let tensor = value.and_then(|(_, value)| tensor(value)).filter(|tensor| tensor.len() == 1);
            let number = tensor.as_ref().and_then(number);
            ensure!(number.is_some(), "output `{name}` is not a single number");
            all.extend(number.map(|number| (name.clone(), number)));
        }
        return Ok(all);
    }
    let with = |fits: &dyn Fn(&Tensor) -> bool| -> Numbers {
        let scalars = outputs.iter().filter_map(|(name, value)| {
            let tensor = tensor(value).filter(|tensor| tensor.len() == 1 && fits(tensor))?;
            Some((name.clone(), number(&tensor)?))
        });
        scalars.collect()
    };
    let mut all = with(&|tensor| tensor.rank() == 0);
    if all.is_empty() {
        all = with(&|_| true);
    }
    if let Some(at) = all.iter().position(|(name, _)| name == "loss") {
        all[..=at].rotate_right(1);
    }
    Ok(all)
}

/// `loss 0.3125, accuracy 0.9`
pub(super) fn shown(numbers: &Numbers) -> String {
    let shown = |(name, number): &(String, f64)| format!("{name} {}", rounded(*number));
    numbers.iter().map(shown).collect::<Vec<_>>().join(", ")
}

/// A number with four significant digits.
fn rounded(number: f64) -> String {
    let size = number.abs();
    if number == 0.0 || !number.is_finite() {
        return number.to_string();
    }
    if !(1e-3..1e5).contains(&size) {
        return format!("{number:.3e}");
    }
    let digits = if size >= 1000.0 {
        0
    } else if size >= 100.0 {
        1
    } else if size >= 10.0 {
        2
    } else if size >= 1.0 {
        3
    } else {
        4
    };
    format!("{number:.digits$}")
}

/// Means of numbers, each weighted by a number of examples.
#[derive(Default)]
pub(super) struct Means {
    sums: Numbers,
    weight: f64,
}

impl Means {
    pub(super) fn add(&mut self, numbers: &Numbers, examples: usize) {
        #[allow(clippy::cast_precision_loss, reason = "no data has 2^53 examples")]
        let weight = examples as f64;
        self.weight += weight;
        for (name, number) in numbers {
            match self.sums.iter_mut().find(|(known, _)| known == name) {
                Some((_, sum)) => *sum += number * weight,
                None => self.sums.push((name.clone(), number * weight)),
            }
        }
    }

    pub(super) fn get(self) -> Numbers {
        let weight = self.weight;
        self.sums.into_iter().map(|(name, sum)| (name, sum / weight)).collect()
    }
}

/// The result of a training.
#[derive(Default)]
pub(super) struct Report {
    pub(super) steps: u64,
    pub(super) epochs: u64,
    /// The numbers of the last step.
    pub(super) last: Numbers,
    pub(super) eval: Option<Numbers>,
    pub(super) is_stopped_early: bool,
    /// Whether only the initial state was computed.
    pub(super) is_initial: bool,
    pub(super) took: Duration,
}

impl Report {
    /// Says what has been done.
    pub(super) fn finish(&self, out: &OutFile, session: &Session) -> anyhow::Result<()> {
        let target = out.path().map(OutputTarget::new);
        if session.wants_json() {
            if target != Some(OutputTarget::Stdout) {
                output::json(&self.to_json(out))?;
            }
            return Ok(());
        }
        if self.is_initial || self.steps == 0 {
            let done = if self.is_initial { "the initial state is set" } else { "no step was made" };
            session.note(&format!("train: {done}"));
            return Ok(());
        }
        let mut text = format!(
            "train: {} in {:.1} s",
            count(usize::try_from(self.steps).unwrap_or(usize::MAX), "step"),
            self.took.as_secs_f64()
        );
        if !self.last.is_empty() {
            text += &format!(": {}", shown(&self.last));
        }
        if let Some(eval) = self.eval.as_ref().filter(|eval| !eval.is_empty()) {
            text += &format!("; eval {}", shown(eval));
        }
        if self.is_stopped_early {
            text += "; stopped early, with the best state";
        }
        session.note(&text);
        Ok(())
    }

    fn to_json(&self, out: &OutFile) -> Json {
        let object = |numbers: &Numbers| -> Json {
            let number = |number: f64| match serde_json::Number::from_f64(number) {
                Some(number) => Json::Number(number),
                None => Json::String(number.to_string()),
            };
            Json::Object(numbers.iter().map(|(name, n)| (name.clone(), number(*n))).collect::<Map<_, _>>())
        };
        json!({
            "steps": self.steps,
            "epochs": self.epochs,
            "last": object(&self.last),
            "eval": self.eval.as_ref().map(object),
            "stopped_early": self.is_stopped_early,
            "seconds": self.took.as_secs_f64(),
            "output": out.path().map(|path| path.display().to_string()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_chosen_and_rounded() {
        let value = |x: f32| Value::Tensor(Tensor::scalar(x).unwrap());
        let outputs = vec![("accuracy".to_owned(), value(0.5)), ("loss".to_owned(), value(2.0))];
        let all = numbers(&outputs, &[]).unwrap();
        assert_eq!(shown(&all), "loss 2.000, accuracy 0.5000");
        assert_eq!(numbers(&outputs, &["accuracy".to_owned()]).unwrap().len(), 1);
        assert!(numbers(&outputs, &["los".to_owned()]).unwrap_err().to_string().contains("`loss`"));
        assert_eq!([12345.6, 1e-9, 0.0].map(rounded), ["12346", "1.000e-9", "0"].map(str::to_owned));
    }
}
