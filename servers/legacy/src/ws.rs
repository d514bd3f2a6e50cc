//! WebSocket on a port of its own, by jsonrpc-ws-server.
//!
//! The framework reads and writes all sockets on one thread of its own, on which it also parses and calls; the answers are written
//! as JSON on the runtime of the HTTP server. It has no way to set TCP_NODELAY, and leaves it off. Out of scope: what a method
//! means.

use std::net::SocketAddr;

use core_rpc::Handler;
use jsonrpc_http_server::tokio::runtime::Handle;
use server_kit::{Context, StartError};

/// A server that runs until it is dropped; never one in a build without it.
#[cfg(feature = "ws")]
pub type Server = jsonrpc_ws_server::Server;
/// A server that runs until it is dropped; never one in a build without it.
#[cfg(not(feature = "ws"))]
pub enum Server {}

/// The flag that has the address.
const FLAG: &str = "--ws-listen";

/// Connections with `--tuning equal`, where the other servers have no limit: the framework allocates room for all of them at its
/// start. Shipped it takes 100.
#[cfg(feature = "ws")]
const MAX_CONNECTIONS: usize = 20_000;

/// Drops the errors of clients. Without a logger that takes errors, parity-ws below the framework prints each to stdout, from the
/// thread of all sockets: where nobody reads that, a client could fill the pipe and stop the thread.
#[cfg(feature = "ws")]
struct Quiet;

#[cfg(feature = "ws")]
impl log::Log for Quiet {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, _: &log::Record<'_>) {}

    fn flush(&self) {}
}

/// Starts a server of these methods on `addr`.
///
/// # Errors
/// The address is in use or not of this machine.
#[cfg(feature = "ws")]
pub fn start(
    addr: SocketAddr,
    methods: Handler,
    runtime: &Handle,
    context: &Context,
) -> Result<Server, StartError> {
    use core_rpc::Meta;
    use jsonrpc_pubsub::Session;
    use jsonrpc_ws_server::{Error, RequestContext, ServerBuilder};
    use server_kit::Tuning;

    // An error says that the process has a logger already.
    let _logged_already = log::set_logger(&Quiet);
    log::set_max_level(log::LevelFilter::Error);
    let methods = crate::subscriptions::add(methods, &context.slots, runtime);
    let session = |connection: &RequestContext| Meta::with_session(Session::new(connection.sender()));
    let server = ServerBuilder::with_meta_extractor(methods, session)
        .event_loop_executor(runtime.clone())
        .max_payload(context.settings.max_body_bytes);
    let server = match context.settings.tuning {
        Tuning::Equal => server.max_connections(MAX_CONNECTIONS),
        Tuning::Shipped => server,
    };
    server.start(&addr).map_err(|error| match error {
        Error::Io(error) => StartError::listen(FLAG, addr, error),
        error => StartError::failed("start the WebSocket server", error),
    })
}

/// Where the server listens.
#[cfg(feature = "ws")]
pub fn addr(server: &Server) -> SocketAddr {
    *server.addr()
}

/// Refuses.
///
/// # Errors
/// Always.
#[cfg(not(feature = "ws"))]
pub fn start(addr: SocketAddr, _: Handler, _: &Handle, _: &Context) -> Result<Server, StartError> {
    let reason = "this build has no WebSocket; build it with the feature ws, or leave the flag out";
    Err(StartError::refused(format!("{FLAG} {addr}"), reason))
}

/// Where the server listens.
#[cfg(not(feature = "ws"))]
pub fn addr(server: &Server) -> SocketAddr {
    match *server {}
}
