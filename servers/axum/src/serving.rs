//! axum set up as the settings say, and its life from ready line to drain. Shared with `examples/minimal.rs`, so that the two
//! differ by what they do with a request and by nothing else.

use std::io;

use axum::Router;
use axum::serve::ListenerExt;
use server_kit::{Context, Defaults, Framework, StartError, Threads};
use tokio::net::TcpListener;
use tokio::runtime::Handle;

/// The defaults of axum 0.8 with `tokio::net::TcpListener::bind` and `#[tokio::main]` (tokio 1.54, mio 1.2).
pub const fn framework(name: &'static str) -> Framework {
    Framework {
        name,
        shipped: Defaults {
            threads: Threads::Cores,
            // mio's, which is that of the standard library.
            backlog: 128,
            tcp_nodelay: false,
            keep_alive_ms: None,
            max_connections: None,
            max_body_bytes: 2_097_152,
        },
        fixed_backlog: None,
        global_queue: true,
        websocket: true,
    }
}

/// Serves `router` until the end.
///
/// # Errors
/// The runtime or the listener could not be set up, or serving failed.
pub fn serve(context: &Context, router: Router) -> Result<(), StartError> {
    let failed = |error: io::Error| StartError::failed("start the server", error);
    let settings = &context.settings;
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    runtime.worker_threads(settings.threads).enable_all();
    if let Some(interval) = settings.global_queue_interval {
        runtime.global_queue_interval(interval);
    }
    let runtime = runtime.build().map_err(failed)?;
    runtime.block_on(async {
        // The kit's listener has the backlog, and hands TCP_NODELAY down to its connections.
        let listener = TcpListener::from_std(context.listener()?).map_err(failed)?;
        context.metrics().runtime.is(&Handle::current());
        context.ready(listener.local_addr().map_err(failed)?)?;
        let accepted = context.metrics().connections.accepted();
        let listener = listener.tap_io(move |_| accepted.add());
        let shutdown = context.shutdown().clone();
        // An error would say that the wait panicked: then too the server is to end.
        let asked_to_end = async move { drop(tokio::task::spawn_blocking(move || shutdown.wait()).await) };
        axum::serve(listener, router).with_graceful_shutdown(asked_to_end).await.map_err(failed)
    })
}
