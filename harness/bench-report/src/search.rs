//! From which load on servers fail: the headline's sentences, and a section with every search, its counts, its chart,
//! and why servers fail there.

use anyhow::Result;
use minijinja::{Value, context};

use super::format::{bullets, count, counted, joined, known, list, load, time_ms};
use super::templates::{data, fill};
use super::{Run, causes};
use bench_analysis::search::{Ending, NotReached, Searches, Shown, Tested, bad_to_fail};
use bench_analysis::{Diagnosed, NEAR_CEILING, grouped};
use bench_model::config::ServiceLevel;

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
            holds => one.found.holds.map(|at| told.tested(one, at)),
            fails => one.found.fails.map(|at| told.tested(one, at)),
            between => told.between(one),
            in_time => one.found.conditional_rate,
            p99_us => one.at_held.map(|at| at.p99_us),
            cpu_us => one.at_held.map(|at| at.cpu_us_per_request),
            notes => joined(told.notes(one), "; "),
        }
    };
    let connecting = summary.searches.iter().flat_map(|one| {
        let (request, server) = (&*one.searched.workload, run.label(&one.searched.server));
        one.connecting.iter().map(move |at| context! { request, server, at => data(at) })
    });
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
            ceiling => summary.ceiling.map(|of| context! { tool => of.tool.name(), held => of.held, not_held => of.not_held }),
            ceiling_of => run.ceiling_words(),
            rows => summary.searches.iter().map(row).collect::<Vec<Value>>(),
            trials => summary.trials,
            has_chart => summary.searches.iter().flat_map(|one| &one.points).any(|point| point.latency_us.is_some()),
            unseen => points().filter(|point| point.passed == Some(false)).count(),
            connecting => connecting.collect::<Vec<Value>>(),
            causes => told.causes()?,
            limit_ms => level.map_or(summary.timeout_ms, |level| level.p99_ms),
            settings => settings.map(|(name, ready)| format!("{{\"{name}\":{ready}}}")).collect::<Vec<String>>(),
        },
    )
}

/// What a service level demands.
fn level(level: &ServiceLevel) -> String {
    let failed = known(level.most_failed, "no failure", |share| format!("at most {share} failed"));
    format!("{failed}, p99 below {} ms, at most {} short of the rate", level.p99_ms, level.shortfall)
}

/// Loads below the first of which a trial failed, and the others.
fn split(loads: &[Tested]) -> (&[Tested], &[Tested]) {
    loads.split_at(loads.iter().position(Tested::any_failed).unwrap_or(loads.len()))
}

