//! The rows of an answer: what a run measured of every server, by topic.

use super::super::Run;
use super::super::format::{count, distinct, load};
use super::super::verdicts::{compares_nothing, is_duet};
use bench_core::answer::{Answer, AnswerRow, Direct, Topic, Value};
use bench_core::figure::Figure;
use bench_core::load::Level;
use bench_core::plan::short_labels;
use bench_core::stats::{Estimate, median};
use bench_core::{Mark, compares};

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
    let of_duets = questions(run).into_iter().filter(|question| is_duet(question.part));
    let of_duets = distinct(of_duets.map(|question| question.figure));
    let (servers, margin) = (short_labels(&labels), campaign.margin.0);
    (!rows.is_empty()).then_some(Answer { servers, baseline, margin, of_duets, rows })
}

/// What a run measured of these servers, by name: each row has values of two at least.
pub(super) fn rows(run: &Run, names: &[&str], baseline: usize) -> Vec<AnswerRow> {
    let compared = questions(run);
    let compared = compared.iter().map(|question| question.row(names, names[baseline]));
    let mut rows: Vec<AnswerRow> = compared.chain(searched(run, names)).collect();
    rows.retain(|row| row.values.iter().flatten().count() > 1);
    rows
}

/// A figure by which servers are compared with a request at a load.
#[derive(Clone, Copy)]
pub(crate) struct Question<'a> {
    /// The run, or its duets.
    pub part: &'a Run,
    pub figure: Figure,
    pub workload: &'a str,
    pub level: Level,
}

/// What servers are compared by at the headline's loads, rates first: the judged figures, CPU time before others, and
/// p99 at a rate. Each is of the duets where these have it: they are sharper.
pub(crate) fn questions(run: &Run) -> Vec<Question<'_>> {
    // With a background load, CPU time is that of both loads; a campaign that has one states views.
    if run.plan.campaign.background().is_some() {
        return Vec::new();
    }
    let mut figures: Vec<Figure> = run.plan.campaign.judged().into_iter().map(|(figure, _)| figure).collect();
    figures.sort_by_key(|figure| *figure != Figure::CpuUsPerRequest);
    let is_judged = |figure| figures.contains(&figure);
    let unjudged = [Figure::P99Us].into_iter().filter(|figure| !is_judged(*figure));
    let of_figure = |figure: Figure| {
        let of_duets = run.duets.as_deref().map(|duets| at_headline(duets, figure, is_judged(figure)));
        of_duets.filter(|all| !all.is_empty()).unwrap_or_else(|| at_headline(run, figure, is_judged(figure)))
    };
    figures.iter().copied().chain(unjudged).flat_map(of_figure).collect()
}

/// A figure at the headline's loads of a run; where it is not judged, at rates alone: the p99 of a saturated server says
/// how many connections wait.
fn at_headline<'a>(part: &'a Run, figure: Figure, is_judged: bool) -> Vec<Question<'a>> {
    if !part.has_sweep() {
        return Vec::new();
    }
    let placement = part.plan.campaign.environment.placement;
    let of = |workload: &'a String| {
        let levels = part.plan.headline_levels(workload).into_iter();
        let is_known = |level: &Level| compares(figure, placement, *level) && level.tells(figure);
        let levels = levels.filter(move |level| is_known(level) && (is_judged || level.rate.is_some()));
        levels.map(move |level| Question { part, figure, workload, level })
    };
    let mut questions: Vec<Question<'_>> = part.plan.campaign.workloads.iter().flat_map(of).collect();
    questions.sort_by_key(|question| (question.level.rate.is_none(), question.level.rate));
    questions
}

impl Question<'_> {
    fn row(&self, names: &[&str], baseline: &str) -> AnswerRow {
        let Self { part, figure, workload, level } = *self;
        let value = |server: &&str| {
            let own = Estimate { value: 1.0, interval: Some((1.0, 1.0)) };
            let pair = || part.summary.comparison(server, baseline, workload, level)?.ratio(figure);
            let estimate = if *server == baseline { own } else { pair()? };
            Some(Value { estimate, at_least: figure == Figure::RequestsPerSecond && self.is_bound(server) })
        };
        let direct = part.summary.comparisons.iter().filter_map(|pair| {
            let place = |server: &str| names.iter().position(|name| *name == server);
            let (server, over) = (place(&pair.server)?, place(&pair.over)?);
            let is_it = (&*pair.workload, pair.level) == (workload, level) && pair.over != baseline;
            Some(Direct { server, over, ratio: pair.ratio(figure)? }).filter(|_| is_it)
        });
        AnswerRow {
            topic: Topic::Figure(figure),
            request: workload.to_owned(),
            at: self.at(),
            one: self.of_baseline(baseline),
            values: names.iter().map(value).collect(),
            direct: direct.collect(),
        }
    }

    /// Whether the load generator was what limited a server's rate.
    fn is_bound(&self, server: &str) -> bool {
        let cell = self.part.summary.cell(server, self.workload, self.level);
        cell.is_some_and(|cell| cell.marks.contains(&Mark::ClientBound))
    }

    /// What the baseline has of the figure: in duets the median over the servers that it is paired with.
    fn of_baseline(&self, baseline: &str) -> Option<f64> {
        let cells = self.part.summary.cells.iter().filter(|cell| {
            (&*cell.server, &*cell.workload, cell.level) == (baseline, self.workload, self.level)
        });
        let values: Vec<f64> = cells.filter_map(|cell| Some(cell.figure(self.figure)?.value)).collect();
        Some(median(&values)?.value)
    }

    /// `at 125 connections`, `at 2,000/s`.
    fn at(&self) -> String {
        match self.level.rate {
            // Four processes share the core, and none of them waits for anything else.
            None if is_duet(self.part) => format!("at saturation ({})", load(self.level)),
            None => format!("at {}", load(self.level)),
            Some(rate) if self.part.plan.campaign.open.is_some() && self.figure.is_latency() => {
                format!("at {}/s, from the intended send", count(rate.into()))
            }
            Some(rate) => format!("at {}/s", count(rate.into())),
        }
    }
}

/// A row for each workload of a search: from the most that was reached to the least that was not.
fn searched<'a>(run: &'a Run, names: &'a [&str]) -> impl Iterator<Item = AnswerRow> + 'a {
    let value = |server: &str, workload: &str| {
        let mut searches = run.summary.search.as_ref()?.searches.iter();
        let found = &searches.find(|search| {
            (search.searched.server.as_str(), search.searched.workload.as_str()) == (server, workload)
        })?;
        let found = &found.found;
        let (low, high) = (found.holds?.at.into(), found.fails.map(|load| load.at.into()));
        let estimate = Estimate { value: low, interval: Some((low, high.unwrap_or(f64::INFINITY))) };
        Some(Value { estimate, at_least: found.fails_at().is_none() })
    };
    run.summary.search.iter().flat_map(move |summary| {
        let at = match summary.search.service_level() {
            None => "in connections without a failed or late request".to_owned(),
            Some(level) => format!("in requests/s with p99 below {} ms", level.p99_ms),
        };
        distinct(summary.searches.iter().map(|search| &*search.searched.workload)).into_iter().map(
            move |workload| AnswerRow {
                topic: Topic::Held,
                request: workload.to_owned(),
                at: at.clone(),
                one: None,
                values: names.iter().map(|server| value(server, workload)).collect(),
                direct: Vec::new(),
            },
        )
    })
}
