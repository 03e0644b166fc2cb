"""Looks at the extension for Visual Studio Code in a real editor: its server part with the extension, its workbench in a headless browser.

usage: vscode.py NODE SERVER CHROMIUM PROGRAM VSIX FOLDER     SERVER: out/server-main.js; FOLDER: for a workspace, data and screens/
"""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import time

from playwright.sync_api import sync_playwright

MODEL = """\
<ir_version: 10, opset_import: ["": 21]>
g (float[N,64] x) => (float[N,64] y)
{
   t = Relu(x)
   u = Add(t, missing)
   y = Elu <alpha = 0.5> (u)
}
"""
SECONDS = 1000.0
WINDOW = {"width": 1280, "height": 800}


class Look:
    """The workbench in a browser, and what was wrong with it."""

    def __init__(self, page, screens):
        self.page, self.screens, self.wrong, self.seen = page, screens, [], []

    def expect(self, what, selector, text, seconds=60.0):
        """Waits until an element with a text is shown, and takes a picture."""
        found = self.page.locator(selector).filter(has_text=re.compile(text)).first
        try:
            found.wait_for(state="visible", timeout=seconds * SECONDS)
            self.seen.append(what)
        except Exception:  # Playwright has one class for a time-out and another for a page that is gone.
            self.wrong.append(f"{what}: no {selector} with {text!r}")
        self.shot(what)

    def shot(self, what):
        """Takes a picture of the window."""
        self.page.screenshot(path=self.screens / f"{what}.png")

    def command(self, title):
        """Runs a command by its title."""
        self.page.keyboard.press("F1")
        box = self.page.locator(".quick-input-widget input.input").first
        box.wait_for(state="visible", timeout=60 * SECONDS)
        box.fill(f">{title}")
        self.page.locator(".quick-input-list .monaco-list-row").filter(has_text=title).first.click(timeout=60 * SECONDS)

    def line(self, text):
        """The line of the editor with a text; the workbench shows blanks as no-break spaces."""
        pattern = re.compile(re.escape(text).replace("\\ ", "[ \\u00a0]"))
        return self.page.locator(".editor-instance .view-line").filter(has_text=pattern).first

    def word(self, line, word):
        """The place of a word of a line in the window."""
        find = """(line, word) => {
          const walk = document.createTreeWalker(line, NodeFilter.SHOW_TEXT);
          for (let node; (node = walk.nextNode()); ) {
            const at = node.textContent.indexOf(word);
            if (at < 0) continue;
            const range = document.createRange();
            range.setStart(node, at); range.setEnd(node, at + word.length);
            const box = range.getBoundingClientRect();
            return [box.x + box.width / 2, box.y + box.height / 2];
          }
          return null;
        }"""
        handle = self.line(line).element_handle(timeout=60 * SECONDS)
        return self.page.evaluate(f"([line, word]) => ({find})(line, word)", [handle, word])


def workspace(folder, program):
    """A folder with a model as text and the same in binary form."""
    models = folder / "workspace"
    shutil.rmtree(models, ignore_errors=True)
    models.mkdir(parents=True)
    (models / "model.onnxtxt").write_text(MODEL)
    plain = models / "plain.onnxtxt"
    plain.write_text(MODEL.replace("missing", "x"))
    subprocess.run([program, "convert", plain, "-o", models / "plain.onnx"], check=True)
    plain.unlink()
    return models


