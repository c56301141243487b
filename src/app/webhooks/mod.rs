//! Webhooks (`[[webhook]]`): the operator is called when something happens, on a thread of its own. The crawl never waits
//! for it; only the end of a run waits a little, so that "finished" arrives.

mod call;

use std::io;
use std::sync::Arc;
use std::sync::mpsc as std_mpsc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

use crate::admin::auth::{TokenError, read_token};
use crate::admin::status;
#[cfg(feature = "rocksdb")]
use crate::app::at_rest;
use crate::config::{Settings, WebhookSection};
use crate::crawl::node::{Node, Stop};
#[cfg(feature = "rocksdb")]
use crate::storage::MemoryStorage;
use crate::telemetry::metrics::Call;
use crate::telemetry::notice::{Notice, NoticeKind};

use call::{Caller, Message};

/// Notices that wait, for all webhooks, and again for each.
const WAITING: usize = 64;
/// How long the end of a run waits for what is to be told.
const PATIENCE: Duration = Duration::from_secs(15);
/// And when the operator ends it.
const SHORT: Duration = Duration::from_secs(2);

/// One webhook, ready to be called.
struct Hook {
    url: String,
    on: Vec<NoticeKind>,
    secret: Option<String>,
}

/// The thread; left to itself when dropped.
pub(super) struct Webhooks {
    end: oneshot::Sender<()>,
    ended: std_mpsc::Receiver<()>,
}

/// Why webhooks cannot be called.
#[derive(Debug, thiserror::Error)]
pub enum WebhookError {
    #[error("[[webhook]] secret_file: {0}")]
    Secret(#[from] TokenError),
    #[error("TLS for webhooks could not be set up: {0}")]
    Tls(#[from] crate::net::tls::TlsSetupError),
    #[error("the thread of the webhooks could not be started: {0}")]
    Thread(#[from] io::Error),
}

/// Finds what `Webhooks::start` would stumble over: a secret that cannot be read.
///
/// # Errors
/// The first.
pub fn check(settings: &Settings) -> Result<(), WebhookError> {
    settings.webhook.iter().try_for_each(|section| Hook::read(section).map(drop))
}

impl Webhooks {
    /// Starts it when there are webhooks.
    ///
    /// # Errors
    /// A secret that cannot be read, a thread that cannot be started.
    pub fn start(node: &Arc<Node>) -> Result<Option<Self>, WebhookError> {
        let hooks: Vec<Hook> = node.crawl.rules.settings.webhook.iter().map(Hook::read).collect::<Result<_, _>>()?;
        if hooks.is_empty() {
            return Ok(None);
        }
        let caller = Caller::new(node.telemetry.metrics.clone(), &node.crawl.rules.settings.tls_roots()?)?;
        let (to, notices) = mpsc::channel(WAITING);
        let (end, asked) = oneshot::channel();
        let (done, ended) = std_mpsc::channel();
        let of_thread = node.clone();
        std::thread::Builder::new().name("webhooks".into()).spawn(move || {
            actix_rt::System::new().block_on(deliver(&of_thread, hooks, caller, notices, asked));
            let _ = done.send(()); // who waits may have lost patience
        })?;
        node.telemetry.notices.send_to(to);
        Ok(Some(Self { end, ended }))
    }

    /// Tells that the run is over, unless the operator ended it, and waits a little until everything is told.
    pub fn finish(self, node: &Node, why: &Stop) {
        let patience = match reason(why) {
            Some((reason, text)) => {
                node.telemetry.notices.give(|| node.notice(NoticeKind::Finished, reason, &text, None));
                PATIENCE
            }
            None => SHORT,
        };
        self.end(patience);
    }

    fn end(self, patience: Duration) {
        let _ = self.end.send(());
        if self.ended.recv_timeout(patience) == Err(std_mpsc::RecvTimeoutError::Timeout) {
            log::warn!("webhook delivery incomplete at shutdown: waited_s={}", patience.as_secs());
        }
    }
}

/// Tells that a run ends by a fault that came while there was no crawl.
#[cfg(feature = "rocksdb")]
pub(super) fn tell_failed(settings: &Settings, reason: &str, text: &str) {
    let tell = || -> Result<(), Box<dyn std::error::Error>> {
        let storage = Arc::new(MemoryStorage::formatted(0)?);
        let node = Arc::new(at_rest(settings.clone(), storage)?);
        if let Some(webhooks) = Webhooks::start(&node)? {
            node.telemetry.notices.give(|| node.notice(NoticeKind::Finished, reason, text, None));
            webhooks.end(PATIENCE);
        }
        Ok(())
    };
    if let Err(e) = tell() {
        log::warn!("the webhooks could not be told: {e}");
    }
}

/// Why a run is over, for people who did not end it themselves.
fn reason(why: &Stop) -> Option<(&'static str, String)> {
    Some(match why {
        Stop::Asked | Stop::Drained | Stop::Erase | Stop::Moves | Stop::Left(_) => return None,
        Stop::Done => ("done", "every URL is done, or left for another run".into()),
        Stop::Pages => ("pages", "crawl.max_pages is reached".into()),
        Stop::Bytes => ("bytes", "crawl.max_bytes is reached".into()),
        Stop::Time => ("time", "crawl.max_time is reached".into()),
        Stop::Failures => ("failures", "crawl.max_failures is reached".into()),
        Stop::Supervisor(why) => ("supervisor", why.clone()),
        Stop::Disk(why) => ("disk", why.clone()),
        Stop::Replaced(why) => ("replaced", why.clone()),
    })
}

impl Hook {
    fn read(section: &WebhookSection) -> Result<Self, WebhookError> {
        let secret = section.secret_file.as_deref().map(read_token).transpose()?;
        Ok(Self { url: section.url.clone(), on: section.on.clone(), secret })
    }
}

/// Hands notices to the webhooks that want them, until it is asked to end; then what was handed over is still told.
async fn deliver(
    node: &Node,
    hooks: Vec<Hook>,
    caller: Caller,
    mut notices: mpsc::Receiver<Notice>,
    mut asked: oneshot::Receiver<()>,
) {
    let (mut queues, mut tasks) = (Vec::new(), Vec::new());
    for hook in hooks {
        let (to, mut queue) = mpsc::channel::<Message>(WAITING);
        queues.push((hook.on.clone(), to));
        let caller = caller.clone();
        tasks.push(actix_rt::spawn(async move {
            while let Some(message) = queue.recv().await {
                caller.tell(&hook, &message).await;
            }
        }));
    }
    loop {
        let notice = tokio::select! {
            biased;
            notice = notices.recv() => notice,
            _ = &mut asked => notices.try_recv().ok(),
        };
        let Some(notice) = notice else { break };
        let message = Message::new(node, &notice, status(node));
        for (_, queue) in queues.iter().filter(|(on, _)| on.contains(&notice.event)) {
            if queue.try_send(message.clone()).is_err() {
                log::warn!("a webhook is too slow, a notice is lost: event={}", notice.event.as_str());
                node.telemetry.metrics.webhook(Call::Failed);
            }
        }
    }
    drop(queues);
    for task in tasks {
        let _ = task.await; // it only ends when its queue is empty
    }
}
