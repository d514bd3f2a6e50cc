//! What differs between two runs beyond their figures, and which of it must be known before a figure is believed.

use std::collections::BTreeMap;

use serde_json::Value;

use super::columns::Columns;
use super::faults;
use super::format::{available, bytes, known, list};
use bench_analysis::two_runs::{Between, Both, Measured};
use bench_model::config::{Placement, Server};
use bench_model::plan::layouts;
use bench_system::probe::processor::Processor;

const MISSING: &str = "unavailable";

/// Something that differs between two runs.
struct Difference {
    what: String,
    values: Both<String>,
    /// Whether it may move figures by itself.
    weighs: bool,
}

/// What must be known before any ratio is believed; each without its full stop.
pub(super) fn warnings(runs: Both<&Measured>, between: &Between) -> Vec<String> {
    let differing = differences(runs).into_iter().filter(|difference| difference.weighs);
    let differing = differing.map(|Difference { what, values, .. }| {
        format!("another {what}: {} before, {} after", values.before, values.after)
    });
    let mut out: Vec<String> = differing.collect();
    let states =
        [("before", runs.before, &between.summaries.before), ("after", runs.after, &between.summaries.after)];
    for (when, run, summary) in states {
        let run_is = format!("{} ({when})", run.name);
        let commit = run.conditions.host.commit.as_ref().filter(|commit| commit.ends_with('+'));
        let (observed, left) = (summary.observed, summary.left);
        let found = [
            (left > 0).then(|| {
                format!(" is incomplete: {observed} trials have run, at least {left} are still needed")
            }),
            commit.map(|commit| format!(": files had changed since commit {commit}; it measured no commit")),
        ];
        out.extend(found.into_iter().flatten().map(|found| run_is.clone() + &found));
        let faults = summary.faults.iter().map(|fault| faults::words(&fault.server, fault));
        out.extend(faults.map(|fault| format!("{run_is}: {fault}")));
    }
    let commits = runs.map(|run| run.conditions.host.commit.as_ref().filter(|commit| !commit.ends_with('+')));
    let common = || {
        let is_common =
            |server: &&Server| runs.before.plan.servers.iter().any(|earlier| earlier.name == server.name);
        runs.after.plan.servers.iter().filter(is_common)
    };
    // A commit of this repository says nothing of a program that is not built from it.
    let is_ours = |server: &Server| !server.build.is_empty() && server.running_at().is_none();
    let others = list(common().filter(|server| !is_ours(server)).map(Server::label));
    if !others.is_empty() {
        out.push(format!("whether the code of {others} is the same in both runs is not known"));
    } else if commits.before.is_some() && commits.before == commits.after {
        out.push("both runs measured the same commit, so what differs is not the servers' code".to_owned());
    }
    out
}

/// What is not the same, as a table.
pub(super) fn table(runs: Both<&Measured>) -> String {
    let table = Columns::of(3, differences(runs))
        .column("what", |it| it.what.clone())
        .column("before", |it| it.values.before.clone())
        .column("after", |it| it.values.after.clone());
    table.column("may move figures by itself", |it| if it.weighs { "**yes**" } else { "" }).markdown()
}

/// What is not the same, the commit and the time always first.
fn differences(runs: Both<&Measured>) -> Vec<Difference> {
    let facts = facts(runs.before).into_iter().zip(facts(runs.after));
    let of_machine = facts.map(|((what, before, weighs), (_, after, _))| Difference {
        what: what.to_owned(),
        values: Both { before, after },
        weighs,
    });
    let differs = |it: &Difference| it.values.before != it.values.after || it.what == "commit";
    of_machine.filter(differs).chain(settings(runs)).collect()
}

