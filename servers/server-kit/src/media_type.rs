//! The content types that a JSON-RPC request may have.

/// Whether a `Content-Type` is JSON, alone or with the one charset that JSON has, in any case.
pub fn is_json(content_type: &[u8]) -> bool {
    [&b"application/json"[..], b"application/json; charset=utf-8", b"application/json;charset=utf-8"]
        .iter()
        .any(|json| content_type.eq_ignore_ascii_case(json))
}

#[cfg(test)]
mod tests {
    use super::is_json;

    #[test]
    fn json_is_taken_in_any_case_and_nothing_else() {
        for json in ["application/json", "Application/JSON;CHARSET=UTF-8", "application/json; charset=utf-8"]
        {
            assert!(is_json(json.as_bytes()), "{json}");
        }
        for other in ["", "text/plain", "application/jsonp", "application/json; charset=latin1"] {
            assert!(!is_json(other.as_bytes()), "{other}");
        }
    }
}
