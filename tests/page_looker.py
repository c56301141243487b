"""What looks at the live page: a browser window that notes whatever goes wrong, and small questions to it."""

import contextlib
import re
import time

from playwright.sync_api import expect

WATCH = """
window.violations = [];
document.addEventListener('securitypolicyviolation', (e) => window.violations.push(e.violatedDirective + ' ' + e.blockedURI));
"""
PATIENCE = 60_000
SCRIPT = "<script>document.title='taken'</script><img src=x onerror=alert(1)>"


class Looker:
    """A browser window on the page that notes whatever goes wrong in it."""

    def __init__(self, browser, url, scheme="light", width=1280, height=900):
        self.wrong = []
        context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": height})
        context.add_init_script(WATCH)
        self.page = context.new_page()
        self.page.set_default_timeout(PATIENCE)
        self.page.on("console", self.hear)
        self.page.on("pageerror", lambda e: self.wrong.append(f"error: {e}"))
        self.page.on("dialog", lambda d: (self.wrong.append(f"a dialog of a script: {d.message}"), d.dismiss()))
        self.page.on("request", lambda r: r.url.startswith(url) or self.wrong.append(f"asks elsewhere: {r.url}"))
        self.page.goto(url)

    def hear(self, message):
        """Chromium itself tells of each answer that refuses, and of a daemon that is gone: those are meant."""
        refused = message.text.startswith("Failed to load resource") and "/api/" in message.location["url"]
        if message.type in ("error", "warning") and not refused:
            self.wrong.append(f"console: {message.text}")

    def close(self):
        violations = self.page.evaluate("window.violations")
        assert not violations and not self.wrong, (violations, self.wrong)
        self.page.context.close()


@contextlib.contextmanager
def looking(*arguments, **options):
    looker = Looker(*arguments, **options)
    yield looker.page
    looker.close()


def number(text):
    match = re.search(r"([\d,.]+)\s*([KMB]?)", text)
    return float(match[1].replace(",", "")) * {"": 1, "K": 1e3, "M": 1e6, "B": 1e9}[match[2]] if match else 0


def tile(page, name):
    return page.locator(".tile", has=page.locator(f"dt:text-is('{name}')")).locator("dd")


def until(what, holds):
    end = time.monotonic() + PATIENCE / 1000
    while not holds():
        assert time.monotonic() < end, what
        time.sleep(0.1)


def press(page, button, yes=True, says=None):
    """Presses what asks first; the question says what will happen."""
    (page.locator(button) if isinstance(button, str) else button).click()
    expect(page.locator("#confirm")).to_be_visible()
    if says:
        expect(page.locator("#confirm")).to_contain_text(says)
    page.locator("#confirm-yes" if yes else "#confirm [data-close]").click()
    expect(page.locator("#confirm")).to_be_hidden()


def unfold(page, name):
    """Opens one of the folded parts from the head of the page."""
    if not page.locator(f"#{name}").get_attribute("open"):
        page.locator(f"[data-unfolds={name}]").click()
    expect(page.locator(f"#{name}")).to_have_attribute("open", "")


def open_host(page, name):
    page.locator("#host-filter").fill(name)
    page.locator("#hosts button", has_text=re.compile(f"^{re.escape(name)}$")).click()
    expect(page.locator("#host-orders button").first).to_be_visible()


def close(page, dialog):
    page.locator(f"#{dialog} [data-close]").click()
    expect(page.locator(f"#{dialog}")).to_be_hidden()


def fits(page, width):
    wide = page.evaluate("document.documentElement.scrollWidth")
    assert wide <= width, f"scrolls sideways: {wide} > {width}"
