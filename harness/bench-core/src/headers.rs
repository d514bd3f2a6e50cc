//! Headers that each request to a server has, such as a token. What is secret stays in the environment: a value names
//! it as `${NAME}` or `${jwt:NAME}`, and is kept and shown so.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

/// Headers that the harness and the load tools set themselves.
const OWN: [&str; 7] = [
    "content-length",
    "content-type",
    "connection",
    "transfer-encoding",
    "upgrade",
    "sec-websocket-key",
    "sec-websocket-version",
];

/// The header that names a server. Each request has one, and one that is given replaces it.
const HOST: &str = "host";

/// What the name of a header has that carries a secret.
const SECRET: [&str; 5] = ["auth", "cookie", "key", "secret", "token"];

/// What reaching a server takes beyond its URL.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Access {
    /// What each request has besides, as it is written: without what the environment has.
    #[serde(default, skip_serializing_if = "Headers::is_empty")]
    pub headers: Headers,
    /// The file with the certificates that are trusted in the place of the system's, as PEM; of TLS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca: Option<PathBuf>,
}

impl Access {
    /// Whether it takes nothing.
    pub fn is_empty(&self) -> bool {
        self.headers.is_empty() && self.ca.is_none()
    }
}

/// Headers by name, their values as they are written. One that is given twice is sent twice.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Headers(BTreeMap<String, Values>);

/// The values of a header.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "give a header's value as a text, or a list of texts")]
enum Values {
    One(String),
    Several(Vec<String>),
}

impl Values {
    fn each(&self) -> &[String] {
        match self {
            Self::One(value) => std::slice::from_ref(value),
            Self::Several(values) => values,
        }
    }
}

impl Headers {
    /// Reads `NAME: VALUE` texts.
    ///
    /// # Errors
    /// One is none.
    pub fn parse(texts: &[String]) -> Result<Self> {
        let mut headers = BTreeMap::<String, Vec<String>>::new();
        for text in texts {
            // It may be a secret, so it is not shown.
            let (name, value) = text.split_once(':').context("one has no colon; give NAME: VALUE")?;
            headers.entry(name.trim().to_owned()).or_default().push(value.trim().to_owned());
        }
        let values = |mut values: Vec<String>| match values.as_mut_slice() {
            [one] => Values::One(std::mem::take(one)),
            _ => Values::Several(values),
        };
        let headers = Self(headers.into_iter().map(|(name, of)| (name, values(of))).collect());
        headers.check().map(|()| headers)
    }

    /// The host that it names, where it does.
    pub fn host(&self) -> Option<&str> {
        self.each().find(|(name, _)| name.eq_ignore_ascii_case(HOST)).map(|(_, value)| value)
    }

    /// The same with a host, unless it names one.
    #[must_use]
    pub fn with_host(mut self, host: &str) -> Self {
        if self.host().is_none() {
            self.0.insert(HOST.to_owned(), Values::One(host.to_owned()));
        }
        self
    }

    /// Whether there are others than the host, or the environment has a part of that.
    pub fn are_more_than_a_host(&self) -> bool {
        self.each().any(|(name, value)| !name.eq_ignore_ascii_case(HOST) || value.contains("${"))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Name and value of each, as it is written.
    pub fn each(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().flat_map(|(name, of)| of.each().iter().map(|value| (name.as_str(), value.as_str())))
    }

    /// Name and value of each, with what the environment has.
    ///
    /// # Errors
    /// The environment lacks a variable: which one, of which header.
    pub fn filled(&self) -> Result<Vec<(&str, String)>> {
        let fill = |(name, value)| {
            Ok((name, header_values::filled(value).with_context(|| format!("header {name}"))?))
        };
        self.each().map(fill).collect()
    }

    /// Whether names and values make sense, without the environment.
    ///
    /// # Errors
    /// Which one does not.
    pub fn check(&self) -> Result<()> {
        let hosts = self.each().filter(|(name, _)| name.eq_ignore_ascii_case(HOST)).count();
        ensure!(hosts <= 1, "header Host: give it once");
        ensure!(self.host() != Some(""), "header Host: give a value");
        for (name, value) in self.each() {
            let is_token = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
            let is_name = !name.is_empty() && name.chars().all(is_token);
            ensure!(is_name, "header {name:?}: is no name of a header");
            let is_free = !OWN.contains(&name.to_ascii_lowercase().as_str());
            ensure!(is_free, "header {name}: is set with each request already; leave it out");
            let is_plain = value.chars().all(|c| c.is_ascii_graphic() || c == ' ');
            ensure!(is_plain, "header {name}: its value has a sign that no header may have");
            let is_secret = SECRET.iter().any(|part| name.to_ascii_lowercase().contains(part));
            ensure!(
                !is_secret || value.contains("${"),
                "header {name}: what it holds would be kept with each run; put it into the environment and name \
                 it: \"${{NAME}}\""
            );
            header_values::check(value).with_context(|| format!("header {name}"))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::each_is_refused;

    fn parsed(text: &str) -> Result<Headers> {
        Headers::parse(&[text.to_owned()])
    }

    #[test]
    fn a_secret_is_named_and_filled_in_only_where_it_is_sent() {
        let headers = parsed("Authorization: Bearer ${NO_SUCH_VARIABLE_HERE}").unwrap();
        assert_eq!(
            headers.each().collect::<Vec<_>>(),
            [("Authorization", "Bearer ${NO_SUCH_VARIABLE_HERE}")]
        );
        let lacks = format!("{:#}", headers.filled().unwrap_err());
        assert_eq!(lacks, "header Authorization: the environment has no NO_SUCH_VARIABLE_HERE; set it");
    }

    #[test]
    fn rubbish_is_named() {
        each_is_refused("headers", "{}", parsed);
        let twice = ["Host: a", "host: b"].map(str::to_owned);
        assert!(format!("{:#}", Headers::parse(&twice).unwrap_err()).contains("give it once"));
        let secret = format!("{:#}", parsed("Bearer hunter2").unwrap_err());
        assert!(!secret.contains("hunter2"), "{secret}");
    }

    #[test]
    fn a_header_that_is_given_twice_is_there_twice_and_is_read_again() {
        let given = ["X-Way: b", "Host: node", "X-Way: a", "x-way: c"].map(str::to_owned);
        let headers = Headers::parse(&given).unwrap();
        let each = [("Host", "node"), ("X-Way", "b"), ("X-Way", "a"), ("x-way", "c")];
        assert_eq!(headers.each().collect::<Vec<_>>(), each);
        let written = serde_json::to_value(&headers).unwrap();
        assert_eq!(written["X-Way"], serde_json::json!(["b", "a"]));
        assert_eq!(serde_json::from_value::<Headers>(written).unwrap(), headers);
        assert!(headers.are_more_than_a_host());
        assert!(!Headers::default().with_host("a").are_more_than_a_host());
        assert_eq!(headers.with_host("other").host(), Some("node"));
    }
}
