//! Derivatives of convolutions and of the inverse operators of windows.

mod convolution;
mod deformed;
mod inverse;
mod weights;

pub(super) use convolution::{conv, conv_transpose};
pub(super) use deformed::deform_conv;
pub(super) use inverse::{columns_to_image, unpool};
