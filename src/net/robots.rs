//! The text of a robots.txt out of its answer.

use std::io::Read;

use super::protocol::{FetchLimits, Fetched};
use crate::document::{Decoded, DecodedEnd};
use crate::domain::cut::Cut;
use crate::domain::robots::{MAX_ROBOTS_BYTES, whole_lines, within_limit};

/// Bytes read: one more than the limit tells a text that fits from one that goes on.
const MOST: u64 = MAX_ROBOTS_BYTES as u64 + 1;

/// Bytes received beyond those read, so that a text a little too long comes whole.
const SPARE: u64 = 16 * 1024;

/// The limits of a request for robots.txt, where `limits` are those of a page: what nobody reads is not received, and what was
/// cut off there is no fault.
pub fn robots_limits(limits: &FetchLimits) -> FetchLimits {
    FetchLimits { max_body: limits.max_body.min(MOST + SPARE), ..limits.clone() }
}

/// The text, content codings taken off, cut to whole lines within [`MAX_ROBOTS_BYTES`].
///
/// # Errors
/// Why nobody knows what the text says: its end did not come, its coding is broken or not known, or it could not be read
/// again. Such a robots.txt is unreachable (RFC 9309, section 2.3.1.4): rules that were lost may forbid everything.
pub fn robots_text(fetched: &Fetched) -> Result<Vec<u8>, String> {
    text_of(fetched.decoded_body(MOST), fetched.cut)
}

fn text_of(mut body: Decoded<'_>, cut: Option<Cut>) -> Result<Vec<u8>, String> {
    let mut text = Vec::new();
    (&mut body).take(MOST).read_to_end(&mut text).map_err(|e| format!("it cannot be read: {e}"))?;
    if text.len() > MAX_ROBOTS_BYTES {
        return Ok(within_limit(&text).to_vec());
    }
    match (cut, body.end()) {
        (Some(cut @ (Cut::Disconnect | Cut::Time)), _) => Err(format!("its body was cut: {}", cut.as_str())),
        (Some(Cut::Length), _) => Ok(whole_lines(&text).to_vec()), // `fetch.max_body` lies below the limit, or it came packed
        (None, DecodedEnd::Corrupt) => Err("its content coding is broken".into()),
        (None, DecodedEnd::Unsupported) => Err("its content coding is not known".into()),
        (None, _) => Ok(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::decode::tests::gzip;
    use crate::document::decoded;

    fn answer(body: &[u8], coding: &str, cut: Option<Cut>) -> Result<Vec<u8>, String> {
        text_of(decoded(body, coding, MOST), cut)
    }

    #[test]
    fn a_text_that_did_not_come_whole_is_none() {
        let text = b"User-agent: *\nDisallow: /a\nDisallow: /b";
        assert_eq!(answer(text, "", None).unwrap(), text);
        for cut in [Cut::Disconnect, Cut::Time] {
            assert!(answer(text, "", Some(cut)).unwrap_err().contains(cut.as_str()));
        }
        assert_eq!(answer(text, "", Some(Cut::Length)).unwrap(), b"User-agent: *\nDisallow: /a");
    }

    #[test]
    fn a_broken_or_unknown_coding_is_no_text() {
        let text = "User-agent: *\nDisallow: /\n".repeat(50);
        let packed = gzip(text.as_bytes());
        assert_eq!(answer(&packed, "gzip", None).unwrap(), text.as_bytes());
        assert!(answer(&packed[..packed.len() - 9], "gzip", None).unwrap_err().contains("broken"));
        assert!(answer(&packed, "compress", None).unwrap_err().contains("not known"));
    }

    #[test]
    fn no_more_is_received_than_is_read() {
        let most = MOST + SPARE;
        for (pages, robots) in [(100 << 20, most), (most + 1, most), (most, most), (2_000, 2_000)] {
            let limits = FetchLimits { max_body: pages, ..FetchLimits::default() };
            assert_eq!(robots_limits(&limits), FetchLimits { max_body: robots, ..limits });
        }
    }

    #[test]
    fn a_text_longer_than_the_limit_ends_with_its_last_whole_line() {
        let mut text = b"User-agent: *\n".to_vec();
        text.resize(MAX_ROBOTS_BYTES - 10, b'#');
        text.extend_from_slice(b"\nDisallow: /private\n");
        for (coding, body) in [("", text.clone()), ("gzip", gzip(&text))] {
            for cut in [None, Some(Cut::Disconnect)] {
                assert_eq!(answer(&body, coding, cut).map(|t| t.len()), Ok(MAX_ROBOTS_BYTES - 10), "{coding} {cut:?}");
            }
        }
    }
}
