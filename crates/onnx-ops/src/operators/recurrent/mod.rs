//! Recurrent layers: `RNN`, `GRU`, `LSTM`.

pub(super) mod activation;
mod cost;
mod gradient;
pub(super) mod infer;
mod versions;

use super::{Operator, op};
use crate::change::{Conversion::By, step, up};
use crate::derivative::Derivative::Rewrite;
use crate::work::Work;

pub(super) const ROWS: &[Operator] = &[
    op("GRU")
        .infer(infer::gru)
        .converted(&[
            up(3, versions::gru_up),
            step(7, By(versions::sequence_up), By(versions::sequence_down)),
        ])
        .unchanged(&[14, 22])
        .work(Work::Products(|cx, n| cost::recurrent(cx, n, 3), None))
        .derivative(Rewrite(gradient::gru)),
    op("LSTM")
        .infer(infer::lstm)
        .converted(&[step(7, By(versions::sequence_up), By(versions::sequence_down))])
        .unchanged(&[14, 22])
        .work(Work::Products(|cx, n| cost::recurrent(cx, n, 4), None))
        .derivative(Rewrite(gradient::lstm)),
    op("RNN")
        .infer(infer::rnn)
        .converted(&[step(7, By(versions::sequence_up), By(versions::sequence_down))])
        .unchanged(&[14, 22])
        .work(Work::Products(|cx, n| cost::recurrent(cx, n, 1), None))
        .derivative(Rewrite(gradient::rnn)),
];
