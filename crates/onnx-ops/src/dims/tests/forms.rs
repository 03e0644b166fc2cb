//! The text of simplified expressions.

use crate::dims::{Dim, Dims};

#[track_caller]
fn shows(text: &str, expected: &str) {
    let mut dims = Dims::new();
    let dim = dims.parse(text);
    assert_eq!(dims.text(dim), expected, "{text}");
    assert_eq!(dims.parse(expected), dim, "{expected} is read as something else");
}

#[test]
fn sums_and_products() {
    shows("N", "N");
    shows("2*s0 + 1", "s0*2+1");
    shows("1 - N", "1-N");
    shows("N-1", "N-1");
    shows("-N - 1", "-N-1");
    shows("H*N*4 - 2*H", "H*N*4-H*2");
    shows("N*M*2", "M*N*2");
    shows("(N+1)*(N-1)", "N**2-1");
    shows("N - N", "0");
    shows("M - N", "M - N");
    shows("M - N - 1", "M - N - 1");
    shows("M - N + 1", "M-N+1");
    shows("2*(M - N)", "M*2-N*2");
}

#[test]
fn quotients() {
    shows("floor((N*4+2)/2)", "N*2+1");
    shows("floor((N*4+1)/4)", "N");
    shows("floor(floor(N/2)/3)", "floor(N/6)");
    shows("ceil(ceil(H/2)/2)", "ceil(H/4)");
    shows("(H - 1)//2 + 1", "ceil(H/2)");
    shows("(H + 1)//2", "ceil(H/2)");
    shows("floor(H/2 + 1/2)", "ceil(H/2)");
    shows("(H - 2)//2 + 1", "floor(H/2)");
    shows("floor(H/2)+1", "floor(H/2)+1");
    shows("floor((H+1)/3)", "floor((H+1)/3)");
    shows("N*4/4", "N");
    shows("N*4*H/(H*2)", "N*2");
    shows("N*2/(N*4)", "0");
    shows("N // N", "1");
    shows("N/N", "N/N");
    shows("(N*M+K)//N", "M+floor(K/N)");
    shows("(N + M - 1)//M", "floor((N-1)/M)+1");
    shows("ceil(N/M)", "floor((N-1)/M)+1");
    shows("floor(3*H/2)", "H+floor(H/2)");
    shows("floor((E - S)/2)", "floor((E-S)/2)");
    shows("ceil((E - S)/2)", "ceil((E-S)/2)");
    shows("floor((S - E)/2)", "floor((S-E)/2)");
    shows("floor((10-N)/4)", "2-floor((N+1)/4)");
    shows("H - ceil(H/2)", "floor(H/2)");
    shows("H - floor(H/2)", "ceil(H/2)");
    shows("ceil(H/2) + floor(H/2)", "H");
    shows("H - floor(H/3)", "ceil(H*2/3)");
    shows("N - ceil(H/2)", "N-ceil(H/2)");
    shows("-floor(-H/2)", "ceil(H/2)");
    shows("ceil(max(N-1, 0)/2)", "floor(N/2)");
    shows("floor(min(N, 5)/2)", "floor(min(N, 5)/2)");
    shows("floor((3-max(N, M))/2)", "1-floor(max(M, N)/2)");
    shows("floor(7/N)", "floor(7/N)");
    shows("N // (N + 1)", "0");
    shows("floor(N*H*W/(M*2))", "floor(H*N*W/(M*2))");
    shows("ceil(H/2)*ceil(W/2)*N", "N*ceil(H/2)*ceil(W/2)");
}

#[test]
fn rests() {
    shows("(N*4) % 2", "0");
    shows("N % 2", "mod(N, 2)");
    shows("Mod(N + 1, 2)", "mod(N+1, 2)");
    shows("N - 2*floor(N/2)", "mod(N, 2)");
    shows("(N//2)*2 + N%2", "N");
    shows("(N*4+3) % 6", "mod(1-N, 3)*2+1");
    shows("(N - M) % 4", "mod(N-M, 4)");
    shows("N*M % N", "0");
    shows("H + (7 - H % 7) % 7", "ceil(H/7)*7");
    shows("(7 - H % 7) % 7", "mod(-H, 7)");
    shows("max(N-1, 0) % 2", "mod(max(N-1, 0), 2)");
    shows("N % M", "mod(N, M)");
    shows("(N*K) % (M*K)", "K*mod(N, M)");
}

