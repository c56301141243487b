//! URLs as people type them, without a scheme.

/// The text under each scheme it may mean, https first as browsers take it. Nothing when it has a scheme, or does not begin
/// with something that can only be a host: a name with a dot, a bracketed address, `localhost`, or a name with a port.
pub fn with_schemes(text: &str) -> Option<[String; 2]> {
    let text = text.trim();
    let bare = text.strip_prefix("//").unwrap_or(text);
    let authority = bare.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    is_authority(authority).then(|| ["https", "http"].map(|scheme| format!("{scheme}://{bare}")))
}

fn is_authority(text: &str) -> bool {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (text, None),
    };
    let is_port = port.is_none_or(|port| !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit()));
    let bracketed = host.starts_with('[') && host.ends_with(']');
    let is_name = !host.is_empty() && !host.contains([':', '@', ' ', '[', ']']) && !host.starts_with('.');
    let tells = host.contains('.') || host.eq_ignore_ascii_case("localhost") || port.is_some();
    is_port && (bracketed || (is_name && tells))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_begins_with_a_host_is_taken_under_both_schemes_https_first() {
        for text in
            "example.org example.org/a?b#c a.test:8080/x localhost LOCALHOST/x intranet:81/ [::1] [::1]:7/x 1.2.3.4 \
         bücher.example"
                .split(' ')
        {
            let both = with_schemes(text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(both, [format!("https://{text}"), format!("http://{text}")]);
        }
        assert_eq!(with_schemes(" //example.org/ ").unwrap()[1], "http://example.org/");
    }

    #[test]
    fn what_has_a_scheme_or_is_no_host_stays_as_it_is() {
        let odd = ["", " ", "a b.test"];
        let plain = "http://a.test/ HTTPS://a.test ftp://a.test/ mailto:a@b.test me@example.org /a.b word word/a.b ?a.b . \
         javascript:x http:///a.b a.test: a.test:8x ::1";
        for text in plain.split(' ').chain(odd) {
            assert_eq!(with_schemes(text), None, "{text}");
        }
    }
}
