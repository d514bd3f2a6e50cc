//! `rpc-bench try`: one call to a service that runs already, with no file written beforehand.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use bench_core::config::{ConfigDir, Percent, RunningAt};
use bench_core::headers::{Access, Headers};
use bench_measure::run::one_call::{self, OneCall};
use serde_json::Value;

use super::run::{Wanted, measure};
use super::{CommandLine, prepare, quoted};

/// What to send where.
#[derive(clap::Args)]
pub struct Args {
    /// Where the service answers: http://HOST:PORT/PATH (or https, ws, wss), or unix:/PATH.
    url: String,
    /// The JSON-RPC method.
    #[arg(long, value_name = "NAME")]
    method: String,
    /// Its parameters: a JSON array or object.
    #[arg(long, value_name = "JSON")]
    params: Option<String>,
    /// The result that every answer must have; any result that is no error where left out.
    #[arg(long, value_name = "JSON")]
    result: Option<String>,
    /// Requests a second, sent when they are due; where left out, each connection sends again once it has its answer.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    rate: Option<u32>,
    /// Connections.
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    connections: u32,
    /// How long load is put on in all, in seconds.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(5..=600))]
    seconds: u32,
    /// The share of the processors' time that other processes may use in a window; a trial with more is invalid. 3 %
    /// where left out; more for a machine that is never quiet.
    #[arg(long, value_name = "PERCENT", value_parser = Percent::share)]
    max_foreign_cpu: Option<Percent>,
    /// The share of the processors' time that the hypervisor may take in a window; a trial with more is invalid. 2 %
    /// where left out.
    #[arg(long, value_name = "PERCENT", value_parser = Percent::share)]
    max_steal: Option<Percent>,
    /// A header of each request, such as 'Authorization: Bearer ${TOKEN}' with a variable of the environment.
    #[arg(long = "header", value_name = "NAME: VALUE")]
    headers: Vec<String>,
    /// Certificates that are trusted in the place of the system's, as PEM; of https and wss.
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// The service is yours to put load on; needed where it is not on loopback.
    #[arg(long)]
    i_own_this_target: bool,
}

impl Args {
    /// The command that makes the run again.
    fn command(&self) -> String {
        let command = CommandLine(format!("rpc-bench try {}", quoted(&self.url)))
            .option("method", [&self.method])
            .option("params", &self.params)
            .option("result", &self.result)
            .option("rate", self.rate)
            .option("connections", [self.connections])
            .option("seconds", [self.seconds])
            .option("max-foreign-cpu", self.max_foreign_cpu)
            .option("max-steal", self.max_steal)
            .option("header", &self.headers)
            .option("ca", self.ca.iter().map(|file| file.display()))
            .flag("i-own-this-target", self.i_own_this_target);
        command.0
    }
}

/// Measures one call, and prints and writes the report. False where a trial failed or none counts.
pub fn try_call(config: &ConfigDir, results: &Path, args: &Args) -> Result<bool> {
    let interrupt = prepare()?;
    let json = |option: &str, text: &Option<String>| -> Result<Option<Value>> {
        let parsed = text.as_deref().map(serde_json::from_str).transpose();
        parsed.map_err(|error| anyhow!("{option}: not JSON: {error}"))
    };
    let (url, i_own_this_target) = (args.url.clone(), args.i_own_this_target);
    let call = OneCall {
        at: RunningAt { url, i_own_this_target },
        access: Access { headers: Headers::parse(&args.headers).context("--header")?, ca: args.ca.clone() },
        method: args.method.clone(),
        params: json("--params", &args.params)?,
        result: json("--result", &args.result)?,
        rate: args.rate,
        connections: args.connections,
        seconds: args.seconds,
        max_foreign_cpu: args.max_foreign_cpu,
        max_steal: args.max_steal,
    };
    let (plan, text) = one_call::resolve(&call)?;
    let command = args.command();
    let wanted = Wanted { plan, text, again: format!("cargo {command}"), command, resumed: None };
    measure(config, results, wanted, &interrupt)
}
