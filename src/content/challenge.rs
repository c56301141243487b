//! Whether an answer is a firewall's challenge in place of the page asked for, whatever its status.
//!
//! Some firewalls say so in a header, as their makers document. The others are known by two signs together: a header or cookie
//! that shows who stands before the site, and words that only its challenge has, in its scripts or attributes. One sign alone
//! proves nothing: whole sites stand behind these firewalls, and articles are written about them. So words that a reader of the
//! page sees are no sign, and a page with much to read is no challenge.

use url::Url;

use crate::content::html::{ExtractOptions, Extractor};

/// No challenge is longer, as received.
pub const MAX_BODY: u64 = 64 * 1024;
/// So much of a body, decoded, is looked at.
pub const HEAD: usize = 16 * 1024;
/// No challenge shows more text, in bytes.
const MOST_TEXT: usize = 2_000;

/// How one firewall is known.
struct Firewall {
    name: &'static str,
    /// Headers that it sets: name, and what the value holds in lower case; an empty text holds always.
    headers: &'static [(&'static str, &'static str)],
    /// How names of its cookies begin.
    cookies: &'static [&'static str],
    /// What its challenge holds, whatever the status: all texts of one row.
    body: &'static [&'static [&'static str]],
    /// What shows one only where the status refuses: an answer with 2xx may be a page about challenges.
    refusal: &'static [&'static [&'static str]],
}

/// What is not said of one.
const NOTHING: Firewall = Firewall { name: "", headers: &[], cookies: &[], body: &[], refusal: &[] };

/// Sources: `tests/data/challenge.tsv`.
const FIREWALLS: &[Firewall] = &[
    Firewall {
        name: "cloudflare",
        headers: &[("cf-ray", "")],
        body: &[&["<title>Just a moment...</title>", "_cf_chl_opt"]],
        refusal: &[&["_cf_chl_opt"]],
        ..NOTHING
    },
    Firewall {
        name: "datadome",
        headers: &[("x-datadome", ""), ("x-dd-b", "")],
        cookies: &["datadome"],
        refusal: &[&["captcha-delivery.com", "var dd="]],
        ..NOTHING
    },
    Firewall {
        name: "imperva",
        headers: &[("x-iinfo", ""), ("x-cdn", "imperva"), ("x-cdn", "incapsula")],
        cookies: &["visid_incap_", "incap_ses_"],
        body: &[
            &["/_Incapsula_Resource?", "Incapsula incident ID"],
            &["<META NAME=\"robots\" CONTENT=\"noindex,nofollow\">", "/_Incapsula_Resource?SWJIYLWA"],
        ],
        ..NOTHING
    },
    Firewall { name: "aliyun", cookies: &["acw_tc", "acw_sc__"], body: &[&["acw_sc__v2", "arg1='"]], ..NOTHING },
    Firewall {
        name: "knownsec",
        cookies: &["__jsluid"],
        refusal: &[&["__jsl_clearance"], &["document.cookie", "location.pathname+location.search"]],
        ..NOTHING
    },
    Firewall {
        name: "sucuri",
        headers: &[("x-sucuri-id", ""), ("server", "sucuri")],
        body: &[&["sucuri_cloudproxy_js"]],
        ..NOTHING
    },
    Firewall {
        name: "akamai",
        cookies: &["ak_bmsc", "_abck", "bm_sz", "sec_cpt"],
        body: &[&["sec-if-cpt-container"], &["sec-bc-text-container"]],
        ..NOTHING
    },
    Firewall {
        name: "ddos-guard",
        headers: &[("server", "ddos-guard")],
        cookies: &["__ddg"],
        refusal: &[&["ddos-guard/js-challenge"]],
        ..NOTHING
    },
    Firewall {
        name: "anubis",
        cookies: &["techaro.lol-anubis", "within.website-x-cmd-anubis"],
        body: &[&["id=\"anubis_challenge\""]],
        ..NOTHING
    },
    Firewall {
        name: "yunsuo",
        cookies: &["yunsuo_session"],
        body: &[&["YunSuoAutoJump", "security_verify_"]],
        ..NOTHING
    },
    Firewall { name: "kasada", headers: &[("x-kpsdk-ct", "")], refusal: &[&["KPSDK", "/ips.js"]], ..NOTHING },
    Firewall { name: "human", cookies: &["_px"], refusal: &[&["px-captcha", "_pxAppId"]], ..NOTHING },
];

/// What the headers of an answer say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// No firewall that is known.
    None,
    /// One or more of the known firewalls stand before the site; the body decides. A bit each.
    Suspect(Suspects),
    /// It is a challenge.
    Challenge,
}

/// Firewalls whose words are looked for in the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Suspects(u16);

