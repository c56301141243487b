//! Who answers: threads of their own behind one bounded queue.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;

use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};

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
pub(super) struct Desk(Sender<Asked>);

impl Desk {
    /// Starts them.
    pub(super) fn open(subject: &str, handler: &Handler) -> std::io::Result<Self> {
        let (sender, receiver) = bounded(ANSWERERS);
        for _ in 0..ANSWERERS {
            let (receiver, handler, subject) = (receiver.clone(), handler.clone(), subject.to_owned());
            thread::Builder::new().name("lycosa-answer".into()).spawn(move || serve(&subject, &receiver, &handler))?;
        }
        Ok(Self(sender))
    }

    /// Lays a request down; `reply` hears what becomes of it, here or on another thread.
    pub(super) fn ask(&self, request: Vec<u8>, reply: impl FnOnce(Reply) + Send + 'static) {
        match self.0.try_send(Asked { request, reply: Box::new(reply) }) {
            Ok(()) => {}
            Err(TrySendError::Full(asked) | TrySendError::Disconnected(asked)) => (asked.reply)(Reply::Busy),
        }
    }
}

fn serve(subject: &str, asked: &Receiver<Asked>, handler: &Handler) {
    for Asked { request, reply } in asked {
        reply(match catch_unwind(AssertUnwindSafe(|| handler(&request))) {
            Ok(answer) if answer.len() > MESSAGE_CAP => Reply::TooLarge(answer.len()),
            Ok(answer) => Reply::Answer(answer),
            Err(_) => {
                log::error!("what answers to {subject} panicked; who asked is told so");
                Reply::Failed
            }
        });
    }
}
