//! What is recorded of a call, and of which: its line in the file, without secrets.

use anyhow::{Result, ensure};
use serde::Deserialize;
use serde_json::value::RawValue;

/// Calls that are never recorded, since they hold keys, or do something that can't be done twice; in any case.
pub(super) const LEFT_OUT: [&str; 7] = [
    "personal_*",
    "*sign*",
    "*send*transaction*",
    "*sendbundle*",
    "*senduseroperation*",
    "*passphrase*",
    "*login*",
];

/// Names of parameters whose values are never recorded; where one is a part of a name, in any case.
const SECRETS: [&str; 10] =
    ["password", "passphrase", "secret", "token", "privatekey", "apikey", "auth", "pwd", "mnemonic", "seed"];

/// What stands in a secret's place.
const REMOVED: &str = "removed";

/// What is recorded of a call.
#[derive(Deserialize)]
pub(super) struct Call<'a> {
    method: String,
    /// As they were sent: read as values, long numbers would be rounded and names that stand twice merged.
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

impl Call<'_> {
    /// A call's method, and its line in the file.
    ///
    /// # Errors
    /// It is no call, or its parameters are neither an array nor an object.
    pub fn read(call: &RawValue) -> Result<(String, String)> {
        let Call { method, params } = serde_json::from_str(call.get())?;
        let mut line = format!("{{\"method\":{}", serde_json::to_string(&method)?);
        if let Some(params) = params.map(RawValue::get) {
            ensure!(params.starts_with(['[', '{']), "params: neither an array nor an object");
            // Ends of lines stand between values only.
            line += &format!(",\"params\":{}", without_secrets(params)?.replace(['\n', '\r'], " "));
        }
        Ok((method, line + "}"))
    }
}

/// Whether a method is of a pattern, in any case. One that reads signatures does not sign.
pub(super) fn is_of(pattern: &str, method: &str) -> bool {
    let method = method.to_lowercase();
    let pattern = pattern.to_lowercase();
    let signs = pattern == "*sign*";
    fits(&pattern, &if signs { method.replace("getsignature", "") } else { method })
}

/// Whether a name fits a pattern, in which `*` stands for any text.
fn fits(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((before, after)) => name.strip_prefix(before).is_some_and(|rest| {
            let starts = rest.char_indices().map(|(at, _)| at).chain([rest.len()]);
            starts.into_iter().any(|at| fits(after, &rest[at..]))
        }),
    }
}

/// A JSON text with [`REMOVED`] in the place of each secret, and else as it is.
///
/// # Errors
/// A member's name is no text.
fn without_secrets(text: &str) -> serde_json::Result<String> {
    let (mut kept, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find('"') {
        kept += &rest[..at];
        let (string, after) = first_value(&rest[at..])?;
        kept += string;
        rest = after;
        // A text before a colon is a member's name.
        let Some(member) = rest.trim_start().strip_prefix(':') else { continue };
        if is_secret(&serde_json::from_str::<String>(string)?) {
            kept += &format!(":\"{REMOVED}\"");
            rest = first_value(member)?.1;
        }
    }
    Ok(kept + rest)
}

/// The first value of a text of JSON, and what follows it.
fn first_value(text: &str) -> serde_json::Result<(&str, &str)> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
    values.next().transpose()?;
    Ok(text.split_at(values.byte_offset()))
}

/// Whether a member of this name is a secret. An author is none, nor is an authority, and `authorization` is one.
fn is_secret(name: &str) -> bool {
    let name = name.to_lowercase().replace(['_', '-'], "");
    let name = name.replace("authoriz", "auth").replace("authoris", "auth").replace("author", "");
    SECRETS.iter().any(|secret| name.contains(secret))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_text() {
        for (pattern, name, is_fit) in [
            ("eth_call", "eth_call", true),
            ("eth_call", "eth_calls", false),
            ("personal_*", "personal_unlockAccount", true),
            ("*sign*", "eth_signTypedData", true),
            ("*sign*", "eth_getLogs", false),
            ("*sendRawTransaction", "eth_sendRawTransaction", true),
            ("*", "", true),
        ] {
            assert_eq!(fits(pattern, name), is_fit, "{pattern} {name}");
        }
    }

    #[test]
    fn calls_that_sign_send_or_log_in_are_left_out_in_any_case() {
        let is_left_out = |method: &str| LEFT_OUT.iter().any(|pattern| is_of(pattern, method));
        for method in [
            "sendrawtransaction",
            "eth_sendRawTransaction",
            "walletpassphrase",
            "user.Login",
            "SignMessage",
            "eth_signTypedData",
        ] {
            assert!(is_left_out(method), "{method}");
        }
        for method in
            ["getSignaturesForAddress", "getSignatureStatuses", "eth_getTransactionByHash", "getblock"]
        {
            assert!(!is_left_out(method), "{method}");
        }
        assert!(is_of("Debug_*", "debug_traceCall"), "one of --leave-out");
    }

    #[test]
    fn a_secret_is_known_by_its_name() {
        for name in ["auth", "Authorization", "basic_auth", "userPwd", "mnemonic", "wallet-seed", "API_KEY"] {
            assert!(is_secret(name), "{name}");
        }
        for name in ["author", "authority", "name", "block"] {
            assert!(!is_secret(name), "{name}");
        }
    }

    #[test]
    fn secrets_are_removed_wherever_they_stand() {
        let params =
            r#"[{"user": "a", "API_Key" : {"x": [1]}, "deep":[{"private\u004bey":1.10}]}, "token", "b"]"#;
        let wanted =
            r#"[{"user": "a", "API_Key":"removed", "deep":[{"private\u004bey":"removed"}]}, "token", "b"]"#;
        assert_eq!(without_secrets(params).unwrap(), wanted);
    }

    #[test]
    fn what_is_no_secret_is_written_as_it_was_sent() {
        let line = |call: &str| Call::read(serde_json::from_str(call).unwrap()).map(|(_, line)| line);
        let params = r#"[340282366920938463463374607431768211455,1.10,1E2,{"z":1,"a":"\u00e4","z":2}]"#;
        let wanted = format!("{{\"method\":\"a\",\"params\":{params}}}");
        assert_eq!(line(&format!("{{\"params\":{params},\"id\":1,\"method\":\"a\"}}")).unwrap(), wanted);
        assert_eq!(
            line("{\"method\":\"a\",\"params\":[1,\r\n2]}").unwrap(),
            r#"{"method":"a","params":[1,  2]}"#
        );
        for no_call in
            [r#"{"method":"a","params":7}"#, r#"{"method":7}"#, "7", r#"{"method":"a","method":"b"}"#]
        {
            assert!(line(no_call).is_err(), "{no_call}");
        }
    }
}
