//! Starting and ending the endpoint on a thread of its own.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use actix_web::dev::ServerHandle;
use actix_web::http::StatusCode;
use actix_web::middleware::{DefaultHeaders, from_fn};
use actix_web::web::{Data, PathConfig, QueryConfig, ServiceConfig};
use actix_web::{App, HttpServer};

use super::auth::TokenError;
use super::control::Control;
#[cfg(feature = "rocksdb")]
use super::erasing::{self, Erasing};
use super::guard::{Entrance, Guard, guard};
#[cfg(feature = "cluster")]
use super::members::{self, Answers, Inside};
use super::own::is_loopback;
use super::problem::Problem;
#[cfg(feature = "cluster")]
use super::standby::{self, Standby};
use super::{exports, feed, pages, parameters, routes};
#[cfg(feature = "cluster")]
use crate::cluster::Who;
#[cfg(feature = "cluster")]
use crate::cluster::engine::EngineError;
use crate::crawl::node::Node;

/// Why the endpoint does not run.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each message says what its fields are")]
#[non_exhaustive]
pub enum AdminError {
    #[error("the admin endpoint cannot listen on {address}: {source}{}", advice(source, *address))]
    Bind { address: SocketAddr, source: io::Error },
    #[error(transparent)]
    Token(#[from] TokenError),
    /// Reachable from other machines without a token.
    #[error(
        "the admin endpoint would be open to other machines on {0}: set admin.token_file (a file that is not there is made), or listen on 127.0.0.1"
    )]
    NeedsToken(SocketAddr),
    #[error("the admin endpoint could not be started: {0}")]
    Start(io::Error),
    #[cfg(feature = "cluster")]
    #[error("the other members cannot be answered: {0}")]
    Members(#[from] EngineError),
}

fn advice(error: &io::Error, address: SocketAddr) -> String {
    match error.kind() {
        ErrorKind::AddrInUse => {
            let next = address.port().wrapping_add(1).max(1_024);
            format!(
                "; another crawl may be running (`lycosa ctl status`); choose another port with \
                 `--set admin.listen={}`, or `--set admin.listen=off`",
                SocketAddr::new(address.ip(), next)
            )
        }
        ErrorKind::PermissionDenied => "; choose a port above 1023 with `--set admin.listen=127.0.0.1:7700`".to_owned(),
        _ => "; choose an address of this machine with `--set admin.listen=127.0.0.1:7700`".to_owned(),
    }
}

/// An address that is bound and not served yet, or served by one server after the other: its port is known before the crawl begins, which must
/// never speak to it.
#[derive(Debug)]
pub struct Listening {
    listener: TcpListener,
    address: SocketAddr,
}

impl Listening {
    /// Binds; port 0 is any free one.
    ///
    /// # Errors
    /// The address is taken, or is none of this machine.
    pub fn bind(listen: SocketAddr) -> Result<Self, AdminError> {
        let failed = |source| AdminError::Bind { address: listen, source };
        let listener = TcpListener::bind(listen).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(Self { listener, address })
    }

    /// The address, with the real port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The same address for another server, whose turn it is: who asks between the two waits.
    ///
    /// # Errors
    /// The system's.
    pub fn again(&self) -> Result<Self, AdminError> {
        let listener = self.listener.try_clone().map_err(AdminError::Start)?;
        Ok(Self { listener, address: self.address })
    }
}

/// A running endpoint; dropping it ends it.
#[derive(Debug)]
pub struct AdminServer {
    address: SocketAddr,
    handle: ServerHandle,
    thread: Option<JoinHandle<()>>,
    #[cfg(feature = "cluster")]
    members: Option<Answers>,
}

impl AdminServer {
    /// Serves `control`, and what looks into `node`, on this address until dropped.
    ///
    /// # Errors
    /// It is not loopback and there is no token.
    pub fn serve(
        listening: Listening,
        entrance: Entrance,
        control: Arc<dyn Control>,
        node: Option<Arc<Node>>,
    ) -> Result<Self, AdminError> {
        #[cfg(feature = "cluster")]
        if let Some(member) = node.as_ref().and_then(|node| node.member.get().cloned()) {
            return Self::member(listening, entrance, of_crawl(control, node), member.who());
        }
        Self::start(listening, entrance, of_crawl(control, node))
    }

    /// The same for a member of several, whose routes the others ask, too.
    #[cfg(feature = "cluster")]
    fn member(
        listening: Listening,
        entrance: Entrance,
        app: impl Fn(&mut ServiceConfig) + Clone + Send + 'static,
        who: &Who,
    ) -> Result<Self, AdminError> {
        let inside = Data::new(Inside::start(app.clone()).map_err(AdminError::Start)?);
        let answers = members::answer(&*who.engine, &who.name, &inside)?;
        let mut server = Self::start(listening, entrance, move |to| app(to.app_data(inside.clone())))?;
        server.members = Some(answers);
        Ok(server)
    }

