//! The value of a header, with what is secret filled in: `${NAME}` is a variable of the environment, and `${jwt:NAME}`
//! the token that Ethereum's Engine API wants, signed with the secret in that variable. The harness and its load
//! generator keep and show values as they are written, and fill them in only where they are sent.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail, ensure};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;

/// What stands in front of the variable with the secret of a token.
const TOKEN: &str = "jwt:";

/// How long a value with a token may be used: the Engine API takes those of the last minute.
pub const TOKEN_LASTS: Duration = Duration::from_secs(10);

/// Whether a value is another one after a time.
pub fn changes(value: &str) -> bool {
    value.contains(&format!("${{{TOKEN}"))
}

/// A value with what the environment has.
///
/// # Errors
/// It names no variable, or the environment lacks it, or a token's secret is not 32 bytes in hexadecimal.
pub fn filled(value: &str) -> Result<String> {
    fill(value, |name| std::env::var(name).ok(), SystemTime::now())
}

/// Whether a value is well formed, without the environment.
///
/// # Errors
/// What of it is not.
pub fn check(value: &str) -> Result<()> {
    fill(value, |_| Some("00".repeat(32)), UNIX_EPOCH).map(drop)
}

/// A URL for an error, without a user and a password where it has one. A password may hold any sign, so all up to the
/// last `@` is left out.
pub fn without_password(url: &str) -> String {
    match url.rsplit_once('@') {
        None => url.to_owned(),
        Some((before, rest)) => {
            let scheme = before.split_once("://").map_or(String::new(), |(scheme, _)| format!("{scheme}://"));
            format!("{scheme}…@{rest}")
        }
    }
}

fn fill(value: &str, variable: impl Fn(&str) -> Option<String>, now: SystemTime) -> Result<String> {
    let (mut filled, mut rest) = (String::new(), value);
    while let Some((before, after)) = rest.split_once("${") {
        let Some((written, after)) = after.split_once('}') else { bail!("a ${{ has no }}") };
        let name = written.strip_prefix(TOKEN);
        let is_token = name.is_some();
        let name = name.unwrap_or(written);
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        ensure!(
            !name.is_empty() && name.chars().all(is_name),
            "${{{written}}} names no variable of the environment"
        );
        let found = variable(name).with_context(|| format!("the environment has no {name}; set it"))?;
        filled.push_str(before);
        filled.push_str(&if is_token { token(&found, now).with_context(|| name.to_owned())? } else { found });
        rest = after;
    }
    filled.push_str(rest);
    Ok(filled)
}

/// A token that says when it was made, and no more (HS256).
fn token(secret: &str, now: SystemTime) -> Result<String> {
    let secret =
        bytes(secret).context("a token's secret is 32 bytes in hexadecimal, such as a node's jwt.hex has")?;
    let seconds = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let encoded = |text: &str| URL_SAFE_NO_PAD.encode(text);
    let signed = format!(
        "{}.{}",
        encoded(r#"{"typ":"JWT","alg":"HS256"}"#),
        encoded(&format!(r#"{{"iat":{seconds}}}"#))
    );
    let signature = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &secret), signed.as_bytes());
    Ok(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature)))
}

fn bytes(hexadecimal: &str) -> Option<[u8; 32]> {
    let text = hexadecimal.trim();
    let digits = text.strip_prefix("0x").unwrap_or(text).as_bytes();
    let mut bytes = [0; 32];
    let pairs = digits.chunks(2);
    if digits.len() != 64 {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(pairs) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may fail loudly")]
mod tests {
    use super::*;

    fn with(value: &str, secret: &str) -> Result<String> {
        let variable = |name: &str| (name == "B").then(|| secret.to_owned());
        fill(value, variable, UNIX_EPOCH + Duration::from_secs(1_700_000_000))
    }

    #[test]
    fn a_password_is_not_shown() {
        for (url, shown) in [
            ("http://me:pw@a:1/x", "http://…@a:1/x"),
            ("wss://me:p/w#@:p@a", "wss://…@a"),
            ("me:pw@a:1", "…@a:1"),
            ("http://a:1/x", "http://a:1/x"),
        ] {
            assert_eq!(without_password(url), shown);
        }
    }

    #[test]
    fn variables_are_filled_in() {
        assert_eq!(with("a ${B}${B} c", "b").unwrap(), "a bb c");
        assert_eq!(with("no $ or } of ours", "b").unwrap(), "no $ or } of ours");
        let lacks = with("${C}", "b").unwrap_err().to_string();
        assert_eq!(lacks, "the environment has no C; set it");
    }

    #[test]
    fn a_token_is_signed_as_openssl_signs_it() {
        let token = with("Bearer ${jwt:B}", &format!("0x{}\n", "0f".repeat(32))).unwrap();
        // printf %s "$HEAD.$CLAIMS" | openssl dgst -sha256 -mac HMAC -macopt hexkey:0f0f… -binary | basenc --base64url
        assert_eq!(
            token,
            "Bearer eyJ0eXAiOiJKV1QiLCJhbGciOiJIUzI1NiJ9.eyJpYXQiOjE3MDAwMDAwMDB9.wplIqADK4ziWh8yIUtUPnhNbel4qmdt7YFIRDL_16wM"
        );
        assert!(changes("Bearer ${jwt:B}") && !changes("Bearer ${B}"));
        for short in ["", "0f", "0x"] {
            let said = format!("{:#}", with("${jwt:B}", short).unwrap_err());
            assert!(said.contains("32 bytes in hexadecimal") && said.starts_with("B: "), "{said}");
        }
        assert!(with("${jwt:B}", &"é".repeat(32)).is_err());
    }

    #[test]
    fn rubbish_is_named() {
        for (value, named) in
            [("${B", "has no }"), ("${B-C}", "names no variable"), ("${jwt:}", "names no variable")]
        {
            let said = check(value).unwrap_err().to_string();
            assert!(said.contains(named), "{value}: {said}");
        }
        check("Bearer ${jwt:ANY}").unwrap();
    }
}
