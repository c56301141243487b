"""Checks of what the live page says of a crawl that visits its pages again, finds near-duplicates and ranks by link credit."""

import re

from playwright.sync_api import expect

from page_looker import fits, looking, press, unfold, until


def kind(page, name):
    return page.locator("#report-kinds button", has_text=re.compile(f"^{name}$"))


def rows(page):
    return page.locator("#report-list tbody tr")


def cells(page, nth):
    return page.locator(f"#report-list tbody td:nth-child({nth})").all_inner_texts()


def show(page, name):
    """By keyboard; the list is asked for once, and not again while nobody wants it."""
    unfold(page, "reports")
    kind(page, name).focus()
    page.keyboard.press("Enter")
    expect(kind(page, name)).to_have_attribute("aria-pressed", "true")


def the_richest_pages(page):
    show(page, "Richest pages")
    expect(page.locator("#report-about")).to_have_text(re.compile(r"Seeds brought [\d,]+: pages .* [\d,]+ pages looked at\."))
    until("pages with credit", lambda: rows(page).count() > 10)
    shares = [float(text.strip("<% ")) for text in cells(page, 2)]
    assert shares == sorted(shares, reverse=True) and 0 < shares[0] <= 100, shares
    assert all(re.fullmatch(r"fetched|waiting, rank [0-7]", state) for state in cells(page, 4)), cells(page, 4)
    expect(page.locator("#report-csv")).to_be_hidden()
    page.locator("#report-host").fill("h1.test")
    page.locator("#report-host").press("Enter")
    until("those of one host", lambda: rows(page).count() > 0 and all("://h1.test/" in url for url in cells(page, 1)))
    page.locator("#report-host").fill("")
    page.locator("#report-host").press("Enter")
    rows(page).first.locator("button").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#explained dt", has_text="state").first).to_be_visible()


def groups_of_near_duplicates(page):
    show(page, "Near-duplicates")
    expect(page.locator("#report-about")).to_have_text(re.compile(r"[\d,]+ pages? (was|were) found near to another one since the process began\."))
    until("groups", lambda: rows(page).count() > 0 or kind(page, "Near-duplicates").click())
    first = rows(page).first
    expect(first.locator("td").nth(3).locator("li button").first).to_contain_text("http://")
    assert all(re.fullmatch(r"[\d,]+( or more)?", n) for n in cells(page, 3)), cells(page, 3)
    with page.expect_download() as download:
        page.locator("#report-csv").click()
    assert download.value.path().read_text().startswith("group,group_title,url,"), "the file has a line a page"
    first.locator("td").nth(3).locator("li button").first.click()
    expect(page.locator("#explained")).to_contain_text("its text is near to that of")


def the_next_visit_of_a_page_and_why(page):
    page.locator("#url").fill("http://h0.test/")
    page.locator("#url").press("Enter")
    expect(page.locator("#explained dt", has_text=re.compile("^next visit$")).locator("+ dd")).to_contain_text(re.compile("It is visited next at|Its visit is due"))


def hosts_with_what_is_due_and_what_can_be_had(page):
    show(page, "Visits by host")
    until("hosts", lambda: rows(page).count() >= 3)
    heads = page.locator("#report-list thead th").all_inner_texts()
    assert {"wanted a day", "room a day", "due", "late by", "held"} <= set(heads), heads


def how_fresh_the_pages_are(page):
    show(page, "Freshness")
    expect(page.locator("#report-about")).to_contain_text("Not reckoned since the process began")
    press(page, "#report-find", says="goes through all captures once")
    until("its lines", lambda: "all" in cells(page, 1) and "depth 0" in cells(page, 1))
    expect(page.locator("#report-about")).to_contain_text("As of ")
    assert re.fullmatch(r"\d+\.\d\d %", cells(page, 3)[0]), cells(page, 3)


def visits_by_what_they_brought(page):
    page.locator("#visits summary").click()
    expect(page.locator("#visits-planned")).to_contain_text("have a next visit")
    expect(page.locator("#visits-legend")).to_contain_text("unchanged")
    page.locator("#visits summary").click()


CHECKS = [the_richest_pages, groups_of_near_duplicates, the_next_visit_of_a_page_and_why, hosts_with_what_is_due_and_what_can_be_had, how_fresh_the_pages_are, visits_by_what_they_brought]
LISTS = ["Richest pages", "Near-duplicates", "Visits by host", "Freshness"]


def all_of_it(browser, url, shots):
    """At a desk in light, in the dark, and on a phone; pictures of each list where they are wanted."""
    with looking(browser, url) as page:
        expect(page.locator("#state")).to_have_text("running")
        for check in CHECKS:
            check(page)
            print(check.__name__.replace("_", " "))
    for scheme, width in [("light", 1280), ("dark", 1280), ("light", 360)]:
        with looking(browser, url, scheme=scheme, width=width) as page:
            for name in LISTS:
                show(page, name)
                until(name, lambda: rows(page).count() > 0)
                fits(page, width)
                assert not page.locator("#report-list").evaluate("(e) => e.scrollWidth > e.clientWidth") or width > 360, f"{name} is cut"
                if shots:
                    page.locator("#reports").screenshot(path=f"{shots}/{name.split()[0].lower()}-{scheme}-{width}.png")
    print("in light, dark, and on a phone of 360 pixels")
