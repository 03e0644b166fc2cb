//! Tensors whose data is in files beside the model.
//!
//! [`Folder`] reads such files, and only those below the model's folder. [`internalize`] takes data into the model
//! (a slice of the mapped file, no copy); [`externalize`] says what to write into which file and lets the tensors point
//! there. Both work on what initializers and attributes hold, parts of sparse tensors included.
//!
//! **A way back.** A text of large models keeps weights in a file beside it. So that the model can be put together
//! again byte for byte, [`externalize`] can mark a tensor that was inline with an entry of its external data whose key
//! is [`MARK`] and whose value is the field that held the data, with ` explicit` behind it where `data_location` was
//! set to DEFAULT:
//!
//! ```text
//! float[1000] w = ["location": "m.onnxtxt.data", "offset": "0", "length": "4000", "onnxtxt.inline": "raw_data"]
//! ```
//!
//! The first tensor in a file states the `checksum` of the file, which readers of a text compare: two files are not replaced in
//! one moment, and a text with the weights of another would be a model that nobody wrote.
//!
//! Readers of ONNX overlook the entry or warn of it, and some runtimes refuse it: binary models do not get it.

mod folder;
mod moves;
mod places;

pub use folder::Folder;
pub use moves::{Chunk, DataFile, Layout, Load, MARK, Which, externalize, has_marks, internalize, relocate};
pub use places::{external_tensors, is_stored_outside};
