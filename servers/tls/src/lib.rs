//! What the servers with TLS share: their flags, rustls, and hyper on a connection.
//!
//! Each binary also answers without TLS, so that the two differ by TLS and by nothing else. jsonrpc-http-server has none.

use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use http_body::Body;
use hyper::body::Incoming;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::NoServerSessionStorage;
use serde::Serialize;
use server_kit::{Context, StartError};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tower::Service;

/// The flags that these servers have and no other.
#[derive(Debug, Clone, Args, Serialize)]
pub struct TlsFlags {
    /// Speaks TLS, with the certificate and the key in this PEM file
    #[arg(long, value_name = "FILE")]
    pub tls: Option<PathBuf>,
    /// Lets no connection take up what an earlier one agreed on
    #[arg(long, requires = "tls")]
    pub no_resumption: bool,
    /// Closes each connection once it has answered a request
    #[arg(long)]
    pub close_each: bool,
}

impl TlsFlags {
    /// rustls with its own defaults, where there is to be TLS.
    ///
    /// # Errors
    /// The file has no certificate, or not its key.
    pub fn config(&self) -> Result<Option<ServerConfig>, StartError> {
        let Some(file) = &self.tls else { return Ok(None) };
        let refused = |why: String| StartError::refused(format!("--tls {}", file.display()), why);
        let chain = CertificateDer::pem_file_iter(file).and_then(|all| all.collect::<Result<Vec<_>, _>>());
        let chain = chain.map_err(|error| refused(error.to_string()))?;
        let key = PrivateKeyDer::from_pem_file(file).map_err(|error| refused(error.to_string()))?;
        let config = ServerConfig::builder().with_no_client_auth().with_single_cert(chain, key);
        let mut config = config.map_err(|error| refused(error.to_string()))?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        if self.no_resumption {
            config.session_storage = Arc::new(NoServerSessionStorage {});
            config.send_tls13_tickets = 0;
        }
        Ok(Some(config))
    }
}

/// Serves each connection's own service with hyper until the end, as the frameworks' examples of TLS do.
///
/// # Errors
/// The listener or TLS could not be set up.
pub fn serve<S, B>(context: &Context, flags: &TlsFlags, service: impl Fn() -> S) -> Result<(), StartError>
where
    S: Service<Request<Incoming>, Response = Response<B>> + Clone + Send + 'static,
    S::Future: Send,
    S::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let failed = |error: std::io::Error| StartError::failed("start the server", error);
    let tls = flags.config()?.map(|config| TlsAcceptor::from(Arc::new(config)));
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(context.settings.threads).enable_all().build().map_err(failed)?;
    runtime.block_on(async {
        let listener = TcpListener::from_std(context.listener()?).map_err(failed)?;
        context.metrics().runtime.is(&tokio::runtime::Handle::current());
        context.ready(listener.local_addr().map_err(failed)?)?;
        let accepted = context.metrics().connections.accepted();
        let shutdown = context.shutdown().clone();
        let end = tokio::task::spawn_blocking(move || shutdown.wait());
        let accepting = async {
            loop {
                let Ok((stream, _)) = listener.accept().await else { continue };
                accepted.add();
                tokio::spawn(connection(stream, tls.clone(), service(), flags.close_each));
            }
        };
        tokio::select! {
            () = accepting => {}
            _ = end => {}
        }
        Ok(())
    })
}

fn connection<S, B>(
    stream: TcpStream,
    tls: Option<TlsAcceptor>,
    service: S,
    close_each: bool,
) -> impl Future<Output = ()> + Send
where
    S: Service<Request<Incoming>, Response = Response<B>> + Clone + Send + 'static,
    S::Future: Send,
    S::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    async move {
        match tls {
            None => answer(stream, service, close_each).await,
            // Whoever fails the handshake is gone.
            Some(tls) => {
                if let Ok(stream) = tls.accept(stream).await {
                    answer(stream, service, close_each).await;
                }
            }
        }
    }
}

async fn answer<S, B>(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    service: S,
    close_each: bool,
) where
    S: Service<Request<Incoming>, Response = Response<B>> + Clone + Send + 'static,
    S::Future: Send,
    S::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http1().keep_alive(!close_each);
    // An error is of this connection alone.
    let _ =
        builder.serve_connection_with_upgrades(TokioIo::new(stream), TowerToHyperService::new(service)).await;
}