/// Looks at the headers, name and value each.
pub fn of_headers<'h>(headers: impl IntoIterator<Item = (&'h str, &'h [u8])>) -> Sign {
    let mut bits = 0;
    for (name, value) in headers {
        if says_so(name, value) {
            return Sign::Challenge;
        }
        let cookie = name.eq_ignore_ascii_case("set-cookie");
        for (bit, firewall) in FIREWALLS.iter().enumerate() {
            let known = if cookie {
                firewall.cookies.iter().any(|prefix| starts_with(value, prefix))
            } else {
                firewall.headers.iter().any(|(n, text)| n.eq_ignore_ascii_case(name) && holds(value, text))
            };
            bits |= u16::from(known) << bit;
        }
    }
    if bits == 0 { Sign::None } else { Sign::Suspect(Suspects(bits)) }
}

/// Headers that say so, of Cloudflare, AWS WAF (statuses 202 and 405), Vercel and SiteGround, and what they say.
const HEADERS: [(&str, &str); 5] = [
    ("cf-mitigated", "challenge"),
    ("x-amzn-waf-action", "challenge"),
    ("x-amzn-waf-action", "captcha"),
    ("x-vercel-mitigated", "challenge"),
    ("sg-captcha", "challenge"),
];

fn says_so(name: &str, value: &[u8]) -> bool {
    let value = value.trim_ascii();
    HEADERS
        .iter()
        .any(|(header, said)| name.eq_ignore_ascii_case(header) && value.eq_ignore_ascii_case(said.as_bytes()))
}

fn starts_with(value: &[u8], prefix: &str) -> bool {
    value.trim_ascii_start().get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix.as_bytes()))
}

fn holds(value: &[u8], text: &str) -> bool {
    text.is_empty() || memchr::memmem::find(&value.to_ascii_lowercase(), text.as_bytes()).is_some()
}

impl Suspects {
    /// The firewall whose challenge a body is that came with `status` and begins with `head` ([`HEAD`] bytes of it, decoded).
    pub fn in_body(self, status: u16, head: &[u8]) -> Option<&'static str> {
        let all = |words: &[&str]| {
            words.iter().all(|word| memchr::memmem::find(head, word.as_bytes()).is_some()) && is_hidden(words, head)
        };
        let refused = !(200..300).contains(&status) && !matches!(status, 404 | 410);
        let is_its = |firewall: &Firewall| {
            let refusal = firewall.refusal.iter().filter(|_| refused);
            firewall.body.iter().chain(refusal).any(|words| all(words))
        };
        let suspects = FIREWALLS.iter().enumerate().filter(|(bit, _)| self.0 & (1 << bit) != 0);
        suspects.map(|(_, firewall)| firewall).find(|firewall| is_its(firewall)).map(|firewall| firewall.name)
    }
}

/// Whether none of these words is in the text that the page shows, and that text is short.
fn is_hidden(words: &[&str], head: &[u8]) -> bool {
    let Ok(nowhere) = Url::parse("http://a.invalid/") else { return false };
    let mut page =
        Extractor::new(&nowhere, ExtractOptions { max_text: MOST_TEXT + 1, max_links: 0, ..ExtractOptions::default() });
    page.feed(&String::from_utf8_lossy(head));
    let shown = page.finish().text;
    shown.len() <= MOST_TEXT && !words.iter().any(|word| shown.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::cases::check;

    const TABLE: &str = include_str!("../../tests/data/challenge.tsv");

    /// `name: value` lines joined by `\n`, then the body.
    fn verdict(status: u16, headers: &str, body: &str) -> Option<String> {
        let lines: Vec<(&str, &[u8])> =
            headers.split("\\n").filter_map(|line| line.split_once(": ")).map(|(n, v)| (n, v.as_bytes())).collect();
        match of_headers(lines) {
            Sign::None => None,
            Sign::Challenge => Some("header".into()),
            Sign::Suspect(suspects) => suspects.in_body(status, body.as_bytes()).map(str::to_owned),
        }
    }

    #[test]
    fn challenges_are_told_from_pages_by_two_signs_together() {
        let rows = check(TABLE, |[_name, status, headers, body]| {
            [verdict(status.parse().unwrap(), headers, body).unwrap_or("-".into())]
        });
        assert!(rows > 20);
    }

    #[test]
    fn a_page_with_much_to_read_is_none() {
        let page = |text: usize| format!("<p>{}</p><script>sucuri_cloudproxy_js=''</script>", "word ".repeat(text / 5));
        assert_eq!(verdict(200, "x-sucuri-id: 1", &page(MOST_TEXT - 10)).as_deref(), Some("sucuri"));
        assert_eq!(verdict(200, "x-sucuri-id: 1", &page(MOST_TEXT + 10)), None);
    }

    #[test]
    fn every_firewall_has_a_bit_and_a_row_that_finds_it() {
        assert!(FIREWALLS.len() <= 16);
        for firewall in FIREWALLS {
            let found = format!("\t{}\t", firewall.name);
            assert!(TABLE.lines().any(|row| row.contains(&found)), "no row finds {}", firewall.name);
        }
    }
}
