//! Each server's answer to each kind of malformed request is the documented one in docs/CONTRACT.md, row by row, and within
//! what the contract allows: never a crash, a status of 500 or above, or a wrong `result`.
//!
//! `UPDATE_CONTRACT=1` writes the present answers into the page.

use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use conformance::fuzz::wire::{Client, End};
use conformance::judge::Node;
use conformance::malformed::{Row, describe, http_rows, json_rows, large_rows, table, websocket};
use conformance::servers::{Server, all, chosen_names};
use server_kit::testing::sockets::HEALTH;
use server_kit::testing::websocket_tests::assert_answers;
use server_kit::testing::ws_client::WsConnection;
use server_kit::testing::{PATIENCE, Running, post};

/// After this time without an answer a server counts as waiting for more of a request.
const SILENCE: Duration = Duration::from_secs(3);

#[test]
fn json_is_answered_as_documented() {
    check("malformed JSON-RPC", "body", &json_rows());
}

#[test]
fn http_is_answered_as_documented() {
    check("other HTTP", "request", &http_rows());
}

/// The slots themselves are tested elsewhere; this is about how many answers come.
#[test]
fn large_batches_are_answered_as_documented() {
    let cells = |server: &Server| {
        let running = server.start_large();
        let answer = |row: &Row| describe(&Client::new(running.addr).first(&row.request, PATIENCE));
        large_rows().iter().map(answer).collect::<Vec<String>>()
    };
    let columns: Vec<Vec<String>> = all().iter().map(cells).collect();
    compare("large batches", "batch", &names(&large_rows()), &columns);
}

#[test]
fn websocket_is_answered_as_documented() {
    let rows = &websocket::rows();
    let cells = |server: &Server| -> Vec<String> {
        let running = server.start_with_ws(&[]);
        let cells = at_once(rows, |row| websocket::cell(row, &running, SILENCE));
        assert_eq!(post(running.addr, HEALTH).json()["result"], "ok", "{}", server.name);
        assert_answers(&mut WsConnection::open(&running));
        cells
    };
    let columns = std::thread::scope(|scope| {
        let servers: Vec<_> = all().iter().map(|server| scope.spawn(move || cells(server))).collect();
        servers.into_iter().map(|server| server.join().unwrap()).collect::<Vec<Vec<String>>>()
    });
    let names: Vec<&str> = rows.iter().map(|row| row.name).collect();
    compare("other WebSocket", "sent", &names, &columns);
}

/// A cell of each row, in their order. Several rows wait for [`SILENCE`], so they do it together.
fn at_once<R: Sync>(rows: &[R], cell: impl Fn(&R) -> String + Sync) -> Vec<String> {
    let cell = &cell;
    std::thread::scope(|scope| {
        let parts = rows.chunks(3).map(|rows| scope.spawn(|| rows.iter().map(cell).collect::<Vec<_>>()));
        let parts: Vec<_> = parts.collect();
        parts.into_iter().flat_map(|part| part.join().unwrap()).collect()
    })
}

fn names(rows: &[Row]) -> Vec<&str> {
    rows.iter().map(|row| row.name.as_str()).collect()
}

fn check(block: &str, first_column: &str, rows: &[Row]) {
    let node = &Node::load();
    let columns: Vec<Vec<String>> = std::thread::scope(|scope| {
        let servers: Vec<_> =
            all().iter().map(|server| scope.spawn(move || answers(server, rows, node))).collect();
        servers.into_iter().map(|server| server.join().unwrap()).collect()
    });
    let faults: Vec<&String> = columns.iter().flatten().filter(|cell| cell.contains("FAULT")).collect();
    assert!(faults.is_empty(), "{faults:#?}");
    compare(block, first_column, &names(rows), &columns);
}

/// A server's column.
fn answers(server: &Server, rows: &[Row], node: &Node) -> Vec<String> {
    let running: Running = server.start(&[]);
    let client = Client::new(running.addr);
    let cell = |row: &Row| {
        let answer = client.first(&row.request, SILENCE);
        let fault = match &answer {
            Ok(answer) => node.fault(&server.name, &row.request, answer),
            Err(End::NotHttp) => Some("not HTTP".to_owned()),
            Err(_) => None,
        };
        match fault {
            None => describe(&answer),
            Some(fault) => format!("{}: {}: FAULT: {fault}: {answer:?}", server.name, row.name),
        }
    };
    let cells = at_once(rows, cell);
    let health = post(running.addr, HEALTH);
    assert_eq!(health.json()["result"], "ok", "{}", server.name);
    cells
}

/// Compares the rows, with each server's column, with the marked block of the page: it shows all servers.
fn compare(block: &str, first_column: &str, rows: &[&str], columns: &[Vec<String>]) {
    static PAGE: Mutex<()> = Mutex::new(());
    if chosen_names().is_some() {
        return;
    }
    let names: Vec<&str> = all().iter().map(|server| server.name.as_str()).collect();
    let cells = |index: usize| columns.iter().map(|column| column[index].clone()).collect();
    let rows: Vec<(&str, Vec<String>)> =
        rows.iter().enumerate().map(|(index, name)| (*name, cells(index))).collect();
    let table = table(first_column, &names, &rows);
    let _turn = PAGE.lock().unwrap_or_else(PoisonError::into_inner);
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/CONTRACT.md");
    let text = std::fs::read_to_string(&page).unwrap();
    let (begin, end) = (format!("<!-- begin {block} -->\n"), format!("<!-- end {block} -->"));
    let (before, rest) = text.split_once(&begin).unwrap_or_else(|| panic!("docs/CONTRACT.md lacks {begin}"));
    let (written, after) = rest.split_once(&end).unwrap_or_else(|| panic!("docs/CONTRACT.md lacks {end}"));
    if written == table {
        return;
    }
    if std::env::var_os("UPDATE_CONTRACT").is_some() {
        return std::fs::write(&page, [before, &begin, &table, &end, after].concat()).unwrap();
    }
    let new: Vec<&str> = table.lines().filter(|line| !written.lines().any(|other| other == *line)).collect();
    let old: Vec<&str> = written.lines().filter(|line| !table.lines().any(|other| other == *line)).collect();
    panic!("docs/CONTRACT.md says\n{}\nbut the servers say\n{}", old.join("\n"), new.join("\n"));
}
