//! The report: the answer, the views, and the fixed sections below. What is shown is data here; its words are in
//! `templates/report.md.jinja`.

use anyhow::Result;
use minijinja::{Value, context};

use super::format::{at, joined, list, load};
use super::headline::{headline, marked};
use super::templates::{data, fill};
use super::{Run, causes, charts, faults, format, reference, search, verdicts, views};
use bench_core::figure::Figure;
use bench_core::plan::layouts;
use bench_core::target::Target;
use bench_core::{Bound, Cell, Uncounted};

/// The whole report. `brief` leaves out the charts that are folded, and says how they are drawn.
///
/// # Errors
/// A template has no value for a name.
pub fn markdown(run: &Run, brief: bool) -> Result<String> {
    let campaign = &run.plan.campaign;
    let ratios = charts::ratios(run).map_or_else(String::new, |picture| picture.markdown());
    let figures: Vec<Value> = views::figures(run, brief).collect();
    let methods: Vec<Value> = run.summary.cells.iter().flat_map(|cell| methods(run, cell)).collect();
    fill(
        "report",
        context! {
            campaign => data(campaign),
            conditions => data(&run.conditions),
            headline => headline(run)?,
            views => views::sections(run),
            ratios,
            bounds => run.summary.bounds.iter().map(|found| bound(run, found)).collect::<Vec<_>>(),
            verdicts => verdicts::values(run),
            search => search::section(run)?,
            differences => reference::places(run),
            failed => failed(run)?,
            causes => causes::all(run)?,
            figures,
            methods,
            environment => environment(run),
        },
    )
}

fn bound(run: &Run, bound: &Bound) -> Value {
    let Bound { rule, workload, level, found, holds } = bound;
    context! {
        figure => rule.of(&|name| run.label(name).to_owned()),
        at => at(workload, *level),
        found => data(found),
        is_ratio => rule.over.is_some(),
        must => rule.words(),
        holds,
    }
}

/// A row for each method of a mix.
fn methods<'a>(run: &'a Run, cell: &'a Cell) -> impl Iterator<Item = Value> + 'a {
    let (load, server, workload) = (load(cell.level), run.cell_name(cell), &cell.workload);
    cell.methods
        .iter()
        .map(move |of| context! { load => &*load, server => &*server, workload, of => data(of) })
}

fn failed(run: &Run) -> Result<Value> {
    fn row(run: &Run, trial: &Uncounted, how: &str) -> Value {
        let Uncounted { number, block, server, beside, workload, level, reason, .. } = trial;
        let server = format!("{}{}", run.label(server), run.paired(beside.as_deref()));
        context! { number, block, server, request => at(workload, *level), why => format!("{how}{reason}") }
    }
    let failed = run.failed().map(|trial| row(run, trial, ""));
    let trials: Vec<Value> = failed.chain(run.invalid().map(|trial| row(run, trial, "invalid: "))).collect();
    let counts_differences = reference::is_counted(run);
    // Where differences are counted, the headline says how many answers differ.
    let checked =
        run.summary.cells.iter().filter_map(|cell| cell.checked.as_ref()).filter(|_| !counts_differences);
    Ok(context! {
        faults => faults::all(run)?,
        trials,
        observed => run.observed(),
        has_sweep => run.has_sweep(),
        has_invalid => run.invalid().next().is_some(),
        knows_answers => run.knows_whole_answers(),
        counts_differences,
        checked => checked.clone().map(|checked| checked.asked).sum::<u64>(),
        unanswered => checked.map(|checked| checked.unanswered).sum::<u64>(),
    })
}

fn environment(run: &Run) -> Value {
    let (conditions, campaign) = (&run.conditions, &run.plan.campaign);
    let tools: Vec<_> = std::iter::once(&conditions.tool).chain(&conditions.open_loop_tools).collect();
    let programs =
        conditions.programs.iter().map(|(server, program)| format!("{server} {}", program.words()));
    // As a share of the machine that was measured on.
    let of_all = |cores: f64| cores / conditions.host.cores as f64;
    let sampling = run.summary.sampling_cores;
    let sampling = sampling.map(|cost| context! { median => of_all(cost.median), most => of_all(cost.most) });
    let workloads = run.measured_workloads().map(|workload| {
        let sends = workload.is_mix().then(|| workload.words());
        context! { name => &*workload.name, why => workload.why.trim(), sends }
    });
    let workloads: Vec<Value> = workloads.collect();
    let ceilings = run.ceilings.iter();
    let ceilings =
        ceilings.map(|of| context! { tool => of.tool.name(), held => of.held, not_held => of.not_held });
    let settings = conditions.servers.values().filter(|_| run.has_sweep());
    let left_out =
        [(&run.plan.left_out_connections, "connections"), (&run.plan.left_out_rates, "requests/s")];
    let left_out = left_out.into_iter().filter(|(left_out, _)| !left_out.is_empty());
    context! {
        history => conditions.history(),
        processor => conditions.host.processor_name(),
        placement => campaign.environment.placement.words(),
        tools => data(tools),
        programs => list(programs),
        layouts => layouts::words(&run.plan),
        pool => data(&run.plan.hosts),
        kinds => data(&run.hosts),
        sampling,
        workloads,
        marked => marked(run),
        alone => alone(run),
        has_slo => campaign.searched_rate().is_some(),
        network => campaign.has_network(),
        is_open => campaign.open.is_some(),
        never_sent => format::NEVER_SENT,
        ceilings => ceilings.collect::<Vec<Value>>(),
        ceiling => run.ceiling_words(),
        left_out => joined(left_out.map(|(counts, of)| format!("{} {of}", list(counts))), "; "),
        settings => settings.map(ToString::to_string).collect::<Vec<String>>(),
    }
}

/// The run's one server, where it ran already.
fn alone(run: &Run) -> Option<Value> {
    let (server, at) = run.alone()?;
    let most = run.plan.most_load();
    let cells = &run.summary.cells;
    Some(context! {
        name => server.label(),
        url => &*at.url,
        is_local => Target::is_of_this_machine(&at.url),
        has_cpu => cells.iter().any(|cell| cell.figure(Figure::CpuUsPerRequest).is_some()),
        has_trials => cells.iter().any(|cell| cell.completed > 0),
        most => context! { connections => most.connections, seconds => most.seconds },
    })
}
