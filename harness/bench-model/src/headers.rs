//! Headers that each request to a server has, such as a token. What is secret stays in the environment: a value names
//! it as `${NAME}`, and is kept and shown so.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};

/// Headers that the harness and the load tools set themselves.
const OWN: [&str; 8] = [
    "host",
    "content-length",
    "content-type",
    "connection",
    "transfer-encoding",
    "upgrade",
    "sec-websocket-key",
    "sec-websocket-version",
];

/// What the name of a header has that carries a secret.
const SECRET: [&str; 5] = ["auth", "cookie", "key", "secret", "token"];

/// Headers by name, their values as they are written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Headers(BTreeMap<String, String>);

impl Headers {
    /// Reads `NAME: VALUE` texts.
    ///
    /// # Errors
    /// One is none.
    pub fn parse(texts: &[String]) -> Result<Self> {
        let parse = |text: &String| {
            let (name, value) =
                text.split_once(':').with_context(|| format!("{text:?} is not of the form NAME: VALUE"))?;
            Ok((name.trim().to_owned(), value.trim().to_owned()))
        };
        let headers = Self(texts.iter().map(parse).collect::<Result<_>>()?);
        headers.check().map(|()| headers)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Name and value of each, as it is written.
    pub fn each(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Name and value of each, with what the environment has.
    ///
    /// # Errors
    /// The environment lacks a variable: which one, of which header.
    pub fn filled(&self) -> Result<Vec<(&str, String)>> {
        let fill = |(name, value)| {
            let filled = fill(value, |variable| std::env::var(variable).ok());
            Ok((name, filled.with_context(|| format!("header {name}"))?))
        };
        self.each().map(fill).collect()
    }

    /// Whether names and values make sense, without the environment.
    ///
    /// # Errors
    /// Which one does not.
    pub fn check(&self) -> Result<()> {
        for (name, value) in self.each() {
            let is_token = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
            ensure!(
                !name.is_empty() && name.chars().all(is_token),
                "header {name:?}: is no name of a header"
            );
            ensure!(
                !OWN.contains(&name.to_ascii_lowercase().as_str()),
                "header {name}: is set with each request already; leave it out"
            );
            ensure!(
                value.chars().all(|c| c.is_ascii_graphic() || c == ' '),
                "header {name}: its value has a sign that no header may have"
            );
            let is_secret = SECRET.iter().any(|part| name.to_ascii_lowercase().contains(part));
            ensure!(
                !is_secret || value.contains("${"),
                "header {name}: what it holds would be kept with each run; put it into the environment and name it: \"${{NAME}}\""
            );
            fill(value, |_| Some(String::new())).with_context(|| format!("header {name}"))?;
        }
        Ok(())
    }
}

/// A value with each `${NAME}` replaced.
fn fill(value: &str, variable: impl Fn(&str) -> Option<String>) -> Result<String> {
    let (mut filled, mut rest) = (String::new(), value);
    while let Some((before, after)) = rest.split_once("${") {
        let Some((name, after)) = after.split_once('}') else { bail!("a ${{ has no }}") };
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        ensure!(
            !name.is_empty() && name.chars().all(is_name),
            "${{{name}}} names no variable of the environment"
        );
        filled.push_str(before);
        filled.push_str(&variable(name).with_context(|| format!("the environment has no {name}; set it"))?);
        rest = after;
    }
    filled.push_str(rest);
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let variable = |name: &str| (name == "B").then(|| "b".to_owned());
        assert_eq!(fill("a ${B}${B} c", variable).unwrap(), "a bb c");
    }

    #[test]
    fn rubbish_is_named() {
        for (text, named) in [
            ("Authorization", "NAME: VALUE"),
            ("Authorization: Bearer abc", "put it into the environment"),
            ("x-api-key: abc", "put it into the environment"),
            ("Host: a", "is set with each request already"),
            ("A b: c", "is no name of a header"),
            ("A: ${B", "has no }"),
            ("A: ${B-C}", "names no variable"),
            ("A: \u{7f}", "no header may have"),
        ] {
            let said = format!("{:#}", parsed(text).unwrap_err());
            assert!(said.contains(named), "{text}: {said}");
        }
    }
}
