//! Whole answers: head and body as the client reads them. Input: a byte for the size of pieces, then all that the server sends.

use super::input::size;
use super::net::framing::{BodyForm, BodyReader, Ended, Framing};
use super::net::head::{HeadScan, final_head, parse_head};

/// What is read of an answer does not depend on how its bytes came, and is never more than was sent.
pub fn check(data: &[u8]) {
    let (size, wire) = size(data);
    let whole = answer(wire, wire.len().max(1));
    assert_eq!(answer(wire, size), whole, "in pieces of {size}");
    let Some(answer) = whole else { return };
    assert_eq!(final_head(wire), Some(&*answer.head));
    assert!(wire.len() >= answer.head.len() + answer.payload.len() + answer.rest.len());
    assert!(wire.ends_with(&answer.rest), "what follows is left as it came");
    match answer.form.framing {
        Framing::None => assert!(answer.payload.is_empty()),
        Framing::Length(bytes) => assert!(answer.payload.len() as u64 <= bytes),
        Framing::Close => assert!(answer.rest.is_empty() && !answer.form.keeps),
        Framing::Chunks => {}
    }
}

/// An answer as it is read.
#[derive(Debug, PartialEq, Eq)]
pub struct Answer {
    pub head: Vec<u8>,
    pub form: BodyForm,
    pub payload: Vec<u8>,
    /// None when its chunks cannot be read.
    pub ended: Option<Ended>,
    /// What came behind it.
    pub rest: Vec<u8>,
}

/// What is read of a server that sends `wire` in pieces of `size` bytes and closes; none when there is no head.
pub fn answer(wire: &[u8], size: usize) -> Option<Answer> {
    let (mut scan, mut came, mut pieces) = (HeadScan::default(), Vec::new(), wire.chunks(size));
    let found = loop {
        if let Some(found) = scan.find(&came) {
            break found;
        }
        let hopeless = !scan.may_be_http(&came);
        came.extend_from_slice(pieces.next()?);
        assert!(!hopeless || !scan.may_be_http(&came), "what is no HTTP becomes none by more of it");
    };
    let head = came.get(found.clone())?.to_vec();
    let mut unread = came.split_off(found.end);
    let form = BodyForm::of(&parse_head(&head)?);
    let (mut reader, mut payload) = (BodyReader::new(form), Vec::new());
    let ended = loop {
        if reader.is_done() {
            break Some(reader.ended());
        }
        if unread.is_empty() {
            match pieces.next() {
                Some(piece) => unread.extend_from_slice(piece),
                None => break Some(reader.ended()),
            }
        }
        let Ok(step) = reader.step(&unread) else { break None };
        assert!(step.taken > 0, "it moves on");
        let taken: Vec<u8> = unread.drain(..step.taken).collect();
        payload.extend(taken.into_iter().filter(|_| step.is_data));
    };
    pieces.for_each(|piece| unread.extend_from_slice(piece));
    if ended.is_none() {
        unread.clear(); // how far it was read is of no account
    }
    Some(Answer { head, form, payload, ended, rest: unread })
}
