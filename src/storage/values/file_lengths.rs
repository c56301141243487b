//! Lengths of the output files.

use super::wire::fields;

fields! {
    /// Lengths of the output files as of a commit: what lies beyond is cut off at the next start (I3).
    #[derive(Default)]
    FileLengths {
        /// The open WARC file and its length.
        warc: Option<(String, u64)>,
        /// The open CDXJ file and its length.
        cdxj: Option<(String, u64)>,
        /// The length of `crawl.jsonl`.
        jsonl: u64,
    }
}
