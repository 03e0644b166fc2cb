//! The files that a terminated program leaves.

use crate::{Folder, binary, long_model, weighty};
#[cfg(unix)]
use nix::sys::signal::{Signal, kill};
#[cfg(unix)]
use nix::unistd::Pid;
#[cfg(unix)]
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The signals that end the program, unless they are ignored.
#[cfg(unix)]
const ENDS: [Signal; 3] = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP];

/// Whether a temporary file is there.
fn is_writing(folder: &Folder) -> bool {
    folder.names().iter().any(|name| name.starts_with('.'))
}

/// The signals that this process, and so its children, ignore, one bit each.
#[cfg(unix)]
pub(crate) fn ignored_signals() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let bits = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap_or("0");
    u64::from_str_radix(bits.trim(), 16).unwrap()
}

/// Waits until the program writes. `false`: it was over before that was seen.
#[cfg(unix)]
fn wait_until_writing(folder: &Folder, child: &mut Child) -> bool {
    let start = Instant::now();
    while !is_writing(folder) {
        assert!(start.elapsed() < Duration::from_secs(60));
        if child.try_wait().unwrap().is_some() {
            return false;
        }
    }
    true
}

/// The program cannot be over before the signal comes, since it waits for the lock of the folder.
#[cfg(unix)]
#[test]
fn temporary_files_go_when_the_program_is_ended() {
    let folder = Folder::new(&[("m.onnx", &binary(&weighty(0, 10_000)))]);
    let arguments = ["convert", "m.onnx", "-o", "out.onnxtxt"];
    folder.run(&arguments).expect(0);
    let files = || (folder.names(), folder.read("out.onnxtxt"), folder.read("out.onnxtxt.data"));
    let old = files();
    folder.write("m.onnx", &binary(&weighty(7, 10_000)));
    let lock = std::fs::File::open(folder.path("")).unwrap();
    let ignored = ignored_signals();
    for signal in ENDS {
        lock.lock().unwrap();
        let mut child = folder.start(&arguments);
        assert!(wait_until_writing(&folder, &mut child));
        kill(Pid::from_raw(child.id() as i32), signal).unwrap();
        // Children inherit from a job in the background of a shell that INT is ignored, from `nohup` that HUP is.
        if ignored >> (signal as i32 - 1) & 1 != 0 {
            lock.unlock().unwrap();
            assert_eq!(child.wait().unwrap().code(), Some(0), "{signal}");
            folder.write("out.onnxtxt", &old.1);
            folder.write("out.onnxtxt.data", &old.2);
        } else {
            assert_eq!(child.wait().unwrap().signal(), Some(signal as i32));
            lock.unlock().unwrap();
        }
        assert!(files() == old, "{signal}");
    }
}

#[cfg(unix)]
#[test]
fn a_program_that_is_ended_while_it_writes_leaves_a_whole_file() {
    let folder = Folder::new(&[("m.onnxtxt", long_model(30_000).as_bytes())]);
    let arguments = ["convert", "m.onnxtxt", "-o", "out.json"];
    folder.run(&arguments).expect(0);
    let new = folder.read("out.json");
    for signal in ENDS.repeat(5) {
        folder.write("out.json", b"old");
        let mut child = folder.start(&arguments);
        // A child that has been waited for has no number any more, and another process may have it.
        if wait_until_writing(&folder, &mut child) {
            kill(Pid::from_raw(child.id() as i32), signal).unwrap();
        }
        let status = child.wait().unwrap();
        assert!(status.signal() == Some(signal as i32) || status.code() == Some(0), "{signal}: {status}");
        assert_eq!(folder.names(), ["m.onnxtxt", "out.json"], "{signal}");
        let content = folder.read("out.json");
        assert!(content == b"old" || content == new);
    }
}

#[cfg(unix)]
#[test]
fn a_limit_on_the_size_of_files_is_an_error_at_every_size() {
    let model = binary(&weighty(0, 10_000));
    let folder = Folder::new(&[("m.onnx", &model)]);
    folder.run(&["convert", "m.onnx", "-o", "out.onnxtxt"]).expect(0);
    let old = (folder.read("out.onnxtxt"), folder.read("out.onnxtxt.data"));
    folder.write("n.onnx", &binary(&weighty(7, 10_000)));
    let names = folder.names();
    let program = env!("CARGO_BIN_EXE_onnxtxt");
    // Blocks of 512 or 1024 bytes; the weights have 40,000 bytes.
    for blocks in [0, 1, 8, 16, 32] {
        for command in
            ["convert n.onnx -o out.onnxtxt", "convert n.onnx -o new.json", "convert n.onnx -o new.onnx"]
        {
            let script = format!("ulimit -f {blocks}; exec {program} {command} 2>/dev/null");
            let mut shell = Command::new("sh");
            let status = shell.arg("-c").arg(script).current_dir(folder.path("")).status().unwrap();
            assert_eq!(status.code(), Some(2), "{blocks} {command}");
            assert_eq!(folder.names(), names, "{blocks} {command}");
            assert!((folder.read("out.onnxtxt"), folder.read("out.onnxtxt.data")) == old);
        }
    }
}

