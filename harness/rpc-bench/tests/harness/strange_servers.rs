//! Servers that say they are ready in a way that no server should: one clear reason in the report, soon, and nothing is
//! sent elsewhere.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use crate::bench::{Bench, stderr};

/// A campaign with a server in place of actix that is this script.
fn with_script(script: &str) -> Option<Bench> {
    let bench = Bench::new(1)?;
    let path = bench.path("script");
    fs::write(&path, format!("#!/bin/sh\n{script}\nexec sleep 600\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    bench.replace("servers.toml", bench.path("server-actix").to_str().unwrap(), path.to_str().unwrap());
    Some(bench)
}

/// Runs it, and gives why the server's trial failed.
fn reason(bench: &Bench) -> String {
    let output = bench.run(&["run", "tiny"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let failed = bench.observations().into_iter().find(|o| o["server"] == "actix").unwrap();
    assert_eq!(failed["outcome"]["kind"], "server_died");
    // It runs on, without being ready.
    assert!(bench.report().contains(" did not start, or ended by itself ("));
    failed["outcome"]["reason"].as_str().unwrap().to_owned()
}

#[test]
fn what_no_server_should_print_is_refused_soon_and_kept_in_part() {
    let long = "head -c 10000000 /dev/zero | tr '\\0' x";
    let endless = "its first line does not end within 64.0 KiB";
    for (script, words) in [
        (&*format!("{long}; echo"), endless),
        (&*format!("{long}; :"), endless),
        ("printf starting", "its ready line is not JSON: its first line has no end after 8 bytes: starting"),
        (
            &*format!("{long} >&2; echo not JSON"),
            "its ready line is not JSON: \"not JSON\": [up to 9,934,464 bytes cut] …xxx",
        ),
    ] {
        let Some(bench) = with_script(script) else { return };
        let began = Instant::now();
        let reason = reason(&bench);
        assert!(reason.contains(words) && reason.chars().count() <= 1_000, "{script}: {reason}");
        // Each start of a server that is waited for takes a minute; there are two, and nothing else comes near that.
        assert!(began.elapsed() < Duration::from_secs(60), "{script}: {:?}", began.elapsed());
        let environment = fs::metadata(bench.folder().join("environment.json")).unwrap().len();
        assert!(bench.report().len() < 200_000 && environment < 200_000, "{script}: {environment}");
    }
}

#[test]
fn an_address_that_is_not_on_loopback_is_refused_before_it_is_contacted() {
    // An address of documentation, which nobody has: a connection would time out.
    for (line, field) in [
        (r#"{"addr":"192.0.2.1:80","metrics":"127.0.0.1:1"}"#, "/addr"),
        (r#"{"addr":"127.0.0.1:1","metrics":"192.0.2.1:80"}"#, "/metrics"),
    ] {
        let Some(bench) = with_script(&format!("echo '{line}'")) else { return };
        let said = reason(&bench);
        let words = format!(
            "its ready line names 192.0.2.1:80 ({field}), which is not on loopback, so nothing was sent there"
        );
        assert!(said.contains(&words) && said.contains("i_own_this_target = true"), "{said}");
    }
    let line = r#"{"addr":"127.0.0.1:1","metrics":"192.0.2.1:80"}"#;
    let Some(bench) = with_script(&format!("echo '{line}'")) else { return };
    bench.replace("servers.toml", "addr = \"/addr\"", "i_own_this_target = true, addr = \"/addr\"");
    let output = bench.run(&["run", "tiny"]);
    let failed = bench.observations().into_iter().find(|o| o["server"] == "actix").unwrap();
    assert_eq!(failed["outcome"]["kind"], "no_answer", "it was contacted: {}", stderr(&output));
}
