"""Let the PyPI x86-64 torch wheel run on a CPU-only machine without ~2 GB of CUDA libraries.

torch's shared objects are linked against libcublas, libcudnn, libnccl, ... and never call them when
no GPU is used.  With the real (small) cudart and cupti wheels installed
    pip install --no-deps torch nvidia-cuda-runtime nvidia-cuda-cupti
this script puts stand-ins for the others (right soname, right symbol versions, dummy symbols) where
torch's RPATH looks.  Needs gcc and binutils.   usage: python torch_stubs.py VENV
(A machine with the disk for it can instead do a plain `pip install torch`.)"""

import glob, os, re, subprocess, sys, tempfile

sp = glob.glob(os.path.join(sys.argv[1], "lib/python3*/site-packages"))[0]
dst = os.path.join(sp, "nvidia/cu13/lib")
os.makedirs(dst, exist_ok=True)
need, ver2lib, syms = set(), {}, {}
run = lambda *a: subprocess.run(a, capture_output=True, text=True).stdout
for f in glob.glob(sp + "/torch/lib/*.so"):
    need |= set(re.findall(r"\(NEEDED\).*\[((?:libcu|libnv|libnccl)[^\]]*)\]", run("readelf", "-dW", f)))
    lib = None
    for l in run("readelf", "-VW", f).splitlines():
        m = re.search(r"File: (\S+)", l)
        if m:
            lib = m.group(1)
        m = re.search(r"Name: (\S+)\s+Flags", l)
        if m and lib:
            ver2lib.setdefault((lib, m.group(1)), 1)
    for l in run("readelf", "-rW", f).splitlines():
        m = re.search(r"R_X86_64_(?:JUMP_SLOT|GLOB_DAT|64|COPY)\s+0{16} (\S+)", l)
        if m:
            s, _, v = m.group(1).partition("@")
            if v or re.match(r"(cublas|cudnn|cufft|cusparse|cusolver|cuFile|nccl|nvrtc|nvshmem|nvJit|cu[A-Z])", s):
                syms.setdefault(v.lstrip("@"), set()).add(s)
libs = {}
for lib, v in ver2lib:
    libs.setdefault(lib, []).append(v)
for so in sorted(need):
    if os.path.exists(os.path.join(dst, so)) or glob.glob(sp + "/nvidia/*/lib/" + so):
        continue
    src, script = [], []
    for v in libs.get(so, []):
        ss = sorted(syms.get(v, ()))
        src += ss
        script.append("%s { global: %s };" % (v, " ".join(s + ";" for s in ss) or "nothing;"))
    if not script:
        src = sorted(syms.get("", ()))  # unversioned: the same set in each
    c = "\n".join("long %s[64];" % s for s in dict.fromkeys(src))
    args = ["gcc", "-shared", "-fPIC", "-Wl,-soname," + so, "-o", os.path.join(dst, so), "-x", "c", "-"]
    if script:
        open(os.path.join(tempfile.gettempdir(), "_stub.map"), "w").write("\n".join(script))
        args.insert(3, "-Wl,--version-script=" + os.path.join(tempfile.gettempdir(), "_stub.map"))
    subprocess.run(args, input=c, text=True, check=True)
    print("stub", so, len(src))
if os.path.exists(os.path.join(tempfile.gettempdir(), "_stub.map")):
    os.remove(os.path.join(tempfile.gettempdir(), "_stub.map"))
