//! Bodies that are just too large, and the largest batches, as fast as they go.

use std::net::SocketAddr;
use std::thread;
use std::time::Instant;

use server_kit::testing::{RawAnswer, connect};

use super::client::{balance_call, call, exchange};
use super::{Check, MEMORY_BOUND_BYTES, Subject, process, seconds};

/// One kind of request, and when its answer is right.
#[derive(Clone, Copy)]
struct Kind<'a> {
    body: &'a str,
    is_right: fn(&RawAnswer) -> bool,
}

/// Floods, waits, and reads the memory.
pub fn press(subject: &Subject<'_>, check: &mut Check) {
    let plan = subject.plan;
    let server = subject.server.start_seeded(&[]);
    let large = format!("{:51201}", "[");
    let batch =
        |entry: &dyn Fn(usize) -> String| format!("[{}]", (0..100).map(entry).collect::<Vec<_>>().join(","));
    let (balances, blocks) = (batch(&balance_call), batch(&|id| call(id, "getBlocks", "[0,1000000]")));
    let of_100 = |answer: &RawAnswer| {
        answer.status == 200
            && serde_json::from_slice::<Vec<serde_json::Value>>(&answer.body)
                .is_ok_and(|answers| answers.len() == 100)
    };
    let kinds = [
        Kind { body: &large, is_right: |answer| answer.status == 413 },
        Kind { body: &balances, is_right: of_100 },
        Kind { body: &blocks, is_right: of_100 },
    ];
    // What a first request sets up is no growth.
    for kind in kinds {
        send_for(server.addr, kind, 0);
    }
    let before = process::resident_bytes(server.pid());
    let counts = thread::scope(|scope| {
        let senders = kinds.map(|kind| {
            let send = |_| scope.spawn(move || send_for(server.addr, kind, plan.flood_s));
            (0..plan.flood_connections).map(send).collect::<Vec<_>>()
        });
        senders.map(|threads| {
            let counts = threads.into_iter().map(|thread| thread.join().expect("answers can be read"));
            counts.fold((0, 0, 0), |all, one| (all.0 + one.0, all.1 + one.1, all.2 + one.2))
        })
    });
    let flooded = process::resident_bytes(server.pid());
    thread::sleep(seconds(plan.settle_s));
    let after = process::resident_bytes(server.pid());
    let names = ["51,201-byte bodies", "batches of 100 getBalance", "batches of 100 getBlocks"];
    for (name, (right, wrong, cut)) in names.into_iter().zip(counts) {
        check.figure(format!("{name}: right answers"), right as f64, "");
        check.figure(format!("{name}: connections ended while sending"), cut as f64, "");
        check.demand(wrong == 0, || format!("{name}: {wrong} wrong answers"));
        check.demand(right > 0, || format!("{name}: no right answer"));
        // A body that is refused need not be read to its end; anything else has to be answered.
        check.demand(cut == 0 || name.contains("bodies"), || format!("{name}: {cut} not answered"));
    }
    check.figure("resident memory before", before / 1_048_576.0, "MiB");
    check.figure("resident memory at the end of the flood", flooded / 1_048_576.0, "MiB");
    check.figure(format!("resident memory {} s later", plan.settle_s), after / 1_048_576.0, "MiB");
    check.figure("grown by", (after - before) / 1_048_576.0, "MiB");
    check.demand(after - before <= MEMORY_BOUND_BYTES, || "memory grew by more than 64 MiB".to_owned());
}

/// Sends at least one; counts right and wrong answers, and connections that ended before their answer.
fn send_for(addr: SocketAddr, kind: Kind<'_>, for_s: u64) -> (usize, usize, usize) {
    let end = Instant::now() + seconds(for_s);
    let (mut right, mut wrong, mut cut) = (0, 0, 0);
    let mut kept = None;
    loop {
        let mut connection = kept.take().unwrap_or_else(|| connect(addr).expect("the server accepts"));
        match exchange(&mut connection, kind.body) {
            Ok(answer) => {
                if (kind.is_right)(&answer) {
                    right += 1;
                } else {
                    wrong += 1;
                }
                // After a refusal the rest of the body is still under way, and the server may close.
                kept = (answer.status == 200 && !answer.closes).then_some(connection);
            }
            Err(_) => cut += 1,
        }
        if Instant::now() >= end {
            return (right, wrong, cut);
        }
    }
}
