"""The live page in a real Chromium, against a running daemon.

    page.py http://127.0.0.1:PORT/ [--token TOKEN --read-token TOKEN] [--fresh] [--shots FOLDER]

Prints each thing that was checked; the first that does not hold ends it with a traceback and exit code 1.
"""

import argparse
import re

from playwright.sync_api import expect, sync_playwright

import page_fresh as fresh
import page_tools as tools
from page_looker import PATIENCE, SCRIPT, fits, looking, number, press, tile, until

CHROMIUM = "/usr/bin/chromium"


def numbers_change(page):
    expect(page.locator("#state")).to_have_text("running")
    until("pages are shown", lambda: number(tile(page, "captures").inner_text()) > 0)
    first = number(tile(page, "captures").inner_text())
    until("the number of pages grows", lambda: number(tile(page, "captures").inner_text()) > first)
    until("the line is drawn", lambda: (page.locator("#chart path.line").get_attribute("d") or "").count("L") > 1)
    expect(page.locator("#recent li button.url").first).to_be_visible()
    before = page.locator("#recent li").first.inner_text()
    until("recent pages change", lambda: page.locator("#recent li").first.inner_text() != before)


def pipeline_lives(page):
    names = page.locator("#pipeline h3").all_inner_texts()
    assert names == ["Supervisor", "Frontier", "Host", "Fetcher", "Parser", "Deduper", "Store"], names
    store = page.locator(".actor[data-kind=store] .rate")
    until("messages go through the store", lambda: number(store.inner_text()) > 0)
    expect(page.locator(".actor[data-kind=parser] .restarts")).to_contain_text("restart")


def actors_are_told(page):
    page.locator("#pipeline button", has_text="Store").click()
    expect(page.locator("#actors-facts")).to_contain_text("handled")
    expect(page.locator("#actors-facts dt", has_text="half within").locator("+ dd")).to_have_text(re.compile(r"^[1-9]\d*(\.\d)? (µs|ms|s)$"))
    page.locator("#actors-facts button", has_text="Restart").click()
    page.locator("#confirm-yes").click()
    expect(page.locator("#toasts")).to_contain_text("was restarted")
    expect(page.locator("#actors-facts dt", has_text="restarts").locator("+ dd")).to_have_text("1")
    restarts = page.locator(".actor[data-kind=store] .restarts")
    expect(restarts).to_have_text("1 restart")
    expect(restarts).to_have_class("restarts")  # one that was ordered is no fault
    page.locator("#actors-dialog [data-close]").click()


def hosts_are_listed(page):
    expect(page.locator("#hosts tr").first).to_be_visible()
    page.locator("#host-filter").fill("h1.")
    until("only those hosts", lambda: all("h1." in text for text in page.locator("#hosts td.host").all_inner_texts()))
    page.locator("#hosts button").first.click()
    expect(page.locator("#host-facts")).to_contain_text("in its queue")
    page.locator("#host-dialog [data-close]").click()
    page.locator("#host-filter").fill("")
    first = page.locator("#hosts td.host").first.inner_text()
    page.locator("#hosts-next").click()
    until("other hosts on the next page", lambda: page.locator("#hosts td.host").first.inner_text() != first)
    page.locator("#hosts-head button", has_text="host").click()
    expect(page.locator("#hosts-head th").first).to_have_attribute("aria-sort", "ascending")


def pause_and_resume(page):
    press(page, "#pause", yes=False)
    expect(page.locator("#state")).to_have_text("running")
    press(page, "#pause")
    expect(page.locator("#toasts")).to_contain_text("Paused.")
    expect(page.locator("#state")).to_have_text("paused")
    expect(page).to_have_title(re.compile("^paused – "))
    expect(page.locator("#idle")).to_contain_text("paused by the operator")
    expect(page.locator("#idle")).to_have_class("strip")
    expect(page.locator("#pause")).to_be_hidden()
    press(page, "#resume")
    expect(page.locator("#state")).to_have_text("running")
    expect(page.locator("#idle")).to_have_class("strip calm")


