//! From which load on servers fail: the headline's sentences, and a section with every search, its counts, its chart,
//! and why servers fail there.

use anyhow::Result;
use minijinja::{Value, context};

use super::format::{bullets, count, counted, joined, known, list, load, time_ms};
use super::templates::fill;
use super::{Run, causes};
use bench_core::config::ServiceLevel;
use bench_core::search::{Ending, NotReached, Searches, Shown, Tested, bad_to_fail};
use bench_core::{Diagnosed, grouped};

impl Run {
    /// The searches that were given up because trials showed nothing of the server, one line each.
    pub fn searches_given_up(&self) -> Vec<String> {
        let searches = self.summary.search.iter().flat_map(|summary| &summary.searches);
        let given_up = searches.filter(|search| search.found.ending == Ending::Unmeasured);
        let line = |search: &Shown| {
            format!("{} {}: the search was given up", search.searched.server, search.searched.workload)
        };
        given_up.map(line).collect()
    }
}

/// A run's searches in words.
struct Told<'a> {
    run: &'a Run,
    summary: &'a Searches,
}

/// One line for each request, and why servers fail.
pub fn headline(run: &Run) -> Result<String> {
    let Some(summary) = &run.summary.search else { return Ok(String::new()) };
    let told = Told { run, summary };
    let by_request =
        grouped(summary.searches.iter().map(|search| (&search.searched.workload, search))).into_iter();
    let lines = by_request.map(|(workload, searches)| {
        let servers = searches.into_iter().map(|search| {
            let said = told.short(run.label(&search.searched.server), search);
            known(told.not_the_servers(search), &said, |why| format!("{said} ({why})"))
        });
        format!("**{workload}**, with {}: {}.", told.demand(), joined(servers, "; "))
    });
    Ok(bullets(lines) + &told.causes()?)
}

/// The section; empty for a campaign without a search.
pub fn section(run: &Run) -> Result<String> {
    let Some(summary) = &run.summary.search else { return Ok(String::new()) };
    let told = Told { run, summary };
    let (search, level) = (&summary.search, summary.search.service_level());
    let row = |one: &Shown| {
        context! {
            request => &*one.searched.workload,
            server => run.label(&one.searched.server),
            holds => one.found.holds.map(tested),
            fails => one.found.fails.map(tested),
            between => list(one.found.between.iter().map(|load| tested(*load))),
            in_time => one.found.conditional_rate,
            p99_us => one.at_held.map(|at| at.p99_us),
            cpu_us => one.at_held.map(|at| at.cpu_us_per_request),
            notes => joined(told.notes(one), "; "),
        }
    };
    let points =
        || summary.searches.iter().flat_map(|one| &one.points).filter(|point| point.latency_us.is_none());
    let settings = run.searched_on.iter().flat_map(|on| &on.servers);
    let of_level = |of: &ServiceLevel| {
        context! {
            tool => of.tool.name(),
            connections => of.connections,
            exceed => known(of.exceed_ratio, "none", |share| format!("at most {share}")),
            short_window_ms => of.short_window_ms,
        }
    };
    fill(
        "search",
        context! {
            level => level.map(of_level),
            demand => told.demand(),
            trials_each => search.confirmations,
            bad_to_fail => bad_to_fail(search.confirmations),
            window_ms => summary.window_ms,
            width => search.width.to_string(),
            rows => summary.searches.iter().map(row).collect::<Vec<Value>>(),
            trials => summary.trials,
            has_chart => summary.searches.iter().flat_map(|one| &one.points).any(|point| point.latency_us.is_some()),
            unseen => points().filter(|point| point.passed == Some(false)).count(),
            causes => told.causes()?,
            limit_ms => level.map_or(summary.timeout_ms, |level| level.p99_ms),
            settings => settings.map(|(name, ready)| format!("{{\"{name}\":{ready}}}")).collect::<Vec<String>>(),
        },
    )
}

/// How the trials of a load ended: 12,000 (1/5 failed, short 0/1).
fn tested(at: Tested) -> String {
    format!("{} ({})", count(at.at.into()), outcomes(at))
}

fn outcomes(at: Tested) -> String {
    let full = (at.trials() > 0).then(|| format!("{}/{} failed", at.failed, at.trials()));
    let short = (at.short_trials() > 0).then(|| format!("short {}/{}", at.short_failed, at.short_trials()));
    list(full.into_iter().chain(short))
}

/// What a service level demands.
fn level(level: &ServiceLevel) -> String {
    let failed = known(level.most_failed, "no failure", |share| format!("at most {share} failed"));
    format!("{failed}, p99 below {} ms, at most {} short of the rate", level.p99_ms, level.shortfall)
}

