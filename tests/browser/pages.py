"""Looks at pages that `onnxtxt draw` has made in a headless browser: clicks, searches, opens and closes groups, takes screenshots.

usage: pages.py CHROMIUM FOLDER SCREENSHOTS     FOLDER has NAME.html for each model of models.py, and diff.html
"""

import pathlib
import sys

from playwright.sync_api import sync_playwright

WINDOW = {"width": 1360, "height": 860}

# Boxes that overlap although neither is in the other, up to ten.
OVERLAPS = """() => {
  const found = [], all = [...flat.boxes, ...flat.frames].sort((a, b) => a.x - b.x);
  const isAround = (a, b) => a.x <= b.x && a.y <= b.y && a.x + a.w >= b.x + b.w && a.y + a.h >= b.y + b.h;
  for (let i = 0; i < all.length; i++) {
    for (let j = i + 1; j < all.length && all[j].x < all[i].x + all[i].w; j++) {
      const [a, b] = [all[i], all[j]];
      if (a.y < b.y + b.h && b.y < a.y + a.h && !isAround(a, b) && !isAround(b, a)) found.push([a, b]);
      if (found.length > 9) return found;
    }
  }
  return found;
}"""

# Texts that are wider than their box.
WIDE = """() => [...document.querySelectorAll("#view .g")].flatMap(g => {
  const box = [...g.querySelectorAll(".o")].pop().getBBox();
  return [...g.querySelectorAll("text")].map(text => [text.textContent, text.getBBox()])
    .filter(([, b]) => b.x < box.x - 1 || b.x + b.width > box.x + box.width + 1).map(([text]) => text);
})"""

# The least contrast of text on what is below it (WCAG).
CONTRAST = """() => {
  const light = color => {
    const parts = color.match(/[\\d.]+/g).slice(0, 3).map(c => c / 255).map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
  };
  let least = 99;
  for (const text of document.querySelectorAll("#view text")) {
    const g = text.closest("g.g, g.gh"), isLine = g && g.querySelector(".b") && !text.matches(".t");
    const below = !g ? document.querySelector("#drawing .bg") : isLine ? g.querySelector(".b") : [...g.querySelectorAll(".o, .fh")].pop();
    const [a, b] = [light(getComputedStyle(text).fill), light(getComputedStyle(below).fill)];
    least = Math.min(least, (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05));
  }
  return least;
}"""


