//! Fourier transforms, windows, mel filters.

mod gradient;
mod infer;
mod versions;

use super::{Operator, op};
use crate::change::{Conversion::By, step};
use crate::derivative::{
    Derivative::{Build, Rewrite, Zero},
    GENERATED,
};

pub(super) const ROWS: &[Operator] = &[
    op("BlackmanWindow").infer(infer::window).reads(&[0]).derivative(Zero(GENERATED)),
    op("DFT")
        .infer(infer::dft_17)
        .infer_from(20, infer::dft)
        .reads(&[1, 2])
        .converted(&[step(20, By(versions::dft_up), By(versions::dft_down))])
        .derivative(Build(gradient::dft)),
    op("HammingWindow").infer(infer::window).reads(&[0]).derivative(Zero(GENERATED)),
    op("HannWindow").infer(infer::window).reads(&[0]).derivative(Zero(GENERATED)),
    op("MelWeightMatrix").infer(infer::mel).reads(&[0, 1, 2, 3, 4]).derivative(Zero(GENERATED)),
    op("STFT").infer(infer::stft).reads(&[1, 3]).derivative(Rewrite(gradient::stft)),
];
