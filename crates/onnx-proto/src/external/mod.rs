//! External data: tensors whose data is in files beside the model.
//!
//! [`Folder`] reads such files, and only those below the model's folder. [`internalize`] loads data into the model (a slice of
//! the mapped file, no copy); [`externalize`] plans the files to write and makes the tensors refer to them. Both process
//! initializers and attributes, including parts of sparse tensors.
//!
//! **Restoring inline data.** A text of a large model stores weights in a file beside it. To restore the original binary model
//! byte for byte, [`externalize`] can mark a tensor that was inline with an external data entry whose key is [`MARK`] and whose
//! value is the original field, followed by ` explicit` if `data_location` was set to DEFAULT:
//!
//! ```text
//! float[1000] w = ["location": "m.onnxtxt.data", "offset": "0", "length": "4000", "onnxtxt.inline": "raw_data"]
//! ```
//!
//! The first tensor in a file states the `checksum` of the file, which readers of a text verify: two files cannot be replaced
//! atomically, and a text with the weights of another would be a wrong model.
//!
//! Other ONNX readers ignore the entry or warn about it, and some runtimes reject it, so binary models do not have it.

mod folder;
mod moves;
mod places;

pub use folder::Folder;
pub use moves::{Chunk, DataFile, Layout, Load, MARK, Which, externalize, has_marks, internalize, relocate};
pub use places::{external_tensors, is_stored_outside};
