use super::*;
use crate::tests::each_is_refused;

fn expected(json: Value) -> Expected {
    serde_json::from_value(json).unwrap()
}

#[test]
fn what_is_written_is_written_again() {
    for written in [
        json!("ledger"),
        json!("no error"),
        json!({ "answer": "{\"id\":1,\"result\":2}" }),
        json!({ "result": null }),
        json!({ "result": { "a": 1, "at": 7 }, "ignore": ["/result/at"] }),
        json!({ "rises": "/result" }),
        json!({ "result": "0x1a", "within": { "/result": 2 } }),
        json!({ "schema": { "path": "a.json", "content": { "type": "string" } } }),
        json!({ "reference": { "server": "a", "url": "http://a:1/" } }),
        json!({ "reference": { "server": "a", "url": "" }, "differences": "counted", "ignore": ["/result/at"] }),
    ] {
        assert_eq!(serde_json::to_value(expected(written.clone())).unwrap(), written);
    }
    each_is_refused("expected answers", "{}", |text| -> Result<()> {
        serde_json::from_str::<Expected>(text)?.check()
    });
}

#[test]
fn what_is_ignored_may_differ_and_nothing_else() {
    let written = json!({ "result": { "price": "12", "at": 7 }, "ignore": ["/result/at"] });
    let truth = expected(written).truth(&json!(3)).unwrap();
    let answer = |result: Value| json!({ "jsonrpc": "2.0", "id": 3, "result": result });
    assert!(truth.accepts(&answer(json!({ "price": "12", "at": 8 }))));
    for wrong in [json!({ "price": "13", "at": 7 }), json!({ "price": "12" }), json!(null)] {
        assert!(!truth.accepts(&answer(wrong.clone())), "{wrong}");
    }
    assert!(!truth.accepts(&json!({ "jsonrpc": "2.0", "id": 4, "result": { "price": "12", "at": 7 } })));
}

#[test]
fn no_error_is_a_result_with_the_id() {
    let truth = expected(json!("no error")).truth(&json!("a")).unwrap();
    assert!(truth.accepts(&json!({ "id": "a", "result": null })) && truth.accepts(&truth.example()));
    assert!(truth.accepts(&json!({ "id": "a", "result": 1, "error": null })), "as JSON-RPC 1.x has it");
    for wrong in [
        json!({ "id": "b", "result": 1 }),
        json!({ "id": "a" }),
        json!({ "id": "a", "error": null }),
        json!({ "id": "a", "error": { "code": -1 } }),
        json!({ "id": "a", "result": 1, "error": { "code": -1 } }),
    ] {
        assert!(!truth.accepts(&wrong), "{wrong}");
    }
}

#[test]
fn a_result_that_fits_its_schema_is_right() {
    let schema = json!({ "schema": { "path": "a.json", "content": { "type": "string" } } });
    let truth = expected(schema).truth(&json!(1)).unwrap();
    assert!(truth.accepts(&json!({ "id": 1, "result": "a" })));
    for (wrong, named) in [
        (json!({ "id": 1, "result": 5 }), "at /result: want string"),
        (json!({ "id": 2, "result": "a" }), "no result with the request's id"),
        (json!({ "id": 1, "result": "a", "error": { "code": -1 } }), "no result"),
        (json!({ "id": 1 }), "no result"),
    ] {
        assert!(!truth.accepts(&wrong) && truth.misfit(&wrong).unwrap().contains(named), "{wrong}");
    }
}

#[test]
fn a_number_is_read_however_it_is_written() {
    let truth = expected(json!({ "rises": "/result/number" })).truth(&json!(1)).unwrap();
    let answer = |number: Value| json!({ "id": 1, "result": { "number": number } });
    assert!(truth.accepts(&truth.example()), "{}", truth.example());
    for (written, number) in
        [(json!(26), Some(26)), (json!("26"), Some(26)), (json!("0x1a"), Some(26)), (json!("x"), None)]
    {
        assert_eq!(truth.number(&answer(written.clone())), number);
        assert_eq!(truth.accepts(&answer(written)), number.is_some());
    }
}
