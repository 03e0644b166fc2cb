//! Packed weights in files: whatever happens to the files, results are those without a cache.

use onnx_exec::{Executable, RunOptions, Tensor, Value};
use onnxtxt::CompileOptions;
use onnxtxt::files::WeightCache;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// A model whose packed weights have more than a quarter of a MiB.
fn model(seed: usize) -> onnxtxt::Loaded {
    let numbers: Vec<String> = (0..300 * 256).map(|i| (((i + seed) * 7919) % 1009).to_string()).collect();
    onnxtxt::parse(&format!(
        "<ir_version: 10, opset_import: [\"\": 21]> g (float[3, 300] x) => (float[3, 256] y)\n\
         <float[300, 256] w = {{{}}}> {{ y = MatMul(x, w) }}",
        numbers.join(", ")
    ))
}

fn executable(seed: usize, cache: Option<WeightCache>) -> Executable<'static> {
    let packed_store = cache.map(|cache| Arc::new(cache) as _);
    let options = CompileOptions { packed_store, ..CompileOptions::default() };
    model(seed).compile_unchecked(&options).expect("it can be run")
}

fn run(executable: &Executable<'_>) -> Vec<u8> {
    let numbers: Vec<f32> = (0..900).map(|i| (i % 17) as f32 - 8.0).collect();
    let x = Value::Tensor(Tensor::of(&[3, 300], &numbers).expect("memory"));
    let results = executable.run(vec![Some(x)], &RunOptions::default()).expect("it runs");
    results[0].tensor().expect("a tensor").bytes().to_vec()
}

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().expect("a folder"))
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("cache/weights")
    }

    fn cache(&self, max_bytes: u64) -> WeightCache {
        WeightCache::open(&self.path(), max_bytes).expect("a folder of ours")
    }

    fn run(&self, seed: usize) -> Vec<u8> {
        run(&executable(seed, Some(self.cache(WeightCache::MAX_BYTES))))
    }

    fn files(&self) -> Vec<PathBuf> {
        fs::read_dir(self.path()).expect("it exists").map(|file| file.expect("a file").path()).collect()
    }
}

#[test]
fn a_later_executable_maps_the_same_file() {
    let folder = Folder::new();
    let plain = run(&executable(0, None));
    assert_eq!(folder.run(0), plain);
    let [file] = &folder.files()[..] else { panic!("{:?}", folder.files()) };
    let written = fs::metadata(file).expect("a file");
    assert_eq!(folder.run(0), plain);
    assert_eq!(fs::metadata(file).expect("a file").modified().ok(), written.modified().ok());
    let entries = folder.cache(0).entries().expect("it can be read");
    assert_eq!(entries.len(), 1);
    assert_eq!(entries[0].bytes, written.len());
    assert!(
        entries[0].description.as_ref().is_some_and(|text| text.starts_with("float32 300 x 256 in tiles"))
    );
    // Other weights, another entry; exact sums have the same packed form.
    assert_ne!(folder.run(1), plain);
    assert_eq!(folder.files().len(), 2);
    #[cfg(target_os = "linux")]
    {
        let executable = executable(0, Some(folder.cache(WeightCache::MAX_BYTES)));
        run(&executable);
        let maps = fs::read_to_string("/proc/self/maps").expect("Linux has it");
        let file = file.to_str().expect("UTF-8");
        assert!(maps.lines().any(|line| line.ends_with(file) && line.contains(" r--p ")), "{maps}");
    }
}

/// Nodes with packed weights of more than a quarter of a MiB, and how many entries they have.
const NODES: &[(&str, &str, &str, &str, usize)] = &[
    ("float[3,300] x", "float[300,256] w", "y = MatMul(x, w)", "float", 1),
    ("float16[3,300] x", "float16[300,256] w", "y = MatMul(x, w)", "float16", 1),
    ("float[3,300] x", "float[256,300] w", "y = Gemm <transB = 1> (x, w)", "float", 1),
    ("float[3,5,130] x", "float[3,130,200] w", "y = MatMul(x, w)", "float", 1),
    ("float[1,96,32,32] x", "float[96,96,3,3] w", "y = Conv <pads = [1,1,1,1]> (x, w)", "float", 1),
    ("float[1,32,17,17] x", "float[96,32,5,5] w", "y = Conv <strides = [2,2]> (x, w)", "float", 1),
    ("uint8[3,530] x", "int8[530,600] w", "y = MatMulInteger(x, w)", "int32", 1),
    (
        "float[5,2,160] x",
        "float[1,512,160] w, float[1,512,128] r",
        "y = LSTM <hidden_size = 128> (x, w, r)",
        "float",
        2,
    ),
    (
        "float[5,2,128] x",
        "float[1,576,128] w, float[1,576,192] r",
        "y = GRU <hidden_size = 192> (x, w, r)",
        "float",
        // The candidate gate has fewer weights.
        2,
    ),
    (
        "float[1,6,128] x",
        "float[128,768] w, float[768] b",
        "y = com.microsoft.Attention <num_heads = 4> (x, w, b)",
        "float",
        1,
    ),
    (
        "float[40,512] x",
        "uint8[256,16,16] w, float[4096] s",
        "y = com.microsoft.MatMulNBits <K = 512, N = 256, bits = 4, block_size = 32> (x, w, s)",
        "float",
        1,
    ),
];

