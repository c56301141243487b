//! Signatures of what is neither text nor markup (WHATWG MIME Sniffing, 6.1 to 6.4, and what the field adds).

/// A signature: bytes at the start, bytes at an offset (or none), and the media type they tell.
type Signature = (&'static [u8], Option<(usize, &'static [u8])>, &'static str);

/// Those that no text begins with.
const SIGNATURES: &[Signature] = &[
    (b"%PDF-", None, "application/pdf"),
    (b"%!PS-Adobe-", None, "application/postscript"),
    (b"\x00\x00\x01\x00", None, "image/x-icon"),
    (b"\x00\x00\x02\x00", None, "image/x-icon"),
    (b"BM", Some((6, b"\0\0\0\0")), "image/bmp"),
    (b"GIF87a", None, "image/gif"),
    (b"GIF89a", None, "image/gif"),
    (b"RIFF", Some((8, b"WEBPVP")), "image/webp"),
    (b"\x89PNG\r\n\x1a\n", None, "image/png"),
    (b"\xff\xd8\xff", None, "image/jpeg"),
    (b"FORM", Some((8, b"AIFF")), "audio/aiff"),
    (b"FORM", Some((8, b"AIFC")), "audio/aiff"),
    (b"OggS\0", None, "application/ogg"),
    (b"MThd\x00\x00\x00\x06", None, "audio/midi"),
    (b"RIFF", Some((8, b"AVI ")), "video/avi"),
    (b"RIFF", Some((8, b"WAVE")), "audio/wave"),
    (b"fLaC\0", None, "audio/flac"),
    (b"\x00\x01\x00\x00", None, "font/ttf"),
    (b"OTTO\0", None, "font/otf"),
    (b"ttcf\0", None, "font/collection"),
    (b"wOFF", None, "font/woff"),
    (b"wOF2", None, "font/woff2"),
    (b"\x1f\x8b\x08", None, "application/x-gzip"),
    (b"\x1f\x9d", None, "application/x-compress"),
    (b"\x1f\xa0", None, "application/x-compress"),
    (b"\x28\xb5\x2f\xfd", None, "application/zstd"),
    (b"\xfd7zXZ\0", None, "application/x-xz"),
    (b"BZh", Some((4, b"1AY&SY")), "application/x-bzip2"),
    (b"PK\x03\x04", None, "application/zip"),
    (b"Rar!\x1a\x07", None, "application/x-rar-compressed"),
    (b"Rar \x1a\x07", None, "application/x-rar-compressed"),
    (b"7z\xbc\xaf\x27\x1c", None, "application/x-7z-compressed"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", None, "application/x-ole-storage"),
    (b"\x7fELF", None, "application/x-executable"),
];

/// The media type that the first bytes of a body tell, if they are one of the signatures.
pub fn media_type(head: &[u8]) -> Option<&'static str> {
    let at = |offset: usize, want: &[u8]| head.get(offset..offset + want.len()) == Some(want);
    let is =
        |(start, more, _): &&Signature| head.starts_with(start) && more.is_none_or(|(offset, want)| at(offset, want));
    if let Some((_, _, name)) = SIGNATURES.iter().find(is) {
        return Some(name);
    }
    if at(4, b"ftyp") {
        return Some("video/mp4");
    }
    if is_id3(head) || is_mp3(head) {
        return Some("audio/mpeg");
    }
    matroska(head)
}

/// An ID3 tag: its version and flags, then a size whose bytes are below 0x80. Text may begin with the letters.
fn is_id3(head: &[u8]) -> bool {
    let [b'I', b'D', b'3', 2..=4, revision, flags, size @ ..] = head else { return false };
    *revision < 0xff && flags & 0x0f == 0 && size.len() >= 4 && size.iter().take(4).all(|b| *b < 0x80)
}

/// A frame of MPEG audio, layer III, with a bit rate and a sampling rate that exist, and with bytes that no text has: in some
/// old encodings the first two are letters (MIME Sniffing, 6.2.4).
fn is_mp3(head: &[u8]) -> bool {
    let [0xff, second, third, ..] = head else { return false };
    let layer_3 = second & 0xe6 == 0xe2 && second & 0x18 != 0x08;
    layer_3 && !matches!(third >> 4, 0 | 15) && third >> 2 & 3 != 3 && super::looks_binary(head)
}

/// WebM and Matroska: EBML, whose `DocType` (0x4282) stands within the first 38 bytes (MIME Sniffing, 6.2.2).
fn matroska(head: &[u8]) -> Option<&'static str> {
    if !head.starts_with(b"\x1a\x45\xdf\xa3") {
        return None;
    }
    let near = head.get(4..64).or(head.get(4..)).unwrap_or_default();
    let webm = memchr::memmem::find(near, b"webm").is_some();
    Some(if webm { "video/webm" } else { "video/x-matroska" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::cases::{check, unescaped};

    #[test]
    fn each_signature_tells_its_type() {
        for (start, more, name) in SIGNATURES {
            let mut head = start.to_vec();
            if let Some((offset, bytes)) = more {
                head.resize(*offset, b'x');
                head.extend_from_slice(bytes);
            }
            assert_eq!(media_type(&head), Some(*name), "{head:?}");
            head.pop();
            assert_ne!(media_type(&head), Some(*name), "{head:?}");
        }
    }

    #[test]
    fn media_are_known_by_more_than_their_first_letters() {
        check(include_str!("../../../tests/data/magic.txt"), |[head]| [media_type(&unescaped(head)).unwrap_or("-")]);
        assert_eq!(media_type(b""), None);
    }
}
