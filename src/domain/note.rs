//! What was odd about an answer that was kept all the same: stable codes, as those of [`reason`](super::reason).

use super::coded::codes;

codes! {
    /// One remark on a capture. Several may hold; each stands once.
    Note {
        /// The chunks of the body broke off or were malformed (RFC 9112, 7.1).
        ChunkFault = 1, "chunk_fault";
        /// The connection was reset within the body.
        Reset = 2, "reset";
        /// The connection ended before the body was as long as it had been said to be.
        EndedEarly = 3, "ended_early";
        /// The body came slower than `fetch.timeouts.min_rate` and was cut.
        TooSlow = 4, "too_slow";
        /// The body took longer than `fetch.timeouts.body` and was cut.
        BodyTimeout = 5, "body_timeout";
        /// More came decoded than `fetch.max_decoded`.
        DecodeCapped = 6, "decode_capped";
        /// The content coding is broken from some point on.
        DecodeCorrupt = 7, "decode_corrupt";
        /// A content coding that is not known: the body was not looked into.
        DecodeUnsupported = 8, "decode_unsupported";
        /// It was compressed once more than its headers said.
        DecodeExtra = 9, "decode_extra";
        /// It was not compressed, though its headers said so.
        DecodePlain = 10, "decode_plain";
        /// TLS ended without its goodbye, in a body that only the end of the connection delimits.
        TlsUnclosed = 11, "tls_unclosed";
        /// The certificate has expired, or is not valid yet.
        TlsExpired = 12, "tls_expired";
        /// The certificate is for another name.
        TlsName = 13, "tls_name";
        /// The certificate is signed by itself.
        TlsSelfSigned = 14, "tls_self_signed";
        /// The certificate is signed by somebody unknown.
        TlsIssuer = 15, "tls_issuer";
        /// Another fault of the certificate.
        TlsCertificate = 16, "tls_certificate";
        /// It redirects to what is no URL of http or https, or says nothing of where to.
        RedirectNowhere = 17, "redirect_nowhere";
        /// It redirects to itself.
        RedirectSelf = 18, "redirect_self";
        /// A `Refresh` header, or `<meta http-equiv=refresh>`, leads on at once.
        Refresh = 19, "refresh";
        /// The page shows nothing without its scripts.
        NeedsScript = 20, "needs_script";
        /// Its headers or its markup ask not to be indexed.
        NoIndex = 21, "noindex";
        /// Its headers or its markup ask not to follow its links.
        NoFollow = 22, "nofollow";
        /// Only the first `parse.max_parse` bytes were read for links.
        ParseCut = 23, "parse_cut";
        /// It had more links than `parse.max_links_per_page`.
        LinksCut = 24, "links_cut";
        /// Rules of `[[extract]]` are meant for it, but it is too large or too deep for a tree, or their values or work for the
        /// bounds of a page.
        ExtractSkipped = 25, "extract_skipped";
        /// Its headers or its markup ask not to offer a stored copy.
        NoArchive = 26, "noarchive";
        /// The server speaks TLS only as it was before 2013: 1.0, 1.1, or 1.2 with CBC or RSA key exchange.
        TlsOld = 27, "tls_old";
        /// Links of it, or where it redirects to, are no URLs that can be asked for: malformed, or too long.
        LinksRefused = 40, "links_refused";
        /// Where it leads was turned away; the record says why.
        RedirectRefused = 41, "redirect_refused";
        /// It redirects in a ring: where it leads, it is led back from.
        RedirectLoop = 42, "redirect_loop";
        /// Decoded it was out of all proportion to what came, and was cut.
        DecodeRatio = 50, "decode_ratio";
        /// Its text is near to that of another page of its domain; the record says which.
        NearDuplicate = 51, "near_duplicate";
    }
}
