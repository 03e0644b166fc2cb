"""Drives Neovim with the language server in a terminal, and checks what its screen shows.

    python tests/editors/neovim.py NVIM ONNXTXT [FOLDER]

NVIM is Neovim 0.11 or newer, ONNXTXT the program. The configuration is that of docs/editors.md, and then the plugin in editors/nvim. The
screens are written into FOLDER as text, one file for each step. Needs the package pyte, which is a terminal. `cargo xtask editors` makes
the environment.
"""

import fcntl
import os
import pathlib
import pty
import re
import select
import struct
import subprocess
import sys
import tempfile
import termios
import time

import pyte

ROWS, COLUMNS = 40, 140

MODEL = """<ir_version: 10, opset_import: ["": 21]>
g (float[N,4] x) => (float[N,4] y)
{
    first = Abs(x)
    second = Transpose(first)
    third = Transpose(second)
    y = Relu(thrd)
}
"""


def documented_configuration(docs: pathlib.Path) -> str:
    """The Lua code below the heading of Neovim."""
    section = docs.read_text().split("## Neovim", 1)[1]
    return re.search(r"```lua\n(.*?)```", section, re.S).group(1)


class Terminal:
    """Neovim in a terminal of a fixed size."""

    def __init__(self, command, folder, environment):
        self.screen = pyte.Screen(COLUMNS, ROWS)
        self.stream = pyte.ByteStream(self.screen)
        child, self.handle = pty.fork()
        if child == 0:
            os.chdir(folder)
            os.execvpe(command[0], command, environment)
        self.child = child
        fcntl.ioctl(self.handle, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))

    def read(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if select.select([self.handle], [], [], 0.05)[0]:
                try:
                    self.stream.feed(os.read(self.handle, 65536))
                except OSError:
                    return

    def text(self):
        return "\n".join(line.rstrip() for line in self.screen.display)

    def type(self, keys):
        os.write(self.handle, keys.encode())

    def wait(self, *patterns, seconds=40):
        """Reads until the screen has all of the patterns."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.read(0.2)
            if all(re.search(pattern, self.text()) for pattern in patterns):
                return self.text()
        missing = [pattern for pattern in patterns if not re.search(pattern, self.text())]
        raise SystemExit(f"the screen does not show {missing}:\n{self.text()}")


def main():
    nvim, program, *rest = sys.argv[1:]
    nvim, program = os.path.abspath(nvim), os.path.abspath(program)
    screens = pathlib.Path(rest[0] if rest else tempfile.mkdtemp(prefix="screens-"))
    screens.mkdir(parents=True, exist_ok=True)
    root = pathlib.Path(__file__).resolve().parents[2]
    folder = pathlib.Path(tempfile.mkdtemp(prefix="neovim-"))
    bin_folder = folder / "bin"
    bin_folder.mkdir()
    (bin_folder / "onnxtxt").symlink_to(pathlib.Path(program).resolve())
    (folder / "onnxtxt.toml").write_text("")
    (folder / "m.onnxtxt").write_text(MODEL)
    environment = dict(os.environ, PATH=f"{bin_folder}:{os.environ['PATH']}", TERM="xterm-256color", HOME=str(folder),
                       XDG_CONFIG_HOME=str(folder), XDG_STATE_HOME=str(folder), XDG_DATA_HOME=str(folder))
    def start(configuration, file):
        extra = "vim.diagnostic.config({ virtual_text = true })\nvim.opt.signcolumn = 'yes'\nvim.opt.swapfile = false\nvim.opt.completeopt = 'menu,menuone'\n"
        (folder / "init.lua").write_text(configuration + extra)
        return Terminal([nvim, "-u", str(folder / "init.lua"), file], folder, environment)

    def step(name, keys, *patterns):
        terminal.type(keys)
        text = terminal.wait(*patterns)
        (screens / f"{name}.txt").write_text(text + "\n")
        print(f"{name}: ok")

    terminal = start(documented_configuration(root / "docs/editors.md"), "m.onnxtxt")
    step("hints", "", r"first: float\[N,4\]", r"second: float\[4,N\]")
    step("diagnostics", "", r"use of undefined value .thrd")
    # On `second`, in its own statement.
    step("hover", "/second =\rK", r"float\[4,N\] second", r"output 0 of .?Transpose")
    step("action", "\x1b\x1b/thrd\r:lua vim.lsp.buf.code_action({ apply = true, filter = function(it) return it.kind == 'quickfix' end })\r",
         r"y: float\[N,4\] = Relu\(third\)")
    step("rename", "\x1b/second =\r:lua vim.lsp.buf.rename('middle')\r", r"middle.*= Transpose\(.*first\)", r"Transpose\(.*middle\)")
    step("completion", "\x1bGO    z = Transp\x18\x0f", r"Transpose\s+\w")
    terminal.type("\x1b\x1b:qa!\r")
    terminal.read(2)

    # The plugin: the server, and a binary model as text that is written back.
    (folder / "p.onnxtxt").write_text(MODEL.replace("thrd", "third"))
    subprocess.run([program, "convert", "p.onnxtxt", "-o", "p.onnx"], cwd=folder, check=True)
    plugin = f"vim.opt.runtimepath:append('{root}/editors/nvim')\nvim.lsp.inlay_hint.enable()\n"
    terminal = start(plugin, "p.onnxtxt")
    step("plugin", "", r"first: float\[N,4\]")
    terminal.type("\x1b:qa!\r")
    terminal.read(2)
    terminal = start(plugin, "p.onnx")
    step("binary", "", r"third\W* = Transpose")
    step("written", ":%s/third/fourth/g | w\r", r"fourth\W* = Transpose")
    terminal.type("\x1b:qa!\r")
    terminal.read(2)
    printed = subprocess.run([program, "print", "p.onnx"], cwd=folder, check=True, capture_output=True, text=True).stdout
    if "fourth" not in printed:
        raise SystemExit(f"the edited text was not written into the model:\n{printed}")
    print(f"screens: {screens}")


if __name__ == "__main__":
    main()
