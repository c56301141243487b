//! Which document it is, by the first bytes.

use quick_xml::Reader;
use quick_xml::events::Event;

use crate::content::charset::{Decoder, detect};

/// Bytes looked at.
const LOOK: usize = 4 * 1024;

/// The local name of the root element in lower case; `None` when it does not stand near the start, or there is other text before
/// it.
pub(in crate::content::modules) fn root_of(content_type: Option<&str>, head: &[u8]) -> Option<String> {
    let head = head.get(..LOOK).unwrap_or(head);
    // Of most bodies no more is needed than this. NULs and marks are those of UTF-16 and UTF-8.
    let first = head.iter().find(|b| !b.is_ascii_whitespace() && !matches!(b, 0 | 0xef | 0xbb | 0xbf | 0xfe | 0xff));
    if first != Some(&b'<') {
        return None;
    }
    let mut text = String::new();
    Decoder::new(detect(content_type, head).0).decode(head, true, |piece| text.push_str(piece));
    let start = text.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
    let mut reader = Reader::from_str(start);
    reader.config_mut().allow_dangling_amp = true;
    loop {
        match reader.read_event() {
            Ok(Event::Start(tag) | Event::Empty(tag)) => {
                return Some(String::from_utf8_lossy(tag.local_name().as_ref()).to_ascii_lowercase());
            }
            Ok(Event::Text(text)) if text.iter().any(|b| !b.is_ascii_whitespace()) => return None,
            Ok(Event::Decl(_) | Event::PI(_) | Event::DocType(_) | Event::Comment(_) | Event::Text(_)) => {}
            Err(quick_xml::Error::IllFormed(_)) => {}
            Ok(_) | Err(_) => return None,
        }
    }
}
