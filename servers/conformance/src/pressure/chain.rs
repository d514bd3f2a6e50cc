//! A chain that advances twenty times a second while several clients read it.

use std::collections::HashSet;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::thread;
use std::time::Instant;

use server_kit::testing::Connection;
use validator_state::{Commitment, Ledger, Pubkey, State};

use super::client::call;
use super::{Check, Subject, seconds};
use crate::servers::oracle_dir;

const CLIENTS: usize = 6;

/// The commitments, as requests name them.
const COMMITMENTS: [&str; 3] = ["processed", "confirmed", "finalized"];

/// One answer: the account and the commitment of its request, and what came.
struct Read {
    account: usize,
    commitment: usize,
    slot: u64,
    lamports: u64,
}

/// Reads, and compares everything read with the history of the same ledger.
pub fn press(subject: &Subject<'_>, check: &mut Check) {
    let dir = oracle_dir().join("ledger");
    let ledger = Ledger::load(&dir).expect("the ledger is in the repository");
    let accounts = accounts(&dir);
    let server = subject.server.start_advancing(50);
    let addr = server.addr;
    let logs: Vec<Vec<Read>> = thread::scope(|scope| {
        let accounts = &accounts;
        let clients = [(); CLIENTS].map(|()| scope.spawn(|| read(addr, accounts, subject.plan.chain_s)));
        clients.into_iter().map(|client| client.join().expect("the server answers")).collect()
    });

    let history = State::new(ledger);
    let first = history.tip(Commitment::Processed);
    let newest = logs.iter().flatten().map(|read| read.slot).max().expect("something was read");
    let produced = produced(&history, newest);
    let (mut backwards, mut apart, mut unknown, mut moved) = (0_u32, 0_u32, 0_u32, 0_u32);
    for log in &logs {
        let mut newest = [0; COMMITMENTS.len()];
        for read in log {
            backwards += u32::from(read.slot < newest[read.commitment]);
            newest[read.commitment] = read.slot;
            let account = &accounts[read.account].1;
            apart += u32::from(history.balance_at(account, read.slot) != read.lamports);
            moved += u32::from(history.balance_at(account, first) != read.lamports);
            unknown += u32::from(!produced.contains(&read.slot) && read.slot >= first);
        }
    }
    check.figure("clients", CLIENTS as f64, "");
    check.figure("accounts", accounts.len() as f64, "");
    check.figure("answers", logs.iter().map(Vec::len).sum::<usize>() as f64, "");
    check.figure("answers with a balance that had moved", f64::from(moved), "");
    check.figure("slots that the chain moved on by", (newest - first) as f64, "");
    check.figure("slots that went back", f64::from(backwards), "");
    check.figure("values that are not of their slot", f64::from(apart), "");
    check.figure("slots that were never produced", f64::from(unknown), "");
    check.demand(newest > first && moved > 0, || "nothing moved, so nothing was tested".to_owned());
    check.demand(backwards == 0, || format!("context.slot went back {backwards} times"));
    check.demand(apart == 0, || format!("{apart} values are not of their slot"));
    check.demand(unknown == 0, || format!("{unknown} slots were never produced"));
}

/// Every account of the ledger: one in eight moves, and the one of the original test.
fn accounts(dir: &Path) -> Vec<(String, Pubkey)> {
    let files = fs::read_dir(dir.join("accounts")).expect("the ledger is in the repository");
    files
        .filter_map(|file| {
            let name = file.ok()?.path().file_stem()?.to_str()?.to_owned();
            let pubkey = Pubkey::parse(&name).ok()?;
            Some((name, pubkey))
        })
        .collect()
}

/// Slots that the chain produces, from its first tip to `newest`: it is deterministic.
fn produced(history: &State, newest: u64) -> HashSet<u64> {
    let mut slots = HashSet::from([history.tip(Commitment::Processed)]);
    while history.tip(Commitment::Processed) < newest {
        history.advance();
        slots.insert(history.tip(Commitment::Processed));
    }
    slots
}

/// Requests on one connection all accounts and commitments in turn, in single calls and in batches.
fn read(addr: SocketAddr, accounts: &[(String, Pubkey)], for_s: u64) -> Vec<Read> {
    let end = Instant::now() + seconds(for_s);
    let mut connection = Connection::open(addr);
    let mut log = Vec::new();
    for turn in 0.. {
        if Instant::now() >= end {
            break;
        }
        let (account, commitment) = (turn % accounts.len(), turn % COMMITMENTS.len());
        let (name, level) = (&accounts[account].0, COMMITMENTS[commitment]);
        let body = call(turn, "getBalance", &format!(r#"["{name}",{{"commitment":"{level}"}}]"#));
        let is_batch = turn % 5 == 0;
        let answer = connection.post(&if is_batch { format!("[{body},{body}]") } else { body }).json();
        let entries = answer.as_array().map_or_else(|| vec![answer.clone()], Clone::clone);
        log.extend(entries.iter().map(|entry| Read {
            account,
            commitment,
            slot: entry["result"]["context"]["slot"].as_u64().expect("a slot"),
            lamports: entry["result"]["value"].as_u64().expect("a value"),
        }));
    }
    log
}