/// The element type and the sizes of `float[2,3] w`.
fn declared(text: &str) -> (&str, Vec<usize>) {
    let (elem, rest) = text.trim().split_once('[').expect("a type");
    let (dims, _) = rest.split_once(']').expect("a type");
    (elem, dims.split(',').map(|size| size.parse().expect("a size")).collect())
}

#[test]
fn results_with_a_cache_are_those_without_bit_for_bit() {
    for &(input, weights, node, result, entries) in NODES {
        let mut initializers = Vec::new();
        for weight in weights.split(", ") {
            let (elem, dims) = declared(weight);
            let count: usize = dims.iter().product();
            let number = |i: usize| match elem {
                "uint8" => ((i * 7919) % 251).to_string(),
                "int8" => (((i * 7919) % 251) as i64 - 125).to_string(),
                _ => format!("{}", ((i * 7919) % 1009) as f32 / 1024.0 - 0.5),
            };
            let numbers: Vec<String> = (0..count).map(number).collect();
            initializers.push(format!("{weight} = {{{}}}", numbers.join(", ")));
        }
        let text = format!(
            "<ir_version: 10, opset_import: [\"\": 21, \"com.microsoft\": 1]>\n\
             g ({input}) => ({result}[] y) <{}> {{ {node} }}",
            initializers.join(", ")
        );
        let folder = Folder::new();
        let (elem, dims) = declared(input);
        let count: usize = dims.iter().product();
        let x = match elem {
            "uint8" => {
                let bytes: Vec<u8> = (0..count).map(|i| (i % 251) as u8).collect();
                Tensor::from_bytes(onnx_ir::ElemType::UINT8, &dims, bytes.into())
            }
            "float16" => {
                let numbers = (0..count).map(|i| (i % 17) as f64 / 16.0 - 0.5);
                Tensor::from_floats(onnx_ir::ElemType::FLOAT16, &dims, numbers)
            }
            _ => {
                let numbers: Vec<f32> = (0..count).map(|i| (i % 17) as f32 / 16.0 - 0.5).collect();
                Tensor::of(&dims, &numbers)
            }
        };
        let x = x.expect("memory");
        let result = |cache: Option<WeightCache>| {
            let packed_store = cache.map(|cache| Arc::new(cache) as _);
            let options = CompileOptions { packed_store, ..CompileOptions::default() };
            let compiled = onnxtxt::parse(&text).compile_unchecked(&options);
            let executable = compiled.unwrap_or_else(|found| panic!("{node}: {}", found[0].message));
            let results = executable.run(vec![Some(Value::Tensor(x.clone()))], &RunOptions::default());
            let results = results.unwrap_or_else(|found| panic!("{node}: {}", found.message));
            results[0].tensor().expect("a tensor").bytes().to_vec()
        };
        let plain = result(None);
        for start in ["first", "second"] {
            let found = result(Some(folder.cache(WeightCache::MAX_BYTES)));
            assert!(found == plain, "{node} differs at the {start} start");
            assert_eq!(folder.files().len(), entries, "{node}, {start} start");
        }
    }
}

#[test]
fn an_executable_keeps_its_weights_when_files_are_removed() {
    let folder = Folder::new();
    let plain = run(&executable(0, None));
    let first = executable(0, Some(folder.cache(WeightCache::MAX_BYTES)));
    assert_eq!(run(&first), plain);
    let second = executable(0, Some(folder.cache(WeightCache::MAX_BYTES)));
    assert_eq!(run(&second), plain);
    let cleaned = folder.cache(0).clean(Duration::MAX, 0).expect("it can be read");
    assert_eq!(cleaned.entries, 1);
    assert!(folder.files().is_empty());
    assert_eq!((run(&first), run(&second)), (plain.clone(), plain.clone()));
    fs::remove_dir(folder.path()).expect("it is empty");
    assert_eq!((run(&first), run(&second)), (plain.clone(), plain.clone()));
    // A cache whose folder is gone stores nothing.
    let gone = folder.cache(WeightCache::MAX_BYTES);
    fs::remove_dir(folder.path()).expect("it is empty");
    assert_eq!(run(&executable(0, Some(gone))), plain);
}

