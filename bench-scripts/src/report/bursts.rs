//! The report of bursts on listen queues: each prediction against its outcome, whichever way it came out.

use anyhow::Result;

use super::format::{Table, count, dash, known, thousands};
use super::html;
use crate::analysis::bursts::{self, BurstPlan};
use crate::analysis::diagnosis::{Tried, predict};
use crate::results::RunFolder;

/// A prediction for a running server came true where it is off by no more than this factor: the share that a server accepts
/// while a burst arrives differs from burst to burst.
const NEAR: f64 = 1.25;

/// What was written.
#[derive(Debug)]
pub struct Written {
    /// The report.
    pub text: String,
    /// Whether every prediction came true, as far as this machine could tell.
    pub all_came_true: bool,
}

/// How a prediction came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    True,
    False,
    /// The machine can't make as many connections.
    Open,
    /// It was made from this outcome.
    Fitted,
}

/// Writes `report.md` from what the folder holds.
pub fn write(folder: &RunFolder) -> Result<Written> {
    let written = read(folder)?;
    folder.write_derived("report.md", &written.text)?;
    html::write(folder, &written.text, &[])?;
    Ok(written)
}

/// The report of what the folder holds.
pub fn markdown(folder: &RunFolder) -> Result<String> {
    Ok(read(folder)?.text)
}

fn read(folder: &RunFolder) -> Result<Written> {
    let (plan, arms) = bursts::read(folder)?;
    let outcomes: Vec<Outcome> = arms.iter().map(|arm| outcome(arm, &arms, plan.most)).collect();
    let text = text(&plan, &arms, &outcomes);
    Ok(Written { text, all_came_true: !outcomes.contains(&Outcome::False) })
}

fn outcome(arm: &Tried, arms: &[Tried], most: u32) -> Outcome {
    let Some(predicted) = predict(arm, arms) else { return Outcome::Open };
    match (arm.first_slow(), arm.held) {
        _ if predicted.fitted => Outcome::Fitted,
        // Exactly there, and nowhere below.
        (Some(found), true) => came_true(f64::from(found) == predicted.first_slow),
        (Some(found), false) => came_true((f64::from(found) / predicted.first_slow).ln().abs() <= NEAR.ln()),
        (None, _) if predicted.first_slow > f64::from(most) => Outcome::Open,
        (None, _) => Outcome::False,
    }
}

fn came_true(is: bool) -> Outcome {
    if is { Outcome::True } else { Outcome::False }
}

fn text(plan: &BurstPlan, arms: &[Tried], outcomes: &[Outcome]) -> String {
    let granted = known(plan.host.max_backlog, "unknown", count);
    let kernel = plan.host.kernel.as_deref().unwrap_or("unavailable");
    format!(
        "# Bursts on listen queues\n\n\
         From how many connections at once on is one of them slow (not made within 0.9 s)? A queue of backlog *b* holds \
         *b* + 1; what finds it full is dropped and tried again after 1 s.\n\n\
         ## Held still\n\n\
         The server was stopped (SIGSTOP) while the burst arrived, so it accepted none of it. Predicted: the first slow \
         connection at *b* + 2.\n\n{}\n\
         ## Running\n\n\
         The server accepts while the burst arrives, a share *s* of it. Predicted: at (*b* + 1) / (1 - *s*), with *s* from the \
         smallest backlog's outcome; true within a factor of {NEAR}.\n\n{}\n\
         Each of the two ends was tried three times; \"1/3\" is one burst of three with a slow connection. One thread requests all \
         connections, as fast as it can. The machine: {}, {} cores, kernel {kernel}, somaxconn {granted}, at most {} connections; \
         seed {}, begun {}.\n",
        table(arms, outcomes, true),
        table(arms, outcomes, false),
        plan.host.processor_name(),
        plan.host.cores,
        count(u64::from(plan.most)),
        plan.seed,
        plan.started_at
    )
}

fn table(arms: &[Tried], outcomes: &[Outcome], held: bool) -> String {
    let headers =
        "server | backlog | predicted first slow | last fast | first slow | overflows there | prediction";
    let mut table = Table::of(headers, 1, []);
    for (arm, outcome) in arms.iter().zip(outcomes).filter(|(arm, _)| arm.held == held) {
        let end = |size: Option<u32>| {
            known(size, "none", |size| {
                let (slow, all) = arm.of(size);
                format!("{} ({slow}/{all})", count(size.into()))
            })
        };
        let predicted = predict(arm, arms);
        let overflows = arm.bursts.iter().filter(|burst| Some(burst.connections) == arm.first_slow());
        // The counter is the whole machine's: the burst in which least else happened says most.
        let overflows = overflows.filter_map(|burst| burst.overflows).min();
        table.row(vec![
            arm.server.clone(),
            count(u64::from(arm.backlog)),
            dash(predicted, |it| thousands(it.first_slow)),
            end(arm.last_quick()),
            end(arm.first_slow()),
            dash(overflows, count),
            match outcome {
                Outcome::True => "true",
                Outcome::False => "**false**",
                Outcome::Open => "open: this machine makes no more connections",
                Outcome::Fitted => "(*s* is from here)",
            }
            .to_owned(),
        ]);
    }
    table.markdown()
}
