//! `# CHECK:` lines: patterns that the output of a directive must match, in order.
//!
//! | line | matches |
//! | --- | --- |
//! | `# CHECK: PATTERN` | a line below the last match |
//! | `# CHECK-NEXT: PATTERN` | the line right below the last match |
//! | `# CHECK-NOT: PATTERN` | no line between the matches around it |
//!
//! A pattern may match anywhere in a line; runs of blanks are equal. `{{*}}` matches any text, `[[NAME]]` a name in the model:
//! the first occurrence captures it, and later ones must be equal.

use std::collections::BTreeMap;

#[derive(Clone, Copy, PartialEq, Debug)]
enum Kind {
    Anywhere,
    Next,
    Not,
}

struct Check<'t> {
    /// From 1.
    line: usize,
    kind: Kind,
    pattern: &'t str,
}

type Captures = BTreeMap<String, String>;

/// Whether numbered lines include checks.
pub(super) fn has_checks<'t>(lines: impl IntoIterator<Item = (usize, &'t str)>) -> bool {
    lines.into_iter().any(|(_, line)| line.trim_start().starts_with("# CHECK"))
}

/// Compares an output with the checks among these lines.
pub(super) fn compare<'t>(
    lines: impl IntoIterator<Item = (usize, &'t str)>,
    output: &str,
) -> Result<(), String> {
    let checks = parse(lines)?;
    // Comments of the test do not count as output.
    let lines: Vec<String> =
        output.lines().filter(|line| !line.trim_start().starts_with("# CHECK")).map(squeeze).collect();
    let mut captures = Captures::new();
    let (mut at, mut not) = (0, Vec::new());
    for check in &checks {
        let found = match check.kind {
            Kind::Not => {
                not.push(check);
                continue;
            }
            Kind::Anywhere => {
                (at..lines.len()).find_map(|i| Some((i, match_line(check.pattern, &lines[i], &captures)?)))
            }
            Kind::Next => {
                lines.get(at).and_then(|line| Some((at, match_line(check.pattern, line, &captures)?)))
            }
        };
        let Some((index, new)) = found else {
            return Err(missed(check, &lines, at));
        };
        excluded(&not, &lines[at..index], &captures)?;
        not.clear();
        captures = new;
        at = index + 1;
    }
    excluded(&not, &lines[at..], &captures)
}

fn excluded(not: &[&Check<'_>], lines: &[String], captures: &Captures) -> Result<(), String> {
    for check in not {
        if let Some(line) = lines.iter().find(|line| match_line(check.pattern, line, captures).is_some()) {
            return Err(format!("line {}: `CHECK-NOT: {}` matches `{line}`", check.line, check.pattern));
        }
    }
    Ok(())
}

fn missed(check: &Check<'_>, lines: &[String], at: usize) -> String {
    let name = if check.kind == Kind::Next { "CHECK-NEXT" } else { "CHECK" };
    let rest: Vec<String> = lines[at..].iter().take(10).map(|line| format!("  | {line}")).collect();
    let rest = if rest.is_empty() { "  (the output ends there)".to_owned() } else { rest.join("\n") };
    format!(
        "line {}: `{name}: {}` is not found; the output continues with\n{rest}",
        check.line, check.pattern
    )
}

fn parse<'t>(lines: impl IntoIterator<Item = (usize, &'t str)>) -> Result<Vec<Check<'t>>, String> {
    let mut checks = Vec::new();
    for (line, content) in lines {
        let Some(rest) = content.trim_start().strip_prefix("# CHECK") else { continue };
        let (suffix, pattern) = rest
            .split_once(':')
            .ok_or_else(|| format!("line {line}: expected `# CHECK: PATTERN`, found `{}`", content.trim()))?;
        let kind = match suffix {
            "" => Kind::Anywhere,
            "-NEXT" => Kind::Next,
            "-NOT" => Kind::Not,
            other => {
                return Err(format!(
                    "line {line}: unknown check `CHECK{other}`: expected CHECK, CHECK-NEXT or CHECK-NOT"
                ));
            }
        };
        let pattern = pattern.trim();
        if pattern.is_empty() {
            return Err(format!("line {line}: the check has no pattern"));
        }
        if kind == Kind::Next && !checks.iter().any(|check: &Check<'_>| check.kind != Kind::Not) {
            return Err(format!("line {line}: `CHECK-NEXT` needs a `CHECK` above it"));
        }
        checks.push(Check { line, kind, pattern });
    }
    Ok(checks)
}

