//! What each request has besides, or the handshake of a WebSocket.

use anyhow::{Context, Result};
use http::{HeaderMap, HeaderName, HeaderValue};

/// Headers as they were written: without what is secret.
#[derive(Debug, Clone, Default)]
pub struct Headers(Vec<(HeaderName, String)>);

impl Headers {
    /// Reads `NAME: VALUE` texts.
    ///
    /// # Errors
    /// One is none, or the environment lacks what it names.
    pub fn parse(texts: &[String]) -> Result<Self> {
        let parse = |text: &String| {
            // What is secret is not to be shown, and without a colon all of it may be.
            let (name, value) =
                text.split_once(':').context("--header: one has no colon; give NAME: VALUE")?;
            let context = || format!("--header {name}: no header may be so");
            Ok((HeaderName::try_from(name.trim()).with_context(context)?, value.trim().to_owned()))
        };
        let headers = Self(texts.iter().map(parse).collect::<Result<_>>()?);
        headers.filled().map(|_| headers)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether one of them has this name.
    pub fn has(&self, name: &HeaderName) -> bool {
        self.0.iter().any(|(known, _)| known == name)
    }

    /// Whether they are others after [`header_values::TOKEN_LASTS`].
    pub fn change(&self) -> bool {
        self.0.iter().any(|(_, value)| header_values::changes(value))
    }

    /// As they are sent now.
    ///
    /// # Errors
    /// The environment lacks a variable, or what it has can be in no header.
    pub fn filled(&self) -> Result<HeaderMap> {
        let mut headers = HeaderMap::new();
        for (name, value) in &self.0 {
            let context = || format!("--header {name}");
            let value = header_values::filled(value).with_context(context)?;
            headers.append(name.clone(), HeaderValue::try_from(value).with_context(context)?);
        }
        Ok(headers)
    }
}
