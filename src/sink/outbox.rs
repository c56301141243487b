//! What is on its way to a server: a batch, sent in requests that shrink when the server finds them too large. Pure: it is told what came back
//! and says what is next.

use std::collections::VecDeque;
use std::time::Duration;

use super::judge::{Of, Verdict};

/// What is sent of one entry of the feed: ready-made bytes, lines of NDJSON.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Piece {
    /// Number of the entry.
    pub seq: u64,
    /// The page's id, forty hexadecimal digits.
    pub id: String,
    /// Its URL, as far as it is known.
    pub url: Option<String>,
    /// It takes a document away.
    pub removes: bool,
    /// As they are sent.
    pub bytes: Vec<u8>,
}

/// The next request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Number of the first entry in it.
    pub first: u64,
    /// Of the last.
    pub last: u64,
    /// Of each piece, whether it takes a document away.
    pub removes: Vec<bool>,
    /// All of them.
    pub body: Vec<u8>,
}

/// A piece that will never be taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejected {
    /// Which.
    pub piece: Piece,
    /// The status that says so.
    pub status: u16,
    /// What was said.
    pub why: String,
}

/// Why the next request must wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wait {
    /// What was said.
    pub why: String,
    /// So long at least, by the server's wish.
    pub at_least: Option<Duration>,
}

/// What came of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Heard {
    /// Pieces that were taken.
    pub taken: u64,
    /// Those of them that took a document away.
    pub removed: u64,
    /// Pieces that never will be.
    pub rejected: Vec<Rejected>,
    /// The next one must wait.
    pub wait: Option<Wait>,
}

/// A batch on its way.
#[derive(Debug)]
pub struct Outbox {
    pieces: VecDeque<Piece>,
    /// Pieces of the next request at most.
    most: usize,
    batch: usize,
}

impl Outbox {
    /// A batch, sent in requests of at most so many pieces.
    pub fn new(pieces: Vec<Piece>, batch: usize) -> Self {
        Self { pieces: pieces.into(), most: batch.max(1), batch: batch.max(1) }
    }

    /// Pieces that are not taken or rejected yet.
    pub fn left(&self) -> usize {
        self.pieces.len()
    }

    /// What is to be sent next; none when all is done.
    pub fn request(&self) -> Option<Request> {
        let next = || self.pieces.iter().take(self.most);
        let (first, last) = (next().next()?.seq, next().next_back()?.seq);
        let mut body = Vec::with_capacity(next().map(|piece| piece.bytes.len()).sum());
        next().for_each(|piece| body.extend(&piece.bytes));
        Some(Request { first, last, removes: next().map(|piece| piece.removes).collect(), body })
    }

    /// What came back of the last [`request`](Self::request).
    pub fn hear(&mut self, verdict: Verdict) -> Heard {
        let sent = self.most.min(self.pieces.len());
        let mut heard = Heard::default();
        match verdict {
            Verdict::Taken => self.each(vec![Of::Taken; sent], &mut heard),
            Verdict::Each(all) => self.each(all, &mut heard),
            Verdict::Fewer { status, why } if sent <= 1 => self.each(vec![Of::Rejected(status, why)], &mut heard),
            Verdict::Fewer { .. } => {
                self.most = sent / 2;
                return heard;
            }
            Verdict::Later { why, wait } => heard.wait = Some(Wait { why, at_least: wait }),
            Verdict::Fault(why) => heard.wait = Some(Wait { why, at_least: None }),
        }
        if heard.wait.is_none() {
            self.most = (self.most * 2).min(self.batch);
        }
        heard
    }

