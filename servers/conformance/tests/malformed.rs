//! What each server says to each kind of malformed request is as docs/CONTRACT.md has it, row by row, and within what the
//! contract allows: never a crash, a status of 500 or above, or a wrong `result`.
//!
//! `UPDATE_CONTRACT=1` writes what is said now into the page.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail loudly")]

use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use conformance::fuzz::wire::{Client, End};
use conformance::judge::Node;
use conformance::malformed::{Row, describe, http_rows, json_rows, large_rows, table};
use conformance::servers::{ALL, Server};
use server_kit::testing::{PATIENCE, Running, post};

/// What may pass before a server is taken to wait for more of a request.
const SILENCE: Duration = Duration::from_secs(3);

#[test]
fn json_is_answered_as_the_page_says() {
    hold("malformed JSON-RPC", "body", &json_rows());
}

#[test]
fn http_is_answered_as_the_page_says() {
    hold("other HTTP", "request", &http_rows());
}

/// What the slots are is tested elsewhere; here it is how many answers come.
#[test]
fn large_batches_are_answered_as_the_page_says() {
    let cells = |server: &Server| {
        let running = server.start_with(&["--accounts", "4", "--slots", "900000", "--seed", "1"]);
        let answer = |row: &Row| describe(&Client::new(running.addr).first(&row.request, PATIENCE));
        large_rows().iter().map(answer).collect::<Vec<String>>()
    };
    let columns = ALL.each_ref().map(cells);
    let rows = large_rows();
    let rows: Vec<(&str, Vec<String>)> = rows
        .iter()
        .enumerate()
        .map(|(index, row)| (row.name.as_str(), columns.iter().map(|column| column[index].clone()).collect()))
        .collect();
    compare("large batches", &table("batch", &rows));
}

fn hold(block: &str, first_column: &str, rows: &[Row]) {
    let node = Node::load();
    let columns: Vec<Vec<String>> = std::thread::scope(|scope| {
        let servers = ALL.each_ref().map(|server| scope.spawn(|| answers(server, rows, &node)));
        servers.into_iter().map(|server| server.join().unwrap()).collect()
    });
    let faults: Vec<&String> = columns.iter().flatten().filter(|cell| cell.contains("FAULT")).collect();
    assert!(faults.is_empty(), "{faults:#?}");
    let cells = |index: usize| columns.iter().map(|column| column[index].clone()).collect();
    let rows: Vec<(&str, Vec<String>)> =
        rows.iter().enumerate().map(|(index, row)| (row.name.as_str(), cells(index))).collect();
    compare(block, &table(first_column, &rows));
}

/// A server's column.
fn answers(server: &Server, rows: &[Row], node: &Node) -> Vec<String> {
    let running: Running = server.start(&[]);
    let client = Client::new(running.addr);
    let cell = |row: &Row| {
        let answer = client.first(&row.request, SILENCE);
        let fault = match &answer {
            Ok(answer) => node.fault(server, &row.request, answer),
            Err(End::NotHttp) => Some("not HTTP".to_owned()),
            Err(_) => None,
        };
        match fault {
            None => describe(&answer),
            Some(fault) => format!("{}: {}: FAULT: {fault}: {answer:?}", server.name, row.name),
        }
    };
    let cells = rows.iter().map(cell).collect();
    let health = post(running.addr, r#"{"jsonrpc":"2.0","id":1,"method":"getHealth"}"#);
    assert_eq!(health.json()["result"], "ok", "{}", server.name);
    cells
}

/// Compares a table with the marked block of the page.
fn compare(block: &str, table: &str) {
    static PAGE: Mutex<()> = Mutex::new(());
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
        return std::fs::write(&page, [before, &begin, table, &end, after].concat()).unwrap();
    }
    let new: Vec<&str> = table.lines().filter(|line| !written.lines().any(|other| other == *line)).collect();
    let old: Vec<&str> = written.lines().filter(|line| !table.lines().any(|other| other == *line)).collect();
    panic!("docs/CONTRACT.md says\n{}\nbut the servers say\n{}", old.join("\n"), new.join("\n"));
}