def serve(node, server, data, folder, extension, settings):
    """Installs the extension and starts the server; returns it with its address."""
    shutil.rmtree(data, ignore_errors=True)
    (data / "data/Machine").mkdir(parents=True)
    (data / "data/Machine/settings.json").write_text(json.dumps(settings))
    base = [node, server, "--server-data-dir", data, "--extensions-dir", data / "extensions"]
    common = [*base, "--accept-server-license-terms", "--telemetry-level", "off"]
    subprocess.run([*common, "--install-extension", extension, "--force"], check=True)
    arguments = ["--host", "127.0.0.1", "--port", "0", "--without-connection-token", "--default-folder", folder]
    child = subprocess.Popen([*common, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        line = child.stdout.readline()
        print("server:", line.rstrip())
        address = re.search(r"http:.*:(\d+)|listening on (\d+)", line)
        if address:
            port = address.group(1) or address.group(2)
            return child, f"http://127.0.0.1:{port}"
        if not line:
            break
    child.terminate()
    raise SystemExit("the server of the editor did not start")


def look(look_at, address, models):
    """What a user sees: findings, hover, completion, a rename, a binary model."""
    page = look_at.page
    page.goto(f"{address}/?folder={models}")
    page.locator(".explorer-viewlet, .monaco-workbench").first.wait_for(timeout=180 * SECONDS)
    file = page.locator(".explorer-folders-view .monaco-list-row").filter(has_text="model.onnxtxt").first
    file.dblclick(timeout=180 * SECONDS)
    look_at.line("Relu(x)").wait_for(timeout=60 * SECONDS)
    look_at.expect("diagnostics", ".squiggly-error", "", 120)
    look_at.command("View: Focus Problems")
    look_at.expect("problems", ".markers-panel .monaco-list-row", "use of undefined value `missing`")
    x, y = look_at.word("= Elu", "Elu")
    page.mouse.move(x, y)
    look_at.expect("hover", ".monaco-hover", "Elu")
    page.mouse.move(5, 5)
    look_at.expect("hints", ".view-line", r"float\[N,[\s\u00a0]?64\]")
    # A statement is typed; what may follow is offered.
    look_at.line("= Add").click()
    page.keyboard.press("End")
    page.keyboard.type("\nv = LeakyRe")
    page.keyboard.press("Control+Space")
    look_at.expect("completion", ".suggest-widget .monaco-list-row", "LeakyRelu")
    page.keyboard.press("Enter")
    look_at.expect("completed", ".editor-instance .view-line", r"v[^=]*=.LeakyRelu\([^)]*X\)")
    page.keyboard.press("Escape")
    page.mouse.click(*look_at.word("= Relu(x)", "t"))
    page.keyboard.press("F2")
    page.locator(".rename-box input").first.wait_for(timeout=60 * SECONDS)
    page.keyboard.press("Control+a")
    page.keyboard.type("renamed")
    page.keyboard.press("Enter")
    look_at.expect("rename", ".editor-instance .view-line", r"Add\(.*renamed")
    page.locator(".explorer-folders-view .monaco-list-row").filter(has_text="plain.onnx").first.click(button="right")
    page.locator(".monaco-menu .action-label").filter(has_text="Open as Text").first.click(timeout=60 * SECONDS)
    tab = page.locator(".tab.active").filter(has_text="plain.onnx")
    tab.first.wait_for(timeout=120 * SECONDS)
    look_at.expect("binary", ".editor-instance .view-line", r"Add.*\(.*t.*x.*\)", 120)


def main():
    node, server, chromium, program, extension, folder = sys.argv[1:]
    folder = pathlib.Path(folder).absolute()
    screens = folder / "screens"
    shutil.rmtree(screens, ignore_errors=True)
    screens.mkdir(parents=True)
    models = workspace(folder, program)
    settings = {
        "onnxtxt.program": str(pathlib.Path(program).absolute()),
        "workbench.startupEditor": "none",
        "editor.hover.delay": 100,
        "telemetry.telemetryLevel": "off",
        "extensions.autoCheckUpdates": False,
        "chat.disableAIFeatures": True,
        "workbench.secondarySideBar.defaultVisibility": "hidden",
    }
    child, address = serve(node, server, folder / "data", models, extension, settings)
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            page = browser.new_page(viewport=WINDOW)
            look_at = Look(page, screens)
            try:
                look(look_at, address, models)
            except Exception as error:
                look_at.wrong.append(str(error))
                look_at.shot("failed")
            browser.close()
    finally:
        child.terminate()
        child.wait()
    for line in look_at.wrong:
        print("WRONG:", line)
    print(f"seen: {', '.join(look_at.seen)}; pictures in {screens}")
    sys.exit(bool(look_at.wrong))


if __name__ == "__main__":
    main()