#[test]
fn ends() {
    shows("max(N, 0)", "N");
    shows("min(N+1, N)", "N");
    shows("max(N-1, N)", "N");
    shows("max(N-1, 0)", "max(N-1, 0)");
    shows("max(1, N)", "max(N, 1)");
    shows("max(N-1, 0) + 1", "max(N, 1)");
    shows("max(N-5, 0) + 2", "max(N-5, 0)+2");
    shows("max(N, 1) + 1", "max(N, 1)+1");
    shows("N - max(M, N-1)", "min(N-M, 1)");
    shows("min(N, 3) + max(N-3, 0)", "N");
    shows("N - max(N-1, 0)", "min(N, 1)");
    shows("max(max(N-2, 0) - min(N, 2), 0)", "max(N-4, 0)");
    shows("max(min(N, 5) - min(N, 2), 0)", "max(min(N-2, 3), 0)");
    shows("min(max(N-1, 0), 4)", "max(min(N-1, 4), 0)");
    shows("min(max(N, 2), 5)", "max(min(N, 5), 2)");
    shows("max(min(E, N) - min(S, N), 0)", "max(min(E, N)-S, 0)");
    shows("min(N, max(N, 3)*2)", "N");
    shows("max(floor(H/2), floor(H/3))", "floor(H/2)");
    shows("N - max(min(N-1, 2), 0)", "N-max(min(N-1, 2), 0)");
    shows("max(N+1, M+1)", "max(M, N)+1");
    shows("max(N-1, M)", "max(M, N-1)");
    shows("max(2*N, 2*M)", "max(M, N)*2");
    shows("-min(-N, -M)", "max(M, N)");
    shows("min(max(N-1, 0), N)", "max(N-1, 0)");
    shows("max(max(N, M), K)", "max(K, M, N)");
    shows("max(min(N, 5), 0)", "min(N, 5)");
    shows("max(min(N, 5), 7)", "7");
    shows("abs(N - M)", "abs(M-N)");
    shows("max(1-N, 0)", "max(1-N, 0)");
    shows("M - max(N-1, 0)", "M-max(N-1, 0)");
    shows("min(N, M)", "min(M, N)");
    shows("min(max(N, 2), M)", "min(M, max(N, 2))");
}

#[test]
fn broadcasts() {
    shows("broadcast(N, M)", "broadcast(M, N)");
    shows("broadcast(broadcast(N, M), N)", "broadcast(M, N)");
    shows("broadcast(N, 1)", "N");
    shows("broadcast(N, 7)", "7");
    shows("broadcast(N+2, M)", "N+2");
    shows("broadcast(ceil(H/16), ceil(H/32)*2)", "ceil(H/32)*2");
    shows("broadcast(N*2, M*2)", "M*2");
    shows("broadcast(N*2+1, M)", "broadcast(M, N*2+1)");
    let mut dims = Dims::new();
    assert_eq!(dims.broadcast(Dim::Const(2), Dim::Const(3)), Err(()));
    assert_eq!(dims.broadcast(Dim::Const(0), Dim::Const(1)), Ok(Dim::Const(0)));
    assert_eq!(dims.broadcast(Dim::Unknown, Dim::Const(4)), Ok(Dim::Const(4)));
    assert_eq!(dims.broadcast(Dim::Unknown, Dim::Const(1)), Ok(Dim::Unknown));
    let (wide, narrow) = (dims.parse("N + 5"), Dim::Const(3));
    assert_eq!(dims.broadcast(wide, narrow), Err(()));
    let symbol = dims.symbol("M");
    assert_eq!(dims.broadcast(symbol, Dim::Unknown), Ok(Dim::Unknown));
}

#[test]
fn halves_of_halves() {
    shows("floor(H/2) - floor(H/4)", "floor((H+2)/4)");
    shows("floor(H/4) + floor((H+2)/4)", "floor(H/2)");
    shows("floor(H/6) + floor((H+3)/6)", "floor(H/3)");
    shows("floor((H+1)/6) - floor((H+1)/3) + M", "M-floor((H+4)/6)");
    // Padded by what is left, as exporters write it.
    shows("(floor(H/2) + mod(floor(H/2), 2)) // 2", "floor((H+2)/4)");
    let eighth = "floor((H+6)/8)";
    shows(&format!("({0} + mod({0}, 2)) // 2", "floor((H+2)/4)"), eighth);
    shows("ceil(floor((H+2)/4)/2)", eighth);
}