class Page:
    """A page that is looked at, and what was wrong with it."""

    def __init__(self, browser, path, theme, shots):
        self.name, self.theme, self.shots, self.wrong = path.stem, theme, shots, []
        self.context = browser.new_context(color_scheme=theme, viewport=WINDOW, offline=True)
        self.page = self.context.new_page()
        self.page.on("pageerror", lambda error: self.wrong.append(f"error: {error}"))
        self.page.on("console", lambda line: line.type == "error" and self.wrong.append(f"console: {line.text}"))
        self.page.on("request", lambda request: request.url == path.as_uri() or self.wrong.append(f"asks for {request.url}"))
        self.page.goto(path.as_uri())
        self.settle()

    def settle(self):
        """Waits until everything is drawn."""
        self.page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def expect(self, is_true, text):
        """Notes what is wrong."""
        if not is_true:
            self.wrong.append(text)

    def shot(self, what):
        """Takes a picture of the window."""
        self.page.screenshot(path=self.shots / f"{self.name}-{what}-{self.theme}.png")

    def is_sound(self):
        """Looks at the boxes and texts that are seen."""
        overlaps = self.page.evaluate(OVERLAPS)
        self.expect(not overlaps, f"boxes overlap: {overlaps[:2]}")
        wide = self.page.evaluate(WIDE)
        self.expect(not wide, f"texts are wider than their boxes: {wide[:5]}")
        contrast = self.page.evaluate(CONTRAST)
        self.expect(contrast >= 4.5, f"contrast of {contrast:.2f}")

    def clicks(self):
        """A click on a node shows it in the panel."""
        item = self.page.evaluate("() => model.items.findIndex((item, at) => item.k === 'n' && flat.at.has(at) && item.x)")
        if item < 0:
            item = self.page.evaluate("() => model.items.findIndex((item, at) => item.k === 'g' && flat.at.has(at))")
            self.page.evaluate(f"center({item}, 0.8)")
            self.settle()
            self.page.locator(f'[data-item="{item}"]').first.click()
            self.settle()
            self.expect(self.page.locator("#panel").is_visible(), "no panel for a group")
            return
        self.page.evaluate(f"center({item}, 0.8)")
        self.settle()
        self.page.locator(f'[data-item="{item}"] .t').click()
        self.settle()
        panel = self.page.locator("#panel").inner_text()
        title = self.page.evaluate(f"model.items[{item}].t")
        self.expect(title in panel and "Text" in panel and "Outputs" in panel, f"panel of {title}: {panel[:200]}")
        self.expect(self.page.locator("#view .sel").count() > 0, "what is clicked is not selected")
        self.shot("panel")

    def searches(self):
        """A slash begins a search, Enter goes from hit to hit."""
        self.page.locator("#drawing").focus()
        self.page.keyboard.press("/")
        self.page.keyboard.type("op:relu" if self.name != "flat" else "op:softmax")
        hits = self.page.evaluate("hits.length")
        self.expect(hits > 0, "nothing is found")
        self.page.keyboard.press("Enter")
        self.settle()
        self.expect(self.page.locator("#count").inner_text() == f"1 of {hits}", "the first hit is not shown")
        first = self.page.evaluate("selected")
        self.expect(self.page.locator(f'[data-item="{first}"]').count() == 1, "the hit is not drawn")
        self.page.keyboard.press("Enter")
        self.settle()
        second = self.page.evaluate("selected")
        self.expect(hits == 1 or first != second, "Enter does not continue")
        self.shot("search")
        self.page.keyboard.press("Escape")
        self.page.keyboard.press("Escape")
        self.settle()
        self.expect(not self.page.locator("#panel").is_visible(), "Escape does not close the panel")

    def folds(self):
        """A click on the head of a group closes it, and the same group opens again."""
        group = self.page.evaluate("() => model.items.findIndex((item, at) => item.k === 'g' && flat.at.has(at) && model.items[item.p] !== undefined)")
        if group < 0:
            return
        before = self.page.evaluate(f"[isOpen({group}), flat.boxes.length]")
        self.page.evaluate(f"() => {{ if (!isOpen({group})) toggle({group}); center({group}, 0.8); }}")
        self.settle()
        opened = self.page.evaluate("flat.boxes.length")
        self.page.evaluate("() => { const b = flat.at.get(%d); view.x = 20 - b.x * view.scale; view.y = 20 - b.y * view.scale; redraw(true); }" % group)
        self.settle()
        self.page.locator("#drawing").click(position={"x": 60, "y": 28})
        self.settle()
        closed = self.page.evaluate(f"[isOpen({group}), flat.boxes.length]")
        self.expect(closed[0] is False and closed[1] < opened, f"a click on a head does not close: {opened} {closed}")
        self.is_sound()
        self.page.evaluate(f"() => {{ if (isOpen({group}) !== {str(before[0]).lower()}) toggle({group}); select(-1); }}")
        self.settle()
        self.expect(self.page.evaluate("flat.boxes.length") == before[1], "a group does not open as it was")

    def switches(self):
        """The theme has a switch."""
        back = "getComputedStyle(document.querySelector('#drawing .bg')).fill"
        before = self.page.evaluate(back)
        self.page.locator("#theme").click()
        self.expect(self.page.evaluate(back) != before, "the theme does not switch")
        self.page.locator("#theme").click()

    def opens_all(self):
        """Everything open at once: in time, and without overlaps."""
        took = self.page.evaluate("() => { const start = performance.now(); toggleAll(true); draw(); return performance.now() - start; }")
        self.settle()
        self.expect(took < 4000, f"opening everything took {took:.0f} ms")
        self.is_sound()
        self.shot("open")
        drag = self.page.evaluate("() => { const start = performance.now(); view.x -= 2000; drawn = null; draw(); return performance.now() - start; }")
        self.expect(drag < 1000, f"drawing a window took {drag:.0f} ms")
        self.page.evaluate("fit(0.02)")
        self.settle()
        self.shot("whole")
        boxes = self.page.evaluate("flat.boxes.length")
        elements = self.page.evaluate("document.querySelectorAll('#view *').length")
        print(f"  {self.name}: {boxes} boxes, laid out and drawn in {took:.0f} ms, a window in {drag:.0f} ms, {elements} elements")

    def done(self):
        """Closes the page, and says what was wrong."""
        self.context.close()
        for line in self.wrong:
            print(f"{self.name} ({self.theme}): {line}")
        return not self.wrong


def main(chromium, folder, shots):
    folder, shots = pathlib.Path(folder).resolve(), pathlib.Path(shots)
    shots.mkdir(parents=True, exist_ok=True)
    is_good = True
    with sync_playwright() as playwright:
        # A sandbox needs rights that containers do not have; the pages are our own.
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for path in sorted(folder.glob("*.html")):
            for theme in ["light", "dark"]:
                page = Page(browser, path, theme, shots)
                page.shot("first")
                page.is_sound()
                page.clicks()
                page.searches()
                page.folds()
                page.switches()
                page.opens_all()
                is_good &= page.done()
        for path in sorted(folder.glob("*.svg")):
            for theme in ["light", "dark"]:
                context = browser.new_context(color_scheme=theme, viewport=WINDOW, offline=True)
                page = context.new_page()
                page.goto(path.as_uri())
                page.screenshot(path=shots / f"{path.stem}-picture-{theme}.png")
                context.close()
        browser.close()
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
