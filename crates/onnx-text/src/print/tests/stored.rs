//! Stored elements, and long lists of literals.

use super::*;
use crate::ast::{Data, File, Graph, List, Stored, Type, ValueInfo};
use bytes::Bytes;
use onnx_ir::{ElemType, Field};

/// Prints a tensor named `w` that stores `bytes`.
fn printed(elem: ElemType, field: Field, bytes: &[u8], count: usize, elide_after: Option<usize>) -> String {
    let name = elem.name().expect("a type with a name");
    let source = format!("g w {name}");
    let at = Span::at(source.len() as u32);
    let bytes = Bytes::copy_from_slice(bytes);
    let stored = Stored { elem, field, bytes, count, elide_after, ends_of: None, as_values: false, at };
    let value = ValueInfo {
        notes: Default::default(),
        ty: Some(Type::Tensor { elem: Span::new(4, at.start), dims: None }),
        name: Span::new(2, 3),
        data: Some(Data::Stored(Box::new(stored))),
        span: Span::new(2, at.start),
    };
    let graph = Graph {
        name: Span::new(0, 1),
        values: Some(List { items: vec![value], span: Span::default() }),
        ..Graph::default()
    };
    let tree = File { graph: Some(graph), ..File::default() };
    let text = format(&source, &Syntax { tree, ..Syntax::default() }, &FormatOptions::default());
    if elide_after.is_none() {
        // Printed text is already formatted.
        assert_eq!(check(&text), text);
    }
    text
}

/// The elements of a short tensor.
fn elements(elem: ElemType, field: Field, bytes: &[u8], count: usize) -> String {
    let text = printed(elem, field, bytes, count, None);
    let (_, data) = text.split_once(" = ").expect("a tensor has data");
    data.split_once('>').expect("values end").0.to_owned()
}

fn bytes_of<const N: usize>(values: impl IntoIterator<Item = [u8; N]>) -> Vec<u8> {
    values.into_iter().flatten().collect()
}

#[test]
fn floats_are_the_shortest_that_read_back() {
    let floats = [0.0, -0.0, 1.0, -2.5, 0.1, 1e-7, 3.4e38, 16_777_216.0, f32::INFINITY, f32::NEG_INFINITY];
    assert_eq!(
        elements(ElemType::FLOAT, Field::Raw, &bytes_of(floats.map(f32::to_le_bytes)), floats.len()),
        "{0, -0.0, 1, -2.5, 0.1, 1e-7, 3.4e+38, 16777216, inf, -inf}"
    );
    let nans = [f32::NAN.copysign(1.0), f32::NAN.copysign(-1.0)].map(f32::to_le_bytes);
    assert_eq!(elements(ElemType::FLOAT, Field::Float, &bytes_of(nans), 2), "{nan, -nan}");
    let doubles = [0.1, 1e300, -5.0].map(f64::to_le_bytes);
    assert_eq!(elements(ElemType::DOUBLE, Field::Double, &bytes_of(doubles), 3), "{0.1, 1e+300, -5}");
}

#[test]
fn integers_have_the_sign_of_their_type() {
    let ones = [0xff; 8];
    for (elem, literal) in [
        (ElemType::INT8, "-1"),
        (ElemType::UINT8, "255"),
        (ElemType::BOOL, "255"),
        (ElemType::INT16, "-1"),
        (ElemType::UINT16, "65535"),
        (ElemType::INT32, "-1"),
        (ElemType::UINT32, "4294967295"),
        (ElemType::INT64, "-1"),
        (ElemType::UINT64, "18446744073709551615"),
        (ElemType::FLOAT16, "65535"),
        (ElemType::BFLOAT16, "65535"),
        (ElemType::FLOAT8E4M3FN, "255"),
    ] {
        let size = elem.raw_size(1).expect("a size") as usize;
        assert_eq!(elements(elem, Field::Raw, &ones[..size], 1), format!("{{{literal}}}"), "{elem:?}");
    }
    assert_eq!(
        elements(ElemType::FLOAT16, Field::Int32, &bytes_of([15360i32, 1].map(i32::to_le_bytes)), 2),
        "{15360, 1}"
    );
    assert_eq!(
        elements(ElemType::UINT32, Field::Uint64, &u64::MAX.to_le_bytes(), 1),
        "{18446744073709551615}"
    );
}

#[test]
fn complex_numbers_are_pairs() {
    let parts = bytes_of([1.0f32, 2.5, -3.0, 0.0].map(f32::to_le_bytes));
    for field in [Field::Float, Field::Raw] {
        assert_eq!(elements(ElemType::COMPLEX64, field, &parts, 2), "{1, 2.5, -3, 0}");
    }
    assert!(printed(ElemType::COMPLEX64, Field::Raw, &parts, 2, Some(1)).contains("{1, 2.5, …}"));
}

