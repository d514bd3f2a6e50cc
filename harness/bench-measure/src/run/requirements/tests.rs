use std::net::TcpListener;

use super::*;
use bench_core::config::{ConfigDir, Holds, Overrides, Placement};

fn shipped() -> ConfigDir {
    ConfigDir::of_repository()
}

fn legacy(holds: Holds) -> Server {
    Server { holds, ..shipped().server("legacy").unwrap() }
}

#[test]
fn a_stated_answer_needs_no_ledger() {
    let own = r#"{"name":"own","why":"a test","body":"{\"id\":1,\"method\":\"getSlot\"}","expected":{"answer":"{}"}}"#;
    let own: Workload = serde_json::from_str(own).unwrap();
    assert!(check_one(&legacy(Holds::Nothing), &[own]).is_ok());
}

#[test]
fn a_server_and_a_load_tool_that_can_not_meet_are_named() {
    let (campaign, _) = shipped().campaign("websocket").unwrap();
    let own = |transport, in_flight| Overrides { transport, in_flight, ..Overrides::default() };
    let said = |campaign: &Campaign, name: &str, overrides: Overrides| {
        let server = Server { overrides, ..shipped().server(name).unwrap() };
        check_transport(campaign, &server).map_err(|error| format!("{error:#}")).err()
    };
    let websocket = Some(Transport::WebSocket);
    assert_eq!(said(&campaign, "actix", own(websocket, Some(16))), None);
    assert_eq!(said(&campaign, "control", own(None, None)), None);
    let refusal = said(&campaign, "control", own(websocket, None)).unwrap();
    assert!(refusal.starts_with("campaign websocket: server control: ") && refusal.contains("ready.line.ws"));
    let refusal = said(&campaign, "actix", own(websocket, Some(3))).unwrap();
    assert!(refusal.contains("a multiple of in_flight"), "{refusal}");
    let refusal = said(&campaign, "actix", own(None, Some(2))).unwrap();
    assert!(refusal.contains("over HTTP"), "{refusal}");
    let batch = || Overrides { batch: Some(10), ..own(None, None) };
    assert_eq!(said(&campaign, "actix", batch()), None);
    let refusal = said(&campaign, "control", batch()).unwrap();
    assert!(refusal.contains("leave batch out"), "{refusal}");
    let (rates, _) = shipped().campaign("head-of-line").unwrap();
    assert!(said(&rates, "actix", batch()).unwrap().contains("closed loops alone"));
    let closing = || Overrides { keep_alive: Some(false), ..own(None, None) };
    let refusal = said(&campaign, "actix", closing()).unwrap();
    assert!(refusal.contains("rpc-load can't close a connection"), "{refusal}");
    let campaign = Campaign { tool: LoadTool::Bombardier, ..campaign };
    assert_eq!(said(&campaign, "actix", closing()), None);
    let refusal = said(&campaign, "actix", batch()).unwrap();
    assert!(refusal.contains("bombardier can't send batches"), "{refusal}");
    let refusal = said(&campaign, "actix", own(websocket, None)).unwrap();
    assert!(refusal.contains("bombardier can't send over WebSocket"), "{refusal}");
}

#[test]
fn a_server_that_runs_already_is_not_to_be_changed() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let at = |url: &str| -> Server {
        let text = format!(r#"{{"name":"node","title":"a node","ready":{{"running":{{"url":"{url}"}}}}}}"#);
        serde_json::from_str(&text).unwrap()
    };
    let server = at(&url);
    let (quick, _) = shipped().campaign("quick").unwrap();
    let mut plain = Campaign { duets: None, ..quick };
    plain.environment.placement = Placement::Free;
    check(&plain, std::slice::from_ref(&server), &[]).unwrap();
    assert_eq!(notes(&server).len(), 2);
    let mut pinned = plain.clone();
    pinned.environment.placement = Placement::OneCore;
    let said = check(&pinned, std::slice::from_ref(&server), &[]).unwrap_err().to_string();
    assert!(said.contains("server node: runs already, and placement"), "{said}");
    // Not the listener's port once it is dropped: another test may be given it, or be starting a process that holds it.
    let said = format!("{:#}", check(&plain, &[at("http://127.0.0.1:1")], &[]).unwrap_err());
    assert!(said.contains("no connection; start the service first"), "{said}");
}
