//! `docs/gradient.md` lists how each operator is differentiated. `UPDATE=1 cargo test --test gradient_list` writes the page.

use std::fs;
use std::path::Path;

#[test]
fn the_page_lists_every_operator() {
    let page = onnx_ops::gradient::document(onnx_ops::schema::Registry::builtin());
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/gradient.md");
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, &page).expect("docs can be written");
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    assert!(written == page, "docs/gradient.md is not up to date: run this test with UPDATE=1");
}
