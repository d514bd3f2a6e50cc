//! `run --target`: a campaign's sweep on one server that runs already, of which nothing is known but its URL.
//!
//! The load is bounded and the bound is reported before anything is sent. The reference for a workload's answers is the
//! campaign's ledger where the server has it, and otherwise the server's own answer, given twice before the run.

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::{resolved, truth_of};
use crate::client;
use crate::subject::{Process, find_running};
use bench_model::config::{Campaign, ConfigDir, Environment, Holds, Percent, Ready, RunningAt, Server};
use bench_model::headers::Access;
use bench_model::plan::{MostLoad, Plan};
use bench_model::target::Target;
use bench_model::workload::truth::has_error;
use bench_model::workload::{Expected, Leeway, Traffic, Truth, Workload};

/// Resolves a campaign's sweep for one server that runs already: the campaign's workloads at its connection counts. Its
/// duets, its searches and its other servers are left out. `bound` is the most load that may be put on the target.
///
/// # Errors
/// One line: the campaign has no sweep of closed loops, the bound is too low for it, nobody answers there, it is not on
/// loopback and not the user's own, or its answers can't serve as a reference.
pub fn resolve(
    config: &ConfigDir,
    name: &str,
    at: RunningAt,
    access: &Access,
    bound: MostLoad,
) -> Result<(Plan, String)> {
    let (campaign, text) = config.campaign(name)?;
    ensure!(
        !campaign.connections.is_empty() && campaign.open.is_none(),
        "campaign {name}: has no connection counts at which --target could be measured; choose another one, such as \
         quick"
    );
    let server = Server::target(at.clone(), access).context("--target")?;
    let mut plan = resolved(config, sweep_of(&campaign, &server), vec![server])?;
    check_bound(&plan, bound)?;
    let target = Target::parse(&at.url)?.with_access(access);
    allow_own_cpu(&mut plan, &target)?;
    find_references(&mut plan, &target)?;
    Ok((plan, text))
}

/// Sets no limit to other processes' CPU time where that of the server, which runs already on this machine, can't be
/// separated from it.
///
/// # Errors
/// Nobody answers there.
pub(super) fn allow_own_cpu(plan: &mut Plan, target: &Target) -> Result<()> {
    let (_, process) = find_running(target)?;
    if matches!(process, Process::Elsewhere) && target.is_loopback()? {
        plan.campaign.environment.max_foreign_cpu = Percent(1.0);
    }
    Ok(())
}

/// The campaign without all that needs other servers, or to start them.
fn sweep_of(campaign: &Campaign, server: &Server) -> Campaign {
    Campaign {
        why: format!(
            "The requests and connection counts of the campaign {}, on one server that runs already. The campaign's \
             other servers, its duets and its searches are left out.",
            campaign.name
        ),
        servers: vec![server.name.clone()],
        arms: Vec::new(),
        headline: campaign.headline.clone(),
        precision: None,
        max_minutes: None,
        remedy_trials: 0,
        ..campaign.part(&format!("{}-target", campaign.name))
    }
}

fn check_bound(plan: &Plan, bound: MostLoad) -> Result<()> {
    let name = &plan.campaign.name;
    let MostLoad { connections, seconds } = plan.most_load();
    ensure!(
        connections <= bound.connections,
        "campaign {name}: puts up to {connections} connections on the target, more than the bound of {}; if it may \
         have them, give --max-connections {connections}",
        bound.connections
    );
    ensure!(
        seconds <= bound.seconds,
        "campaign {name}: puts load on the target for up to {seconds} s, more than the bound of {} s; if it may, give \
         --max-seconds {seconds}",
        bound.seconds
    );
    Ok(())
}

/// What a workload's answers are compared with.
#[derive(Debug, PartialEq)]
enum Reference {
    /// The campaign's ledger.
    Ledger,
    /// The campaign's ledger, but for the context (slot and version).
    LedgerWithoutContext,
    /// What the server's own answer must be again, but for its context.
    Own(Value),
}