/// What a run was measured with and on: its name, its value, and whether it may move figures by itself.
fn facts(run: &Measured) -> Vec<(&'static str, String, bool)> {
    let host = &run.conditions.host;
    let of_processor = |field: &dyn Fn(&Processor) -> Option<String>| host.processor.as_ref().and_then(field);
    let tool = &run.conditions.tool;
    let campaign = &run.plan.campaign;
    let is_pinned = campaign.environment.placement != Placement::Free;
    let one_core = known(host.one_core.filter(|_| is_pinned), MISSING, |core| core.to_string());
    let ports = known(host.client_ports, MISSING, |(first, last)| format!("{first} to {last}"));
    let precision = known(campaign.precision, "none", |precision| precision.to_string());
    let layouts = layouts::words(&run.plan);
    let settings = campaign.environment.described(run.plan.threads).into_iter();
    let mut facts: Vec<_> = settings.map(|setting| (setting.name, setting.words, true)).collect();
    facts.extend([
        ("commit", available(host.commit.as_ref()), false),
        ("begun", run.conditions.started_at.clone(), false),
        ("processor", host.processor_name(), true),
        ("microcode", available(of_processor(&|known| known.microcode.clone()).as_ref()), true),
        ("hypervisor", available(of_processor(&|known| known.hypervisor.clone()).as_ref()), true),
        ("number of cores", host.cores.to_string(), true),
        ("memory", known(host.memory_bytes, MISSING, |size| bytes(size as f64)), true),
        ("kernel", available(host.kernel.as_ref()), true),
        ("governor", available(host.governor.as_ref()), true),
        ("compiler", available(host.rustc.as_ref()), true),
        ("core that trials are put on", one_core, true),
        ("load tool", format!("{} {}", tool.name, tool.version), true),
        ("SHA-256 of the load tool", tool.sha256.clone(), true),
        ("limit of open files", host.open_files.to_string(), false),
        ("range of client ports", ports, false),
        ("longest accept queue", known(host.max_backlog, MISSING, |most| most.to_string()), false),
        ("campaign", campaign.name.clone(), false),
        ("requested precision", precision, false),
        ("most blocks", campaign.max_blocks.to_string(), false),
        ("seed of the order", campaign.seed.to_string(), false),
        ("layouts of the servers", known(layouts, "one of each server", |words| words), true),
    ]);
    facts
}

/// Where common servers were started in another way or reported other settings when ready. A setting that only one
/// version of a server reports is not known to have changed.
fn settings(runs: Both<&Measured>) -> Vec<Difference> {
    let mut changed: BTreeMap<(String, String, String), Vec<&str>> = BTreeMap::new();
    for server in &runs.after.plan.servers {
        let mut found = |what: String, before: String, after: String| {
            changed.entry((what, before, after)).or_default().push(&server.name);
        };
        let earlier = runs.before.plan.servers.iter().find(|earlier| earlier.name == server.name);
        let Some(earlier) = earlier else { continue };
        if earlier.args != server.args {
            found("command line".to_owned(), earlier.args.join(" "), server.args.join(" "));
        }
        if let (Some(before), Some(after)) = (earlier.running_at(), server.running_at())
            && before.url != after.url
        {
            found("URL".to_owned(), before.url.clone(), after.url.clone());
        }
        let programs = runs.map(|run| run.conditions.programs.get(&server.name));
        if let (Some(before), Some(after)) = (programs.before, programs.after)
            && !before.is_same_build(after)
        {
            found("build".to_owned(), before.words(), after.words());
        }
        let ready = runs.map(|run| run.conditions.servers.get(&server.name).and_then(Value::as_object));
        let (Some(before), Some(after)) = (ready.before, ready.after) else { continue };
        for (key, value) in after {
            if let Some(earlier) = before.get(key).filter(|earlier| *earlier != value) {
                found(format!("setting `{key}`"), earlier.to_string(), value.to_string());
            }
        }
    }
    let difference = |((what, before, after), servers): ((String, String, String), Vec<&str>)| {
        let what = format!("{what} of {}", servers.join(", "));
        Difference { what, values: Both { before, after }, weighs: true }
    };
    changed.into_iter().map(difference).collect()
}
