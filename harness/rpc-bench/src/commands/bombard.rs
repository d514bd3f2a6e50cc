//! `rpc-bench bombard`: one plain bombardier run against a fresh server.

use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use bench_measure::client;
use bench_measure::metrics;
use bench_measure::run::{requirements, truth_of};
use bench_measure::subject::{self, Subject};
use bench_model::config::{ConfigDir, Environment, Tuning};
use bench_model::load::toolchain::Tool;
use bench_model::load::{Client, Load, LoadTool, bombardier};
use bench_system::probe::process_usage::cpu_time;
use validator_state::SeededSpec;

use super::{prepare, serve};

/// Which server, request and load.
#[derive(clap::Args)]
pub struct Args {
    /// The server: a name of servers.toml.
    name: String,
    /// The request: a name of workloads/.
    workload: String,
    /// Connections to hold.
    #[arg(value_parser = clap::value_parser!(u32).range(1..=60_000))]
    connections: u32,
    /// Seconds to bombard.
    #[arg(long, default_value = "5", value_parser = clap::value_parser!(u64).range(1..=600))]
    seconds: u64,
    /// Whose settings: the same for all, or the framework's own.
    #[arg(long, default_value = "equal", value_parser = serve::tuning)]
    tuning: Tuning,
    /// The load tool's client: fasthttp or http1.
    #[arg(long, default_value = "fasthttp", value_parser = client)]
    client: Client,
}

fn client(text: &str) -> Result<Client, String> {
    let found = [Client::Fasthttp, Client::Http1].into_iter().find(|client| client.name() == text);
    found.ok_or_else(|| "give fasthttp or http1".to_owned())
}

/// Starts a server, compares its answer with the truth, and shows bombardier's own output.
pub fn bombard(config: &ConfigDir, args: &Args) -> Result<bool> {
    let interrupt = prepare()?;
    let server = config.server(&args.name)?;
    let workload = config.workload(&args.workload)?;
    let body = workload.body()?;
    let tool = Tool::find(LoadTool::Bombardier, &config.tools())?;
    subject::build(std::slice::from_ref(&server))?;
    let environment = Environment::plain(args.tuning, SeededSpec::default());
    requirements::check_one(&server, std::slice::from_ref(&workload))?;
    let truth = truth_of(&server, &workload, &environment)?.truth;
    // The server holds the file open; a name is needed no longer.
    let stderr = tempfile::NamedTempFile::new().context("can't make a file for what the server prints")?;
    let opening = workload.opening(&environment.ledger())?;
    let started = Subject::start(&server, &environment, opening, stderr.path(), &interrupt);
    drop(stderr);
    let subject = started?;
    if let Err(answer) = client::verify(&subject.target, body, &truth)? {
        bail!("{} answers {} wrongly: {answer}", server.name, workload.name);
    }
    let (name, addr) = (&server.name, subject.target.addr());
    bench_system::say!("{name} on {addr}; its answer to {} is the true one\n", workload.name);
    let counts = |subject: &Subject| subject.metrics.as_ref().map(metrics::server_counts).transpose();
    let cpu = |subject: &Subject| subject.pid().map(cpu_time).transpose();
    let (before, cpu_before) = (counts(&subject)?, cpu(&subject)?);
    let (connections, duration_ms, client) = (args.connections, args.seconds * 1_000, args.client);
    let access = subject.target.access().clone();
    ensure!(
        !access.headers.are_more_than_a_host(),
        "server {name}: bombardier gets no headers but Host, since others would see them; put its load on with run or try"
    );
    let load = Load { connections, duration_ms, timeout_ms: 2_000, client, access, ..Load::default() };
    let arguments =
        bombardier::arguments(&load, bombardier::Body::Text(body), &subject.target.socket_url(), &[]);
    let mut child = Command::new(&tool.path).args(&arguments).spawn().context("can't start bombardier")?;
    let limit = std::time::Duration::from_secs(args.seconds + 15);
    let ended = interrupt.wait(limit, || Ok(child.try_wait()?));
    if !matches!(ended, Ok(Some(_))) {
        // It may have ended in the meantime, by the same Ctrl-C.
        let _ = child.kill();
        let _ = child.wait();
    }
    let status = ended?.with_context(|| format!("bombardier did not end within {limit:?}"))?;
    let used = cpu(&subject)?.zip(cpu_before).map(|(now, before)| now.since(before).total_s());
    if let (Some(before), Some(after)) = (before, counts(&subject)?) {
        let (served, errors) = (after.requests - before.requests, after.errors - before.errors);
        bench_system::say!("\nthe server counted {served} calls, {errors} of them answered with an error");
        if let Some(used) = used.filter(|_| served > 0) {
            bench_system::say!("server CPU per request: {:.2} µs", used * 1e6 / served as f64);
        }
    }
    subject.process.stop(&interrupt)?;
    if !status.success() {
        bench_system::note!("exit code 1: bombardier ended with {status}");
    }
    Ok(status.success())
}
