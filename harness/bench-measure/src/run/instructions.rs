//! Instructions of a request in a server's own program, counted by callgrind: over loopback, on one connection, in user
//! space. The program is started for a number of requests and for twice as many, so that what it does before the first
//! and after the last one is not in the difference.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::client::Connection;
use crate::interrupt::Interrupt;
use crate::probe::callgrind;
use crate::run::truth_of;
use crate::subject::Subject;
use bench_core::config::{Environment, Server, Tuning};
use bench_core::foreign_text::last_line;
use bench_core::workload::Workload;
use rustix::process::Signal;

/// What counts.
const VALGRIND: &str = "valgrind";

/// Requests of the shorter count.
const REQUESTS: u64 = 1_000;

/// How long one request may take: callgrind makes a program some fifty times slower.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Accounts of the ledger. Making it is counted twice and taken away again, and 100,000 would take a minute.
const ACCOUNTS: usize = 1_000;

/// Whether instructions can be counted here.
pub fn is_possible() -> bool {
    bench_core::machine::on_path(VALGRIND).is_some()
}

/// What is counted, and where what valgrind says is put.
#[derive(Debug, Clone, Copy)]
pub struct Counter<'a> {
    /// The request.
    pub workload: &'a Workload,
    /// The campaign's environment.
    pub environment: &'a Environment,
    /// A folder.
    pub folder: &'a Path,
    /// Ends every wait.
    pub interrupt: &'a Interrupt,
}

impl Counter<'_> {
    /// Instructions of one request.
    ///
    /// # Errors
    /// As of [`Counter::by_function`].
    pub fn per_request(self, server: &Server) -> Result<f64> {
        Ok(self.by_function(server)?.values().sum())
    }

    /// Instructions of one request by function, without those of the functions that it calls.
    ///
    /// # Errors
    /// The server does not start under valgrind, or answers wrongly.
    pub fn by_function(self, server: &Server) -> Result<BTreeMap<String, f64>> {
        let context = || format!("{}: counting instructions of {}", server.name, self.workload.name);
        let of = |requests| self.with(server, requests).with_context(context);
        let (once, mut each) = (of(REQUESTS)?, BTreeMap::new());
        for (function, twice) in of(2 * REQUESTS)? {
            let before = once.get(&function).copied().unwrap_or(0);
            *each.entry(callgrind::short(&function)).or_insert(0.0) +=
                (twice as f64 - before as f64) / REQUESTS as f64;
        }
        ensure!(
            each.values().sum::<f64>() > 0.0,
            "{}: callgrind counted no instructions of requests",
            server.name
        );
        Ok(each)
    }

    /// All instructions of a server that answers that many requests, by function.
    fn with(self, server: &Server, requests: u64) -> Result<BTreeMap<String, u64>> {
        let Self { workload, environment, folder, interrupt } = self;
        // One worker: what idle ones do depends on time.
        let (tuning, threads, accounts) = (Tuning::Equal, Some(1), ACCOUNTS);
        let environment = Environment { tuning, threads, accounts, ..environment.clone() };
        let known = truth_of(server, workload, &environment)?;
        let program = server.find_program()?.to_string_lossy().into_owned();
        let file = |what| folder.join(format!("callgrind-{}-{}.{what}", server.name, workload.name));
        let (out, stderr) = (file("out"), file("stderr"));
        let mut args = callgrind::arguments(&out);
        args.push(program);
        args.extend(server.args.iter().cloned());
        // Started here, where its program and valgrind's files are.
        let under = Server { program: VALGRIND.to_owned(), args, checkout: None, ..server.clone() };
        let subject = Subject::start(&under, &environment, &known.body, &stderr, interrupt)?;
        let mut connection = Connection::new(&subject.target, TIMEOUT)?;
        for _ in 0..requests {
            interrupt.wait(TIMEOUT, || Ok(Some(())))?;
            let answer = connection.request(&known.body)?;
            let is_right = answer.json().is_some_and(|json| known.truth.accepts(&json));
            ensure!(is_right, "it answers wrongly: {}", answer.shown());
        }
        drop(connection);
        // Its counts are written when it ends, which takes seconds on a busy machine.
        let mut process = subject.process;
        process.owned()?.signal(Signal::TERM)?;
        process.owned()?.wait(TIMEOUT, interrupt)?.context("valgrind did not end after SIGTERM")?;
        let said = || last_line(&stderr).unwrap_or_default();
        let text = fs::read_to_string(&out);
        let text = text.with_context(|| format!("callgrind wrote nothing: {}", said()))?;
        // Some megabytes, of which a few numbers are wanted.
        fs::remove_file(&out).with_context(|| format!("can't remove {}", out.display()))?;
        callgrind::parse(&text)
    }
}