impl Told<'_> {
    /// What is demanded of a server.
    fn demand(&self) -> String {
        let timeout =
            || format!("no request that fails or takes longer than {}", time_ms(self.summary.timeout_ms));
        self.summary.search.service_level().map_or_else(timeout, level)
    }

    /// A load with its unit.
    fn load(&self, at: u32) -> String {
        load(self.summary.search.level(at))
    }

    /// How the trials of a load ended: 12,000 (1/5 failed, short 0/1); and what they held, where that was less.
    fn tested(&self, search: &Shown, at: Tested) -> String {
        format!("{} ({})", count(at.at.into()), outcomes(search, at))
    }

    /// The same with the load's unit.
    fn with_unit(&self, search: &Shown, at: Tested) -> String {
        format!("{} ({})", self.load(at.at), outcomes(search, at))
    }

    /// One search in the headline's words.
    fn short(&self, name: &str, search: &Shown) -> String {
        let found = &search.found;
        let passing = match split(&found.between) {
            ([], _) => String::new(),
            (passing, _) => format!("no failure at {}, ", self.span(search, passing)),
        };
        let reason = self.reason(search);
        match (found.holds, found.fails) {
            (Some(low), Some(high)) => {
                let open = if reason.is_empty() { reason } else { format!(", {reason}") };
                format!(
                    "**{name}** holds {}, fails at {}{open}",
                    self.with_unit(search, low),
                    self.tested(search, high)
                )
            }
            (Some(low), None) => format!("**{name}** holds {}: {reason}", self.with_unit(search, low)),
            (None, Some(high)) => {
                format!("**{name}** fails at {}: {passing}{reason}", self.with_unit(search, high))
            }
            (None, None) => format!("**{name}**: {passing}{reason}"),
        }
    }

    /// Why an end of the answer is missing; empty where none is.
    fn reason(&self, search: &Shown) -> String {
        let (found, limit) = (&search.found, search.searched.limit);
        match found.ending {
            Ending::Interval => String::new(),
            Ending::HoldsToHighest => match found.fails_at() {
                None => limit.by.words().to_owned(),
                Some(at) => format!(
                    "it fails at times from {} on, and no load is shown to fail up to {} ({})",
                    self.tested(search, at),
                    count(limit.at.into()),
                    limit.by.words()
                ),
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
        let trials = counted(trials.into(), "trial");
        format!(
            "{} were not reached ({} were, with {client_cores:.2} cores of the load tool and {server_cores:.2} of the \
             server; {trials})",
            self.load(at),
            count(reached)
        )
    }

    /// Whose limit it is where the campaign's ceiling, which does next to nothing for a request, fails at the same load
    /// already.
    fn not_the_servers(&self, search: &Shown) -> Option<String> {
        let plan = &self.run.plan;
        let ceiling = plan.campaign.ceiling.as_ref().filter(|name| plan.is_ceiling(name))?;
        let searched = &search.searched;
        let same = |other: &&Shown| {
            other.searched.server == *ceiling && other.searched.workload == searched.workload
        };
        let other = self
            .summary
            .searches
            .iter()
            .find(same)
            .filter(|other| other.searched.server != searched.server)?;
        let (own, other) = (search.found.fails?, other.found.fails?);
        let said = format!("{ceiling} fails there too, so it is the limit of the load tool or the machine");
        (own.at >= other.at).then_some(said)
    }

    /// The loads that neither hold nor fail: first those below the lowest at which a trial failed, then the others.
    fn between(&self, search: &Shown) -> String {
        let (passing, mixed) = split(&search.found.between);
        let parts = [passing, mixed].into_iter().filter(|loads| !loads.is_empty());
        let parts = joined(parts.map(|loads| self.span(search, loads)), "; ");
        if parts.is_empty() { "-".to_owned() } else { parts }
    }

    /// Loads by their ends, and how many trials failed at them.
    fn span(&self, search: &Shown, loads: &[Tested]) -> String {
        let (Some(first), Some(last)) = (loads.first(), loads.last()) else { return String::new() };
        if first == last {
            return self.tested(search, *first);
        }
        let all = |of: fn(&Tested) -> u32| loads.iter().map(of).sum();
        let total = Tested {
            at: 0,
            passed: all(|load| load.passed),
            failed: all(|load| load.failed),
            short_passed: all(|load| load.short_passed),
            short_failed: all(|load| load.short_failed),
        };
        let [first, last] = [first, last].map(|load| count(load.at.into()));
        format!("{first} to {last} ({})", outcomes(search, total))
    }

    /// What a reader should know of a search's counts.
    fn notes(&self, search: &Shown) -> Vec<String> {
        let found = &search.found;
        let reason = Some(self.reason(search)).filter(|reason| !reason.is_empty());
        let limited = search.not_reached.filter(|_| found.ending != Ending::NotReached);
        let ends = found.fails.or(found.holds).zip(self.summary.ceiling.and_then(|ceiling| ceiling.held));
        let near =
            ends.filter(|(end, held)| f64::from(end.at) >= NEAR_CEILING * f64::from(*held)).map(|_| {
                "within 10 % of the tool's ceiling: what holds the tool back may hold this server back too"
                    .to_owned()
            });
        let complaints = (!search.complaints.is_empty()).then(|| {
            let at = known(found.fails_at(), "", |load| format!("at {}: ", count(load.at.into())));
            at + &list(search.complaints.iter().map(|(kind, trials)| format!("{trials} times {kind}")))
        });
        let contradictions = (!found.contradictions.is_empty()).then(|| {
            let loads = list(found.contradictions.iter().map(|load| self.tested(search, *load)));
            format!("**not monotone**: {loads}")
        });
        let limited = limited.map(|of| self.not_reached(of));
        let notes = [self.not_the_servers(search), reason, limited, near, complaints, contradictions];
        notes.into_iter().flatten().collect()
    }

    /// Why a server fails, how sure that is, and where it fails once the cause is taken away.
    fn cause(&self, cell: &Diagnosed) -> Result<String> {
        let Searches { remedies, remedied, .. } = self.summary;
        let again = remedies.iter().filter_map(|tried| {
            let plan = &tried.plan;
            let is_of_cell = (&plan.server, &plan.workload) == (&cell.server, &cell.workload);
            let (name, change) = plan.remedied.as_ref().filter(|_| is_of_cell)?;
            let mut searches = remedied.iter().flat_map(|again| &again.searches);
            let search = searches.find(|search| {
                (&search.searched.server, &search.searched.workload) == (name, &cell.workload)
            })?;
            let short = self.short(self.run.label(&cell.server), search);
            Some(format!("  - searched again with {change}: {short}.\n"))
        });
        Ok(causes::explained(cell, remedies)? + &again.collect::<String>())
    }

    /// The same for all servers; of one that fails at a load, and of which nothing else is known, that.
    fn causes(&self) -> Result<String> {
        let Searches { causes, searches, .. } = self.summary;
        let is_of = |cell: &Diagnosed, search: &Shown| {
            (&cell.server, &cell.workload) == (&search.searched.server, &search.searched.workload)
        };
        let unknown = searches.iter().filter_map(|search| {
            let at = search.found.fails.filter(|_| !causes.iter().any(|cell| is_of(cell, search)))?;
            let (server, workload) = (&search.searched.server, &search.searched.workload);
            let at = self.load(at.at);
            Some(Ok(format!(
                "- **{server}, {workload} at {at}**: unknown: nothing that is counted explains it.\n"
            )))
        });
        causes.iter().map(|cell| self.cause(cell)).chain(unknown).collect()
    }
}

fn outcomes(search: &Shown, at: Tested) -> String {
    let held = search
        .connecting
        .iter()
        .find(|of| of.connections == at.at)
        .and_then(|of| of.held)
        .filter(|_| at.failed > 0);
    let parts = [
        (at.trials() > 0).then(|| format!("{}/{} failed", at.failed, at.trials())),
        (at.short_trials() > 0).then(|| format!("short {}/{}", at.short_failed, at.short_trials())),
        held.map(|held| format!("at most {} connections held where not all were", count(held))),
    ];
    list(parts.into_iter().flatten())
}
