//! Files as URIs.

use gen_lsp_types::Uri;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use std::path::{Path, PathBuf};

/// The characters of a path that are written as they are.
const KEPT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'/')
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'+')
    .remove(b'=');

/// The path of a `file:` URI.
pub(crate) fn path_of(uri: &Uri) -> Option<PathBuf> {
    let rest = uri.0.strip_prefix("file://")?;
    // Some clients write a host, which only `localhost` may be.
    let path = rest.strip_prefix("localhost").unwrap_or(rest);
    let path = percent_decode_str(path).decode_utf8().ok()?;
    let is_drive =
        |path: &str| path.len() > 2 && path.as_bytes()[1].is_ascii_alphabetic() && path.as_bytes()[2] == b':';
    let path = if cfg!(windows) && is_drive(&path) { &path[1..] } else { &path[..] };
    path.starts_with(['/', '\\'])
        .then(|| PathBuf::from(path))
        .or_else(|| cfg!(windows).then(|| PathBuf::from(path)))
}

/// The `file:` URI of a path. Bytes that are not UTF-8 are replaced.
pub(crate) fn of_path(path: &Path) -> Uri {
    let text = path.to_string_lossy().replace('\\', if cfg!(windows) { "/" } else { "\\" });
    let slash = if text.starts_with('/') { "" } else { "/" };
    Uri(format!("file://{slash}{}", utf8_percent_encode(&text, KEPT)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn paths_and_uris_are_converted_without_loss() {
        for (path, uri) in [
            ("/a/b.onnxtxt", "file:///a/b.onnxtxt"),
            ("/a b/ä#?%.onnx", "file:///a%20b/%C3%A4%23%3F%25.onnx"),
            ("/a\\b", "file:///a%5Cb"),
        ] {
            assert_eq!(of_path(Path::new(path)).0, uri);
            assert_eq!(path_of(&Uri(uri.to_owned())), Some(PathBuf::from(path)));
        }
        assert_eq!(path_of(&Uri("file://localhost/x".to_owned())), Some(PathBuf::from("/x")));
        assert_eq!(path_of(&Uri("untitled:Untitled-1".to_owned())), None);
        assert_eq!(path_of(&Uri("file:///%FF".to_owned())), None);
    }
}
