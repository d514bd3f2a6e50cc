//! The report's sections, in the order in which a reader needs them.

use std::fmt::Write;

use super::columns::Columns;
use super::format::{at, available, bullets, bytes, known, list, ratio, sections, significant};
use super::headline::{self, headline, marked};
use super::tables::{by_method, comparisons, rates, resources};
use super::{
    Run, already_running, answer, causes, charts, commands, duets, faults, network, open_loop, reference,
    search, views,
};
use bench_analysis::{Uncounted, grouped};
use bench_model::config::Placement;
use bench_model::load::toolchain::Tool;
use bench_model::plan::layouts;
use bench_model::workload::Workload;

/// The whole report: the answer, what belongs to it, and the rest folded away. `brief` leaves out the charts that would
/// be folded, and says where they are.
pub fn markdown(run: &Run, brief: bool) -> String {
    let campaign = &run.plan.campaign;
    if campaign.hold {
        return of_held(run);
    }
    let answers = answer::of(run).is_some();
    // What a campaign is for stays in sight, unless the answer has said it already.
    let main = |section: String| if answers { folded(section) } else { section };
    let workloads = run.measured_workloads().map(|workload| folded(tables(run, workload)));
    let duets = run.duets.as_deref().filter(|duets| !headline::compares_nothing(duets));
    sections([
        format!("# Benchmark report: {}\n\n{}\n", campaign.name, campaign.why),
        format!("## Headline\n\n{}", headline(run)),
        reference::section(run),
        views::sections(run),
        folded(network::section(run)),
        known(answer::chart(run), "", |picture| picture.markdown()),
        if answers { folded(headed("Verdicts", headline::verdicts(run))) } else { String::new() },
        charts_of_all(run, brief, answers || has_own_figures(run)),
        bounds(run),
        if is_duet(run) { main(duets::section(run)) } else { String::new() },
        folded(known(duets, "", duets::section)),
        main(causes::section(run)),
        sections(workloads),
        main(open_loop::stalls(run)),
        main(search::section(run)),
        folded(distrust(run)),
        folded(failed(run)),
        folded(environment(run)),
        folded(by_hand(run)),
    ])
}

/// The report of a campaign that sends nothing: it has no rate and no latency.
fn of_held(run: &Run) -> String {
    let campaign = &run.plan.campaign;
    sections([
        format!(
            "# Benchmark report: {}\n\n{}\n\n{}",
            campaign.name,
            campaign.why,
            faults::headline(run) + &headline::warnings(run)
        ),
        format!("## Headline\n\n{}", views::headline(run)),
        views::sections(run),
        folded(failed(run)),
        folded(environment(run)),
        folded(by_hand(run)),
    ])
}

/// A section under a heading; nothing where there is nothing to say.
fn headed(heading: &str, text: String) -> String {
    if text.is_empty() { text } else { format!("## {heading}\n\n{text}") }
}

/// A section that a reader opens, under its own heading.
pub(super) fn folded(section: String) -> String {
    let Some(heading) = section.strip_prefix("## ").and_then(|rest| rest.lines().next()) else {
        return section;
    };
    format!("<details>\n<summary>{heading}</summary>\n\n{section}\n</details>\n")
}

/// Whether its servers all run in pairs, at the same time on one core: then only CPU time compares.
pub(super) fn is_duet(run: &Run) -> bool {
    run.plan.campaign.environment.placement == Placement::Duet
}

/// Whether its question has figures of its own, so that those which every campaign has are not the answer.
fn has_own_figures(run: &Run) -> bool {
    let summary = &run.summary;
    !summary.views.is_empty() || reference::is_counted(run)
}

/// The charts that every campaign has. Where the answer has figures of its own, these are folded, and left out of a
/// brief report.
fn charts_of_all(run: &Run, brief: bool, has_others: bool) -> String {
    let has_charts = run.has_sweep() && !is_duet(run);
    let pictures = if has_charts { charts::run::pictures(run) } else { Vec::new() };
    let charts = headed("Charts", sections(pictures.iter().map(charts::Picture::markdown)));
    match brief {
        _ if charts.is_empty() || !has_others => charts,
        false => folded(charts),
        true => format!(
            "## Charts\n\nRate, latency, CPU and memory by load: `just open results/{}` draws them.\n",
            run.name
        ),
    }
}

