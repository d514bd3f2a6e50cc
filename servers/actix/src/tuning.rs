//! actix-web set up as the settings say, and its life from ready line to drain. Shared with `examples/minimal.rs`, so that
//! the two differ by what they do with a request and by nothing else.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use actix_web::http::KeepAlive;
use actix_web::web::ServiceConfig;
use actix_web::{App, HttpServer, rt};
use server_kit::{Context, Defaults, Framework, Settings, StartError, Threads, Tuning};

/// The most workers that actix-server takes; it panics above.
const MAX_WORKERS: usize = 512;

/// What actix-web lets requests in progress take at the end: less than the 4.5 s of the kit's watchdog.
const DRAIN_LIMIT_S: u64 = 4;

/// actix-web's own defaults (actix-web 4.18, actix-http 3.20, actix-server 2.10).
pub const fn framework(name: &'static str) -> Framework {
    Framework {
        name,
        shipped: Defaults {
            threads: Threads::Cores,
            backlog: 1_024,
            tcp_nodelay: false,
            keep_alive_ms: Some(5_000),
            // Of each worker; its documentation says 25,000.
            max_connections: Some(25_600),
            max_body_bytes: 262_144,
        },
        fixed_backlog: None,
        global_queue: false,
        websocket: true,
    }
}

/// Serves what `configure` adds to an empty app, until the end.
pub fn serve(
    context: &Context,
    configure: impl Fn(&mut ServiceConfig) + Clone + Send + 'static,
) -> Result<(), StartError> {
    let settings = &context.settings;
    if settings.threads > MAX_WORKERS {
        let reason = format!("actix-web takes at most {MAX_WORKERS} workers");
        return Err(StartError::refused(format!("--threads {}", settings.threads), reason));
    }
    // The kit's listener has the backlog, and hands TCP_NODELAY down to its connections.
    let listener = context.listener()?;
    let failed = |error| StartError::failed("start actix-web", error);
    let addr = listener.local_addr().map_err(failed)?;

    let mut server = HttpServer::new(move || App::new().configure(configure.clone()))
        .workers(settings.threads)
        .keep_alive(keep_alive(settings))
        .max_connections(settings.max_connections.map_or(usize::MAX, |most| most as usize))
        .shutdown_timeout(DRAIN_LIMIT_S)
        .disable_signals();
    if settings.tuning == Tuning::Equal {
        // Else a connection that sends nothing for 5 s at its start is closed, which no other server here does.
        server = server.client_request_timeout(Duration::ZERO);
    }
    #[cfg(feature = "calls")]
    {
        // Only in this build: actix-http hands on to each request what it keeps of its connection.
        let accepted = context.metrics().connections.accepted();
        server = server.on_connect(move |_, _| accepted.add());
    }
    rt::System::new().block_on(async {
        let server = server.listen(listener).map_err(failed)?.run();
        let handle = server.handle();
        let mut server = pin!(server);
        // The first poll starts the workers; it ends the server only if they can't be started.
        if let Poll::Ready(ended) = poll_fn(|cx| Poll::Ready(server.as_mut().poll(cx))).await {
            return ended.map_err(failed);
        }
        context.ready(addr)?;
        let shutdown = context.shutdown().clone();
        std::thread::spawn(move || {
            shutdown.wait();
            // The request to stop is sent by the call; whoever awaits the server sees when it is done.
            drop(handle.stop(true));
        });
        server.await.map_err(failed)
    })
}

/// Without a timeout, actix-http starts no timer for an idle connection.
fn keep_alive(settings: &Settings) -> KeepAlive {
    match settings.keep_alive_ms {
        Some(timeout_ms) => KeepAlive::Timeout(Duration::from_millis(timeout_ms)),
        None => KeepAlive::Os,
    }
}
