//! The rows of an answer: what a run measured of every server, by topic.

use super::super::Run;
use super::super::format::{count, distinct, load};
use super::super::verdicts::{compares_nothing, is_duet};
use bench_analysis::answer::{Answer, AnswerRow, Direct, Topic, Value};
use bench_analysis::{Cell, Comparison, Mark};
use bench_model::figure::Figure;
use bench_model::load::{Capability, Level};
use bench_model::plan::short_labels;
use bench_stats::{Estimate, median};

/// What a run answers; none where it has no baseline, has a question of its own, or measured nothing that servers are
/// compared by.
pub(crate) fn of(run: &Run) -> Option<Answer> {
    if compares_nothing(run) {
        return None;
    }
    let campaign = &run.plan.campaign;
    let (names, labels): (Vec<&str>, Vec<&str>) =
        run.plan.compared().map(|server| (server.name.as_str(), server.label())).unzip();
    let baseline = names.iter().position(|name| Some(*name) == campaign.baseline.as_deref())?;
    let rows = rows(run, &names, baseline);
    let is_of_duets = run.duets.is_some() || is_duet(run);
    let (servers, margin) = (short_labels(&labels), campaign.margin.0);
    (!rows.is_empty()).then_some(Answer { servers, baseline, margin, is_of_duets, rows })
}

/// What a run measured of these servers, by name: each row has values of two at least.
pub(super) fn rows(run: &Run, names: &[&str], baseline: usize) -> Vec<AnswerRow> {
    let mut rows = Measured { run, names, baseline: names[baseline] }.rows();
    rows.retain(|row| row.values.iter().flatten().count() > 1);
    rows
}

/// From when an open loop's latencies count.
const FROM_DUE: &str = ", from the intended send";

/// A workload at one of the headline's loads.
struct Place<'a> {
    workload: &'a str,
    level: Level,
}

impl<'a> Place<'a> {
    fn of(run: &'a Run) -> Vec<Self> {
        let of = |workload: &'a String| {
            run.plan.headline_levels(workload).into_iter().map(move |level| Self { workload, level })
        };
        run.plan.campaign.workloads.iter().flat_map(of).collect()
    }
}

struct Measured<'a> {
    run: &'a Run,
    names: &'a [&'a str],
    baseline: &'a str,
}