fn bounds(run: &Run) -> String {
    let table = Columns::of(2, &run.summary.bounds)
        .column("figure", |bound| bound.rule.of(&|name| run.label(name).to_owned()))
        .column("at", |bound| at(&bound.workload, bound.level))
        .column("it is", |bound| match bound.rule.over {
            Some(_) => known(bound.found, "not measured", ratio),
            None => known(bound.found, "not measured", |found| significant(found.value)),
        })
        .column("must be", |bound| bound.rule.words())
        .column("bound", |bound| if bound.holds { "holds" } else { "**broken**" });
    table.within(|table| {
        format!(
            "## Bounds\n\nA bound on a ratio holds where the whole interval lies within it, and one on a figure where each \
             trial does.\n\n{table}"
        )
    })
}

fn tables(run: &Run, workload: &Workload) -> String {
    let name = &workload.name;
    let cells = || run.summary.cells.iter().filter(|cell| &cell.workload == name);
    let mut out = format!("## {name}\n\n{}\n", workload.why.trim());
    if workload.is_mix() {
        let _ = writeln!(out, "\nIt sends: {}.", workload.words());
    }
    if open_loop::of(run).is_some() {
        return out + &open_loop::tables(run, workload);
    }
    if !run.has_sweep() {
        return out;
    }
    out.push('\n');
    if let Some(size) = cells().find_map(|cell| cell.answer_bytes) {
        let _ = writeln!(out, "One answer holds {} of JSON.\n", bytes(size as f64));
    }
    if !is_duet(run) {
        let _ = writeln!(out, "### Rate and latency\n\n{}", rates(run, cells()));
    }
    out += &by_method(run, cells());
    let used = resources(run, cells());
    let _ = write!(out, "### What the server and the load generator used\n\n{used}");
    let compares = !is_duet(run) && !headline::compares_nothing(run);
    if compares && run.summary.comparisons.iter().any(|comparison| &comparison.workload == name) {
        let _ = write!(out, "\n### Comparisons\n\n{}", comparisons(run, name));
    }
    out
}

fn distrust(run: &Run) -> String {
    let items = if open_loop::of(run).is_some() {
        open_loop::distrust(run)
    } else if run.plan.campaign.searched_rate().is_some() {
        search::distrust(run)
    } else {
        closed_loop(run)
    };
    format!("## What to distrust\n\n{items}")
}

fn closed_loop(run: &Run) -> String {
    let mut items = vec![already_running::sharing(run)];
    items.extend(already_running::notes(run));
    items.extend(marked(run, |cell| at(&cell.workload, cell.level)));
    if !run.plan.left_out_connections.is_empty() {
        let counts = list(&run.plan.left_out_connections);
        items.push(format!("Left out, because this machine can't hold that many connections: {counts}."));
    }
    let always = [
        "Each interval of a rate, a latency or a CPU time is right by itself with 95 % confidence; of twenty of them \
         one may well be wrong. Those of comparisons are wider, so that all verdicts hold together.",
        "All intervals are about this run. Another run, of another hour, kernel or build, may lie outside of them: \
         `just compare --all` pools the kept runs and says how far apart they are and what one more may give.",
        "Latencies are those of a closed loop: a connection sends its next request only when it has its answer, so \
         waiting that an independent user would see is not in them.",
    ];
    items.extend(always.map(str::to_owned));
    bullets(items)
}

fn failed(run: &Run) -> String {
    let faults = faults::all(run);
    if !run.has_sweep() {
        return headed("What failed", faults);
    }
    fn row<Kind>(run: &Run, trial: &Uncounted<Kind>, how: &str) -> Vec<String> {
        let Uncounted { number, block, server, beside, workload, level, reason, .. } = trial;
        let server = format!("{}{}", run.label(server), run.paired(beside.as_deref()));
        let why = format!("{how}{reason}").replace('\n', " ");
        vec![number.to_string(), block.to_string(), server, at(workload, *level), why]
    }
    let failed = run.failed().map(|trial| row(run, trial, ""));
    let invalid = run.invalid().map(|trial| row(run, trial, "invalid: "));
    let table = Columns::written(&["trial", "block", "server", "request", "why"], 4, failed.chain(invalid));
    let mut out = format!("## What failed\n\n{faults}");
    if faults.is_empty() {
        let observed = run.observed();
        let answers = match (reference::is_counted(run), run.knows_whole_answers()) {
            (true, _) => "and each server answered before and after each window",
            (false, true) => "and each server's answer was the true one before and after each window",
            (false, false) => {
                "and before and after each window each server's answer had its id, no error, and what its request \
                 states of it; the rest of it was not compared"
            }
        };
        let _ = writeln!(out, "Nothing: all {observed} trials that ran were measured, {answers}.");
    }
    if run.invalid().next().is_some() {
        out += "\nInvalid trials were measured and count nowhere, because the machine spoiled them.\n\n";
    }
    out + &table.within(|table| table)
}

