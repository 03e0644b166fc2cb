//! Where results are stored, and when values are published and released.

use super::{assert_lines, kernels};
use crate::plan::SlotStorage;
use crate::plan::place::{place, steps};

fn check(what: &str, before: &str, after: &str) {
    let (mut written, kernels, _) = kernels(before);
    let (places, arena) = place(&kernels, &written.partition.slots, &written.partition.published);
    let names = written.names();
    let mut found = format!("arena of {arena} bytes\n");
    for (name, place) in names.iter().zip(&places) {
        found += &match place {
            SlotStorage::Arena(at) => format!("{name} at {at}\n"),
            SlotStorage::Own => format!("{name} by itself\n"),
            SlotStorage::Local => format!("{name} in block\n"),
            SlotStorage::Elsewhere => String::new(),
        };
    }
    let published: Vec<_> = written.partition.published.iter().map(|(value, _)| *value).collect();
    // Nothing after the plan reads the first published value.
    written.partition.dead = published.into_iter().take(1).collect();
    let steps = steps(kernels, &written.partition, &places);
    assert_lines(what, &(found + &written.steps(&steps)), after);
}

#[test]
fn results_share_memory_when_their_lives_do_not_overlap() {
    check(
        "a chain needs room for two",
        "reads float[64] x
         kernel 0 float[64] a[i0] = exp(x[i0])
         kernel 1 float[64] b[i0] = sqrt(a[i0])
         kernel 2 float[64] c[i0] = exp(b[i0])
         kernel 3 float[64] y[i0] = c[i0] + 1.0
         publishes y",
        "arena of 512 bytes
         a at 0
         b at 256
         c at 0
         y by itself
         kernel: a
         kernel: b
         kernel: c
         kernel: y
         publish y
         release y, memory of y",
    );
    check(
        "results that are read together lie apart",
        "reads float[64] x
         kernel 0 float[64] a[i0] = exp(x[i0])
         kernel 1 float[32] b[i0] = sqrt(x[i0])
         kernel 2 float[64] y[i0] = a[i0] + b[i0 / 2]
         publishes y",
        "arena of 384 bytes
         a at 0
         b at 256
         y by itself
         kernel: a
         kernel: b
         kernel: y
         publish y
         release y, memory of y",
    );
    check(
        "a small result goes where a large one was",
        "reads float[64] x
         kernel 0 float[64] a[i0] = exp(x[i0])
         kernel 1 float[64] b[i0] = a[i0] + 1.0
         kernel 2 float[16] c[i0] = b[i0]
         kernel 3 float[16] d[i0] = b[i0 + 16] + c[i0]
         kernel 4 float[16] y[i0] = d[i0] * c[i0]
         publishes y",
        "arena of 512 bytes
         a at 0
         b at 256
         c at 0
         d at 64
         y by itself
         kernel: a
         kernel: b
         kernel: c
         kernel: d
         kernel: y
         publish y
         release y, memory of y",
    );
}

#[test]
fn published_and_local_results_are_not_in_the_arena() {
    check(
        "a softmax whose maximum is published",
        "reads float[64,32] x
         kernel 0 of 64 rows, 8 at a time
           float[64] m[i0] = max over i1 < 32 of x[i0, i1]
           float[64] s[i0] = sum over i1 < 32 of exp(x[i0, i1] - m[i0]) in block
           float[64,32] p[i0, i1] = exp(x[i0, i1] - m[i0]) / s[i0]
         kernel 1 float[64] y[i0] = sum over i1 < 32 of p[i0, i1]
         publishes m, y",
        "arena of 8192 bytes
         m by itself
         s in block
         p at 0
         y by itself
         kernel of 64 rows, 8 at a time: m, (s), p
         publish m
         release m, memory of m
         kernel: y
         publish y
         release memory of y",
    );
}
