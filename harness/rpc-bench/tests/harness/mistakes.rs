//! Wrong calls and things that are missing: one clear line, exit code 2, nothing begun.

use std::fs;
use std::net::TcpListener;

use crate::bench::{Bench, refused, stderr};

fn refuses(bench: &Bench, args: &[&str], holds: &[&str]) {
    refused(&bench.run(args), holds);
}

#[test]
fn names_that_do_not_exist() {
    let Some(bench) = Bench::new(1) else { return };
    refuses(&bench, &["run", "nope"], &["no \"nope\"", "there are: tiny"]);
    refuses(&bench, &["serve", "nope"], &["no server \"nope\"", "there are: actix, control"]);
    refuses(&bench, &["serve", "actix", "--workload", "nope"], &["no \"nope\"", "there are: getBalance"]);
    refuses(&bench, &["report", "nope"], &["nope is no results folder"]);
    refuses(&bench, &["run", "--resume", "nope"], &["nope is no results folder"]);
    refuses(&bench, &["run", "tiny", "--fast"], &["--fast"]);
    refuses(&bench, &["fly"], &["fly"]);
    refuses(&bench, &["why", "actix", "actix", "getBalance"], &["actix is given twice"]);
    assert!(!bench.path("results").exists(), "nothing was begun");
}

#[test]
fn rubbish_in_configuration_files() {
    let (campaign, workload, servers) = ("campaigns/tiny.toml", "workloads/getBalance.toml", "servers.toml");
    let cases = [
        (campaign, "[3]", "[\"three\"]", &["tiny.toml:", "connections"][..]),
        (campaign, "connections = [3]", "connections = [59999]", &["holds at most"]),
        (workload, "\"method\": \"getBalance\"", "\"m\": 1", &["getBalance.toml", "has no method"]),
        (
            workload,
            "getBalance\", \"params\": [",
            "getBalance\", \"params\": [1,",
            &["answers it with an error"],
        ),
        (servers, "ready", "open_files = 10\nready", &["field open_files: 10 is out"]),
        (servers, "ready", "open_files = 2147483000\nready", &["is more than this user can give"]),
        (
            servers,
            "/server-control\"",
            "/nothing\"",
            &["server control: there is no", "/nothing; was it built?"],
        ),
        // A build that makes no program is known when it has ended.
        (servers, "/server-actix\"\n", "/nothing\"\nbuild = [\"true\"]\n", &["/nothing; was it built?"]),
    ];
    for (file, from, to, holds) in cases {
        let Some(bench) = Bench::new(1) else { return };
        bench.replace(file, from, to);
        refuses(&bench, &["run", "tiny"], holds);
        assert!(file != "servers.toml" || !bench.path("results").exists(), "{to:?}: nothing was begun");
    }
}

#[test]
fn a_mix_where_one_body_is_needed() {
    let Some(bench) = Bench::new(1) else { return };
    bench.write(
        "workloads/mix.toml",
        "why = \"a test\"\n[[request]]\nweight = 3\nmethod = \"getSlot\"\n[[request]]\nweight = 1\nmethod \
         = \"getHealth\"\n",
    );
    let holds = ["workload mix has several requests, and this sends one body only"];
    bench.replace("campaigns/tiny.toml", "[\"getBalance\"]", "[\"mix\"]");
    refuses(&bench, &["run", "tiny"], &[&holds[..], &["campaign tiny"]].concat());
    assert!(!bench.path("results").exists(), "nothing was begun");

    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = taken.local_addr().unwrap().to_string();
    let output = bench.run(&["serve", "actix", "--workload", "mix", "--listen", &addr]);
    let said = String::from_utf8_lossy(&output.stdout);
    let words = "mix is a mix, of which this is one request: getSlot (75 %), getHealth (25 %)";
    assert!(said.contains(words) && said.contains("curl"), "{said}");
}

#[test]
fn a_results_folder_that_cannot_be_written() {
    let Some(bench) = Bench::new(1) else { return };
    bench.write("results", "a file stands where the folder should be");
    refuses(&bench, &["run", "tiny"], &["can't create", "choose another folder with --results"]);
}

#[test]
fn a_load_tool_that_is_missing() {
    let Some(bench) = Bench::new(1) else { return };
    let missing = bench.command(&["run", "tiny"]).env("BOMBARDIER", bench.path("nothing")).output().unwrap();
    refused(&missing, &["there is no such file"]);

    // No bombardier and no Go: a `tools` folder that was never built in, and an empty PATH.
    fs::write(bench.path("tools/go.mod"), "module x\n").unwrap();
    let none =
        bench.command(&["tools"]).env_remove("BOMBARDIER").env("PATH", bench.path("tools")).output().unwrap();
    assert_eq!(refused(&none, &["install Go 1.24 or newer, or set BOMBARDIER"]).lines().count(), 1);
}

#[test]
fn a_program_that_is_no_load_tool() {
    let Some(bench) = Bench::new(1) else { return };
    let echo = bench.command(&["run", "tiny"]).env("BOMBARDIER", "/bin/echo").output().unwrap();
    assert_eq!(echo.status.code(), Some(1), "{}", stderr(&echo));
    assert_eq!(bench.outcomes(), ["tool_failed", "tool_failed"]);
    assert!(bench.report().contains("not what its template gives"), "{}", bench.report());
}

#[test]
fn a_port_that_is_taken() {
    let Some(bench) = Bench::new(1) else { return };
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = taken.local_addr().unwrap().to_string();
    let output = bench.run(&["serve", "actix", "--listen", &addr]);
    assert!(!output.status.success());
    let said = stderr(&output);
    assert!(said.contains(&addr) && said.lines().count() == 1, "{said}");
}

#[test]
fn few_open_files() {
    let Some(bench) = Bench::new(1) else { return };
    bench.replace("campaigns/tiny.toml", "connections = [3]", "connections = [3, 900]");
    let call = format!(
        "ulimit -n 256; exec \"$0\" --config {0} --results {0}/results run tiny",
        bench.dir.path().display()
    );
    let mut command = std::process::Command::new("sh");
    command.args(["-c", &call, env!("CARGO_BIN_EXE_rpc-bench")]).env("BOMBARDIER", bench.path("bombardier"));
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(bench.outcomes().len(), 2, "900 connections are left out");
    assert!(bench.report().contains("can't hold or send that much: 900 connections"), "{}", bench.report());
}

#[test]
fn a_run_goes_on_where_nobody_reads_what_it_prints() {
    let Some(bench) = Bench::new(1) else { return };
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = bench.command(&["run", "tiny"]);
    let status = command.stdout(writer.try_clone().unwrap()).stderr(writer).status().unwrap();
    assert_eq!(status.code(), Some(0));
    assert_eq!(bench.outcomes(), ["completed", "completed"]);
}
