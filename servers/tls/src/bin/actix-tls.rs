//! The actix server with TLS, as actix-web's example of rustls has it.

#[path = "../../../actix/src/rpc.rs"]
mod rpc;
#[path = "../../../actix/src/ws.rs"]
mod ws;

use std::process::ExitCode;
use std::time::Duration;

use actix_web::http::KeepAlive;
use actix_web::{App, HttpServer, rt};
use server_actix::tuning;
use server_kit::{Context, Framework, Rpc, StartError, Tuning};
use server_tls::TlsFlags;

fn main() -> ExitCode {
    server_kit::run_with(&Framework { websocket: false, ..tuning::framework("actix-tls") }, serve)
}

fn serve(context: Context, flags: TlsFlags) -> Result<(), StartError> {
    let failed = |error: std::io::Error| StartError::failed("start actix-web", error);
    let settings = &context.settings;
    let most = settings.max_body_bytes;
    let routes = rpc::routes(Rpc::Typed, &context.state, context.counters, None, most, &context.slots);
    let tls = flags.config()?;
    let listener = context.listener()?;
    let addr = listener.local_addr().map_err(failed)?;
    let keep_alive = match settings.keep_alive_ms {
        _ if flags.close_each => KeepAlive::Disabled,
        Some(timeout_ms) => KeepAlive::Timeout(Duration::from_millis(timeout_ms)),
        None => KeepAlive::Os,
    };
    let mut server = HttpServer::new(move || App::new().configure(routes.clone()))
        .workers(settings.threads)
        .keep_alive(keep_alive)
        .max_connections(settings.max_connections.map_or(usize::MAX, |most| most as usize))
        .shutdown_timeout(4)
        .disable_signals();
    if settings.tuning == Tuning::Equal {
        server = server.client_request_timeout(Duration::ZERO);
    }
    rt::System::new().block_on(async {
        let server = match tls {
            Some(config) => server.listen_rustls_0_23(listener, config),
            None => server.listen(listener),
        };
        let server = server.map_err(failed)?.run();
        let handle = server.handle();
        context.ready(addr)?;
        let shutdown = context.shutdown().clone();
        std::thread::spawn(move || {
            shutdown.wait();
            // The request to stop is sent by the call.
            drop(handle.stop(true));
        });
        server.await.map_err(failed)
    })
}
