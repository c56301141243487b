"""Walks the links of a site by the rules the crawl is to follow, with nothing but Python's own library.

    python walk.py ADDRESS:PORT HOST /START [/START ...]

Connects to the address whatever the URL says. Prints one JSON object a line: {"url", "status", "via"} for each URL asked
for, {"url", "skipped", "via"} for each URL of the host that is not to be asked for. Shares no code with the crawler; the
rules are those of docs/architecture.md: links of a, area, frame, iframe, meta refresh and link with a rel that leads to a
page; base honoured; nofollow left out; fragments dropped; files of images, archives and the like skipped by their ending.
"""

import http.client
import json
import re
import sys
from html.parser import HTMLParser
from urllib.parse import quote, urldefrag, urljoin, urlsplit, urlunsplit

RELS = set(
    "next prev alternate canonical index contents up first last help start chapter section".split()
)
FILES = set("png svg jpg jpeg gif ico webp gz zip bz2 xz tar tgz deb whl mp3 mp4 woff woff2 ttf".split())


class Links(HTMLParser):
    """The links of one page, in order."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.base, self.found, self.nofollow = None, [], False

    def handle_starttag(self, tag, attrs):
        attrs = {name: value or "" for name, value in reversed(attrs)}  # the first of two equal ones counts
        rel = attrs.get("rel", "").lower().split()
        if tag == "base" and "href" in attrs and self.base is None:
            self.base = attrs["href"]
        elif tag in ("a", "area") and "href" in attrs and "nofollow" not in rel:
            self.found.append(attrs["href"])
        elif tag in ("frame", "iframe") and "src" in attrs:
            self.found.append(attrs["src"])
        elif tag == "link" and "href" in attrs and RELS & set(rel) and not {"nofollow", "stylesheet", "icon"} & set(rel):
            self.found.append(attrs["href"])
        elif tag == "meta" and attrs.get("http-equiv", "").lower() == "refresh":
            self.refresh(attrs.get("content", ""))
        elif tag == "meta" and attrs.get("name", "").lower() == "robots":
            self.nofollow |= bool({"nofollow", "none"} & set(re.split(r"[,\s]+", attrs.get("content", "").lower())))

    def refresh(self, content):
        if match := re.match(r"\s*[\d.]*\s*[;,]?\s*url\s*=\s*['\"]?([^'\"]*)", content, re.I):
            self.found.append(match[1])


def canonical(base, href):
    """The URL without fragment, with what must be written in percent form; None when it is no http URL."""
    try:
        parts = urlsplit(urldefrag(urljoin(base, href.strip()))[0])
        port = parts.port
    except ValueError:
        return None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return None
    host = parts.hostname + (f":{port}" if port and port != {"http": 80, "https": 443}[parts.scheme] else "")
    path = quote(parts.path or "/", safe="%/:@!$&'()*+,;=~-._|[]^")
    return urlunsplit((parts.scheme, host, path, quote(parts.query, safe="%/:@!$&'()*+,;=~-._?|[]^`{}"), ""))


class Walk:
    def __init__(self, address, host):
        name, port = address.rsplit(":", 1)
        self.server, self.host = http.client.HTTPConnection(name, int(port)), host
        self.seen, self.queue = set(), []

    def reach(self, base, href, via):
        url = canonical(base, href)
        if url is None or urlsplit(url).hostname != self.host or url in self.seen:
            return
        self.seen.add(url)
        ending = urlsplit(url).path.rsplit("/", 1)[-1].rpartition(".")
        if ending[0] and ending[2].lower() in FILES:
            print(json.dumps({"url": url, "skipped": ending[2].lower(), "via": via}))
        else:
            self.queue.append((url, via))

    def get(self, url):
        parts = urlsplit(url)
        target = parts.path + (f"?{parts.query}" if parts.query else "")
        self.server.request("GET", target, headers={"Host": self.host, "User-Agent": "walk"})
        answer = self.server.getresponse()
        return answer, answer.read()

    def run(self):
        while self.queue:
            url, via = self.queue.pop(0)
            answer, body = self.get(url)
            print(json.dumps({"url": url, "status": answer.status, "via": via}))
            if 300 <= answer.status < 400 and answer.headers["Location"]:
                self.reach(url, answer.headers["Location"], url)
            elif answer.status == 200 and "html" in (answer.headers["Content-Type"] or ""):
                self.follow(url, body)

    def follow(self, url, body):
        links = Links()
        links.feed(body.decode("utf-8", "replace"))
        links.close()
        base = urljoin(url, links.base) if links.base else url
        for href in [] if links.nofollow else links.found:
            self.reach(base, href, url)


def main():
    address, host, *starts = sys.argv[1:]
    walk = Walk(address, host)
    for start in starts:
        walk.reach(f"http://{host}/", start, None)
    walk.run()


main()
