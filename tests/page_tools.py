"""Checks of what the live page offers beyond looking: orders, rules, jobs, reports, a token that may only look."""

import re

from playwright.sync_api import expect

from page_looker import SCRIPT, close, fits, number, open_host, press, tile, unfold, until


MOST_OF_IT = re.compile("This would turn away (all|most) of the queue|Most of the queue would be turned away")


def made_of_data(page):
    """Elements that only markup in data could have made."""
    return page.evaluate("document.querySelectorAll('main script, main img, main iframe, dialog script, dialog img').length")


def hosts_are_found_on_the_daemon(page):
    asked = []
    page.on("request", lambda r: asked.append(r.url) if "/api/v1/hosts?" in r.url else None)
    page.locator("#host-filter").fill("H1")
    expect(page.locator("#hosts-note")).to_contain_text("with that name")
    names = page.locator("#hosts td.host").all_inner_texts()
    assert names and all("h1" in name for name in names), names
    assert any("contains=H1" in url for url in asked), asked
    page.locator("#host-filter").fill("no-such-host")
    expect(page.locator("#hosts-note")).to_have_text("no hosts with that name")
    page.locator("#host-filter").fill("")
    expect(page.locator("#hosts tr").nth(3)).to_be_visible()


def orders_to_a_host(page):
    name = "h3.test"
    open_host(page, name)
    order = lambda label: page.locator("#host-orders button", has_text=re.compile(f"^{label}$"))
    outcome = page.locator("#host-outcome")
    press(page, order("Pause"), yes=False, says="No new requests go to it")
    expect(order("Pause")).to_be_visible()
    press(page, order("Pause"), says="No new requests go to it")
    expect(outcome).to_have_text(f"Done: {name} is paused.")
    expect(page.locator("#host-facts")).to_contain_text("paused by the operator")
    order("Resume").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#confirm-yes")).to_be_focused()
    page.keyboard.press("Enter")
    expect(outcome).to_have_text(f"Done: {name} has no order of its own.")
    expect(order("Pause")).to_be_visible()
    page.locator("#host-gap").fill("soon")
    order("Set").click()
    expect(outcome).to_contain_text("“soon” is no time")
    expect(page.locator("#confirm")).to_be_hidden()
    page.locator("#host-gap").fill("2s")
    page.locator("#host-gap").press("Enter")
    expect(page.locator("#confirm")).to_contain_text("at least 2s go by")
    page.keyboard.press("Enter")
    expect(outcome).to_have_text(f"Done: {name} has a gap of at least 2 s.")
    press(page, order("As in the settings"))
    expect(outcome).to_contain_text("has no order of its own")
    for label, says, kind in [("Drop queue", "turns away the", "drop"), ("Recrawl", "Older captures are kept", "recrawl"), ("Block", "for good", "block")]:
        press(page, order(label), says=says)
        expect(outcome).to_have_text(re.compile(rf"Job \d+ \({kind}\): done; .* looked at"))
    press(page, order("Unblock"), says="found from now on")
    expect(outcome).to_contain_text("has no order of its own")
    close(page, "host-dialog")
    page.locator("#host-filter").fill("")


def rules_are_tried_then_made_and_taken_back(page):
    unfold(page, "rules")
    change = page.locator("#rules-list [data-key='scope.exclude']")
    value, trial, apply = page.locator("#rule-list"), page.locator("#rule-trial"), page.locator("#rule-apply")
    change.focus()
    page.keyboard.press("Enter")
    expect(value).to_be_focused()
    expect(apply).to_be_disabled()
    value.fill("(")
    page.locator("#rule-try").click()
    expect(trial).to_contain_text("scope.exclude")
    expect(apply).to_be_disabled()
    value.fill("/")
    page.locator("#rule-try").click()
    expect(trial).to_contain_text(MOST_OF_IT)
    press(page, apply, yes=False, says="of the queue")
    expect(page.locator("#confirm-warning")).to_contain_text("of the queue")
    value.fill(SCRIPT)
    expect(apply).to_be_disabled()
    page.locator("#rule-try").click()
    expect(trial).to_contain_text("None of the")
    press(page, apply, says="also after a restart")
    expect(trial).to_contain_text("scope.exclude is changed; rules number 2 are in force.")
    close(page, "rule-dialog")
    row = page.locator("#rules-list tr", has=page.locator("[data-key='scope.exclude']"))
    expect(row).to_contain_text(SCRIPT)
    expect(row).to_contain_text("admin")
    expect(page.locator("#history-list tbody tr").first).to_contain_text(SCRIPT)
    assert made_of_data(page) == 0 and "taken" not in page.title()
    press(page, "#history-list [data-key=undo]", says="That is a change too")
    expect(page.locator("#rules-note")).to_contain_text("Rules number 3")
    expect(row).not_to_contain_text(SCRIPT)


