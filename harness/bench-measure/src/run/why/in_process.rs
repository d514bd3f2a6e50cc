//! The servers' in-process programs: called for their CPU time, and under callgrind for their instructions.
//!
//! To be timed, those of both servers run at the same time, on the core that their trials run on, so that what disturbs
//! one disturbs the other as much. A program counts its own CPU time, so sharing the core costs it none.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::Part;
use crate::owned_process::{Output, Owned, describe, remove_if_empty};
use bench_model::config::{InProcess, Placement, Server};
use bench_model::cost::{CountOutcome, InProcessLine, InProcessObservation, InProcessOutcome, Rung};
use bench_model::workload::Workload;
use bench_system::foreign_text::last_line;
use bench_system::interrupt::recorded;
use bench_system::probe::callgrind;
use bench_system::probe::host::on_path;

/// How long one call may take.
const LIMIT: Duration = Duration::from_secs(120);

/// How long one program may take under callgrind.
const CALLGRIND_LIMIT: Duration = Duration::from_secs(300);

/// Accounts of the ledger: few, since setting it up is not what is counted, and a hash table finds one of many in as
/// many instructions.
const ACCOUNTS: usize = 1_000;

/// What is called, of every server that has a program.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call<'a> {
    pub block: u32,
    pub workload: &'a Workload,
    pub rung: Rung,
    /// How often.
    pub requests: u64,
    /// Accounts of the ledger that it is called on.
    pub accounts: usize,
}

impl Part<'_> {
    /// Calls the programs. Whatever goes wrong with one becomes its observation.
    ///
    /// # Errors
    /// An interrupt.
    pub(super) fn in_process(&self, call: &Call<'_>) -> Result<Vec<InProcessObservation>> {
        let programs =
            self.stage.plan.servers.iter().filter_map(|server| Some((server, server.in_process.as_ref()?)));
        // All are started before any is waited for.
        let started: Vec<(&Server, Result<Owned>)> =
            programs.map(|(server, program)| (server, self.spawn(call, server, program))).collect();
        let mut observations = Vec::new();
        for (server, process) in started {
            let measured = process.and_then(|process| self.finish(call, server, process));
            let measured = measured.map(|ns| InProcessOutcome::Measured { cpu_ns_per_request: ns });
            let outcome = recorded(measured, |reason| InProcessOutcome::Failed { reason })?;
            let Call { block, workload, rung, .. } = *call;
            let (server, workload) = (server.name.clone(), workload.name.clone());
            observations.push(InProcessObservation { block, server, workload, rung, outcome });
        }
        Ok(observations)
    }

    /// How often a call is made at a time: the less often, the longer its answer is.
    pub(super) fn requests(&self, workload: &Workload) -> Result<u64> {
        let bytes = self.truths.answer_bytes(&workload.name)?.unwrap_or(0);
        Ok(self.why_plan.why.in_process_requests(bytes))
    }

    fn file(&self, call: &Call<'_>, server: &Server, what: &str) -> std::path::PathBuf {
        let Call { block, workload, rung, .. } = call;
        let name = format!("in-process-b{block}-{}-{}-{}.{what}", server.name, workload.name, rung.flag());
        self.stage.folder.0.join("tool-output").join(name)
    }

    fn spawn(&self, call: &Call<'_>, server: &Server, program: &InProcess) -> Result<Owned> {
        let path = existing(program)?;
        let (stdout, stderr) = (self.file(call, server, "ndjson"), self.file(call, server, "stderr"));
        let output = Output { stdout: Some(&stdout), stderr: &stderr };
        let args = self.arguments(call, program, self.why_plan.why.repeats)?;
        Owned::spawn(path, &args, &output, self.stage.plan.campaign.environment.placement)
    }

    fn finish(&self, call: &Call<'_>, server: &Server, mut process: Owned) -> Result<Vec<f64>> {
        let stderr = self.file(call, server, "stderr");
        let status = process.wait(LIMIT, self.stage.interrupt)?;
        let status = status.with_context(|| format!("it did not end within {LIMIT:?}"))?;
        let said = || last_line(&stderr).unwrap_or_default();
        ensure!(status.success(), "{}: {}", describe(status), said());
        remove_if_empty(&stderr);
        let text = fs::read_to_string(self.file(call, server, "ndjson")).context("it printed nothing")?;
        read(&text, &server.name, call.rung, call.requests)
    }

    fn arguments(&self, call: &Call<'_>, program: &InProcess, repeats: u32) -> Result<Vec<String>> {
        let environment = &self.stage.plan.campaign.environment;
        let mut args = program.args.clone();
        let flags = [
            ("--rung", call.rung.flag().to_owned()),
            ("--request", call.workload.body()?.to_owned()),
            ("--accounts", call.accounts.to_string()),
            ("--slots", environment.slots.to_string()),
            ("--seed", environment.ledger_seed.to_string()),
            ("--requests", call.requests.to_string()),
            ("--repeats", repeats.to_string()),
        ];
        args.extend(flags.into_iter().flat_map(|(flag, value)| [flag.to_owned(), value]));
        Ok(args)
    }

    /// Counts the instructions of a request in process, by function: the program under callgrind, once and with a
    /// repeat more. What the two differ by are the requests of that repeat; setting up and warming up are in both.
    pub(super) fn instructions(&self, server: &Server) -> Result<CountOutcome> {
        let workload = self.stage.plan.workload(&self.why_plan.workload)?;
        let most = self.why_plan.why.instruction_requests.unwrap_or(1);
        let requests = self.requests(workload)?.min(most);
        let call = Call { block: 0, workload, rung: Rung::Dispatch, requests, accounts: ACCOUNTS };
        let [once, twice] = [1, 2].map(|repeats| self.counted(server, &call, repeats));
        let (once, twice) = (once?, twice?);
        let mut functions = BTreeMap::new();
        for (name, instructions) in twice {
            let more = instructions.saturating_sub(once.get(&name).copied().unwrap_or(0));
            if more > 0 {
                *functions.entry(callgrind::short(&name)).or_insert(0) += more;
            }
        }
        ensure!(!functions.is_empty(), "a repeat more took no instruction more");
        Ok(CountOutcome::Instructions { requests, functions })
    }

    /// Instructions by function of a program that measures so often.
    fn counted(&self, server: &Server, call: &Call<'_>, repeats: u32) -> Result<BTreeMap<String, u64>> {
        let valgrind = on_path("valgrind").context(callgrind::INSTALL)?;
        let program = server.in_process.as_ref();
        let program = program.context("servers.toml names no in-process program for it")?;
        existing(program)?;
        let file = |what: &str| {
            let name = format!("instructions-{}-{repeats}.{what}", server.name);
            self.stage.folder.0.join("tool-output").join(name)
        };
        let (out, stderr) = (file("callgrind"), file("stderr"));
        let mut args = callgrind::arguments(&out);
        args.push(program.program.clone());
        args.extend(self.arguments(call, program, repeats)?);
        let output = Output { stdout: Some(&file("ndjson")), stderr: &stderr };
        let mut process = Owned::spawn(&valgrind, &args, &output, Placement::Free)?;
        let status = process.wait(CALLGRIND_LIMIT, self.stage.interrupt)?;
        let status =
            status.with_context(|| format!("it did not end within {CALLGRIND_LIMIT:?} under callgrind"))?;
        let said = || last_line(&stderr).unwrap_or_default();
        ensure!(status.success(), "under callgrind: {}: {}", describe(status), said());
        let text =
            fs::read_to_string(&out).with_context(|| format!("callgrind wrote nothing: {}", said()))?;
        callgrind::parse(&text)
    }
}

