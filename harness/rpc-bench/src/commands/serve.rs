//! `rpc-bench serve`: one server in the foreground, for a person.

use std::os::unix::process::CommandExt;
use std::process::Command;

use anyhow::{Context, Result, bail};
use bench_core::config::{ConfigDir, Environment, Server, Tuning};
use bench_core::load::{Load, LoadTool};
use bench_core::target::Target;
use bench_core::workload::Workload;
use bench_measure::probe::host;
use bench_measure::subject::{self, Files};
use bench_report::shell;
use validator_state::SeededSpec;

/// Which server, and where.
#[derive(clap::Args)]
pub struct Args {
    /// The server: a name of servers.toml.
    name: String,
    /// The address to serve on.
    #[arg(long, default_value = "127.0.0.1:8899")]
    listen: std::net::SocketAddr,
    /// Whose settings: the same for all, or the framework's own.
    #[arg(long, default_value = "equal", value_parser = tuning)]
    tuning: Tuning,
    /// The workload whose lines are printed, and whose answer `control` gives; the first by name where left out.
    #[arg(long, overrides_with = "workload")]
    workload: Option<String>,
}

fn tuning(text: &str) -> Result<Tuning, String> {
    match text {
        "equal" => Ok(Tuning::Equal),
        "shipped" => Ok(Tuning::Shipped),
        _ => Err("give equal or shipped".to_owned()),
    }
}

/// Builds a server and becomes it: its ready line follows the hints, Ctrl-C and the exit code are its own.
pub fn serve(config: &ConfigDir, args: &Args) -> Result<bool> {
    let server = config.server(&args.name)?;
    if let Some(at) = server.running_at() {
        bail!("server {}: runs already, at {}", server.name, at.url);
    }
    let workload = match &args.workload {
        Some(name) => config.workload(name)?,
        None => config.first_workload()?,
    };
    let environment = Environment::plain(args.tuning, SeededSpec::default());
    let opening = workload.opening(&environment.ledger())?;
    subject::build(std::slice::from_ref(&server))?;
    host::raise_open_files();
    print_hints(&server, &workload, &opening.body, &args.listen.to_string());
    let mut values = server.placeholders(&environment, &args.listen.to_string(), &opening.body);
    // Nothing is left to remove them once this process has become the server.
    Files::of(&server, &environment, &opening, &mut values)?.into_iter().for_each(Files::keep);
    // Returns only where the program could not be started.
    let error = Command::new(&server.program).args(server.arguments(&values)).exec();
    Err(error).with_context(|| format!("can't start {}", server.program))
}

/// Prints a command for one request, and one for a load of it; a mix is more than one request, and says so.
fn print_hints(server: &Server, workload: &Workload, request: &str, addr: &str) {
    let url = Target::http(addr).url();
    let access = server.access();
    let curl = ["curl", &url, "-H", "Content-Type: application/json", "-d", request].map(str::to_owned);
    // In double quotes a shell fills the environment's part in.
    let of_curl = access.headers.each().map(|(name, value)| format!(" -H {:?}", format!("{name}: {value}")));
    let of_curl: String = of_curl.collect();
    let tool = if access.headers.are_more_than_a_host() { LoadTool::RpcLoad } else { LoadTool::Bombardier };
    let load = Load { connections: 125, duration_ms: 10_000, timeout_ms: 2_000, access, ..Load::default() };
    let by_hand: Vec<String> =
        tool.driver().by_hand(&load, request, &url).iter().map(|command| shell(command)).collect();
    bench_core::say!("{}: {}\n", server.name, server.title);
    if workload.is_mix() {
        let (name, words) = (&workload.name, workload.words());
        bench_core::say!("{name} is a mix, of which this is one request: {words}\n");
    }
    bench_core::say!("{}{of_curl}\n", shell(&curl));
    bench_core::say!("{}\n", by_hand.join(" | "));
    bench_core::say!("(`just tools` says where the pinned {} is; Ctrl-C ends the server)\n", tool.name());
}