def a_rule_made_wider_readmits(page):
    unfold(page, "rules")
    page.locator("#rules-list [data-key='scope.exclude']").click()
    page.locator("#rule-list").fill("/p/[1-5]")
    page.locator("#rule-try").click()
    expect(page.locator("#rule-trial")).to_contain_text("turned away when their turn comes")
    press(page, "#rule-apply")
    expect(page.locator("#rule-trial")).to_contain_text("is changed")
    until("URLs are turned away", lambda: number(tile(page, "turned away").inner_text()) > 0)
    close(page, "rule-dialog")
    page.locator("#rules-list [data-key='scope.exclude']").click()
    page.locator("#rule-back").click()
    expect(page.locator("#rule-trial")).to_contain_text("would be readmitted")
    page.locator("#rule-readmit").check()
    press(page, "#rule-apply", says="A job judges the rejected URLs again")
    expect(page.locator("#rule-trial")).to_contain_text(re.compile(r"Job \d+ \(readmit\): done"))
    close(page, "rule-dialog")


def errors_are_tried_again(page):
    button = page.locator("#errors button", has_text="retry").first
    button.focus()
    before = tile(page, "captures").inner_text()
    until("the numbers change", lambda: tile(page, "captures").inner_text() != before)
    expect(button).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#confirm-text")).to_contain_text(re.compile(r"\d+ URLs? given up for “status 4xx”"))
    page.keyboard.press("Enter")
    expect(page.locator("#toasts")).to_contain_text("queues them again")
    expect(page.locator("#toasts")).to_contain_text(re.compile(r"Job \d+ \(retry\): done"))


def jobs_are_listed_and_cancelled(page):
    """No job runs long enough for a test here, so that one is made up, with markup in it."""
    unfold(page, "jobs")
    for kind in ["recrawl", "block", "retry", "readmit"]:
        expect(page.locator("#jobs-list tbody")).to_contain_text(kind)
    job = {"id": 77, "kind": "recrawl", "about": SCRIPT, "state": "running", "looked": 1200, "changed": 300, "started": 1, "ended": None, "error": None, "result": None}
    done = {**job, "id": 76, "kind": "holders", "state": "done", "ended": 9, "result": {"made": 1_714_979_289_012, "listed": 3}}
    told = []
    page.route("**/api/v1/jobs", lambda route: route.fulfill(json=[job, done]))
    page.route("**/api/v1/jobs/77", lambda route: (told.append(route.request.method), route.fulfill(json=job)))
    expect(page.locator("#jobs-list tbody")).to_contain_text("1,200")
    expect(page.locator("#jobs-list tbody")).to_contain_text(SCRIPT)
    expect(page.locator("#jobs-list tbody")).to_contain_text("made 2024-05-06 07:08:09 UTC, listed 3")
    cancel = page.locator("#jobs-list button", has_text="Cancel")
    cancel.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#confirm")).to_contain_text("what it has done stands")
    page.keyboard.press("Enter")
    expect(page.locator("#toasts")).to_contain_text("Job 77 is told to stop.")
    assert told == ["DELETE"] and made_of_data(page) == 0, told
    page.unroute("**/api/v1/jobs")
    page.unroute("**/api/v1/jobs/77")


