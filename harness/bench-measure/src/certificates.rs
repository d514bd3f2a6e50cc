//! Which certificates are trusted where a server is reached over TLS: the system's, or those of a file. Never none.

use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use ureq::tls::{Certificate, RootCerts, TlsConfig};

use bench_core::target::Target;

/// For HTTP.
///
/// # Errors
/// There are none.
pub fn for_http(ca: Option<&Path>) -> Result<TlsConfig> {
    let trusted = trusted(ca)?;
    let trusted = trusted.iter().map(|certificate| Certificate::from_der(certificate).to_owned());
    let config = TlsConfig::builder().root_certs(RootCerts::from(trusted.collect::<Vec<_>>()));
    Ok(config.unversioned_rustls_crypto_provider(Arc::new(ring::default_provider())).build())
}

/// A connection to a server with TLS over it, whose handshake is done with the first byte.
///
/// # Errors
/// There are none, or the server's name is none that a certificate can have.
pub fn encrypted(target: &Target, stream: TcpStream) -> Result<StreamOwned<ClientConnection, TcpStream>> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(trusted(target.access().ca.as_deref())?);
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let config = config.with_safe_default_protocol_versions()?.with_root_certificates(roots);
    let host = target.addr().rsplit_once(':').map_or("", |(host, _)| host).trim_matches(['[', ']']);
    let name = ServerName::try_from(host.to_owned()).with_context(|| format!("{target}: no such name"))?;
    let connection = ClientConnection::new(Arc::new(config.with_no_client_auth()), name)?;
    Ok(StreamOwned::new(connection, stream))
}

/// Whether a file of certificates, where there is one, can be read.
///
/// # Errors
/// What is wrong with it.
pub fn check(ca: Option<&Path>) -> Result<()> {
    if ca.is_some() { trusted(ca).map(drop) } else { Ok(()) }
}

/// Whether an error is that a server's certificate proves nothing.
pub fn are_refused(error: &anyhow::Error) -> bool {
    // Neither client says so by its type.
    error.chain().any(|cause| cause.to_string().contains("invalid peer certificate"))
}

fn trusted(ca: Option<&Path>) -> Result<Vec<CertificateDer<'static>>> {
    let Some(file) = ca else {
        let found = rustls_native_certs::load_native_certs().certs;
        ensure!(!found.is_empty(), "this system has no certificates to trust; give a file of your own (ca)");
        return Ok(found);
    };
    let context = || format!("{}: can't read certificates in PEM", file.display());
    let found = CertificateDer::pem_file_iter(file).with_context(context)?;
    let found: Vec<_> = found.collect::<Result<_, _>>().with_context(context)?;
    ensure!(!found.is_empty(), context());
    Ok(found)
}