/// Decides for each workload what its answers are compared with.
fn find_references(plan: &mut Plan, target: &Target) -> Result<()> {
    let environment = plan.campaign.environment.clone();
    let Some(server) = plan.servers.first_mut() else { return Ok(()) };
    let mut own = Vec::new();
    let own_chain = Holds::Methods(plan.workloads.iter().map(Workload::method).collect());
    for workload in &mut plan.workloads {
        let found = reference(target, server, workload, &environment);
        match found.with_context(|| format!("server {}: workload {}", server.name, workload.name))? {
            Reference::Ledger => {}
            Reference::LedgerWithoutContext => server.holds.clone_from(&own_chain),
            Reference::Own(answer) => {
                server.holds.clone_from(&own_chain);
                let expected = Expected::Answer { answer: answer.to_string(), leeway: Leeway::default() };
                workload.traffic =
                    Traffic::One { body: workload.body()?.to_owned(), expected, needs_slots: None };
                own.push(workload.name.clone());
            }
        }
    }
    if let Ready::Running(at) = &mut server.ready {
        at.own_answers = own;
    }
    Ok(())
}

fn reference(
    target: &Target,
    server: &Server,
    workload: &Workload,
    environment: &Environment,
) -> Result<Reference> {
    let body = workload.body()?;
    let first = answer(target, body)?;
    // A ledger that lacks the workload's slots has no answer, as one that is not the server's.
    if let Ok(known) = truth_of(server, workload, environment) {
        if known.truth.accepts(&first) {
            return Ok(Reference::Ledger);
        }
        if known.truth.without_context().accepts(&first) {
            return Ok(Reference::LedgerWithoutContext);
        }
    }
    ensure!(
        !has_error(&first) && first.get("result").is_some(),
        "it answers with a JSON-RPC error: {first}; leave the workload out, or let the server have the campaign's \
         ledger"
    );
    let again = answer(target, body)?;
    ensure!(
        Truth::from(first.clone()).without_context().accepts(&again),
        "it is not the campaign's ledger that it answers from, and two answers to the same request differ, so that \
         nothing can be compared with them; leave the workload out"
    );
    Ok(Reference::Own(first))
}

fn answer(target: &Target, body: &str) -> Result<Value> {
    let answer = client::request(target, body)?;
    answer.json().with_context(|| format!("it gives no JSON-RPC answer: {}", answer.shown()))
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use super::*;

    /// A server that gives these answers one after the other, the last one again and again.
    fn server(answers: &[&str]) -> Target {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let target = Target::http(&listener.local_addr().unwrap().to_string());
        let mut answers: Vec<String> = answers.iter().rev().map(|answer| (*answer).to_owned()).collect();
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let mut client = client.unwrap();
                let (mut asked, mut part) = (Vec::new(), [0; 4_096]);
                while !asked.ends_with(b"}") {
                    let length = client.read(&mut part).unwrap();
                    asked.extend_from_slice(&part[..length]);
                }
                let answer = if answers.len() > 1 { answers.pop().unwrap() } else { answers[0].clone() };
                let length = answer.len();
                let _ = write!(client, "HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n{answer}");
            }
        });
        target
    }

    fn found(answers: &[&str]) -> Result<Reference> {
        let config = ConfigDir::of_repository();
        let workload = config.workload("getBalance").unwrap();
        let environment = config.campaign("smoke").unwrap().0.environment;
        let environment = Environment { accounts: 50, slots: 50, ..environment };
        let at = RunningAt { url: "http://127.0.0.1:9".to_owned(), ..RunningAt::default() };
        let entry = Server::target(at, &Access::default()).unwrap();
        let truth = truth_of(&entry, &workload, &environment).unwrap().truth.words();
        let answers: Vec<String> = answers.iter().map(|answer| answer.replace("TRUTH", &truth)).collect();
        let target = server(&answers.iter().map(String::as_str).collect::<Vec<_>>());
        reference(&target, &entry, &workload, &environment)
    }

    const BALANCE: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"context":{"slot":7},"value":3}}"#;

    #[test]
    fn an_error_of_null_is_none() {
        let answer = r#"{"id":1,"result":3,"error":null}"#;
        assert!(matches!(found(&[answer]), Ok(Reference::Own(_))));
        let neither = format!("{:#}", found(&[r#"{"id":1,"error":null}"#]).unwrap_err());
        assert!(neither.contains("JSON-RPC error"), "{neither}");
    }

    #[test]
    fn answers_that_differ_and_errors_are_refused_in_one_line() {
        let said = |answers: &[&str]| format!("{:#}", found(answers).unwrap_err());
        assert!(said(&[BALANCE, &BALANCE.replace(":3", ":4")]).contains("differ"));
        assert!(said(&[r#"{"jsonrpc":"2.0","id":1,"error":{"code":-1}}"#]).contains("JSON-RPC error"));
        assert!(said(&["hello"]).contains("no JSON-RPC answer: HTTP 200: hello"));
    }
}