/// Reduces blanks between words to one.
fn squeeze(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The captures after the first match in a line.
fn match_line(pattern: &str, line: &str, captures: &Captures) -> Option<Captures> {
    let pattern = squeeze(pattern);
    line.char_indices().map(|(at, _)| at).find_map(|at| match_here(&pattern, &line[at..], captures))
}

fn match_here(pattern: &str, line: &str, captures: &Captures) -> Option<Captures> {
    let special = [pattern.find("{{*}}"), pattern.find("[[")].into_iter().flatten().min();
    let Some(special) = special else { return line.starts_with(pattern).then(|| captures.clone()) };
    let line = line.strip_prefix(&pattern[..special])?;
    let pattern = &pattern[special..];
    if let Some(rest) = pattern.strip_prefix("{{*}}") {
        let ends = line.char_indices().map(|(at, _)| at).chain([line.len()]);
        return ends.into_iter().find_map(|at| match_here(rest, &line[at..], captures));
    }
    let Some((name, rest)) = pattern[2..].split_once("]]") else {
        return line.starts_with(pattern).then(|| captures.clone());
    };
    if let Some(value) = captures.get(name) {
        return match_here(rest, line.strip_prefix(value.as_str())?, captures);
    }
    let is_name = |c: char| c.is_alphanumeric() || "_./:-".contains(c);
    let end = line.find(|c| !is_name(c)).unwrap_or(line.len());
    let value = line.get(..end).filter(|value| !value.is_empty())?;
    let mut captures = captures.clone();
    captures.insert(name.to_owned(), value.to_owned());
    match_here(rest, &line[end..], &captures)
}

#[cfg(test)]
mod tests {
    fn compare(text: &str, output: &str) -> Result<(), String> {
        super::compare((1..).zip(text.lines()), output)
    }

    const OUTPUT: &str = "a = Add(x, y)\n   b = Relu(a)\nc = Mul(b, a)\n";

    #[test]
    fn lines_match_in_their_order() {
        assert!(compare("# CHECK: Add(x, y)\n# CHECK-NEXT: Relu\n# CHECK: Mul", OUTPUT).is_ok());
        assert!(compare("# CHECK: Mul\n# CHECK: Add", OUTPUT).unwrap_err().starts_with("line 2:"));
        assert!(compare("# CHECK: Add\n# CHECK-NEXT: Mul", OUTPUT).is_err());
        assert!(compare("# CHECK: Add\n# CHECK-NOT: Relu\n# CHECK: Mul", OUTPUT).is_err());
        assert!(compare("# CHECK: Add\n# CHECK-NOT: Sub\n# CHECK: Mul", OUTPUT).is_ok());
        assert!(compare("# CHECK-NOT: Mul", OUTPUT).is_err());
    }

    #[test]
    fn names_are_captured() {
        assert!(compare("# CHECK: [[S]] = Add\n# CHECK: Mul({{*}}, [[S]])", OUTPUT).is_ok());
        assert!(compare("# CHECK: [[S]] = Add\n# CHECK: Mul([[S]]", OUTPUT).is_err());
    }

    #[test]
    fn wrong_lines_are_named() {
        assert!(compare("# CHECKS: x", OUTPUT).unwrap_err().contains("unknown check"));
        assert!(compare("# CHECK x", OUTPUT).unwrap_err().contains("expected `# CHECK: PATTERN`"));
        assert!(compare("# CHECK:", OUTPUT).unwrap_err().contains("no pattern"));
        assert!(compare("# CHECK-NEXT: x", OUTPUT).unwrap_err().contains("above"));
    }
}