def checkpoint(page):
    press(page, "#checkpoint")
    expect(page.locator("#toasts")).to_contain_text(re.compile("Checkpoint .* made"))


def add_seeds(page):
    page.locator("#seeds").click()
    page.locator("#seeds-text").fill(f"http://h0.test/a-seed-of-the-page\nhttp://{SCRIPT}/\n")
    page.locator("#seeds-dialog button[type=submit]").click()
    outcome = page.locator("#seeds-outcome")
    expect(outcome).to_contain_text("1 taken, 0 known already, 1 turned away")
    expect(outcome).to_contain_text("<script>")
    page.keyboard.press("Escape")
    expect(page.locator("#seeds-dialog")).to_be_hidden()


def explain(page):
    for url, told in [("http://h0.test/", "Crawled at"), ("h0.test/", "as the crawl knows it"), (f"http://h0.test/{SCRIPT}", "nobody found a link"), ("nonsense", "URL")]:
        page.locator("#url").fill(url)
        page.locator("#url").press("Enter")
        expect(page.locator("#explained")).to_contain_text(told)
    page.locator("#explained button").last.click()
    expect(page.locator("#explained")).to_be_hidden()


def hits(page, text):
    """How many pages are found."""
    page.locator("#find-text").fill(text)
    page.locator("#find-text").press("Enter")
    expect(page.locator("#found p").first).not_to_have_text("looking …")
    return page.locator("#found .hits li").count()


def pages_are_found(page):
    """The index follows the crawl: what is stored is found a moment later."""
    until("pages are found", lambda: hits(page, "harbour") == 10)
    expect(page.locator("#found mark").first).to_be_visible()
    page.locator("#found button", has_text="More").click()
    until("more of them", lambda: page.locator("#found .hits li").count() == 20)
    page.locator("#find-site").fill("h1.test")
    until("those of one site", lambda: hits(page, "harbour") > 0 and all("://h1.test/" in text for text in page.locator("#found .address").all_inner_texts()))
    page.locator("#found button", has_text="stored text").first.click()
    expect(page.locator("#found .stored").first).to_contain_text("harbour")
    page.locator("#found button", has_text="linked from").first.click()
    expect(page.locator("#found .hits ul li").first).to_contain_text("http://")
    page.locator("#find-site").fill("")
    until("markup is found as text", lambda: hits(page, "title:taken") > 0 and "<script>" in page.locator("#found h3").first.inner_text())
    hits(page, "nofield:x")
    expect(page.locator("#found")).to_contain_text("there is no field")
    page.locator("#found button").last.click()
    expect(page.locator("#found")).to_be_hidden()


def markup_stays_text(page):
    """evil.test has a title and links full of markup; they come as events and as URLs."""
    page.locator("#kinds button", has_text="all").click()
    titles = page.locator("#recent [title*='<script>']")
    until("a title with markup was shown", lambda: titles.count() > 0)
    made = page.evaluate("document.querySelectorAll('main script, main img, main iframe').length")
    assert made == 0 and "taken" not in page.title(), (made, page.title())


def keyboard_reaches_everything(page):
    page.evaluate("document.activeElement.blur(); window.scrollTo(0, 0)")
    reached = set()
    for _ in range(200):
        page.keyboard.press("Tab")
        name = page.evaluate("""() => {
            const e = document.activeElement;
            if (!e || e === document.body) return null;
            const outline = getComputedStyle(e).outlineStyle;
            const named = e.getAttribute('aria-label') || e.labels?.length || e.textContent.trim() || e.getAttribute('aria-labelledby');
            return [e.id || e.getAttribute('class') || e.textContent, outline !== 'none', Boolean(named)];
        }""")
        if name is None:
            continue
        assert name[1] and name[2], f"no visible focus or no name: {name}"
        reached.add(name[0])
    for part in ["rules", "jobs", "reports"]:
        page.locator(f"[data-unfolds={part}]").focus()
        page.keyboard.press("Enter")
        expect(page.locator(f"#{part}")).to_have_attribute("open", "")
        expect(page.locator(f"#{part} summary")).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.locator(f"#{part}")).not_to_have_attribute("open", "")
    wanted = {"skip", "pause", "seeds", "checkpoint", "stop", "find-text", "url", "host-filter"}
    assert wanted <= reached, wanted - reached
    page.locator("#pause").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#confirm")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#confirm")).to_be_hidden()


