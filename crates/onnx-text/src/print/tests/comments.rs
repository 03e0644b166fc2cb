//! Comments in every place that there is.

use super::*;

/// Ends of tokens after which a line may end, outside annotations.
fn gaps(source: &str) -> Vec<usize> {
    let mut in_note = false;
    let mut gaps = vec![];
    for token in lex(source).tokens {
        match token.kind {
            Kind::Note => in_note = true,
            Kind::NoteEnd => in_note = false,
            _ => {}
        }
        if !in_note && !matches!(token.kind, Kind::Note | Kind::NoteEnd | Kind::Doc) {
            gaps.push(token.span.end as usize);
        }
    }
    gaps
}

/// `source` with texts inserted at ascending places.
fn with(source: &str, texts: &[(usize, &str)]) -> String {
    let mut out = String::new();
    let mut from = 0;
    for &(at, text) in texts {
        out.push_str(&source[from..at]);
        out.push_str(text);
        from = at;
    }
    out.push_str(&source[from..]);
    out
}

const COMMENTS: [&str; 5] =
    [" # trailing\n", "// trailing\n", "\n# own\n", "\n\n# own 1\n # own 2\r\n\n", " # trailing\n\n# own\n"];

#[test]
fn a_comment_survives_in_every_gap() {
    for source in [EVERYTHING, ANNOTATED] {
        for at in gaps(source) {
            for comment in COMMENTS {
                check(&with(source, &[(at, comment)]));
            }
        }
    }
}

#[test]
fn comments_survive_in_neighbouring_gaps() {
    for source in [EVERYTHING, ANNOTATED] {
        let gaps = gaps(source);
        for pair in gaps.windows(2) {
            for [first, second] in
                [["#a\n", "#b\n"], ["#a\n", "\n#b\n"], ["\n#a\n", "#b\n"], ["\n\n#a\n\n", "\n\n#b\n\n"]]
            {
                check(&with(source, &[(pair[0], first), (pair[1], second)]));
            }
        }
        for three in gaps.windows(3) {
            check(&with(source, &[(three[0], "#a\n"), (three[1], "#b\n"), (three[2], "#c\n")]));
        }
    }
}

/// At the start of a line these would be documentation.
#[test]
fn double_hash_comments_stay_behind_something() {
    let gaps = gaps(ANNOTATED);
    for (i, &at) in gaps.iter().enumerate() {
        check(&with(ANNOTATED, &[(at, "## a\n")]));
        for &next in gaps[i + 1..].iter().take(4) {
            check(&with(ANNOTATED, &[(at, "# a\n"), (next, "## b\n")]));
            check(&with(ANNOTATED, &[(at, "\n# a\n"), (next, "## b\n# c\n")]));
            check(&with(ANNOTATED, &[(at, "## a\n"), (next, "## b\n")]));
        }
    }
}

#[test]
fn a_comment_in_every_gap_at_once() {
    for source in [EVERYTHING, ANNOTATED] {
        for comment in COMMENTS {
            let all: Vec<_> = gaps(source).into_iter().map(|at| (at, comment)).collect();
            check(&with(source, &all));
        }
    }
}