#[cfg(unix)]
#[test]
fn hostile_files_are_packed_anew_or_left_alone() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let folder = Folder::new();
    let plain = folder.run(0);
    let file = folder.files().remove(0);
    let sound = fs::read(&file).expect("a file");
    assert_eq!(fs::metadata(&file).expect("a file").permissions().mode() & 0o777, 0o400);
    let put = |content: &[u8]| {
        _ = fs::remove_file(&file);
        fs::write(&file, content).expect("our folder");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("our file");
    };
    let renewed = |what: &str| {
        assert_eq!(folder.run(0), plain, "{what}");
        assert!(fs::read(&file).expect("a file") == sound, "{what}");
        assert_eq!(folder.files().len(), 1, "{what}");
    };
    for length in [0, 1, 16, 48, 4064, 4095, 4096, 4097, sound.len() / 2, sound.len() - 1] {
        put(&sound[..length]);
        renewed(&format!("cut at {length}"));
    }
    for at in [0, 20, 60, 81, 4090, 4096, sound.len() / 2, sound.len() - 1] {
        let mut content = sound.clone();
        content[at] ^= 0x40;
        put(&content);
        renewed(&format!("flipped at {at}"));
    }
    put(&vec![0; sound.len()]);
    renewed("zeros");
    // The packed weights of another model under this name.
    folder.run(1);
    let other = folder.files().into_iter().find(|path| *path != file).expect("another entry");
    put(&fs::read(&other).expect("a file"));
    fs::remove_file(&other).expect("our file");
    renewed("another entry");
    // No regular file of this user: it is left alone, and each program packs its own.
    let left_alone = |what: &str| {
        assert_eq!(folder.run(0), plain, "{what}");
        assert_eq!(folder.files(), std::slice::from_ref(&file), "{what}");
    };
    let elsewhere = folder.0.path().join("elsewhere");
    fs::rename(&file, &elsewhere).expect("our file");
    symlink(&elsewhere, &file).expect("our folder");
    left_alone("a link");
    assert!(file.is_symlink());
    fs::remove_file(&file).expect("our link");
    fs::create_dir(&file).expect("our folder");
    left_alone("a folder");
    fs::remove_dir(&file).expect("our folder");
    put(&sound);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).expect("our file");
    left_alone("a file that others can write to");
    // A folder that others can write to, or of another kind.
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).expect("our folder");
    assert!(
        WeightCache::open(&folder.path(), 0).is_err_and(|why| why.to_string().contains("others can write"))
    );
    assert!(WeightCache::open(&elsewhere, 0).is_err());
    assert!(WeightCache::open(&elsewhere.join("below"), 0).is_err());
}

#[test]
fn the_least_recently_used_entries_give_way() {
    let folder = Folder::new();
    folder.run(0);
    let each = fs::metadata(&folder.files()[0]).expect("a file").len();
    let first = folder.files().remove(0);
    let old = |path: &Path, seconds| {
        let time = SystemTime::now() - Duration::from_secs(seconds);
        fs::File::open(path).and_then(|file| file.set_modified(time)).expect("our file");
    };
    old(&first, 9000);
    folder.run(1);
    let second = folder.files().into_iter().find(|path| *path != first).expect("another entry");
    old(&second, 8000);
    // The use of the first one is noted, so that the second one is older.
    folder.run(0);
    let cache = folder.cache(each * 2 + each / 2);
    run(&executable(2, Some(cache)));
    assert!(first.exists() && !second.exists(), "the least recently used one");
    assert!(folder.files().len() < 3);
    // An entry without room is not stored; a program that was killed leaves a file.
    let left = folder.path().join(".onnxtxt-1-0.tmp");
    fs::write(&left, "").expect("our folder");
    run(&executable(3, Some(folder.cache(each - 1))));
    assert!(left.exists(), "it may be in use");
    old(&left, 9000);
    folder.cache(0).clean(Duration::from_secs(3600), u64::MAX).expect("it can be read");
    assert!(!left.exists());
}

#[test]
fn the_folder_is_that_of_the_user() {
    let of = |variables: &[(&str, &str)]| {
        let found = |name: &str| variables.iter().find(|(of, _)| *of == name).map(|(_, value)| value.into());
        WeightCache::default_path(found)
    };
    assert_eq!(of(&[("ONNXTXT_CACHE", "/c"), ("HOME", "/h")]), Some("/c/weights".into()));
    assert_eq!(of(&[]), None);
    #[cfg(target_os = "linux")]
    {
        let (home, xdg) = (("HOME", "/h"), ("XDG_CACHE_HOME", "/x"));
        assert_eq!(of(&[home]), Some("/h/.cache/onnxtxt/weights".into()));
        assert_eq!(of(&[home, xdg]), Some("/x/onnxtxt/weights".into()));
        assert_eq!(of(&[("ONNXTXT_CACHE", "relative"), home]), Some("/h/.cache/onnxtxt/weights".into()));
        assert_eq!(of(&[("ONNXTXT_CACHE", ""), ("XDG_CACHE_HOME", ""), ("HOME", "")]), None);
    }
}