def colours(page):
    return page.evaluate("getComputedStyle(document.body).backgroundColor")


def with_token(browser, url, token):
    with looking(browser, url) as page:
        field = page.locator("#token")
        for given in ["wrong-horse-battery-staple", token]:
            expect(field).to_be_visible()
            field.fill(given)
            page.keyboard.press("Enter")
            if given != token:
                expect(page.locator("#token-outcome")).to_contain_text("refused")
        expect(page.locator("#state")).to_have_text("running")
        kept = page.evaluate("[Object.values(sessionStorage).length, localStorage.length, document.cookie]")
        assert kept == [1, 0, ""], kept
    print("the token is asked for, kept for the tab, and opens everything")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("--token")
    parser.add_argument("--read-token")
    parser.add_argument("--fresh", action="store_true", help="what is said of visits, near-duplicates and link credit")
    parser.add_argument("--shots")
    options = parser.parse_args()
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        if options.fresh:
            fresh.all_of_it(browser, options.url, options.shots)
            return
        if options.token:
            with_token(browser, options.url, options.token)
            with looking(browser, options.url) as page:
                tools.a_token_for_looking(page, options.read_token, options.token)
            print("a token for looking switches off what commands, and says so")
            return
        with looking(browser, options.url) as page:
            checks = [numbers_change, tools.waiting_is_a_quiet_line_and_only_what_blocks_a_banner, pipeline_lives, actors_are_told, hosts_are_listed, pause_and_resume, add_seeds, explain, checkpoint, pages_are_found, markup_stays_text, keyboard_reaches_everything]
            checks += [tools.the_axis_has_round_times_and_says_how_much_there_is, tools.hosts_are_found_on_the_daemon, tools.orders_to_a_host]
            checks += [tools.rules_are_tried_then_made_and_taken_back, tools.a_rule_made_wider_readmits, tools.errors_are_tried_again]
            checks += [tools.jobs_are_listed_and_cancelled, tools.reports_are_read_and_saved, tools.dead_links_are_shown_with_all_pages_that_hold_them]
            for check in checks:
                check(page)
                print(check.__name__.replace("_", " "))
            light = colours(page)
            fits(page, 1280)
            if options.shots:
                page.screenshot(path=f"{options.shots}/light.png", full_page=True)
        with looking(browser, options.url, scheme="dark") as page:
            expect(page.locator("#state")).to_have_text("running")
            assert colours(page) != light
            if options.shots:
                page.screenshot(path=f"{options.shots}/dark.png", full_page=True)
        with looking(browser, options.url, width=360, height=740) as page:
            expect(page.locator("#recent li button.url").first).to_be_visible()
            tools.everything_fits_a_phone(page, 360)
            if options.shots:
                page.screenshot(path=f"{options.shots}/phone.png", full_page=True)
        print("dark, light and a phone of 360 pixels")
        with looking(browser, options.url) as page:
            press(page, "#stop")
            expect(page.locator("#gone")).to_contain_text("does not answer", timeout=PATIENCE)
            expect(page.locator("#state")).to_have_text("out of reach")
            expect(page).to_have_title(re.compile("^out of reach – "))
        print("stop ends the daemon, and the page says so")


if __name__ == "__main__":
    main()
