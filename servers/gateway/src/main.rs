//! A JSON-RPC gateway in front of a node: HTTP to HTTP, HTTP to one WebSocket that all callers share, and WebSocket to WebSocket.
//!
//! docs/USING.md says what it does with each kind of request. Out of scope: TLS, and any method.

#![forbid(unsafe_code)]
#![deny(
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::unreachable,
    reason = "the network reaches this"
)]

mod calls;
mod counts;
mod gateway;
mod options;
mod rpc;
mod shared;
mod websocket;

use std::io::{self, Write};
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::Duration;

use axum::Router;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::serve::ListenerExt;
use bytes::Bytes;
use clap::Parser;
use serde_json::json;
use server_kit::{CallCounters, Metrics, StartError, is_json, one_line, raise_limit};
use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use calls::Timed;
use counts::Counted;
use gateway::Gateway;
use options::Options;
use shared::Node;

/// How long answers that are in flight may take after SIGTERM.
const DRAIN_LIMIT: Duration = Duration::from_millis(4_500);

/// Exit code of a wrong call and of an address in use.
const EXIT_REFUSED: u8 = 2;

fn main() -> ExitCode {
    let options = match Options::try_parse() {
        Ok(options) => options,
        Err(error) if error.use_stderr() => {
            eprintln!("server-gateway: {}", one_line(&error.to_string()));
            return ExitCode::from(EXIT_REFUSED);
        }
        Err(help) => {
            // Whoever wanted to read it is gone where this fails.
            let _gone = help.print();
            return ExitCode::SUCCESS;
        }
    };
    match run(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("server-gateway: {error}");
            ExitCode::from(EXIT_REFUSED)
        }
    }
}

fn run(options: &Options) -> Result<(), StartError> {
    let failed = |error: io::Error| StartError::failed("start the gateway", error);
    let raised = raise_limit().map_err(|error| StartError::failed("raise the limit of open files", error));
    raised?;
    let threads = options.threads.map(usize::from);
    let threads = threads.unwrap_or_else(|| available_parallelism().map_or(1, usize::from));
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(threads).enable_all().build().map_err(failed)?;
    runtime.block_on(serve(options, threads))
}

async fn serve(options: &Options, threads: usize) -> Result<(), StartError> {
    let failed = |error: io::Error| StartError::failed("start the gateway", error);
    let (listener, addr) = listen("--listen", options.listen).await?;
    let gateway = Arc::new(Gateway::new(options));
    let calls = options.metrics_calls.then(CallCounters::default);
    let measured = Metrics { calls, ..Metrics::default() };
    measured.runtime.is(&Handle::current());
    measured.connections.listens_on(vec![addr]);
    let counted = Counted(Arc::clone(&gateway.counts));
    let metrics = options.metrics.map(|addr| measured.start(addr, counted)).transpose()?;
    let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
    let (ending, is_ending) = watch::channel(false);
    let announced = ending.clone();
    let end = async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        // Callers' WebSockets see it too.
        announced.send_replace(true);
        tokio::spawn(async {
            tokio::time::sleep(DRAIN_LIMIT).await;
            std::process::exit(0);
        });
    };
    announce(options, threads, addr, metrics).map_err(failed)?;
    // An error says that the connection is gone already.
    let accepted = measured.connections.accepted();
    let listener = listener.tap_io(move |stream| {
        accepted.add();
        drop(stream.set_nodelay(true));
    });
    let router = router(options, gateway, calls, is_ending);
    axum::serve(listener, router).with_graceful_shutdown(end).await.map_err(failed)?;
    // Each WebSocket of a caller has a receiver until it is closed.
    ending.closed().await;
    Ok(())
}

async fn listen(flag: &'static str, addr: SocketAddr) -> Result<(TcpListener, SocketAddr), StartError> {
    let cannot = |error: io::Error| StartError::listen(flag, addr, error);
    let listener = TcpListener::bind(addr).await.map_err(cannot)?;
    let addr = listener.local_addr().map_err(cannot)?;
    Ok((listener, addr))
}

/// One line on standard output, for whoever started the gateway.
fn announce(
    options: &Options,
    threads: usize,
    addr: SocketAddr,
    metrics: Option<SocketAddr>,
) -> io::Result<()> {
    if !addr.ip().is_loopback() {
        eprintln!("server-gateway: other machines can reach {addr}, and there is no access control");
    }
    let mut ready = options.settings();
    if let Some(ready) = ready.as_object_mut() {
        ready.insert("ready".to_owned(), true.into());
        ready.insert("server".to_owned(), "gateway".into());
        ready.insert("addr".to_owned(), addr.to_string().into());
        ready.insert("ws".to_owned(), json!(options.is_websocket().then(|| format!("ws://{addr}/"))));
        ready.insert("metrics".to_owned(), json!(metrics));
        ready.insert("threads".to_owned(), threads.into());
        ready.insert("pid".to_owned(), std::process::id().into());
    }
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{ready}")?;
    stdout.flush()
}

/// What the handlers of WebSockets need.
#[derive(Clone)]
struct Front {
    gateway: Arc<Gateway>,
    node: Node,
    most_bytes: usize,
    calls: Option<CallCounters>,
    is_ending: watch::Receiver<bool>,
}

fn router(
    options: &Options,
    gateway: Arc<Gateway>,
    calls: Option<CallCounters>,
    is_ending: watch::Receiver<bool>,
) -> Router {
    let most_bytes = options.max_body_bytes as usize;
    let front = Front { gateway, node: Node::of(options), most_bytes, calls, is_ending };
    let mut methods = if calls.is_some() { post(answer_timed) } else { post(answer) };
    if options.is_websocket() {
        methods = methods.get(upgrade);
    }
    Router::new().route("/", methods).layer(DefaultBodyLimit::max(most_bytes)).with_state(front)
}

async fn answer(State(front): State<Front>, headers: HeaderMap, body: Bytes) -> Response {
    let content_type = headers.get(header::CONTENT_TYPE).map(|value| value.as_bytes());
    if !content_type.is_some_and(is_json) {
        return StatusCode::UNSUPPORTED_MEDIA_TYPE.into_response();
    }
    front.gateway.answer(body).await
}

/// [`answer`] with its calls timed. Without `--metrics-calls` no request comes here.
async fn answer_timed(state: State<Front>, headers: HeaderMap, body: Bytes) -> Response {
    let Some(counters) = state.0.calls else { return answer(state, headers, body).await };
    let timed = Timed::begin(counters, body.clone());
    timed.end(answer(state, headers, body).await).await
}

async fn upgrade(State(front): State<Front>, upgrade: WebSocketUpgrade) -> Response {
    let Front { gateway, node, most_bytes, is_ending, .. } = front;
    let upgrade = upgrade.max_message_size(most_bytes).max_frame_size(most_bytes);
    upgrade.on_upgrade(move |caller| websocket::pass_on(caller, node, gateway, is_ending))
}