/// Every command that writes a file, with what it writes: where nothing may be written, everything is as it was.
#[cfg(unix)]
#[test]
fn every_writer_fails_without_a_trace() {
    let folder = Folder::new(&[
        ("m.onnx", &binary(&weighty(0, 10_000))),
        ("m.onnxtxt", long_model(5).as_bytes()),
        ("untidy.onnxtxt", long_model(5).replace(" = ", "=").as_bytes()),
        ("mistake.onnxtxt", crate::MISTAKE.as_bytes()),
        ("old", b"old"),
    ]);
    std::fs::create_dir(folder.path("results")).unwrap();
    std::fs::copy(folder.path("old"), folder.path("old.npz")).unwrap();
    // Files that this program wrote may be replaced by it.
    folder.run(&["run", "m.onnxtxt", "--random", "-D", "N=1", "--output-dir", "results"]).expect(0);
    let result = folder.read("results/output_0.pb");
    let names = folder.names();
    let all =
        || names.iter().filter(|name| *name != "results").map(|name| folder.read(name)).collect::<Vec<_>>();
    let before = all();
    let run = "--random -D N=20000";
    for command in [
        "convert m.onnx -o old --to text".to_owned(),
        "convert m.onnx -o old --to binary --weights sidecar".to_owned(),
        "convert m.onnx -o new.json".to_owned(),
        "convert m.onnx -o new.txtpb".to_owned(),
        "convert m.onnx -o m.onnx --in-place --weights inline".to_owned(),
        "fmt untidy.onnxtxt".to_owned(),
        "check --fix --unsafe-fixes mistake.onnxtxt".to_owned(),
        "infer m.onnxtxt -o old --to text".to_owned(),
        "pass topological-sort m.onnxtxt --in-place".to_owned(),
        format!("run m.onnxtxt {run} -o old.npz"),
        format!("run m.onnxtxt {run} --output-dir results"),
        format!("bench m.onnxtxt {run} --trace old"),
        "ops --export old --to text".to_owned(),
    ] {
        let program = env!("CARGO_BIN_EXE_onnxtxt");
        let script = format!("ulimit -f 0; exec {program} {command} 2>&1");
        let output = Command::new("sh").arg("-c").arg(script).current_dir(folder.path("")).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(2), "{command}: {said}");
        assert!(said.contains("cannot write"), "{command}: {said}");
        assert_eq!(folder.names(), names, "{command}");
        assert!(all() == before, "{command}");
        assert!(folder.read("results/output_0.pb") == result, "{command}");
        assert_eq!(std::fs::read_dir(folder.path("results")).unwrap().count(), 1, "{command}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    let folder = Folder::new(&[("m.onnx", &binary(&weighty(0, 10_000)))]);
    for name in ["--to=text", "--to=binary", "--to=json"] {
        let done =
            folder.run(&["convert", "m.onnx", "-o", "/dev/full", name, "--weights", "inline"]).expect(2);
        assert!(done.stderr.contains("cannot write /dev/full"), "{}", done.stderr);
    }
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let status = folder.command(&["print", "m.onnx"]).stdout(full).stderr(Stdio::null()).status().unwrap();
    assert_eq!(status.code(), Some(2));
}

/// A file is mapped, and cut short while the program works on it.
#[cfg(unix)]
#[test]
fn a_file_that_shrinks_is_an_error() {
    let folder = Folder::new(&[("small.onnx", &binary(&weighty(0, 10_000)))]);
    let many: Vec<u8> = vec![7; 64 << 20];
    let text = "<ir_version: 10, opset_import: [\"\": 21]>\n\
        g (uint8[N] x) => (uint8[N] y)\n<uint8[67108864] big = [\"location\": \"big.bin\"]>\n\
        {\n    y = Identity(x)\n}\n";
    folder.write("m.onnxtxt", text.as_bytes());
    let mut seen = 0;
    for delay in 0..30 {
        folder.write("big.bin", &many);
        let child = folder
            .command(&["convert", "m.onnxtxt", "-o", "out.json", "--weights", "inline"])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(20 * delay));
        let file = std::fs::File::options().write(true).open(folder.path("big.bin")).unwrap();
        file.set_len(4096).unwrap();
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.signal(), None, "{stderr}");
        assert!(!is_writing(&folder), "{:?}", folder.names());
        seen += usize::from(output.status.code() == Some(2) && stderr.contains("big.bin"));
        if seen == 2 {
            return;
        }
        _ = std::fs::remove_file(folder.path("out.json"));
    }
    assert!(seen > 0, "no file was cut short in time");
}
