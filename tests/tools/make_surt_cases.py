"""Writes tests/data/warc/surt.tsv: URLs and the keys the `surt` package gives them.

    pip install surt==0.3.1
    python tests/tools/make_surt_cases.py > tests/data/warc/surt.tsv

The URLs are in the form Lycosa stores (WHATWG serialisation), since keys are made of stored URLs.
"""
import surt

URLS = """
http://example.org/
https://example.org/
https://www.example.org/
http://www7.example.org/a
http://www.com/
http://wwwx.example.org/
http://EXAMPLE.org/Path/File.HTML
http://example.org:80/a
https://example.org:443/a
http://example.org:443/a
http://example.org:8080/a
http://example.org/a/
http://example.org/a/b//c
http://example.org//
http://example.org///a
http://example.org/a/%2e%2e/b
http://example.org/?
http://example.org/?a
http://example.org/?a=
http://example.org/?b=2&a=1
http://example.org/?b=2&b=1&a
http://example.org/?a=1&a
http://example.org/?a=b=c&a=b
http://example.org/?A=B&a=A
http://example.org/?a=%20b+c
http://example.org/?a=%26b
http://example.org/?&&a
http://example.org/a%2541
http://example.org/a%20b
http://example.org/a%7Eb~c
http://example.org/%E4%BD%A0%E5%A5%BD
http://example.org/?q=%E4%BD%A0
http://example.org/100%
http://example.org/%%3231
http://example.org/a%23b
http://example.org/a%3Fb
http://example.org/a;v=1,b
http://example.org/?PHPSESSID=0123456789abcdef0123456789ABCDEF&x=1
http://example.org/?x=1&jsessionid=0123456789abcdef0123456789abcdef
http://example.org/?x=1&sid=0123456789abcdef0123456789abcdef&y=2
http://example.org/?sid=short
http://example.org/?ASPSESSIONIDABCDEFGH=ABCDEFGHIJKLMNOPQRSTUVWX&z
http://example.org/?CFID=12&CFTOKEN=ab&z=1
http://example.org/?z=1&cfid=12&cftoken=ab
http://example.org/(S(0123456789abcdefghijklmn))/page.aspx?a=1
http://example.org/x/(0123456789abcdefghijklmn)/page.aspx
http://example.org/(0123456789abcdefghijklmn)/page.html
http://192.0.2.7/a
http://192.0.2.7:8080/
http://[2001:db8::1]/a
http://[2001:db8::1]:8080/a
http://xn--bcher-kva.example/
http://sub.www.example.org/
http://localhost/
http://h0.test:8500/p/1?x
http://example.org/a"b<c>
http://example.org/a|b[c]{d}`^
""".split("\n")

print("# URL, tab, key. Source: the surt package 0.3.1 (Internet Archive), made by tests/tools/make_surt_cases.py")
for url in filter(None, URLS):
    print(f"{url}\t{surt.surt(url)}")