    /// Each piece that was sent goes, or stays in its place.
    fn each(&mut self, all: Vec<Of>, heard: &mut Heard) {
        let sent: Vec<Piece> = self.pieces.drain(..all.len().min(self.pieces.len())).collect();
        let mut again = Vec::new();
        for (piece, of) in sent.into_iter().zip(all) {
            match of {
                Of::Taken => {
                    heard.taken += 1;
                    heard.removed += u64::from(piece.removes);
                }
                Of::Rejected(status, why) => heard.rejected.push(Rejected { piece, status, why }),
                Of::Later(why) | Of::Fault(why) => {
                    heard.wait.get_or_insert(Wait { why, at_least: None });
                    again.push(piece);
                }
            }
        }
        again.into_iter().rev().for_each(|piece| self.pieces.push_front(piece));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::*;
    use crate::sink::judge::{Answer, bulk};

    /// An index that misbehaves as it is told, and judges versions as OpenSearch does (`external_gte`).
    #[derive(Default)]
    struct StandIn {
        docs: BTreeMap<String, u64>,
        versions: BTreeMap<String, u64>,
        /// Ids that it never takes.
        never: BTreeSet<String>,
        /// Pieces of a request at most.
        most: usize,
    }

    impl StandIn {
        fn take(&mut self, pieces: &[Piece], mood: u8) -> Answer {
            let http = |status, body: String| Answer::Http { status, wait: None, body: body.into_bytes() };
            match mood % 8 {
                0 => return http(429, String::new()),
                1 => return http(503, String::new()),
                2 => return Answer::None("cut before it was read".into()),
                _ if pieces.len() > self.most => return http(413, String::new()),
                _ => {}
            }
            let half = if mood % 8 == 3 { pieces.len() / 2 } else { pieces.len() };
            let items: Vec<String> =
                pieces.iter().enumerate().map(|(at, piece)| self.one(piece, at >= half, mood)).collect();
            match mood % 8 {
                4 => Answer::None("cut while it was answered".into()),
                _ => http(200, format!("{{\"items\":[{}]}}", items.join(","))),
            }
        }

        fn one(&mut self, piece: &Piece, is_full: bool, mood: u8) -> String {
            let action = if piece.removes { "delete" } else { "index" };
            let version: u64 = std::str::from_utf8(&piece.bytes).unwrap().parse().unwrap();
            let status = match self.versions.get(&piece.id) {
                _ if self.never.contains(&piece.id) && !piece.removes => 400,
                _ if is_full => [429, 503][usize::from(mood % 2)],
                Some(known) if *known > version => 409,
                _ => {
                    self.versions.insert(piece.id.clone(), version);
                    let was = if piece.removes {
                        self.docs.remove(&piece.id)
                    } else {
                        self.docs.insert(piece.id.clone(), version)
                    };
                    if piece.removes && was.is_none() { 404 } else { 200 }
                }
            };
            format!("{{\"{action}\":{{\"status\":{status}}}}}")
        }
    }

    proptest! {
        #[test]
        fn whatever_a_server_answers_all_is_taken_but_what_it_never_takes(
            ops in proptest::collection::vec((0_u8..20, any::<bool>()), 1..120),
            moods in proptest::collection::vec(any::<u8>(), 1..60),
            never in proptest::collection::btree_set(0_u8..20, 0..4),
            (batch, most) in (1_usize..40, 1_usize..10),
        ) {
            let never: BTreeSet<String> = never.iter().map(u8::to_string).collect();
            let mut server = StandIn { never: never.clone(), most, ..StandIn::default() };
            let mut moods = moods.into_iter().chain([7; 4_000]);
            let (mut truth, mut refused, mut rejected) = (BTreeMap::new(), BTreeSet::new(), BTreeSet::new());
            let pieces: Vec<Piece> = ops.iter().zip(1..).map(|((id, removes), seq)| Piece {
                seq, id: id.to_string(), url: None, removes: *removes, bytes: seq.to_string().into_bytes(),
            }).collect();
            for piece in &pieces {
                match (piece.removes, never.contains(&piece.id)) {
                    (true, _) => _ = truth.remove(&piece.id),
                    (false, true) => _ = refused.insert(piece.seq),
                    (false, false) => _ = truth.insert(piece.id.clone(), piece.seq),
                }
            }
            // A batch is sent again from its begin, as after a kill, then what follows.
            let mut taken = 0;
            for batch_of in pieces.chunks(batch).flat_map(|chunk| [chunk, chunk]) {
                let mut outbox = Outbox::new(batch_of.to_vec(), batch);
                while let Some(request) = outbox.request() {
                    let of: Vec<Piece> = outbox.pieces.iter().take(request.removes.len()).cloned().collect();
                    prop_assert_eq!((request.first, request.last), (of[0].seq, of[of.len() - 1].seq));
                    prop_assert!(of.len() <= batch);
                    let answer = server.take(&of, moods.next().unwrap());
                    let left = outbox.left();
                    let heard = outbox.hear(bulk(&answer, &request.removes));
                    let gone = heard.taken + heard.rejected.len() as u64;
                    prop_assert_eq!(outbox.left() as u64 + gone, left as u64, "nothing is lost, nothing twice");
                    taken += heard.taken;
                    rejected.extend(heard.rejected.iter().map(|r| r.piece.seq));
                }
            }
            prop_assert_eq!(server.docs, truth);
            prop_assert_eq!(&rejected, &refused);
            prop_assert_eq!(taken, 2 * (pieces.len() - refused.len()) as u64);
        }
    }

    #[test]
    fn a_request_that_is_too_large_is_halved_until_one_alone_is_rejected_and_grows_again() {
        let piece = |seq: u64| Piece { seq, bytes: vec![b'x'], ..Piece::default() };
        let mut outbox = Outbox::new((1..=8).map(piece).collect(), 8);
        let too_large = || Verdict::Fewer { status: 413, why: "413".into() };
        let mut sizes = Vec::new();
        for verdict in [too_large(), too_large(), too_large(), too_large(), Verdict::Taken, Verdict::Taken] {
            sizes.push(outbox.request().map_or(0, |request| request.body.len()));
            let heard = outbox.hear(verdict);
            assert!(heard.wait.is_none(), "it is not the server that is to be waited for");
            assert_eq!(
                heard.rejected.iter().map(|r| r.piece.seq).collect::<Vec<_>>(),
                if sizes.len() == 4 { vec![1] } else { vec![] }
            );
        }
        assert_eq!((sizes, outbox.left()), (vec![8, 4, 2, 1, 2, 4], 1));
        outbox.hear(Verdict::Taken);
        assert_eq!(outbox.request(), None);
    }
}
