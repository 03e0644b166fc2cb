//! Files that hold several cases, each below a line `#--- NAME`.

/// Cases of a file: a name, if there are several, and the text.
pub type Cases = Vec<(Option<String>, String)>;

/// The cases of a file, with their names; the name is `None` if the file is one case.
///
/// The lines above the first `#---` are part of each case. Lines keep their numbers.
///
/// # Errors
///
/// A case without a name, or two with the same one; the number of the line comes first.
pub fn split(text: &str) -> Result<Cases, (usize, String)> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let starts: Vec<usize> = (0..lines.len()).filter(|&i| lines[i].starts_with("#---")).collect();
    let Some(&first) = starts.first() else { return Ok(vec![(None, text.to_owned())]) };
    let head: String = lines[..first].concat();
    let mut cases = Cases::new();
    for (index, &start) in starts.iter().enumerate() {
        let name = lines[start].trim_start_matches("#---").trim();
        if name.is_empty() {
            return Err((start + 1, "a case needs a name: `#--- NAME`".to_owned()));
        }
        if cases.iter().any(|(other, _)| other.as_deref() == Some(name)) {
            return Err((start + 1, format!("there are two cases `{name}`")));
        }
        let end = starts.get(index + 1).copied().unwrap_or(lines.len());
        let blank = "\n".repeat(start + 1 - first);
        cases.push((Some(name.to_owned()), format!("{head}{blank}{}", lines[start + 1..end].concat())));
    }
    Ok(cases)
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn parts_keep_the_head_and_their_line_numbers() {
        let text = "#! check\n#--- a\nx\n#--- b\ny\n";
        let cases = split(text).unwrap();
        assert_eq!(cases[0], (Some("a".to_owned()), "#! check\n\nx\n".to_owned()));
        assert_eq!(cases[1].1.lines().position(|line| line == "y"), Some(4));
        assert_eq!(split("x\n").unwrap(), [(None, "x\n".to_owned())]);
    }

    #[test]
    fn names_are_given_once() {
        assert_eq!(split("#--- a\n#---\n").unwrap_err().0, 2);
        assert_eq!(split("#--- a\n#--- a\n").unwrap_err().0, 2);
    }
}
