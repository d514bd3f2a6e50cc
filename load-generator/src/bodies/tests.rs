//! Calls as they are sent, and answers as they are judged.

use super::*;

fn bodies(text: &str, expected: Option<&str>, batch: u32) -> Bodies {
    Bodies::new(text, "bodies", expected, batch).unwrap()
}

#[test]
fn ids_are_put_in_or_replaced_and_nothing_else_changes() {
    let text = "{\"jsonrpc\":\"2.0\",\"method\":\"a\",\"params\":[\"\\\"id\\\":7\"]}\n\n { \"id\" : \"x\" , \"method\":\"b\"}\n";
    let one = bodies(text, None, 1);
    assert_eq!(one.request(4), r#"{"id":4,"jsonrpc":"2.0","method":"a","params":["\"id\":7"]}"#);
    assert_eq!(one.request(5), r#"{ "id" : 5 , "method":"b"}"#);
    let two = bodies(r#"{"method":"a"}"#, None, 2);
    assert_eq!(two.request(3), r#"[{"id":6,"method":"a"},{"id":7,"method":"a"}]"#);
}

#[test]
fn what_is_no_call_is_an_error_that_names_its_line() {
    for text in ["{\"method\":\"a\"}\n[]", "{\"method\":\"a\"}\n{\"method\":1}", "{\"method\":\"a\"}\n{"] {
        let error = format!("{:#}", Bodies::new(text, "FILE", None, 1).unwrap_err());
        assert!(error.contains("FILE, line 2"), "{error}");
    }
    assert!(Bodies::new("\n", "FILE", None, 1).is_err());
    let error = Bodies::new(r#"{"method":"a"}"#, "FILE", Some("no-such-file"), 1).unwrap_err();
    assert!(format!("{error:#}").contains("no such file"), "{error:#}");
}

#[test]
fn a_file_may_begin_with_a_byte_order_mark_and_is_utf_8() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("calls.jsonl");
    let read = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        read_text(&path).map_err(|error| format!("{error:#}"))
    };
    assert_eq!(read(b"\xef\xbb\xbf{}"), Ok("{}".to_owned()));
    for (bytes, why) in [(&b"\xff\xfe{\0"[..], "UTF-16"), (b"\xfe\xff\0{", "UTF-16"), (b"\xe4", "no UTF-8")] {
        assert!(read(bytes).unwrap_err().contains(why));
    }
    let batch = Bodies::new("[{\"method\":\"a\"}]", "FILE", None, 1).unwrap_err();
    assert_eq!(
        format!("{batch:#}"),
        "FILE, line 1: it is an array: give a call a line, and --batch for arrays"
    );
}

#[test]
fn an_answer_has_its_requests_number_and_an_outcome() {
    let bodies = bodies(r#"{"method":"a"}"#, Some(r#"{"x":1,"y":[null]}"#), 1);
    let read = |text: &str| bodies.read(text);
    for same in [r#"{"x":1,"y":[null]}"#, r#"{ "y": [null], "x": 1 }"#] {
        let answer = Message::Answer(9, Outcome::Answered);
        assert_eq!(read(&format!(r#"{{"jsonrpc":"2.0","result":{same},"id":9}}"#)), answer);
    }
    assert_eq!(read(r#"{"id":9,"result":null}"#), Message::Answer(9, Outcome::WrongAnswer));
    let error = r#"{"id":9,"error":{"code":-32601,"message":"no"}}"#;
    assert_eq!(read(error), Message::Answer(9, Outcome::RpcError(-32601)));
    assert_eq!(read(r#"{"id":9}"#), Message::Answer(9, Outcome::Malformed));
    let of = |error: &str| read(&format!(r#"{{"id":9,"result":null,"error":{error}}}"#));
    assert_eq!(of(r#"{"code":-8,"message":"out of range"}"#), Message::Answer(9, Outcome::RpcError(-8)));
    assert_eq!(of("null"), Message::Answer(9, Outcome::WrongAnswer), "null is no error, and a result");
    let text = |words: &str| Message::Answer(9, Outcome::ErrorText(Words::of(words)));
    assert_eq!(of(r#"{"code":"E_LIMIT","message":"no"}"#), text("E_LIMIT"));
    assert_eq!(of(r#"{"message":"too many"}"#), text("too many"));
    assert_eq!(of(r#"{"code":null}"#), text(r#"{"code":null}"#));
    assert_eq!(of(r#""too many""#), text("too many"));
    assert_eq!(of("1.5"), text("1.5"));
    let both = r#"{"id":9,"result":1,"error":{"code":-8}}"#;
    assert_eq!(read(both), Message::Answer(9, Outcome::Malformed), "which of the two holds?");
    let fault = r#"{"id":null,"error":{"code":-32700,"message":"no"}}"#;
    assert_eq!(read(fault), Message::Unmatched(Outcome::RpcError(-32700)));
    for id in ["", r#""id":null,"#, r#""id":9,"#, r#""id":"9","#, r#""id":{"a":[9]},"#] {
        let call = format!(r#"{{{id}"method":"slotNotification","params":{{}}}}"#);
        assert_eq!(read(&call), Message::Notification, "{call}");
    }
    let other = Message::Unmatched(Outcome::OtherCall);
    assert_eq!(read(r#"{"id":"9","result":{"x":1,"y":[null]}}"#), other, "the id of another client");
    assert_eq!(read("hello"), Message::Unmatched(Outcome::Malformed));
}

#[test]
fn a_batch_is_answered_when_each_call_is_once_in_any_order() {
    let bodies = bodies("{\"method\":\"a\"}\n{\"method\":\"b\"}", Some("null"), 2);
    let read = |text: &str| bodies.read(text);
    let ok = Message::Answer(3, Outcome::Answered);
    assert_eq!(read(r#"[{"id":7,"result":null},{"id":6,"result":null}]"#), ok);
    let wrong = Message::Answer(3, Outcome::WrongAnswer);
    assert_eq!(read(r#"[{"id":7,"result":1},{"id":6,"result":null}]"#), wrong);
    let malformed = Message::Answer(3, Outcome::Malformed);
    for text in [
        r#"[{"id":6,"result":null}]"#,
        r#"[{"id":6,"result":null},{"id":6,"result":null}]"#,
        r#"[{"id":6,"result":null},{"id":8,"result":null}]"#,
    ] {
        assert_eq!(read(text), malformed, "{text}");
    }
    assert_eq!(read("[]"), Message::Unmatched(Outcome::Malformed));
}
