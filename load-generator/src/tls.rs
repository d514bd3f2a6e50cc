//! TLS of connections, and what went wrong with one in words that are the same each time.

use std::io;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use rustix::io::Errno;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, ServerName};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::client::Resumption;
use tokio_rustls::rustls::{CertificateError, ClientConfig, Error, RootCertStore};

/// How connections to a server are encrypted.
#[derive(Debug, Clone)]
pub struct Tls {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

impl Tls {
    /// To a host, whose certificate is verified by those in a PEM file, or by the system's. With resumption a
    /// connection takes up what an earlier one agreed on, where the server allows that.
    ///
    /// # Errors
    /// There are no certificates to trust, or the host has no name that a certificate can have.
    pub fn new(host: &str, ca: Option<&Path>, resumption: bool) -> Result<Self> {
        let mut roots = RootCertStore::empty();
        match ca {
            Some(file) => {
                let context = || format!("--ca {}: no certificates in PEM", file.display());
                for certificate in CertificateDer::pem_file_iter(file).with_context(context)? {
                    roots.add(certificate.with_context(context)?).with_context(context)?;
                }
                ensure!(!roots.is_empty(), context());
            }
            None => {
                roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
                ensure!(!roots.is_empty(), "this system has no certificates to trust; give --ca FILE");
            }
        }
        let mut config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        if !resumption {
            config.resumption = Resumption::disabled();
        }
        let name =
            ServerName::try_from(host.to_owned()).with_context(|| format!("--url: {host} is no name"))?;
        Ok(Self { config: Arc::new(config), name })
    }

    /// Does the handshake on a connection.
    ///
    /// # Errors
    /// It fails; [`kind`] says how.
    pub async fn connect<S: AsyncRead + AsyncWrite + Unpin>(&self, stream: S) -> io::Result<TlsStream<S>> {
        TlsConnector::from(self.config.clone()).connect(self.name.clone(), stream).await
    }
}

/// What went wrong, without addresses and times: failures are counted by it.
pub fn kind(error: &io::Error) -> String {
    let Some(tls) = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>()) else {
        // The standard library has no kind for it.
        let no_files = |errno: Errno| [Errno::MFILE, Errno::NFILE].contains(&errno);
        return match Errno::from_io_error(error) {
            Some(errno) if no_files(errno) => "too many open files".to_owned(),
            // What the standard library has no kind for, in the system's words: "Protocol error (os error 71)".
            Some(_) if format!("{:?}", error.kind()) == "Uncategorized" => error.to_string(),
            _ => error.kind().to_string(),
        };
    };
    let what = match tls {
        Error::InvalidCertificate(CertificateError::Expired | CertificateError::ExpiredContext { .. }) => {
            "the certificate has expired"
        }
        Error::InvalidCertificate(
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. },
        ) => "the certificate is not valid yet",
        Error::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        ) => "the certificate is for another name",
        Error::InvalidCertificate(CertificateError::UnknownIssuer) => {
            "the certificate's issuer is not trusted (--ca FILE)"
        }
        Error::InvalidCertificate(CertificateError::Other(_)) => {
            return format!("TLS: {tls}; a certificate that signs others (CA:TRUE) can't be a server's own");
        }
        Error::InvalidMessage(_) => "the server's answer is no TLS",
        other => return format!("TLS: {other}"),
    };
    format!("TLS: {what}")
}