impl Told<'_> {
    /// What is demanded of a server.
    fn demand(&self) -> String {
        let timeout_ms = self.summary.timeout_ms;
        let none_bad = || format!("no request that fails or takes longer than {}", time_ms(timeout_ms));
        self.summary.search.service_level().map_or_else(none_bad, level)
    }

    /// A load with its unit.
    fn load(&self, at: u32) -> String {
        load(self.summary.search.level(at))
    }

    /// One search in the headline's words.
    fn short(&self, name: &str, search: &Shown) -> String {
        let Shown { found, .. } = search;
        let with_unit = |at: Tested| format!("{} ({})", self.load(at.at), outcomes(at));
        let ends = [
            found.holds.map(|at| format!(" holds {}", with_unit(at))),
            found.fails.map(|at| format!(" fails at {}", with_unit(at))),
        ];
        let ends = joined(ends.into_iter().flatten(), ",");
        let reason = self.reason(search);
        if reason.is_empty() { format!("**{name}**{ends}") } else { format!("**{name}**{ends}: {reason}") }
    }

    /// Why an end of the answer is missing; empty where none is.
    fn reason(&self, search: &Shown) -> String {
        let (found, limit) = (&search.found, self.summary.limit);
        let limited =
            if limit < self.summary.search.most { "this machine holds" } else { "the campaign has" };
        let to = || format!("{limited} no load above {}", count(limit.into()));
        match found.ending {
            Ending::Interval => String::new(),
            Ending::HoldsToHighest => match found.fails_at() {
                None => to(),
                Some(at) => format!("it fails at times from {} on, and {}", tested(at), to()),
            },
            Ending::TrialsUsedUp => format!("not settled in {} trials", found.trials),
            Ending::Unmeasured => format!("given up because {} trials showed nothing", found.unmeasured),
            Ending::NotReached => known(search.not_reached, found.ending.words(), |of| self.not_reached(of)),
            Ending::FailsAtLowest | Ending::Unfinished => found.ending.words().to_owned(),
        }
    }

    /// What was reached of a load that was not reached.
    fn not_reached(&self, of: NotReached) -> String {
        let NotReached { at, trials, reached, client_cores, server_cores } = of;
        format!(
            "{} were not reached ({} were, with {client_cores:.2} cores of the load tool and {server_cores:.2} of the \
             server; {})",
            self.load(at),
            count(reached),
            counted(trials.into(), "trial")
        )
    }

    /// Whose limit it is where the campaign's ceiling, which does next to nothing for a request, fails at the same load
    /// already, or the load is not reached against it.
    fn not_the_servers(&self, search: &Shown) -> Option<String> {
        let plan = &self.run.plan;
        let ceiling = plan.campaign.ceiling.as_ref().filter(|name| plan.is_ceiling(name))?;
        let (searched, own) = (&search.searched, search.found.fails?);
        let is_ceiling = |other: &&Shown| {
            (&other.searched.server, &other.searched.workload) == (ceiling, &searched.workload)
        };
        let other = self.summary.searches.iter().find(is_ceiling).filter(|_| searched.server != *ceiling)?;
        let most = other.found.fails.map(|load| load.at).or(other.not_reached.map(|of| of.at))?;
        let said = format!("so does {ceiling}, so it is the limit of the load tool or the machine");
        (own.at >= most).then_some(said)
    }

    /// What a reader should know of a search's counts.
    fn notes(&self, search: &Shown) -> Vec<String> {
        let found = &search.found;
        let reason = Some(self.reason(search)).filter(|reason| !reason.is_empty());
        let limited = search.not_reached.filter(|_| found.ending != Ending::NotReached);
        let complaints = (!search.complaints.is_empty()).then(|| {
            let at = known(found.fails_at(), "", |load| format!("at {}: ", count(load.at.into())));
            at + &list(search.complaints.iter().map(|(kind, trials)| format!("{trials} times {kind}")))
        });
        let contradictions = (!found.contradictions.is_empty()).then(|| {
            format!("**not monotone**: {}", list(found.contradictions.iter().map(|load| tested(*load))))
        });
        let limited = limited.map(|of| self.not_reached(of));
        let notes = [self.not_the_servers(search), reason, limited, complaints, contradictions];
        notes.into_iter().flatten().collect()
    }

    /// Why servers fail, how sure that is, and where they fail once the cause is taken away.
    fn causes(&self) -> Result<String> {
        let Searches { causes, remedies, .. } = self.summary;
        causes.iter().map(|cell| Ok(causes::explained(cell, remedies)? + &self.again(cell))).collect()
    }

    /// What was found with the remedies of a server's causes.
    fn again(&self, cell: &Diagnosed) -> String {
        let of_cell =
            |(server, workload): (&String, &String)| (server, workload) == (&cell.server, &cell.workload);
        let plans = self.summary.remedies.iter().map(|tried| &tried.plan);
        let again = plans.filter(|plan| of_cell((&plan.server, &plan.workload))).filter_map(|plan| {
            let (name, change) = plan.remedied.as_ref()?;
            let mut searches = self.summary.remedied.iter().flat_map(|again| &again.searches);
            let is_of = |search: &&Shown| {
                (&search.searched.server, &search.searched.workload) == (name, &cell.workload)
            };
            let short = self.short(self.run.label(&cell.server), searches.find(is_of)?);
            Some(format!("  - searched again with {change}: {short}.\n"))
        });
        again.collect()
    }
}
