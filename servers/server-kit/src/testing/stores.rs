//! `--blocks` and `--blocks-on`: the same answers, wherever slots are read from and whichever thread reads them.

use std::fs;
use std::path::Path;

use block_stores::{StoreKind, write_ledger};
use validator_state::SeededSpec;

use super::{Running, post};

/// One getBlocks, long enough that a walk shows.
const BLOCKS: &str = r#"{"jsonrpc":"2.0","id":1,"method":"getBlocks","params":[0,1000000]}"#;

/// The requests: lists, one of them with an escape in its method, an error, a batch, and what needs no store.
const BODIES: [&str; 7] = [
    BLOCKS,
    r#"{"jsonrpc":"2.0","id":2,"method":"getBlocks","params":[17,900,{"commitment":"confirmed"}]}"#,
    r#"{"jsonrpc":"2.0","id":3,"method":"getBlocksWithLimit","params":[2990,60]}"#,
    r#"{"jsonrpc":"2.0","id":4,"method":"get\u0042locks","params":[5,9]}"#,
    r#"{"jsonrpc":"2.0","id":5,"method":"getBlocks","params":[5,"9"]}"#,
    r#"[{"jsonrpc":"2.0","id":6,"method":"getBlocks","params":[0,30]},{"jsonrpc":"2.0","id":7,"method":"getSlot"}]"#,
    r#"{"jsonrpc":"2.0","id":8,"method":"getBlockHeight"}"#,
];

/// The name of the thread of `--blocks-on one-thread`.
const ONE_THREAD: &str = "blocks";

/// Asserts that a server with `args` gives the same answers, and counts them alike, from each store that is built in, on each thread
/// that may walk it; and that it is the requested thread. The ledger is written into a folder in `tmp`, where it is not
/// there yet.
///
/// # Panics
/// It does not.
pub fn assert_stores_answer_alike(program: &Path, args: &[&str], tmp: &str) {
    let name = program.file_name().expect("a program is a file").to_str().expect("its name is text");
    let ledger = &format!("{tmp}/ledger-of-{name}");
    write_ledger(Path::new(ledger), &SeededSpec { accounts: 3, slots: 3_000, seed: 5 })
        .expect("there is room for a ledger");
    let start = |blocks: &str, on: &str| {
        let own = ["--ledger", ledger, "--blocks", blocks, "--blocks-on", on, "--metrics", "127.0.0.1:0"];
        Running::start(program, &[&own, args].concat())
    };
    let memory = start("memory", "worker");
    let expected = BODIES.map(|body| post(memory.addr, body));
    assert!(expected[0].body.len() > 10_000, "{}", expected[0].body);
    for kind in StoreKind::ALL.into_iter().filter(|kind| kind.is_built()) {
        for on in ["worker", "blocking", "one-thread"] {
            let server = start(kind.name(), on);
            assert_eq!(
                (&server.ready["blocks"], &server.ready["blocks_on"]),
                (&kind.name().into(), &on.into())
            );
            assert_eq!(server.ready["ledger"], memory.ready["ledger"]);
            for (body, expected) in BODIES.iter().zip(&expected) {
                assert_eq!(&post(server.addr, body), expected, "--blocks {kind} --blocks-on {on}: {body}");
            }
            assert_eq!(server.totals(), memory.totals(), "--blocks {kind} --blocks-on {on}");
            let named = threads(&server).iter().filter(|name| *name == ONE_THREAD).count();
            assert_eq!(named, usize::from(on == "one-thread"), "--blocks {kind} --blocks-on {on}");
        }
    }
    let pooled = start("redb", "blocking");
    let before = threads(&pooled).len();
    post(pooled.addr, BLOCKS);
    assert!(threads(&pooled).len() > before, "the pool got no thread");
}

/// The names of a server's threads.
fn threads(server: &Running) -> Vec<String> {
    let tasks = fs::read_dir(format!("/proc/{}/task", server.pid())).expect("the server runs");
    let name = |task: std::io::Result<fs::DirEntry>| fs::read_to_string(task.ok()?.path().join("comm")).ok();
    tasks.filter_map(name).map(|name| name.trim_end().to_owned()).collect()
}