#[test]
fn packed_elements_are_unpacked_low_bits_first() {
    let raw = |elem, bytes: &[u8], count| elements(elem, Field::Raw, bytes, count);
    assert_eq!(raw(ElemType::UINT4, &[0x21, 0x0f], 3), "{{1, 2, 15}}");
    assert_eq!(raw(ElemType::INT4, &[0x81, 0x0f], 3), "{{1, -8, -1}}");
    assert_eq!(raw(ElemType::FLOAT4E2M1, &[0xf7], 2), "{{7, 15}}");
    assert_eq!(raw(ElemType::INT2, &[0b11_10_01_00], 4), "{{0, 1, -2, -1}}");
    assert_eq!(raw(ElemType::UINT2, &[0b11_10_01_00], 4), "{{0, 1, 2, 3}}");
    // 1, 2, 3, 63 of six bits each.
    assert_eq!(raw(ElemType::FLOAT6E2M3, &[0b1000_0001, 0b0011_0000, 0b1111_1100], 4), "{1, 2, 3, 63}");
    let entries = bytes_of([0x21i32, 0x03].map(i32::to_le_bytes));
    assert_eq!(elements(ElemType::UINT4, Field::Int32, &entries, 3), "{{1, 2, 3}}");
    let entries = bytes_of([0b11_10_01_00i32, 0b01].map(i32::to_le_bytes));
    assert_eq!(elements(ElemType::UINT2, Field::Int32, &entries, 5), "{{0, 1, 2, 3, 1}}");
    let entries = bytes_of([63i32, 5].map(i32::to_le_bytes));
    assert_eq!(elements(ElemType::FLOAT6E3M2, Field::Int32, &entries, 2), "{63, 5}");
}

#[test]
fn elements_that_are_missing_are_not_made_up() {
    assert_eq!(elements(ElemType::FLOAT, Field::Raw, &[0; 7], 5), "{0}");
    assert_eq!(elements(ElemType::INT4, Field::Raw, &[0x11], 5), "{{1, 1}}");
    assert_eq!(elements(ElemType::FLOAT, Field::Raw, &[], 0), "{}");
}

#[test]
fn an_elided_tensor_says_so() {
    let bytes = bytes_of((0..1000i64).map(i64::to_le_bytes));
    let text = |k| printed(ElemType::INT64, Field::Raw, &bytes, 1000, Some(k));
    assert_eq!(text(3), "g => ()\n<int64 w = {0, 1, 2, …}>\n{}\n");
    assert!(text(0).contains("= {…}"));
    assert!(!text(1000).contains('…'));
    assert!(text(100).ends_with("98, 99, …\n    }\n>\n{}\n"), "{}", text(100));
}

/// Long tensors of every length around the ends of lines and blocks: as spelled, as stored, and by other paths.
#[test]
fn long_lists_are_filled_alike_whoever_holds_them() {
    for count in (30..80).chain([999, 1000, 1001, 5000, 20_000]) {
        let values = (0..count).map(|i: i64| i * i % 1013 - 400);
        let bytes = bytes_of(values.clone().map(i64::to_le_bytes));
        let stored = printed(ElemType::INT64, Field::Raw, &bytes, count as usize, None);
        let spelled: Vec<_> = values.map(|v| v.to_string()).collect();
        let tight = format!("g => () <int64 w = {{{}}}> {{}}", spelled.join(","));
        assert_eq!(check(&tight), stored);
        assert!(stored.lines().all(|l| l.len() <= 100));
        // A word makes it a list of tokens, a comment makes it go through the layout of lines.
        let word = check(&tight.replace("}>", ", nan}>"));
        let comment = check(&tight.replace("}>", ", nan\n# c\n}>"));
        assert_eq!(word.replace("\n    }", "\n        # c\n    }"), comment);
        let attribute = check(&format!(
            "g => () {{ y = C <value = int64 {{{}}}, l = [{}]> () }}",
            spelled.join(","),
            spelled.join(" ,")
        ));
        assert!(attribute.lines().all(|l| l.len() <= 100));
    }
}

#[test]
fn lists_of_strings_are_filled_by_characters() {
    let strings = |count| vec!["\"äöü\""; count].join(", ");
    let text = check(&format!(
        "g => () <string[100] w = {{{}, \"{}\", \"a\"}}> {{}}",
        strings(100),
        "x".repeat(200)
    ));
    assert!(text.lines().skip(3).take(7).all(|l| l.chars().count() == 8 + 13 * 7 - 1), "{text}");
    let in_a_comment = check(&format!("g => () <string[20] w = {{# c\n{}}}> {{}}", strings(20)));
    assert!(in_a_comment.lines().all(|l| l.chars().count() <= 100), "{in_a_comment}");
}