/// What a load tool is known by.
fn identity(tool: &Tool) -> String {
    format!("{} {} ({:?}), SHA-256 {}", tool.name, tool.version, tool.source, tool.sha256)
}

pub(super) fn environment(run: &Run) -> String {
    let conditions = &run.conditions;
    let host = &conditions.host;
    let ports = known(host.client_ports, "unavailable", |(first, last)| format!("{first} to {last}"));
    let rows = [
        ("run", conditions.history()),
        ("commit", available(host.commit.as_ref())),
        ("processor", format!("{}, {} cores", host.processor_name(), host.cores)),
        ("placement", run.plan.campaign.environment.placement.words().to_owned()),
        ("memory", known(host.memory_bytes, "unavailable", |size| bytes(size as f64))),
        ("kernel", available(host.kernel.as_ref())),
        ("governor", available(host.governor.as_ref())),
        ("compiler", available(host.rustc.as_ref())),
        ("open files, client ports", format!("{}, {ports}", host.open_files)),
        ("load tool", identity(&conditions.tool)),
        ("order of trials", format!("drawn from seed {}; see plan.json", run.plan.campaign.seed)),
    ];
    // As a share of the machine that was measured on.
    let sampling = run.summary.sampling_cores.map(|cost| {
        let cores = host.cores;
        let [median, most] =
            [cost.median, cost.most].map(|used| format!("{:.2} %", used / cores as f64 * 100.0));
        let words =
            format!("{median} of the {cores} cores' time in the window (median trial; at most {most})");
        ("cost of reading resources", words)
    });
    let open_loop = conditions.open_loop_tools.iter().map(|tool| ("open-loop load tool", identity(tool)));
    let programs = (!conditions.programs.is_empty()).then(|| {
        let of = conditions.programs.iter().map(|(server, program)| format!("{server} {}", program.words()));
        ("servers' fingerprints", list(of))
    });
    let layouts = layouts::words(&run.plan).map(|words| ("layouts of the servers", words));
    let hosts = run.plan.hosts.as_ref();
    let hosts = hosts.map(|pool| ("load hosts", format!("{} of the pool {}", pool.hosts, pool.name)));
    let rows = rows.into_iter().chain(hosts).chain(programs).chain(layouts).chain(open_loop).chain(sampling);
    let table = facts(rows);
    if !run.has_sweep() {
        return format!("## Environment\n\n{table}");
    }
    let settings: String = conditions.servers.values().map(|ready| format!("{ready}\n")).collect();
    format!("## Environment\n\n{table}\nEach server's effective settings:\n\n```json\n{settings}```\n")
}

/// A table of names and what they stand for.
pub(super) fn facts(rows: impl IntoIterator<Item = (&'static str, String)>) -> String {
    Columns::of(2, rows)
        .column("what", |(what, _)| *what)
        .column("value", |(_, value)| value.clone())
        .markdown()
}

fn by_hand(run: &Run) -> String {
    if let (false, Some(summary)) = (run.has_sweep(), &run.summary.search) {
        return search::by_hand(run, summary, &servers_by_hand(run));
    }
    // Which command sends users stands with each trial on the page.
    if !run.has_sweep() || run.plan.campaign.stages.is_some() {
        return format!("## By hand\n\nThe whole run: `{}`.\n", run.conditions.command);
    }
    if open_loop::of(run).is_some() {
        return open_loop::by_hand(run, &servers_by_hand(run));
    }
    let mut out = format!(
        "## By hand\n\n`just bombard SERVER REQUEST CONNECTIONS` makes one trial's figures again. To the letter, with \
         two terminals: start a server,\n\n```sh\n{}```\n\nand put the load of a row on it. The rate is the 2xx count \
         over the time taken, p99 the 99 % line; CPU per request is the growth of user and system time in \
         `/proc/PID/stat` over the requests.\n\n```sh\n",
        servers_by_hand(run)
    );
    for workload in &run.plan.workloads {
        for connections in run.plan.connections() {
            for (of, server) in commands::loaded_alike(run) {
                let command = commands::load(run, server, workload, connections);
                let _ = writeln!(out, "# {} at {connections}{of}\n{command}", workload.name);
            }
        }
    }
    let _ = writeln!(out, "```\n\nThe whole run: `{}`.", run.conditions.command);
    out
}

/// One command for each server; one for each workload where the command holds the request.
fn servers_by_hand(run: &Run) -> String {
    let mut out = String::new();
    for server in &run.plan.servers {
        let commands = |workload| (commands::server(run, server, workload), &*workload.name);
        for (command, names) in grouped(run.plan.workloads.iter().map(commands)) {
            let _ = writeln!(out, "# {}, for {}\n{command}", server.name, names.join(" and "));
        }
    }
    out
}
