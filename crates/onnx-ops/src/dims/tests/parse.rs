//! Parsing of expressions, as exporters and people write them, and of names.

use crate::dims::{Dim, Dims};

#[track_caller]
fn reads(text: &str, canonical: &str) {
    let mut dims = Dims::new();
    let dim = dims.parse(text);
    assert_eq!(dims.text(dim), canonical, "{text}");
    assert_eq!(dims.parse(canonical), dim, "{canonical}");
}

/// As a symbol of this name, which prints as itself.
#[track_caller]
fn is_name(text: &str) {
    let mut dims = Dims::new();
    let dim = dims.parse(text);
    assert_eq!(dim, dims.symbol(text), "{text}");
    assert_eq!(dims.text(dim), text);
    let twice = dims.mul(dim, Dim::Const(2));
    let text = dims.text(twice);
    assert_eq!(dims.parse(&text), twice, "{text}");
}

#[test]
fn expressions_of_exporters() {
    reads("2*s0 + 1", "s0*2+1");
    reads("s0 // 2", "floor(s0/2)");
    reads("(s0 - 1)//2 + 1", "ceil(s0/2)");
    reads("floor(H/2 + 1/2)", "ceil(H/2)");
    reads("floor(0.5*H)", "floor(H/2)");
    reads("ceiling(x/2)", "ceil(x/2)");
    reads("Max(1, s0)", "max(s0, 1)");
    reads("Min(a, b)", "min(a, b)");
    reads("Mod(a, 2)", "mod(a, 2)");
    reads("a % 2", "mod(a, 2)");
    reads("N**2", "N**2");
    reads("Pow(N, 2)", "N**2");
    reads("FloorDiv(s0, 2)", "floor(s0/2)");
    reads("CeilToInt(IntTrueDiv(s0, 2))", "ceil(s0/2)");
    reads("ModularIndexing(s0, 2, 3)", "mod(floor(s0/2), 3)");
    reads("decoder_sequence_length + 1", "decoder_sequence_length+1");
    reads("past.length + seq.length", "past.length+seq.length");
    reads("-N//2", "-ceil(N/2)");
    reads("-(N//2)", "-floor(N/2)");
    reads("2 - -N", "N+2");
    reads("N/2*2", "N");
    reads("N/2", "floor(N/2)");
    reads("  N  ", "N");
    reads("16", "16");
    reads("-1", "-1");
}

#[test]
fn names() {
    for text in ["N", "batch_size", "unk__3", "s0", "encoder.length", "größe", "批", "_", "max", "floor"] {
        is_name(text);
    }
    // Not as a whole an expression.
    for text in [
        "N+",
        "2N",
        "N M",
        "a:b",
        "x.shape[0]",
        "N^2",
        "N == 1",
        "(N",
        "N)",
        "f(N)",
        "max()",
        "floor(N, 2)",
        "N**N",
        "N**99",
        "#",
        "'",
        "'a",
        "a''b",
        "1.2.3",
        "99999999999999999999",
        "None,",
        "a\nb:",
        "mod(N)",
        "\u{0}",
    ] {
        is_name(text);
    }
    // Joined without blanks, more a name than a difference.
    for text in ["batch-size", "past-seq-len", "a/b", "feature-map-1", "N/N"] {
        is_name(text);
    }
    reads("H-K+1", "H-K+1");
    reads("M - N", "M - N");
    reads("N-1", "N-1");
    reads("(M-N)", "M - N");
}

#[test]
fn names_that_look_like_expressions_are_quoted() {
    let mut dims = Dims::new();
    for name in ["N+1", "12", "", "?", " N", "'a'", "batch size", "N // 0"] {
        let symbol = dims.symbol(name);
        let text = dims.text(symbol);
        assert_eq!(dims.parse(&text), symbol, "{text}");
        let sum = dims.add(symbol, Dim::Const(1));
        let text = dims.text(sum);
        assert_eq!(dims.parse(&text), sum, "{text}");
    }
    let odd = dims.symbol("it's");
    let sum = dims.add(odd, Dim::Const(1));
    assert_eq!(dims.text(sum), "'it''s'+1");
}

#[test]
fn nothing_is_unknown() {
    let mut dims = Dims::new();
    assert_eq!(dims.parse(""), Dim::Unknown);
    assert_eq!(dims.parse(" ? "), Dim::Unknown);
    assert_eq!(dims.text(Dim::Unknown), "?");
}

#[test]
fn values_that_do_not_exist_are_names() {
    for text in ["N // 0", "N % 0", "9223372036854775807*N*2", "broadcast(2, 3)", "broadcast(N+2, 1)/0"] {
        let mut dims = Dims::new();
        let dim = dims.parse(text);
        assert_eq!(dim, dims.symbol(text), "{text}");
        let read = dims.text(dim);
        assert_eq!(dims.parse(&read), dim);
    }
}

#[test]
fn anonymous_symbols_make_way() {
    let mut dims = Dims::new();
    let (first, second) = (dims.fresh("nonzero"), dims.fresh("nonzero"));
    assert_eq!((dims.text(first), dims.text(second)), ("nonzero".to_owned(), "nonzero_1".to_owned()));
    let named = dims.symbol("nonzero");
    assert_ne!(named, first);
    assert_eq!(dims.text(first), "nonzero_2");
    assert!(dims.is_fresh(first) && !dims.is_fresh(named));
    let odd = dims.fresh("a/b c");
    assert_eq!(dims.text(odd), "a_b_c");
    let none = dims.fresh("");
    assert_eq!(dims.text(none), "d");
}

#[test]
fn long_texts_are_names_at_once() {
    let mut dims = Dims::new();
    for text in [
        "(".repeat(1_000_000),
        "-".repeat(1_000_000),
        "N+".repeat(500_000) + "N",
        "floor(".repeat(200_000),
        "'".repeat(1_000_001),
        "9".repeat(1_000_000),
        "(".repeat(500_000) + "N" + &")".repeat(500_000),
        "N-".repeat(500_000),
        " ".repeat(500_000) + "N (",
    ] {
        let dim = dims.parse(&text);
        assert_eq!(dim, dims.symbol(&text));
    }
}

/// The tables of the page that describes expressions.
#[test]
fn the_page_for_users_is_right() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../grammar/dimensions.md");
    let page = std::fs::read_to_string(page).unwrap();
    let (_, printed) = page.split_once("| text | printed |").unwrap();
    let rows: Vec<&str> = printed.lines().filter(|line| line.starts_with("| `")).collect();
    assert!(rows.len() > 20);
    for row in rows {
        let mut cells = row.split('`');
        let (text, canonical) = (cells.nth(1).unwrap(), cells.nth(1).unwrap());
        reads(text, canonical);
    }
}
