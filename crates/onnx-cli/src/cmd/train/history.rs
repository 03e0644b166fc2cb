//! The numbers of all steps, as a table or as drawn curves.

use super::record::Numbers;
use crate::output;
use anyhow::bail;
use onnxtxt::train::{Curve, curves};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Files are updated after an epoch, but not more often.
const PAUSE: Duration = Duration::from_secs(2);

/// The form of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Form {
    Csv,
    Svg,
}

/// The numbers that a training has computed so far.
#[derive(Clone, Debug, Default)]
pub(super) struct History {
    files: Vec<(PathBuf, Form)>,
    title: String,
    steps: Vec<(u64, u64, Numbers)>,
    evaluations: Vec<(u64, Numbers)>,
    written: Option<Instant>,
}

impl History {
    /// A history that these files get, by their extensions.
    pub(super) fn of(files: &[PathBuf], model: &Path) -> anyhow::Result<History> {
        let mut all = Vec::new();
        for path in files {
            let extension = path.extension().unwrap_or_default().to_ascii_lowercase();
            let form = match extension.to_str() {
                Some("csv") => Form::Csv,
                Some("svg") => Form::Svg,
                _ => bail!("--history {}: expected a name that ends in .csv or .svg", path.display()),
            };
            all.push((path.clone(), form));
        }
        let title = model.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Ok(History { files: all, title, ..History::default() })
    }

    /// Adds the numbers of a step.
    pub(super) fn step(&mut self, step: u64, epoch: u64, numbers: &Numbers) {
        if !self.files.is_empty() {
            self.steps.push((step, epoch, numbers.clone()));
        }
    }

    /// Adds the means of an evaluation after a step.
    pub(super) fn evaluation(&mut self, step: u64, means: &Numbers) {
        if !self.files.is_empty() && self.evaluations.last().is_none_or(|(last, _)| *last != step) {
            self.evaluations.push((step, means.clone()));
        }
    }

    /// Writes the files, if the last time is long enough ago.
    pub(super) fn update(&mut self) -> anyhow::Result<()> {
        match self.written {
            Some(before) if before.elapsed() < PAUSE => Ok(()),
            _ => self.write(),
        }
    }

    /// Writes the files.
    pub(super) fn write(&mut self) -> anyhow::Result<()> {
        for (path, form) in &self.files {
            let text = match form {
                Form::Csv => self.table()?,
                Form::Svg => curves(&self.title, &self.curves()),
            };
            output::to_file(path, |out| out.write_all(text.as_bytes()))?;
        }
        self.written = Some(Instant::now());
        Ok(())
    }

    /// The names of the numbers, in the order of their first occurrence.
    fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        let rows = self.steps.first().map(|(_, _, numbers)| numbers).into_iter();
        for (name, _) in rows.chain(self.evaluations.first().map(|(_, means)| means)).flatten() {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        names
    }

    /// A row for each step; columns of evaluations have numbers where there was one.
    fn table(&self) -> anyhow::Result<String> {
        let names = self.names();
        let mut table = csv::Writer::from_writer(Vec::new());
        let has_evaluations = !self.evaluations.is_empty();
        let mut header = vec!["step".to_owned(), "epoch".to_owned()];
        header.extend(names.iter().map(|name| (*name).to_owned()));
        if has_evaluations {
            header.extend(names.iter().map(|name| format!("eval.{name}")));
        }
        table.write_record(header)?;
        let field = |numbers: Option<&Numbers>, name: &str| {
            let number = numbers.and_then(|numbers| pick(numbers, name));
            number.map(|number| number.to_string()).unwrap_or_default()
        };
        let mut evaluations = self.evaluations.iter().peekable();
        for (step, epoch, numbers) in &self.steps {
            let mut row = vec![step.to_string(), epoch.to_string()];
            row.extend(names.iter().map(|name| field(Some(numbers), name)));
            if has_evaluations {
                let means = evaluations.next_if(|(at, _)| at == step).map(|(_, means)| means);
                row.extend(names.iter().map(|name| field(means, name)));
            }
            table.write_record(row)?;
        }
        Ok(String::from_utf8(table.into_inner()?)?)
    }

    fn curves(&self) -> Vec<Curve> {
        let curve = |name: &str| Curve {
            name: name.to_owned(),
            steps: (self.steps.iter())
                .filter_map(|(step, _, numbers)| Some((*step, pick(numbers, name)?)))
                .collect(),
            evaluations: (self.evaluations.iter())
                .filter_map(|(step, means)| Some((*step, pick(means, name)?)))
                .collect(),
        };
        self.names().into_iter().map(curve).collect()
    }
}

/// The number of a name.
fn pick(numbers: &Numbers, name: &str) -> Option<f64> {
    numbers.iter().find(|(known, _)| known == name).map(|(_, number)| *number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_have_a_row_for_each_step() {
        let mut history =
            History::of(&["a.csv".into(), "b.SVG".into()], Path::new("folder/model.onnx")).unwrap();
        for step in 1..=3u16 {
            let loss = f64::from(step) * 0.5;
            history.step(step.into(), 1, &vec![("loss".to_owned(), loss), ("a,b".to_owned(), 1.0)]);
        }
        history.evaluation(3, &vec![("loss".to_owned(), 0.25)]);
        history.evaluation(3, &vec![("loss".to_owned(), 9.0)]);
        let table = history.table().unwrap();
        let expected = "step,epoch,loss,\"a,b\",eval.loss,\"eval.a,b\"\n\
                        1,1,0.5,1,,\n2,1,1,1,,\n3,1,1.5,1,0.25,\n";
        assert_eq!(table, expected);
        assert!(curves(&history.title, &history.curves()).contains("<title>model</title>"));
        assert!(History::of(&["a.png".into()], Path::new("m")).is_err());
    }
}