def reports_are_read_and_saved(page):
    unfold(page, "reports")
    rows, kind = page.locator("#report-list tbody tr"), lambda name: page.locator("#report-kinds button", has_text=re.compile(f"^{name}$"))
    for name in ["Richest pages", "Near-duplicates"]:  # near-duplicates are looked for, credit is off
        expect(kind(name)).to_be_visible(visible=name == "Near-duplicates")
    for name, part in [("Seeds", "http://h0.test/"), ("Statuses", "200"), ("Types", "text/html"), ("Hosts", ".test"), ("Changes", "new"), ("Readers of the feed", "backup"), ("Dead links", "status 4xx")]:
        kind(name).focus()
        page.keyboard.press("Enter")
        expect(page.locator("#report-list tbody")).to_contain_text(part)
    assert made_of_data(page) == 0
    until("more than one page of dead links", lambda: page.locator("#report-next").is_enabled() or kind("Dead links").click())
    first = rows.first.inner_text()
    page.locator("#report-next").click()
    until("the next page", lambda: rows.first.inner_text() != first)
    second = rows.first.inner_text()
    page.locator("#report-back").click()
    # The crawl goes on: its first dead link may be another by now.
    until("the page before", lambda: rows.first.inner_text() != second and page.locator("#report-back").is_disabled())
    page.locator("#report-host").fill("h2.test")
    page.locator("#report-host").press("Enter")
    # Asked again until the crawl has given up a link to that host.
    until("links to one host", lambda: rows.count() > 0 or page.locator("#report-host").press("Enter"))
    until("no others", lambda: all("h2.test" in row for row in page.locator("#report-list td:first-child").all_inner_texts()))
    page.locator("#report-host").fill("")
    page.locator("#report-host").press("Enter")
    with page.expect_download() as download:
        page.locator("#report-csv").click()
    text = download.value.path().read_text()
    assert text.startswith("url,reason,") and len(text.splitlines()) > 20, text[:200]
    expect(page.locator("#report-note")).to_have_text("dead-links.csv is whole.")
    rows.first.locator("button").first.click()
    expect(page.locator("#explained")).to_contain_text("error")


def dead_links_are_shown_with_all_pages_that_hold_them(page):
    unfold(page, "reports")
    expect(page.locator("#report-find")).to_be_hidden()
    page.locator("#report-kinds button", has_text="all pages").click()
    about, rows = page.locator("#report-about"), page.locator("#report-list tbody tr")
    expect(about).to_contain_text("no such report yet")
    press(page, "#report-find", says="reads the archive once")
    expect(about).to_have_text(re.compile(r"As of [\d: -]+ UTC: \d+ dead URLs, [\d,]+ pages read\."), timeout=300_000)
    expect(rows.first.locator("td").nth(3)).to_contain_text("http://")
    expect(rows.first).to_contain_text("a/@href")
    with page.expect_download() as download:
        page.locator("#report-csv").click()
    assert download.value.suggested_filename == "dead-links-holders.csv"
    assert download.value.path().read_text().startswith("url,reason,status,page,context,pages")


def waiting_is_a_quiet_line_and_only_what_blocks_a_banner(page):
    status = page.evaluate("fetch('api/v1/status').then((r) => r.json())")
    status |= {"idle_reason": "3 hosts wait between two requests", "in_flight": 0, "pages_per_second": 0, "uptime_seconds": status["uptime_seconds"] + 1_000}
    finding = {"code": "hosts_waiting", "sentence": SCRIPT, "advice": ""}
    top = lambda: page.evaluate("document.getElementById('main').getBoundingClientRect().top + window.scrollY")
    idle, line, before = page.locator("#idle"), page.locator("#idle-line"), top()
    page.route("**/api/v1/why-idle", lambda route: route.fulfill(json={"idle": True, "answer": "", "findings": [finding]}))
    page.route("**/api/v1/status", lambda route: route.fulfill(json=status))
    expect(line).to_have_text(status["idle_reason"])
    expect(idle).to_have_class("strip calm")
    for waiting, word in [(3, "waiting"), (0, "idle")]:  # that nothing holds a crawl is no running yet
        status |= {"waiting": waiting, "processing": 0}
        expect(page.locator("#state")).to_have_text(word)
        expect(page).to_have_title(re.compile(f"^{word} – "))
    assert top() == before, "the page is shifted"
    finding["code"] = "hosts_backing_off"
    expect(idle).to_have_class("strip")
    page.locator("#idle-more summary").click()
    expect(page.locator("#idle-why")).to_contain_text("<script>")
    page.locator("#idle-more summary").click()
    page.unroute("**/api/v1/status")
    page.unroute("**/api/v1/why-idle")
    expect(idle).to_have_class("strip calm")
    expect(page.locator("#idle-more")).to_be_hidden()


