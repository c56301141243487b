//! What is on its way to a server: a batch, sent in requests that shrink when the server finds them too large. Pure: it is told what came back
//! and says what is next.

use std::collections::VecDeque;
use std::time::Duration;

use super::judge::{Of, Verdict};

/// So many pieces refused in a row, none taken between: not they are suspected any more, but the settings.
pub const SEVERAL: usize = 5;

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
    /// It was refused alone, and another taken since.
    pub refused: bool,
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
    /// The server answers, and takes nothing before somebody corrects something.
    pub refuses: bool,
}

/// What a server has done in this run so far: whether a refusal is a page's own fault is judged by it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Trust {
    /// It has taken a document or line.
    pub taken: bool,
    /// So many were rejected since.
    pub rejected: usize,
    /// Rests in a row because it refused all that it was sent.
    pub rests: usize,
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
    /// All pieces that are left were refused once: the batch is to be made anew, with what has come since.
    pub round_over: bool,
}

/// A batch on its way.
///
/// A piece that is refused alone is put aside until another is taken: then it was at fault itself, and is rejected. [`SEVERAL`] in a row, or all
/// that are left, say that the server refuses whatever it is sent: none is rejected, and after a rest the same are sent again, and as many more. When one
/// is taken at last, those before it are tried once more.
#[derive(Debug)]
pub struct Outbox {
    pieces: VecDeque<Piece>,
    aside: Vec<Rejected>,
    trust: Trust,
    /// Pieces of the next request at most.
    most: usize,
    batch: usize,
}

impl Outbox {
    /// A batch, sent in requests of at most so many pieces.
    pub fn new(pieces: Vec<Piece>, batch: usize, trust: Trust) -> Self {
        let (most, batch) = (batch.max(1), batch.max(1));
        Self { pieces: pieces.into(), aside: Vec::new(), trust, most, batch }
    }

    /// What is known of the server by now.
    pub fn trust(&self) -> Trust {
        self.trust
    }

