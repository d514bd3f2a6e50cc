//! A soak of a server that leaks, planted: a relay in front of actix that keeps what it has passed on. Skipped without Python.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::bench::{Bench, stderr};

/// Passes connections on to the program of its arguments, whose ready line it gives with its own address, and keeps some KiB of each answer
/// where `LEAK` says how many.
const RELAY: &str = r#"
import json, os, socket, subprocess, sys, threading
leak, kept = int(os.environ.get("LEAK", "0")), []
server = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE)
ready = json.loads(server.stdout.readline())
host, port = ready["addr"].rsplit(":", 1)
listener = socket.create_server(("127.0.0.1", 0), backlog=64)
ready["addr"] = "127.0.0.1:%d" % listener.getsockname()[1]
print(json.dumps(ready), flush=True)
def copy(source, target, keep):
    try:
        while data := source.recv(65536):
            if keep and leak:
                kept.append(os.urandom(leak * 1024))
            target.sendall(data)
    except OSError:
        pass
    for end in (source, target):
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
while True:
    client, _ = listener.accept()
    node = socket.create_connection((host, int(port)))
    threading.Thread(target=copy, args=(client, node, False), daemon=True).start()
    threading.Thread(target=copy, args=(node, client, True), daemon=True).start()
"#;

/// A soak of twelve windows of a second; `None`, reported, without Python or a load tool.
fn soaked(leak_kib: u32) -> Option<(Bench, Option<i32>, String)> {
    if Command::new("python3").arg("--version").output().is_err() {
        eprintln!("SKIPPED: python3 is not installed");
        return None;
    }
    let bench = Bench::new(1)?;
    bench.link_server("load-generator");
    bench.write("relay.py", RELAY);
    let servers = fs::read_to_string(bench.path("servers.toml")).unwrap();
    let actix = bench.path("server-actix");
    let relayed =
        servers.replacen(&format!("program = {actix:?}"), "program = \"/usr/bin/env\"", 1).replacen(
            "args = [",
            &format!("args = [\"LEAK={leak_kib}\", \"python3\", {:?}, {actix:?}, ", bench.path("relay.py")),
            1,
        );
    bench.write("servers.toml", &relayed);
    let mut soak = bench.command(&[
        "soak",
        "actix",
        "--minutes",
        "1",
        "--window-seconds",
        "5",
        "--rate",
        "100",
        "--connections",
        "4",
    ]);
    let output = soak
        .env("RPC_LOAD", Path::new(env!("CARGO_BIN_EXE_rpc-bench")).with_file_name("rpc-load"))
        .output()
        .unwrap();
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), stderr(&output));
    Some((bench, output.status.code(), said))
}

#[test]
fn a_planted_leak_grows_and_without_it_memory_does_not() {
    let Some((bench, code, said)) = soaked(64) else { return };
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("**Memory: growing**"), "{said}");
    assert!(bench.report().contains("Every window") && bench.folder().join("soak.svg").is_file());
    let Some((_, _, said)) = soaked(0) else { return };
    assert!(said.contains("**Memory: flat**"), "{said}");
}