    /// Says how far an erasure is, until dropped.
    ///
    /// # Errors
    /// As [`serve`](Self::serve).
    #[cfg(feature = "rocksdb")]
    pub fn erasing(listening: Listening, entrance: Entrance, erasing: Arc<Erasing>) -> Result<Self, AdminError> {
        let erasing = Data::from(erasing);
        Self::start(listening, entrance, move |app| erasing::configure(app.app_data(erasing.clone())))
    }

    /// Says what is waited for, and shows the members, until dropped.
    ///
    /// # Errors
    /// As [`serve`](Self::serve).
    #[cfg(feature = "cluster")]
    pub fn standby(listening: Listening, entrance: Entrance, standby: Arc<Standby>) -> Result<Self, AdminError> {
        let standby = Data::from(standby);
        Self::start(listening, entrance, move |app| standby::configure(app.app_data(standby.clone())))
    }

    fn start(
        Listening { listener, address }: Listening,
        entrance: Entrance,
        app: impl Fn(&mut ServiceConfig) + Clone + Send + 'static,
    ) -> Result<Self, AdminError> {
        if entrance.keys.is_empty() && !is_loopback(address) {
            return Err(AdminError::NeedsToken(address));
        }
        let guard = Data::new(Guard::new(entrance, address));
        let (started, wait) = mpsc::channel();
        let thread = std::thread::Builder::new()
            .name("admin".into())
            .spawn(move || serve(listener, guard, app, &started))
            .map_err(AdminError::Start)?;
        let gone = |_| AdminError::Start(io::Error::other("its thread ended at once"));
        let handle = wait.recv().map_err(gone)?.map_err(AdminError::Start)?;
        Ok(Self {
            address,
            handle,
            thread: Some(thread),
            #[cfg(feature = "cluster")]
            members: None,
        })
    }

    /// The address it listens on, with the real port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for AdminServer {
    /// Answers what is being asked, at most a second long, then ends.
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            // The command is sent at once; the future only waits for its end, as joining does.
            drop(self.handle.stop(true));
            if thread.join().is_err() {
                log::error!("the admin thread panicked");
            }
        }
    }
}

/// What was asked cannot be read.
fn not_understood(what: &str, error: &dyn std::fmt::Display) -> actix_web::Error {
    let detail = format!("{what} is not understood: {error}; see /api/openapi.json");
    Problem::new(StatusCode::BAD_REQUEST, detail).into()
}

/// The routes of a crawl, and what they need.
fn of_crawl(
    control: Arc<dyn Control>,
    node: Option<Arc<Node>>,
) -> impl Fn(&mut ServiceConfig) + Clone + Send + 'static {
    let doc = Data::new(routes::describe());
    let (control, node, turns) = (Data::from(control), node.map(Data::from), pages::turns());
    let (searches, readers, senders) = (super::search::turns(), feed::readers(), exports::senders());
    move |app| {
        app.app_data(doc.clone())
            .app_data(control.clone())
            .app_data(turns.clone())
            .app_data(readers.clone())
            .app_data(senders.clone())
            .app_data(searches.clone())
            .app_data(QueryConfig::default().error_handler(|e, _| not_understood("the query", &e)))
            .app_data(PathConfig::default().error_handler(|e, _| not_understood("the path", &e)));
        node.iter().for_each(|node| _ = app.app_data(node.clone()));
        routes::configure(app);
    }
}

fn serve(
    listener: TcpListener,
    guarded: Data<Guard>,
    app: impl Fn(&mut ServiceConfig) + Clone + Send + 'static,
    started: &Sender<io::Result<ServerHandle>>,
) {
    let build = move || {
        let app_of = App::new().app_data(guarded.clone()).wrap(from_fn(parameters::known));
        #[cfg(feature = "cluster")]
        let app_of = app_of.wrap(from_fn(members::shared));
        app_of
            .wrap(from_fn(guard))
            .wrap(DefaultHeaders::new().add(("Cache-Control", "no-store")).add(("X-Content-Type-Options", "nosniff")))
            .configure(app.clone())
    };
    let ended = actix_web::rt::System::new().block_on(async move {
        let server = HttpServer::new(build)
            .workers(1)
            .max_connections(512)
            .client_request_timeout(Duration::from_secs(5))
            .keep_alive(Duration::from_secs(15))
            .shutdown_timeout(1)
            .disable_signals()
            .listen(listener);
        match server {
            Ok(server) => {
                let server = server.run();
                // Nobody waits any more only when the caller's thread is gone, and then the server ends with it.
                let _ = started.send(Ok(server.handle()));
                server.await
            }
            Err(e) => {
                let _ = started.send(Err(e));
                Ok(())
            }
        }
    });
    if let Err(e) = ended {
        log::error!("the admin endpoint ended: {e}");
    }
}