/// Where a program is.
fn existing(program: &InProcess) -> Result<&Path> {
    let path = Path::new(&program.program);
    ensure!(path.is_file(), "there is no {}; was it built?", path.display());
    Ok(path)
}

/// CPU time of a request by repeat, in nanoseconds, from what the program printed: a line of JSON a repeat.
fn read(text: &str, server: &str, rung: Rung, requests: u64) -> Result<Vec<f64>> {
    let mut cpu_ns = Vec::new();
    for line in text.lines() {
        let read: InProcessLine = serde_json::from_str(line)
            .with_context(|| format!("not a line of an in-process program: {line:?}"))?;
        let is_requested = (read.server.as_str(), read.rung, read.requests) == (server, rung, requests);
        ensure!(
            is_requested && read.cpu_ns_per_request > 0.0,
            "{requests} requests of {server}, rung {}, were requested; it printed {line:?}",
            rung.flag()
        );
        cpu_ns.push(read.cpu_ns_per_request);
    }
    ensure!(!cpu_ns.is_empty(), "it printed nothing");
    Ok(cpu_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = r#"{"server":"actix","rung":"state","requests":500,"cpu_ns_per_request":12.5,"wall_ns_per_request":13.0}"#;

    #[test]
    fn a_line_a_repeat() {
        assert_eq!(read(&format!("{LINE}\n{LINE}\n"), "actix", Rung::State, 500).unwrap(), [12.5, 12.5]);
    }

    #[test]
    fn other_text_is_an_error_and_no_zero() {
        for text in ["", "ready\n", "{}\n", &LINE.replace("12.5", "0.0"), &LINE.replace("12.5", "-1")] {
            assert!(read(text, "actix", Rung::State, 500).is_err(), "{text}");
        }
        assert!(read(LINE, "actix", Rung::Dispatch, 500).is_err());
        assert!(read(LINE, "actix", Rung::State, 501).is_err());
        let other = read(LINE, "legacy", Rung::State, 500).unwrap_err().to_string();
        assert!(other.contains("of legacy"), "another server's figures are none of this one's: {other}");
    }
}
