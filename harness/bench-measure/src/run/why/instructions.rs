//! The instructions of a request in process, by function: the in-process program under callgrind, once and with a
//! repeat more. What the two differ by are the requests of that repeat; setting up and warming up are in both.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::Part;
use super::in_process::Call;
use crate::owned_process::{Output, Owned, describe};
use crate::run::Truths;
use bench_model::config::Server;
use bench_model::cost::{CountOutcome, Rung};
use bench_model::workload::Workload;
use bench_system::foreign_text::last_line;
use bench_system::probe::callgrind;
use bench_system::probe::host::on_path;

/// How long one program may take.
const LIMIT: Duration = Duration::from_secs(300);

/// Accounts of the ledger: few, since setting it up is not what is counted, and a hash table finds one of many in as
/// many instructions.
const ACCOUNTS: usize = 1_000;

impl Part<'_> {
    /// Counts a server's.
    pub(super) fn instructions(
        &self,
        server: &Server,
        workload: &Workload,
        truths: &Truths,
    ) -> Result<CountOutcome> {
        let why = &self.why_plan.why;
        let of_answer = why.in_process_requests(truths.answer_bytes(&workload.name)?.unwrap_or(0));
        let requests = of_answer.min(why.instruction_requests.unwrap_or(1));
        let call = Call { block: 0, workload, rung: Rung::Dispatch };
        let [once, twice] = [1, 2].map(|repeats| self.under_callgrind(server, &call, requests, repeats));
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
    fn under_callgrind(
        &self,
        server: &Server,
        call: &Call<'_>,
        requests: u64,
        repeats: u32,
    ) -> Result<BTreeMap<String, u64>> {
        let valgrind = on_path("valgrind").context(callgrind::INSTALL)?;
        let program =
            server.in_process.as_ref().context("servers.toml names no in-process program for it")?;
        ensure!(Path::new(&program.program).is_file(), "there is no {}; was it built?", program.program);
        let file = |what: &str| {
            let name = format!("instructions-{}-{repeats}.{what}", server.name);
            self.stage.folder.0.join("tool-output").join(name)
        };
        let (out, stderr) = (file("callgrind"), file("stderr"));
        let mut args = callgrind::arguments(&out);
        args.push(program.program.clone());
        args.extend(self.arguments(call, program, requests, ACCOUNTS, repeats)?);
        let output = Output { stdout: Some(&file("ndjson")), stderr: &stderr };
        let mut process = Owned::spawn(&valgrind, &args, &output, bench_model::config::Placement::Free)?;
        let status = process.wait_through(Duration::ZERO, LIMIT, self.stage.interrupt)?;
        let status = status.with_context(|| format!("it did not end within {LIMIT:?} under callgrind"))?;
        let said = || last_line(&stderr).unwrap_or_default();
        ensure!(status.success(), "under callgrind: {}: {}", describe(status), said());
        let text =
            fs::read_to_string(&out).with_context(|| format!("callgrind wrote nothing: {}", said()))?;
        callgrind::parse(&text)
    }
}
