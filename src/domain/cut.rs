//! Why the body of an answer is not whole.

use super::coded::codes;

codes! {
    /// Why a body is not whole (the words of `WARC-Truncated`, WARC 1.1 section 5.13).
    Cut {
        /// Longer than `fetch.max_body`.
        Length = 1, "length";
        /// It took longer than `fetch.timeouts.body`, or came slower than `min_rate`.
        Time = 2, "time";
        /// The connection ended, or its framing broke, before the body did.
        Disconnect = 3, "disconnect";
    }
}
