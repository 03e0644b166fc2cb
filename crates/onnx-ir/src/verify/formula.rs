//! Whether the text of a dimension is a formula, as `grammar/dimensions.md` defines them: `N*2`, `ceil((H-1)/2)`, `max(N-1, 0)`.
//!
//! Only the syntax is checked; inference evaluates formulas.

/// Whether a text is an identifier, or a formula of identifiers and numbers.
pub(super) fn is_formula(text: &str) -> bool {
    if is_joined_name(text) {
        return false;
    }
    let bytes = text.as_bytes();
    let (mut at, mut depth) = (0, 0_usize);
    // Whether an operand or an operator is expected next.
    let mut is_operand_due = true;
    while let Some(&byte) = bytes.get(at) {
        let rest = &bytes[at + 1..];
        let length = 1 + match byte {
            b' ' => 0,
            b'(' if is_operand_due => {
                depth += 1;
                0
            }
            b')' if !is_operand_due && depth > 0 => {
                depth -= 1;
                0
            }
            b'+' | b'-' if is_operand_due => 0,
            b',' if !is_operand_due && depth > 0 => {
                is_operand_due = true;
                0
            }
            b'+' | b'-' | b'%' | b'*' | b'/' if !is_operand_due => {
                is_operand_due = true;
                usize::from(matches!(byte, b'*' | b'/') && rest.first() == Some(&byte))
            }
            _ if is_operand_due && is_letter(byte) => {
                let name =
                    rest.iter().take_while(|b| is_letter(**b) || b.is_ascii_digit() || **b == b'.').count();
                let is_call = rest.get(name) == Some(&b'(');
                depth += usize::from(is_call);
                is_operand_due = is_call;
                name + usize::from(is_call)
            }
            _ if is_operand_due && byte.is_ascii_digit() => {
                is_operand_due = false;
                rest.iter().take_while(|b| b.is_ascii_digit() || **b == b'.').count()
            }
            _ => return false,
        };
        at += length;
    }
    !is_operand_due && depth == 0
}

fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_'
}

/// `batch-size`, `rows/cols`: a name, where `H-1` is a formula.
fn is_joined_name(text: &str) -> bool {
    let is_part = |part: &str| {
        !part.is_empty() && part.bytes().all(|b| is_letter(b) || b.is_ascii_digit() || b == b'.')
    };
    let is_name = |part: &str| part.bytes().next().is_some_and(is_letter);
    let mut parts = text.split(['-', '/']);
    let names: Vec<bool> = parts.by_ref().map(is_name).collect();
    text.split(['-', '/']).all(is_part) && names.windows(2).any(|pair| pair[0] && pair[1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_are_told_from_other_names() {
        let formulas = [
            "N",
            "batch_1",
            "N*2",
            "N+1",
            "2*s0 + 1",
            "ceil((H-1)/2)",
            "max(N-1, 0)",
            "1-N",
            "H//2*2 % 3",
            "N**2",
            "-N+H",
            "M - N",
            "H-1",
            "H/2",
        ];
        for text in formulas {
            assert!(is_formula(text), "{text}");
        }
        let others = [
            "",
            "batch size",
            "*",
            "N+",
            "batch-size",
            "past-seq-1",
            "rows/cols",
            "x.shape[0]",
            "a:b",
            "2N",
            "(N",
            "N)",
            "max(N,)",
            "N, M",
            "Stück",
            "N\n",
            "f(",
        ];
        for text in others {
            assert!(!is_formula(text), "{text}");
        }
    }
}
