//! jsonrpc-http-server with jsonrpc-core's handler (`core-rpc`), set up as a validator sets them up (Agave's `rpc_service.rs`).
//!
//! The server's settings and its runtime's workers are a validator's. Not included: what Agave clones for each request (its
//! processor of a dozen shared parts and its configuration), its look at a header, the delegates of its derive macro, and the
//! paths of files that its middleware looks for. So a call costs less here than there, by an amount that is not measured.
//!
//! Out of scope: what a method means, its limits and errors.

use core_rpc::handler;
use jsonrpc_http_server::hyper::header::HeaderValue;
use jsonrpc_http_server::hyper::{Body, Request as HttpRequest, StatusCode};
use jsonrpc_http_server::tokio::runtime;
use jsonrpc_http_server::{
    AccessControlAllowOrigin, DomainsValidation, RequestMiddlewareAction, Response as HttpResponse,
    ServerBuilder,
};
use server_kit::{Context, Offload, StartError, WsFlags};

use crate::ws;

/// Answers until the end: one listener, whose connections and calls all run on one multi-threaded runtime, and where the
/// flags say so a second one for WebSocket.
///
/// # Errors
/// The server could not start.
pub fn serve(context: Context, flags: WsFlags) -> Result<(), StartError> {
    let listen = context.settings.listen;
    let mut runtime = runtime::Builder::new_multi_thread();
    runtime.worker_threads(context.settings.threads).thread_name("rpc-worker").enable_all();
    if let Some(interval) = context.settings.global_queue_interval {
        runtime.global_queue_interval(interval);
    }
    let runtime = runtime.build().map_err(|error| StartError::failed("start the runtime", error))?;
    context.metrics().runtime.is(runtime.handle());
    let offload = Offload::new(flags.blocks_on.blocks_on)?;
    let methods = || handler(&context.state, context.counters, offload.as_ref());
    let server = ServerBuilder::new(methods())
        .event_loop_executor(runtime.handle().clone())
        .threads(1)
        .cors(DomainsValidation::AllowOnly(vec![AccessControlAllowOrigin::Any]))
        .cors_max_age(86_400)
        .request_middleware(health)
        .max_request_body_size(context.settings.max_body_bytes)
        .start_http(&listen)
        .map_err(|error| StartError::cannot_listen(listen, error))?;
    let ws = match flags.ws_listen {
        Some(addr) => Some(ws::start(addr, methods(), runtime.handle(), &context)?),
        None => None,
    };
    context.ready_with_ws(*server.address(), ws.as_ref().map(ws::addr))?;
    context.shutdown().wait();
    server.close();
    drop(ws);
    Ok(())
}

/// /health, before JSON-RPC and for any HTTP method, as in a validator.
pub fn health(request: HttpRequest<Body>) -> RequestMiddlewareAction {
    if request.uri().path() != "/health" {
        return request.into();
    }
    let answer = HttpResponse {
        code: StatusCode::OK,
        content_type: HeaderValue::from_static("text/plain; charset=utf-8"),
        content: "ok".to_owned(),
    };
    answer.into()
}
