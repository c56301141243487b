//! Who answers: threads of their own behind one bounded queue.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crossbeam_channel::{Receiver, Sender, bounded};

use super::{EngineError, MESSAGE_CAP};

/// Threads that answer to one subject; as many more requests wait.
pub const ANSWERERS: usize = 4;

/// Makes an answer of a request.
pub type Handler = Arc<dyn Fn(&[u8]) -> Vec<u8> + Send + Sync>;

/// Answers to a subject until it is dropped; what is being answered then is answered still.
pub struct Answering(Option<Box<dyn FnOnce() + Send + Sync>>);

impl std::fmt::Debug for Answering {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Answering")
    }
}

impl Answering {
    /// Ends by `end`.
    pub(super) fn until(end: impl FnOnce() + Send + Sync + 'static) -> Self {
        Self(Some(Box::new(end)))
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        if let Some(end) = self.0.take() {
            end();
        }
    }
}

/// What becomes of a request at the other end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Reply {
    Answer(Vec<u8>),
    Busy,
    Failed,
    TooLarge(usize),
}

impl Reply {
    /// As who asked is told it.
    pub(super) fn told(self, subject: &str) -> Result<Vec<u8>, EngineError> {
        let subject = subject.to_owned();
        match self {
            Self::Answer(answer) => Ok(answer),
            Self::Busy => Err(EngineError::Busy { subject }),
            Self::Failed => Err(EngineError::Failed { subject }),
            Self::TooLarge(bytes) => Err(EngineError::TooLarge { what: "the answer", bytes, cap: MESSAGE_CAP }),
        }
    }
}

/// A request and where its reply goes.
struct Asked {
    request: Vec<u8>,
    reply: Box<dyn FnOnce(Reply) + Send>,
}

/// The threads of one subject. They end when the last of its clones is gone.
#[derive(Clone)]
pub(super) struct Desk {
    asked: Sender<Asked>,
    /// At work and waiting.
    in_hand: Arc<AtomicUsize>,
}

/// So many are in hand at most.
const IN_HAND: usize = 2 * ANSWERERS;

impl Desk {
    /// Starts them.
    pub(super) fn open(subject: &str, handler: &Handler) -> std::io::Result<Self> {
        let (asked, receiver) = bounded(IN_HAND);
        let in_hand = Arc::new(AtomicUsize::new(0));
        for _ in 0..ANSWERERS {
            let (receiver, handler, subject) = (receiver.clone(), handler.clone(), subject.to_owned());
            let in_hand = in_hand.clone();
            let serve = move || serve(&subject, &receiver, &handler, &in_hand);
            thread::Builder::new().name("lycosa-answer".into()).spawn(serve)?;
        }
        Ok(Self { asked, in_hand })
    }

    /// Lays a request down; `reply` hears what becomes of it, here or on another thread.
    pub(super) fn ask(&self, request: Vec<u8>, reply: impl FnOnce(Reply) + Send + 'static) {
        if self.in_hand.fetch_add(1, Ordering::SeqCst) >= IN_HAND {
            self.in_hand.fetch_sub(1, Ordering::SeqCst);
            return reply(Reply::Busy);
        }
        // There is room, and the threads live as long as this.
        if let Err(err) = self.asked.try_send(Asked { request, reply: Box::new(reply) }) {
            self.in_hand.fetch_sub(1, Ordering::SeqCst);
            (err.into_inner().reply)(Reply::Busy);
        }
    }
}

fn serve(subject: &str, asked: &Receiver<Asked>, handler: &Handler, in_hand: &AtomicUsize) {
    for Asked { request, reply } in asked {
        let done = match catch_unwind(AssertUnwindSafe(|| handler(&request))) {
            Ok(answer) if answer.len() > MESSAGE_CAP => Reply::TooLarge(answer.len()),
            Ok(answer) => Reply::Answer(answer),
            Err(_) => {
                log::error!("what answers to {subject} panicked; who asked is told so");
                Reply::Failed
            }
        };
        in_hand.fetch_sub(1, Ordering::SeqCst);
        reply(done);
    }
}