    /// Pieces that are not taken or rejected yet.
    pub fn left(&self) -> usize {
        self.pieces.len() + self.aside.len()
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
            Verdict::Later { why, wait } => heard.wait = Some(Wait { why, at_least: wait, refuses: false }),
            Verdict::Fault(why) => heard.wait = Some(Wait { why, at_least: None, refuses: true }),
        }
        if heard.wait.is_none() && heard.taken > 0 {
            self.most = (self.most * 2).min(self.batch);
        }
        heard
    }

    /// Each piece that was sent goes, is put aside, or stays in its place.
    fn each(&mut self, all: Vec<Of>, heard: &mut Heard) {
        let sent: Vec<Piece> = self.pieces.drain(..all.len().min(self.pieces.len())).collect();
        let (mut again, mut took) = (Vec::new(), false);
        for (piece, of) in sent.into_iter().zip(all) {
            match of {
                Of::Taken => {
                    heard.taken += 1;
                    heard.removed += u64::from(piece.removes);
                    took |= !piece.removes;
                }
                Of::Rejected(status, why) => {
                    let to = if piece.refused { &mut heard.rejected } else { &mut self.aside };
                    to.push(Rejected { piece, status, why });
                }
                Of::Later(why) => {
                    heard.wait.get_or_insert(Wait { why, at_least: None, refuses: false });
                    again.push(piece);
                }
                Of::Fault(why) => {
                    heard.wait.get_or_insert(Wait { why, at_least: None, refuses: true });
                    again.push(piece);
                }
            }
        }
        again.into_iter().rev().for_each(|piece| self.pieces.push_front(piece));
        self.judge(took, heard);
    }

    /// Whether those that were put aside are at fault themselves.
    fn judge(&mut self, took: bool, heard: &mut Heard) {
        let (in_a_row, is_last) = (self.trust.rejected + self.aside.len(), self.pieces.is_empty());
        let Trust { taken, rests, .. } = self.trust;
        if took {
            self.trust = Trust { taken: true, ..Trust::default() };
            match rests {
                0 => heard.rejected.append(&mut self.aside),
                _ => self.put_back(true),
            }
        } else if is_last && taken && rests == 0 && in_a_row < SEVERAL {
            self.trust.rejected = in_a_row;
            heard.rejected.append(&mut self.aside);
        } else if let Some(Rejected { why, .. }) = self.aside.last()
            && (is_last || self.aside.len() >= SEVERAL * (rests + 1))
        {
            let why = format!(
                "{why}: so were all of the last {}, none of which is lost; correct url, index, or what that server takes, then it goes on by \
                 itself",
                self.aside.len()
            );
            heard.wait.get_or_insert(Wait { why, at_least: None, refuses: true });
            heard.round_over = is_last;
            self.trust.rests = rests + 1;
            self.put_back(false);
        }
    }

    /// Those that were put aside are sent again before all others.
    fn put_back(&mut self, refused: bool) {
        let back = self.aside.drain(..).rev();
        back.for_each(|aside| self.pieces.push_front(Piece { refused, ..aside.piece }));
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
                seq, id: id.to_string(), removes: *removes, bytes: seq.to_string().into_bytes(), ..Piece::default()
            }).collect();
            for piece in &pieces {
                match (piece.removes, never.contains(&piece.id)) {
                    (true, _) => _ = truth.remove(&piece.id),
                    (false, true) => _ = refused.insert(piece.seq),
                    (false, false) => _ = truth.insert(piece.id.clone(), piece.seq),
                }
            }
            // A batch is sent again from its begin, as after a kill, then what follows; one of which nothing is taken with more behind it.
            let (mut at, mut more, mut is_first, mut trust, mut kept) = (0, batch, true, Trust::default(), Vec::new());
            while at < pieces.len() {
                let end = (at + more).min(pieces.len());
                let mut outbox = Outbox::new(pieces[at..end].to_vec(), batch, trust);
                let mut is_over = false;
                while let Some(request) = outbox.request().filter(|_| !is_over) {
                    let of: Vec<Piece> = outbox.pieces.iter().take(request.removes.len()).cloned().collect();
                    prop_assert_eq!((request.first, request.last), (of[0].seq, of[of.len() - 1].seq));
                    prop_assert!(of.len() <= batch);
                    let answer = server.take(&of, moods.next().unwrap());
                    let left = outbox.left();
                    let heard = outbox.hear(bulk(&answer, &request.removes));
                    let gone = heard.taken + heard.rejected.len() as u64;
                    prop_assert_eq!(outbox.left() as u64 + gone, left as u64, "nothing is lost, nothing twice");
                    rejected.extend(heard.rejected.iter().map(|r| r.piece.seq));
                    is_over = heard.round_over;
                }
                trust = outbox.trust();
                if is_over {
                    kept = outbox.pieces.iter().map(|piece| piece.seq).collect();
                    more += batch;
                    if end == pieces.len() {
                        break;
                    }
                } else if !std::mem::take(&mut is_first) {
                    (at, more, is_first, kept) = (end, batch, true, Vec::new());
                }
            }
            prop_assert_eq!(server.docs, truth);
            rejected.extend(kept);
            prop_assert_eq!(&rejected, &refused);
        }
    }

    fn piece(seq: u64) -> Piece {
        Piece { seq, bytes: vec![b'x'], ..Piece::default() }
    }

    /// Sends a batch to a server that refuses some, until all is done or so many rests were needed: what was taken, rejected, and the rests.
    fn sent(outbox: &mut Outbox, rests: usize, refuses: impl Fn(u64) -> bool) -> (Vec<u64>, Vec<u64>, usize) {
        let (mut taken, mut rejected, mut rested) = (Vec::new(), Vec::new(), 0);
        while let Some(request) = outbox.request().filter(|_| rested < rests) {
            let all = request.first..=request.last;
            let verdict = match all.clone().any(&refuses) {
                true => Verdict::Fewer { status: 400, why: "400 no".into() },
                false => Verdict::Taken,
            };
            let heard = outbox.hear(verdict);
            taken.extend(all.take(heard.taken.try_into().unwrap()));
            rejected.extend(heard.rejected.iter().map(|refused| refused.piece.seq));
            if let Some(wait) = heard.wait {
                assert!(wait.refuses && wait.why.starts_with("400 no: so were all of the last "), "{wait:?}");
                rested += 1;
            }
        }
        (taken, rejected, rested)
    }

    #[test]
    fn a_server_that_refuses_all_is_sent_it_again_after_rests_and_none_is_rejected_when_it_is_mended() {
        for (rests, rejected) in [(1, 0), (2, 2), (7, 0)] {
            let before = Trust { taken: rejected > 0, rejected, rests: 0 };
            let mut outbox = Outbox::new((1..=12).map(piece).collect(), 12, before);
            assert_eq!(sent(&mut outbox, rests, |_| true), (vec![], vec![], rests), "{before:?}");
            assert_eq!((outbox.left(), outbox.trust()), (12, Trust { rests, ..before }));
            assert_eq!(outbox.request().map(|request| request.first), Some(1), "in order");
            assert_eq!(sent(&mut outbox, 9, |_| false), ((1..=12).collect(), vec![], 0), "{before:?}");
        }
        // It is mended while it is asked, between the third and the fourth.
        let mut outbox = Outbox::new((1..=12).map(piece).collect(), 1, Trust { rests: 1, ..Trust::default() });
        for seq in 1..=3 {
            outbox.hear(Verdict::Fewer { status: 400, why: format!("{seq}") });
        }
        let (mut taken, rejected, rests) = sent(&mut outbox, 9, |_| false);
        taken.sort_unstable();
        assert_eq!((taken.len(), rejected.len(), rests), (12, 0, 0));
    }

    #[test]
    fn only_what_is_refused_amid_others_that_are_taken_is_rejected() {
        let bad = |seq| seq == 3 || (10..=18).contains(&seq);
        let mut outbox = Outbox::new((1..=24).map(piece).collect(), 24, Trust::default());
        let (taken, rejected, rests) = sent(&mut outbox, 9, bad);
        assert_eq!(rejected, (1..=24).filter(|seq| bad(*seq)).collect::<Vec<_>>());
        assert_eq!((taken.len(), rests, outbox.left()), (14, 1, 0));
        // The only one of a batch: as the server did before.
        for (trust, is_rejected) in [
            (Trust::default(), false),
            (Trust { taken: true, ..Trust::default() }, true),
            (Trust { taken: true, rejected: SEVERAL - 1, rests: 0 }, false),
        ] {
            let mut outbox = Outbox::new(vec![piece(1)], 500, trust);
            let heard = outbox.hear(Verdict::Fewer { status: 413, why: "413".into() });
            assert_eq!((heard.rejected.len() == 1, heard.round_over), (is_rejected, !is_rejected), "{trust:?}");
        }
    }

    #[test]
    fn a_request_that_is_too_large_is_halved_until_one_alone_is_rejected_and_grows_again() {
        let mut outbox = Outbox::new((1..=8).map(piece).collect(), 8, Trust::default());
        let too_large = || Verdict::Fewer { status: 413, why: "413".into() };
        let mut sizes = Vec::new();
        for verdict in [too_large(), too_large(), too_large(), too_large(), Verdict::Taken, Verdict::Taken] {
            sizes.push(outbox.request().map_or(0, |request| request.body.len()));
            let heard = outbox.hear(verdict);
            assert!(heard.wait.is_none(), "it is not the server that is to be waited for");
            assert_eq!(
                heard.rejected.iter().map(|r| r.piece.seq).collect::<Vec<_>>(),
                if sizes.len() == 5 { vec![1] } else { vec![] }
            );
        }
        assert_eq!((sizes, outbox.left()), (vec![8, 4, 2, 1, 1, 2], 4));
        outbox.hear(Verdict::Taken);
        assert_eq!(outbox.request(), None);
    }
}
