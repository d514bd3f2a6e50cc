//! Listens and runs the framework's request handler: one listener and one runtime of one thread for each thread asked
//! for, as the framework's own `start_http` has them.
//!
//! Why not `start_http`: closing its server drops its runtimes at once, and cuts the answers that are under way. Here the
//! runtimes live until hyper has sent what was begun. Not for: anything that is answered.

use std::convert::Infallible;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use jsonrpc_core::futures::channel::oneshot;
use jsonrpc_http_server::hyper::Server;
use jsonrpc_http_server::hyper::service::make_service_fn;
use jsonrpc_http_server::tokio::runtime::{Builder, Runtime};
use jsonrpc_http_server::tokio::task::JoinHandle;
use jsonrpc_http_server::{RequestMiddleware, RestApi, Rpc, ServerHandler, cors};
use server_kit::{Context, StartError};

use crate::adapter::{Mend, Meta};

/// What answers requests: the framework's handler, and what comes before it.
#[derive(Clone)]
pub struct Answering {
    /// The methods. The framework holds only weak references to them.
    pub rpc: Rpc<Meta, Mend>,
    /// Sees each request first.
    pub middleware: Arc<dyn RequestMiddleware>,
    /// The largest body that is taken.
    pub max_body_bytes: usize,
}

/// Listeners that answer until they are told to drain.
pub struct Listeners {
    addr: SocketAddr,
    workers: Vec<Worker>,
    /// Kept until the last answer.
    _answering: Answering,
}

struct Worker {
    runtime: Runtime,
    close: oneshot::Sender<()>,
    done: JoinHandle<()>,
}

impl Listeners {
    /// Binds and begins to answer.
    ///
    /// # Errors
    /// The address is taken, or the system refuses a thread.
    pub fn start(context: &Context, answering: Answering) -> Result<Self, StartError> {
        let failed = |error: io::Error| StartError::failed("start listening", error);
        let threads = context.settings.threads;
        let sockets = if threads == 1 {
            vec![context.listener()?]
        } else {
            // Held until all are bound.
            let claim = context.claim_port()?;
            (0..threads).map(|_| claim.listener(&context.settings)).collect::<Result<_, _>>()?
        };
        let addr = sockets.first().map_or(Ok(context.settings.listen), TcpListener::local_addr);
        let addr = addr.map_err(failed)?;
        let start = |(number, socket)| Worker::start(number, socket, answering.clone());
        let workers =
            sockets.into_iter().enumerate().map(start).collect::<io::Result<_>>().map_err(failed)?;
        Ok(Self { addr, workers, _answering: answering })
    }

    /// Where they listen.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Stops listening, and returns once each answer that was begun has been sent.
    pub fn drain(self) {
        let draining: Vec<_> = self
            .workers
            .into_iter()
            .map(|Worker { runtime, close, done }| {
                // It has ended already, if nobody hears this.
                let _ended = close.send(());
                (runtime, done)
            })
            .collect();
        for (runtime, done) in draining {
            // A worker that panicked has nothing left to send.
            let _panicked = runtime.block_on(done);
        }
    }
}

impl Worker {
    fn start(number: usize, socket: TcpListener, answering: Answering) -> io::Result<Self> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name(format!("http.worker{number}"))
            .enable_all()
            .build()?;
        let (close, closed) = oneshot::channel::<()>();
        let inside = runtime.enter();
        // As the framework builds it, step by step.
        let server = Server::from_tcp(socket)
            .map_err(io::Error::other)?
            .http1_keepalive(true)
            .tcp_nodelay(true)
            .tcp_sleep_on_accept_errors(true)
            .serve(make_service_fn(move |_connection| {
                let handler = answering.handler();
                async { Ok::<_, Infallible>(handler) }
            }))
            .with_graceful_shutdown(async {
                let _asked_or_gone = closed.await;
            });
        let done = runtime.spawn(async {
            if let Err(error) = server.await {
                eprintln!("server-legacy: stopped accepting: {error}; start it again");
            }
        });
        drop(inside);
        Ok(Self { runtime, close, done })
    }
}

impl Answering {
    /// The service of one connection.
    pub fn handler(&self) -> ServerHandler<Meta, Mend> {
        ServerHandler::new(
            self.rpc.downgrade(),
            None,
            None,
            cors::AccessControlAllowHeaders::Any,
            None,
            Arc::clone(&self.middleware),
            RestApi::Disabled,
            None,
            self.max_body_bytes,
            true,
        )
    }
}
