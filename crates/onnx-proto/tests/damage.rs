//! Damaged files: no panic, no silence, and what is read is written so that it reads the same.

use bytes::Bytes;
use onnx_proto::{FileKind, ScanDepth, json, read, read_data, sniff, textproto, walk, write};

fn field(number: u32, value: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    prost::encoding::encode_varint(u64::from(number << 3 | 2), &mut out);
    prost::encoding::encode_varint(value.len() as u64, &mut out);
    out.extend_from_slice(value);
    out
}

/// A model with something of everything: nested graphs, all payloads, types, functions, training, devices.
fn model() -> Vec<u8> {
    let entry = [field(1, b"key"), field(2, b"value")].concat();
    let dims = [field(1, &[8, 3]), field(1, &field(2, b"N")), field(1, &field(3, b"DATA_BATCH"))].concat();
    let tensor_type = field(1, &[&[8, 1][..], &field(2, &dims)].concat());
    let map_type = field(5, &[&[8, 7][..], &field(2, &field(4, &field(1, &tensor_type)))].concat());
    let value_info = |name: &[u8], ty: &[u8]| [field(1, name), field(2, ty), field(4, &entry)].concat();
    let tensor = [
        vec![8, 2, 16, 1],
        field(3, &[8, 1]),
        field(4, &[0, 0, 128, 63, 1, 0, 192, 127]),
        field(5, &[1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]),
        field(6, b"\xff"),
        field(7, &[0x80, 1]),
        field(8, b"w"),
        field(9, b""),
        field(10, &[0; 8]),
        field(11, &[5]),
        field(13, &entry),
        vec![14 << 3, 1],
    ]
    .concat();
    let sparse = [field(1, &tensor), field(2, &tensor), vec![24, 4]].concat();
    let inner =
        [field(1, &[field(1, b"x"), field(2, b"t"), field(4, b"Abs")].concat()), field(2, b"inner")].concat();
    let attribute = [
        field(1, b"a"),
        vec![21, 0, 0, 192, 255, 24, 5],
        field(4, b"s"),
        field(5, &tensor),
        field(6, &inner),
        vec![61, 0, 0, 128, 63, 64, 1],
        field(9, b"x"),
        field(11, &inner),
        field(14, &map_type),
        vec![0xa0, 1, 5],
        field(21, b"ref"),
        field(22, &sparse),
    ]
    .concat();
    let sharding =
        [field(1, b"x"), vec![16, 1], field(4, &[&[8, 0][..], &field(2, &[8, 2, 24, 2])].concat())].concat();
    let node = [
        field(1, b"x"),
        field(1, b""),
        field(2, b"y"),
        field(4, b"If"),
        field(5, &attribute),
        field(9, &entry),
        field(10, &[field(1, b"c"), field(2, &sharding)].concat()),
    ]
    .concat();
    let graph = [
        field(1, &node),
        field(2, b"g"),
        field(5, &tensor),
        field(11, &value_info(b"x", &tensor_type)),
        field(12, &value_info(b"y", &map_type)),
        field(14, &[field(1, b"x"), field(2, &entry)].concat()),
        field(15, &sparse),
    ]
    .concat();
    let function = [field(1, b"f"), field(4, b"x"), field(7, &node), field(11, &attribute)].concat();
    let training = [field(1, &inner), field(4, &entry)].concat();
    let import = [16, 21];
    [
        vec![8, 10],
        field(2, b"test"),
        field(7, &graph),
        field(8, &import),
        field(20, &training),
        field(25, &function),
        field(26, &[field(1, b"c"), vec![16, 2]].concat()),
    ]
    .map(|part| part)
    .into_iter()
    .flatten()
    .collect()
}

/// Reads, writes, and reads again. What was understood has to stay.
fn survives(bytes: Vec<u8>) {
    let bytes = Bytes::from(bytes);
    let (model, diagnostics) = read(bytes.clone()).into_parts();
    let mut unusual = 0;
    let walked = walk(&bytes, FileKind::Model, ScanDepth::Numbers, &mut |_| unusual += 1);
    if walked.is_err() {
        assert!(
            diagnostics.iter().any(|d| d.is_error()),
            "{walked:?}, {diagnostics:?}: {bytes:?} is read without an error"
        );
    }
    let written = write(&model).unwrap();
    if walked.is_ok() && unusual == 0 && diagnostics.is_empty() {
        let at = written.iter().zip(&bytes).take_while(|(a, b)| a == b).count();
        let end = |bytes: &[u8]| format!("{:?}", Bytes::copy_from_slice(&bytes[at.min(bytes.len())..]));
        assert_eq!(end(&written), end(&bytes), "byte {at} is written otherwise than read");
    }
    let (again, diagnostics) = read(written.clone().into()).into_parts();
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    assert_eq!(write(&again).unwrap(), written);
    if walked.is_ok()
        && let Ok(text) = textproto::to_text(&bytes, FileKind::Model)
    {
        textproto::from_text(text.as_bytes(), FileKind::Model).unwrap();
    }
    if let Ok(text) = json::to_json(&bytes, FileKind::Model) {
        json::from_json(text.as_bytes(), FileKind::Model).unwrap();
    }
    sniff(&bytes);
    for kind in [FileKind::Tensor, FileKind::Sequence, FileKind::Map, FileKind::Optional] {
        _ = read_data(bytes.clone(), kind, &mut onnx_ir::Names::new());
    }
}

#[test]
fn the_model_is_sound() {
    let bytes = model();
    assert_eq!(sniff(&bytes), Some(FileKind::Model));
    let mut unusual = Vec::new();
    walk(&bytes, FileKind::Model, ScanDepth::Numbers, &mut |f| unusual.push((f.path.to_string(), f.kind)))
        .unwrap();
    assert_eq!(unusual, []);
    let (model, diagnostics) = read(bytes.clone().into()).into_parts();
    assert_eq!(diagnostics, []);
    assert_eq!(write(&model).unwrap(), bytes);
}

#[test]
fn cut_off_at_every_byte() {
    let bytes = model();
    for length in 0..bytes.len() {
        survives(bytes[..length].to_vec());
    }
}

#[test]
fn changed_at_random() {
    let sound = model();
    let mut seed = 1_u64;
    let mut random = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % below
    };
    for _ in 0..5_000 {
        let mut bytes = sound.clone();
        for _ in 0..=random(4) {
            let at = random(bytes.len());
            match random(4) {
                0 => bytes[at] = random(256) as u8,
                1 => bytes[at] ^= 1 << random(8),
                2 => drop(bytes.remove(at)),
                _ => bytes.insert(at, random(256) as u8),
            }
        }
        survives(bytes);
    }
}
