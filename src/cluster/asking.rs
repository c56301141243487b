//! What members ask each other, one to one: a question in JSON to `ask.NAME.SESSION`, and its answer. Who asks names the session, so that no
//! other process answers for it.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::engine::{Answering, Engine, EngineError};
use crate::domain::cluster::rounds::{Made, Reply};
use crate::domain::fingerprint::ContentHasher;

/// An answer is waited for so long.
const PATIENCE: Duration = Duration::from_secs(3);

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "lowercase")]
pub enum Question {
    /// Whether it has something to do.
    Still {
        /// How far all have come, as far as who asks knows: the member's patience is to reckon with it.
        made: Made,
    },
}

/// What is answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Answer {
    /// To [`Question::Still`].
    Still(Said),
    /// It cannot be answered: a sentence.
    Error(String),
}

/// What a member has to do, and how far it has come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "each name says it")]
pub struct Said {
    pub reply: Reply,
    pub made: Made,
}

/// Makes the answer.
pub type Respond = Arc<dyn Fn(Question) -> Answer + Send + Sync>;

/// The number that stands for a session.
pub fn session_number(session: &str) -> u64 {
    let mut hasher = ContentHasher::new();
    hasher.update(session.as_bytes());
    let [a, b, c, d, e, f, g, h, ..] = hasher.finish().0;
    u64::from_be_bytes([a, b, c, d, e, f, g, h])
}

fn subject(name: &str, session: &str) -> String {
    format!("ask.{name}.{session}")
}

/// Answers for a session of a member until what it gives is dropped.
///
/// # Errors
/// The engine's.
pub fn answer(engine: &dyn Engine, name: &str, session: &str, respond: Respond) -> Result<Answering, EngineError> {
    let handler = move |request: &[u8]| {
        let answer = match serde_json::from_slice(request) {
            Ok(question) => respond(question),
            Err(e) => Answer::Error(format!("this version of lycosa does not know that question: {e}")),
        };
        serde_json::to_vec(&answer).unwrap_or_default() // texts and numbers: it cannot fail
    };
    engine.answer(&subject(name, session), Arc::new(handler))
}

/// Asks a session of a member.
///
/// # Errors
/// The engine's; an answer of another version is [`EngineError::Failed`].
pub fn ask(engine: &dyn Engine, name: &str, session: &str, question: &Question) -> Result<Answer, EngineError> {
    let subject = subject(name, session);
    let request = serde_json::to_vec(question).unwrap_or_default(); // the same
    let answer = engine.ask(&subject, &request, PATIENCE)?;
    serde_json::from_slice(&answer).map_err(|_| EngineError::Failed { subject })
}

#[cfg(test)]
mod tests {
    use super::super::engine::Memory;
    use super::*;
    use crate::base::clock::Clock;
    use crate::domain::cluster::map::MemberId;
    use crate::domain::cluster::rounds::Still;

    #[test]
    fn a_session_answers_with_all_it_says_and_another_does_not() {
        let line = Memory::new(Clock::real()).connect();
        let made = Made { discovered: 9, finished: 7, done: 5, fetched: 3 };
        let answered_by = [(MemberId(1), u64::MAX), (MemberId(300), 0)].into();
        let still = Still::For(Duration::from_millis(1_500));
        let reply = Reply { session: session_number("s"), map: 4, act: 6, still, answered_by };
        let said = Answer::Still(Said { reply, made });
        let (told, asked) = (said.clone(), Question::Still { made });
        let expected = asked.clone();
        let respond = move |question| if question == expected { told.clone() } else { Answer::Error("no".into()) };
        let _answering = answer(&line, "n1", "s", Arc::new(respond)).unwrap();
        assert_eq!(ask(&line, "n1", "s", &asked).unwrap(), said);
        assert!(matches!(ask(&line, "n1", "t", &asked), Err(EngineError::NoOne { .. })));
    }

    #[test]
    fn a_question_that_is_not_known_is_answered_with_what_is_wrong() {
        let line = Memory::new(Clock::real()).connect();
        let respond = |_| -> Answer { panic!("it is not asked") };
        let _answering = answer(&line, "n1", "s", Arc::new(respond)).unwrap();
        let answer = line.ask("ask.n1.s", br#"{"ask":"moon"}"#, PATIENCE).unwrap();
        let answer: Answer = serde_json::from_slice(&answer).unwrap();
        assert!(matches!(&answer, Answer::Error(why) if why.contains("moon")), "{answer:?}");
    }

    #[test]
    fn sessions_have_numbers_of_their_own() {
        assert_ne!(session_number("a"), session_number("b"));
        assert_eq!(session_number("a"), session_number("a"));
    }
}