impl Measured<'_> {
    fn rows(&self) -> Vec<AnswerRow> {
        let mut rows = Vec::new();
        if self.run.plan.campaign.open.is_some() {
            // With a background load, CPU time is that of both loads; a campaign that has one states views.
            if self.run.plan.campaign.background().is_none() {
                rows.extend(self.cpu());
                rows.extend(self.latency(FROM_DUE));
            }
        } else {
            rows.extend(self.sweep());
        }
        rows.extend(self.searched());
        rows
    }

    fn row(
        &self,
        topic: Topic,
        request: &str,
        at: String,
        value: impl Fn(&str) -> Option<Value>,
    ) -> AnswerRow {
        let values = self.names.iter().map(|name| value(name)).collect();
        AnswerRow { topic, request: request.to_owned(), at, one: None, values, direct: Vec::new() }
    }

    /// A closed loop: what a request costs at a usual rate and at saturation, requests a second at the headline's loads,
    /// and p99 at the usual rate. The p99 of a saturated server says how many connections wait.
    fn sweep(&self) -> Vec<AnswerRow> {
        let mut rows = self.cpu();
        if self.run.has_sweep() && !is_duet(self.run) {
            rows.extend(Place::of(self.run).iter().map(|place| self.rates(place)));
        }
        if let Some(duets) = &self.run.duets {
            let places = Place::of(duets).into_iter().filter(|place| place.level.rate.is_some());
            rows.extend(places.map(|place| self.p99_of_duets(duets, &place)));
        }
        rows
    }

    fn rates(&self, place: &Place<'_>) -> AnswerRow {
        let Place { workload, level } = *place;
        let row = self.row(Topic::Rate, workload, at(level), |server| self.rate(server, workload, level));
        let one = baseline_value(&row, self.names, self.baseline);
        AnswerRow { one, ..row }
    }

    fn cell(&self, server: &str, workload: &str, level: Level) -> Option<&Cell> {
        self.run.summary.cell(server, workload, level)
    }

    fn rate(&self, server: &str, workload: &str, level: Level) -> Option<Value> {
        let cell = self.cell(server, workload, level)?;
        let shown = cell.figure(Figure::RequestsPerSecond)?.value;
        let compared = self.compared(self.run, server, workload, level, |pair| Some(pair.rate.ratio))?;
        Some(Value { shown, compared, at_least: cell.marks.contains(&Mark::ClientBound) })
    }

    /// Compared by the ratio to the baseline within blocks, where every server has one: it is sharper than two
    /// intervals, which hold what all servers of a block had in common. Of an open loop only where the tool tells when
    /// a request was due.
    fn p99<'b>(&'b self, workload: &'b str, level: Level) -> impl Fn(&str) -> Option<Value> + 'b {
        let shown = move |server: &str| {
            let p99 = self.cell(server, workload, level)?.figure(Figure::P99Us);
            p99.filter(|_| level.rate.is_none() || level.tool.can(Capability::TellsWhenDue))
        };
        let ratio =
            move |server: &str| self.compared(self.run, server, workload, level, |pair| pair.p99_ratio);
        let mut measured = self.names.iter().filter(|name| shown(name).is_some());
        let is_paired = measured.all(|name| ratio(name).is_some());
        move |server| {
            let p99 = shown(server)?;
            let compared = ratio(server).filter(|_| is_paired).unwrap_or(p99);
            Some(Value { compared, ..Value::of(p99) })
        }
    }

    /// From duets where the run has them: they are sharper. Rates come first.
    fn cpu(&self) -> Vec<AnswerRow> {
        let run = self.run.duets.as_deref().unwrap_or(self.run);
        let mut places = Place::of(run);
        places.sort_by_key(|place| place.level.rate.is_none());
        places.iter().map(|place| self.cpu_at(run, place)).collect()
    }

    fn cpu_at(&self, run: &Run, place: &Place<'_>) -> AnswerRow {
        let Place { workload, level } = *place;
        let topic = if level.rate.is_some() { Topic::CpuAtRate } else { Topic::Cpu };
        let value = |server: &str| {
            self.compared(run, server, workload, level, |pair| Some(pair.cpu.ratio)).map(Value::of)
        };
        let direct = run.summary.comparisons.iter().filter_map(|pair| {
            let place = |server: &str| self.names.iter().position(|name| *name == server);
            let (server, over) = (place(&pair.server)?, place(&pair.over)?);
            let is_it = (&*pair.workload, pair.level) == (workload, level) && pair.over != self.baseline;
            is_it.then_some(Direct { server, over, ratio: pair.cpu.ratio })
        });
        let at = match (is_duet(run), level.rate) {
            // Four processes share the core, and none of them waits for anything else.
            (true, None) => format!("at saturation ({})", load(level)),
            _ => at(level),
        };
        let one = self.of_baseline(run, workload, level, Figure::CpuUsPerRequest);
        AnswerRow { one, direct: direct.collect(), ..self.row(topic, workload, at, value) }
    }

    /// The other server of a pair is in both p99s.
    fn p99_of_duets(&self, duets: &Run, place: &Place<'_>) -> AnswerRow {
        let Place { workload, level } = *place;
        let value = |server: &str| {
            self.compared(duets, server, workload, level, |pair| pair.p99_ratio).map(Value::of)
        };
        let one = self.of_baseline(duets, workload, level, Figure::P99Us);
        AnswerRow { one, ..self.row(Topic::P99, workload, at(level), value) }
    }

    /// What the baseline has of a figure: in duets the median over the servers that it is paired with.
    fn of_baseline(&self, run: &Run, workload: &str, level: Level, figure: Figure) -> Option<f64> {
        let is_it =
            |cell: &&Cell| (&*cell.server, &*cell.workload, cell.level) == (self.baseline, workload, level);
        let cells = run.summary.cells.iter().filter(is_it);
        let values: Vec<f64> = cells.filter_map(|cell| Some(cell.figure(figure)?.value)).collect();
        Some(median(&values)?.value)
    }

    /// A server's ratio to the baseline; the baseline's own is 1.
    fn compared(
        &self,
        run: &Run,
        server: &str,
        workload: &str,
        level: Level,
        ratio: fn(&Comparison) -> Option<Estimate>,
    ) -> Option<Estimate> {
        if server == self.baseline {
            return Some(Estimate { value: 1.0, interval: Some((1.0, 1.0)) });
        }
        ratio(run.summary.comparison(server, self.baseline, workload, level)?)
    }

    /// Latency at the headline's loads.
    fn latency(&self, behind: &str) -> Vec<AnswerRow> {
        let p99 = |place: &Place<'_>| {
            let Place { workload, level } = *place;
            self.row(Topic::P99, workload, at(level) + behind, self.p99(workload, level))
        };
        Place::of(self.run).iter().map(p99).collect()
    }

    /// A row for each workload of a search.
    fn searched(&self) -> Vec<AnswerRow> {
        let Some(summary) = &self.run.summary.search else { return Vec::new() };
        let value = |server: &str, workload: &str| {
            let search = summary.searches.iter().find(|search| {
                (search.searched.server.as_str(), search.searched.workload.as_str()) == (server, workload)
            })?;
            let found = &search.found;
            let at_least = found.fails_at().is_none();
            Some(between(found.holds?.at.into(), found.fails.map(|load| load.at.into()), at_least))
        };
        let at = match summary.search.service_level() {
            None => "in connections without a failed or late request".to_owned(),
            Some(level) => format!("in requests/s with p99 below {} ms", level.p99_ms),
        };
        let row = |workload| self.row(Topic::Held, workload, at.clone(), |server| value(server, workload));
        distinct(summary.searches.iter().map(|search| &*search.searched.workload))
            .into_iter()
            .map(row)
            .collect()
    }
}

/// What a search found: from the most that was reached to the least that was not.
fn between(low: f64, high: Option<f64>, at_least: bool) -> Value {
    let interval = Some((low, high.unwrap_or(f64::INFINITY)));
    Value { at_least, ..Value::of(Estimate { value: low, interval }) }
}

/// `at 125 connections`, `at 2,000/s`.
fn at(level: Level) -> String {
    match level.rate {
        Some(rate) => format!("at {}/s", count(rate.into())),
        None => format!("at {}", load(level)),
    }
}

/// What the baseline has in a row.
fn baseline_value(row: &AnswerRow, names: &[&str], baseline: &str) -> Option<f64> {
    let place = names.iter().position(|name| *name == baseline)?;
    row.values[place].map(|value| value.shown)
}