def the_axis_has_round_times_and_says_how_much_there_is(page):
    moments = page.locator("#chart .labels .x")
    for button, most in [("10 min", "10 min"), ("1 h", "1 h"), ("1 week", "7 d")]:
        page.locator("#spans button", has_text=button).click()
        expect(page.locator("#chart-note")).to_have_text(re.compile(rf"Figures begin at [\d:]+: .* of {most}\."))
        until("moments", lambda: moments.count() >= 2)
        form = r"[A-Z][a-z]{2} \d+" if most == "7 d" else r"\d\d:\d[05]|\d\d:\d[0-9]|[A-Z][a-z]{2} \d+"
        assert all(re.fullmatch(form, text) for text in moments.all_inner_texts()), moments.all_inner_texts()
    page.locator("#spans button", has_text="10 min").click()


def everything_fits_a_phone(page, width):
    fits(page, width)
    cut = "(e) => e.scrollWidth > e.clientWidth"
    assert not page.locator("#hosts").evaluate("(e) => e.closest('.scroll').scrollWidth > e.closest('.scroll').clientWidth")
    expect(page.locator("#hosts-head button", has_text="queue")).to_be_visible()
    for name in ["rules", "jobs", "reports"]:
        unfold(page, name)
        expect(page.locator(f"#{name} .scroll").first).to_be_visible()
    expect(page.locator("#rules-list tbody tr").first).to_be_visible()
    for name in ["rules-list", "history-list", "jobs-list", "report-list"]:
        assert not page.locator(f"#{name}").evaluate(cut), f"{name} is cut"
    fits(page, width)
    open_host(page, "h5.test")
    assert not page.locator("#host-dialog").evaluate(cut), "the dialog of a host is cut"
    fits(page, width)
    close(page, "host-dialog")


def give_token(page, token):
    expect(page.locator("#token")).to_be_visible()
    page.locator("#token").fill(token)
    page.keyboard.press("Enter")


def a_token_for_looking(page, read, full):
    """Everything that commands is off, and says why; everything else works."""
    give_token(page, read)
    expect(page.locator("#read-only")).to_contain_text("This token is for looking")
    until("errors", lambda: page.locator("#errors button").count() > 0)
    for name in ["rules", "jobs", "reports"]:
        unfold(page, name)
    expect(page.locator("#rules-list [data-key='scope.exclude']")).to_be_visible()
    expect(page.locator("#report-list tbody tr").first).to_be_visible()
    open_host(page, "h1.test")
    expect(page.locator("#host-dialog .looking")).to_be_visible()
    commands = page.locator("[data-command]")
    for button in commands.all():
        assert button.is_disabled() and "for looking" in (button.get_attribute("title") or ""), button.inner_text()
    names = set(commands.all_inner_texts())
    assert {"Pause", "Add seeds", "Checkpoint", "Stop", "retry", "Change", "Drop queue", "Block", "Set"} <= names, names
    close(page, "host-dialog")
    page.locator("#pipeline button", has_text="Store").click()
    expect(page.locator("#actors-facts button", has_text="Restart")).to_be_disabled()
    close(page, "actors-dialog")
    page.locator("#other-token").click()
    give_token(page, full)
    expect(page.locator("#pause")).to_be_enabled()
    expect(page.locator("#read-only")).to_be_hidden()
