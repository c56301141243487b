//! What a WARC's first record says about the file and its makers.

use super::header::put_field;

/// The fields of the `warcinfo` record (WARC 1.1, section 6.2). Empty ones are left out.
#[derive(Clone, Debug, Default)]
pub struct WarcInfo {
    /// Program and version, as `Lycosa/0.1.0`.
    pub software: String,
    /// Who runs the crawl: a name, mail or URL.
    pub operator: String,
    /// The machine's name.
    pub hostname: String,
    /// The machine's address.
    pub ip: String,
    /// The User-Agent that is sent.
    pub user_agent: String,
    /// How robots.txt is treated: `obey` or `ignore`.
    pub robots: String,
    /// The crawl this file is a part of.
    pub is_part_of: String,
    /// A sentence on the crawl.
    pub description: String,
}

impl WarcInfo {
    /// The record's content, `application/warc-fields`.
    pub fn to_fields(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(512);
        let fields = [
            ("software", self.software.as_str()),
            ("operator", &self.operator),
            ("hostname", &self.hostname),
            ("ip", &self.ip),
            ("http-header-user-agent", &self.user_agent),
            ("robots", &self.robots),
            ("isPartOf", &self.is_part_of),
            ("description", &self.description),
            ("format", "WARC File Format 1.1"),
            ("conformsTo", "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"),
        ];
        for (name, value) in fields.into_iter().filter(|(_, value)| !value.is_empty()) {
            put_field(&mut out, name, value);
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn given_fields_are_written_one_a_line_and_empty_ones_left_out() {
        let info =
            WarcInfo { software: "Lycosa/0.1\r\nrobots: ignore".into(), robots: "obey".into(), ..Default::default() };
        let text = String::from_utf8(info.to_fields()).unwrap();
        assert!(
            text.starts_with(
                "software: Lycosa/0.1  robots: ignore\r\nrobots: obey\r\nformat: WARC File Format 1.1\r\n"
            )
        );
        assert!(!text.contains("operator"));
        assert!(text.contains("\r\nconformsTo: http://iipc.github.io/"));
    }
}
