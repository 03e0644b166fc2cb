//! Tables as data: a column for each element of an example.
//!
//! The first line has names. A column `x` is the input `x`; columns `x.0`, `x.1` … (also `x_0`, `x[0]`, `x0`) are the elements of
//! the input `x` in row-major order.

use anyhow::{Context as _, bail, ensure};
use csv::ReaderBuilder;
use onnx_exec::Tensor;
use onnx_ir::diag::counted;
use onnx_ir::{DimValue, ElemType, Model, Port, TypeKind};

/// A column of an input.
struct Column {
    /// Its position in the table.
    at: usize,
    /// The element of an example.
    element: usize,
}

/// The arrays of a table; columns that are of no input are left out.
pub(super) fn read(bytes: &[u8], inputs: &[(&Model, &Port)]) -> anyhow::Result<Vec<(String, Tensor)>> {
    let mut reader = ReaderBuilder::new().trim(csv::Trim::All).from_reader(bytes);
    let header = reader.headers().context("the first line is not UTF-8")?.clone();
    let records: Vec<csv::StringRecord> = reader.records().collect::<Result<_, _>>()?;
    let mut arrays = Vec::new();
    for (model, port) in inputs {
        let name = model.text(port.name);
        let columns = columns(&header, name)?;
        if columns.is_empty() {
            continue;
        }
        let (elem, shape) = declared(model, port);
        let mut dims = vec![records.len()];
        dims.extend(example(name, columns.len(), shape.as_deref())?);
        let cell = |row: usize, column: &Column| records[row].get(column.at).unwrap_or("");
        let cells =
            || (0..records.len()).flat_map(|row| columns.iter().map(move |column| (row, cell(row, column))));
        let tensor = if elem == ElemType::STRING {
            Tensor::from_strings(&dims, cells().map(|(_, cell)| cell.to_owned()))?
        } else {
            let number = |(row, cell): (usize, &str)| number(cell, elem, name, row);
            let numbers: Vec<f64> = cells().map(number).collect::<anyhow::Result<_>>()?;
            Tensor::of_floats(elem, &dims, &numbers)?
        };
        arrays.push((name.to_owned(), tensor));
    }
    ensure!(!arrays.is_empty(), "no column is named like an input");
    Ok(arrays)
}

/// The columns of an input, in the order of its elements.
fn columns(header: &csv::StringRecord, input: &str) -> anyhow::Result<Vec<Column>> {
    let mut columns = Vec::new();
    for (at, name) in header.iter().enumerate() {
        let Some(rest) = name.strip_prefix(input) else { continue };
        if let Some(element) = element(rest) {
            columns.push(Column { at, element });
        }
    }
    columns.sort_by_key(|column| column.element);
    let first = columns.first().map_or(0, |column| column.element);
    for (i, column) in columns.iter().enumerate() {
        // Elements are numbered from 0 or from 1.
        ensure!(first <= 1, "the columns of `{input}` begin with number {first}");
        if column.element != first + i {
            bail!(
                "the columns of `{input}` are not numbered without gaps: number {} is missing or there twice",
                first + i
            );
        }
    }
    Ok(columns)
}

/// The element that the rest of the name of a column says: `` for the only one, `.3`, `_3`, `[3]` or `3`.
fn element(rest: &str) -> Option<usize> {
    if rest.is_empty() {
        return Some(0);
    }
    let digits = match rest.strip_prefix('[') {
        Some(inner) => inner.strip_suffix(']')?,
        None => rest.strip_prefix(['.', '_']).unwrap_or(rest),
    };
    digits.parse().ok()
}

/// Element type and shape of an input as declared.
fn declared(model: &Model, port: &Port) -> (ElemType, Option<Vec<Option<usize>>>) {
    let kind = port.ty.map(|ty| &model.types[ty].kind);
    let Some(TypeKind::Tensor(tensor)) = kind else { return (ElemType::FLOAT, None) };
    let size = |dim: &onnx_ir::Dim| match dim.value {
        DimValue::Value(size) => usize::try_from(size).ok(),
        DimValue::Param(_) | DimValue::Unknown => None,
    };
    let shape = tensor.shape.as_ref().map(|shape| shape.iter().map(size).collect());
    (tensor.elem.unwrap_or(ElemType::FLOAT), shape)
}

/// The extents of an example of so many elements.
fn example(input: &str, count: usize, declared: Option<&[Option<usize>]>) -> anyhow::Result<Vec<usize>> {
    let Some(rest) = declared.and_then(|dims| dims.get(1..)) else {
        return Ok(if count == 1 { Vec::new() } else { vec![count] });
    };
    let known: usize = rest.iter().flatten().product();
    let open = rest.iter().filter(|dim| dim.is_none()).count();
    ensure!(
        (open == 0 && known == count) || (open == 1 && known > 0 && count.is_multiple_of(known)),
        "an example of `{input}` has {}, but the table has {} for it",
        counted(known, "element"),
        counted(count, "column"),
    );
    Ok(rest.iter().map(|dim| dim.unwrap_or(count / known.max(1))).collect())
}

fn number(cell: &str, elem: ElemType, input: &str, row: usize) -> anyhow::Result<f64> {
    let line = row + 2;
    let number: f64 = match (cell, elem) {
        ("true" | "True", ElemType::BOOL) => 1.0,
        ("false" | "False", ElemType::BOOL) => 0.0,
        _ => cell
            .parse()
            .ok()
            .with_context(|| format!("line {line}: `{cell}` of `{input}` is not a number"))?,
    };
    let is_whole = elem.is_integer() || elem == ElemType::BOOL;
    ensure!(!is_whole || number.fract() == 0.0, "line {line}: `{cell}` of `{input}` is not an integer");
    Ok(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrays(text: &str) -> anyhow::Result<Vec<(String, Tensor)>> {
        let model = onnx_text::read_model(
            "<ir_version: 10, opset_import: [\"\": 21]>
             g (float[N,2] x, int64[N] label) => (float[N,2] y) { y = Relu(x) }",
        )
        .value;
        let ports = &model.main_body().unwrap().graphs.values().next().unwrap().inputs;
        let inputs: Vec<(&Model, &Port)> = ports.iter().map(|port| (&model, port)).collect();
        read(text.as_bytes(), &inputs)
    }

    #[test]
    fn columns_are_elements_of_inputs() {
        for header in ["x.0,label,x.1,note", "x_0,label,x_1,note", "x[1],label,x[2],note"] {
            let read = arrays(&format!("{header}\n1, 0, 2.5, a\n3, 1, 4, b\n")).unwrap();
            assert_eq!(read[0].1, Tensor::of(&[2, 2], &[1.0f32, 2.5, 3.0, 4.0]).unwrap());
            assert_eq!(read[1].1, Tensor::of(&[2], &[0i64, 1]).unwrap());
        }
    }

    #[test]
    fn tables_that_do_not_fit_are_refused() {
        for (text, why) in [
            ("x.0,x.2\n1,2\n", "gaps"),
            ("x.0,x.1,x.2\n1,2,3\n", "3 columns"),
            ("x.0,x.1\n1,b\n", "not a number"),
            ("label\n0.5\n", "not an integer"),
            ("other\n1\n", "no column"),
            ("x.0,x.1\n1\n", "fields"),
        ] {
            let error = format!("{:#}", arrays(text).unwrap_err());
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
