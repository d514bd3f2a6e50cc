//! Rates in a calibration's report: false verdicts and power next to those of CPU time, and what a minute resolves.

use super::super::format::{Table, counted, dash, estimate};
use super::{OFTEN, handicap, sentence_of, shown};
use bench_analysis::calibration::{CalibrationSummary, Power, Resampled, Sharpness};
use bench_model::config::Calibration;
use bench_model::figure::Figure;

/// The headline's lines: false verdicts and power.
pub(super) fn sentences(summary: &CalibrationSummary) -> impl Iterator<Item = String> {
    summary.rates.iter().flat_map(|rates| &rates.ours).map(|power| sentence_of("rate", power))
}

fn relative(value: f64) -> String {
    format!("{:.2} %", value * 100.0)
}

/// The section; nothing where rates were not calibrated.
pub(super) fn section(calibration: &Calibration, summary: &CalibrationSummary) -> String {
    let Some(rates) = calibration.rates.as_ref().filter(|_| summary.rates.is_some()) else {
        return String::new();
    };
    format!(
        "## False verdicts and power, CPU time and rates\n\nCPU time is compared in duets. Rates are measured as a \
         campaign's sweep measures them: one server after the other on all cores, at {}, in an order that is drawn \
         for each block, each a fresh one for its window of {} ms. All that ran took turns and got the same time. \
         Each comparison has blocks of its own and is judged by itself, with the whole error of 5 %; one of several \
         in a campaign shares the error and takes more blocks. For the twin each claim is a false \
         verdict.\n\n{}\n\"Effect, as derived\" of CPU time is the handicap over what the base needed. Of a rate it \
         is -h / (T + h): h is the handicap's CPU time and T what server and load tool together used for a request of \
         the base. It holds as long as both use as many processors as without a handicap; \"over all blocks\" is what \
         was measured.\n\n\
         ## What a minute resolves\n\nBlocks of the server and its twin. \"Time of a block\" is that of two servers, \
         with start, warm-up and lost blocks. The interval after a minute is that over all blocks, times the square \
         root of the minutes that they took. The last three columns are from resampling the blocks, as below, and \
         need 30 of them.\n\n{}",
        counted(rates.connections.into(), "connection"),
        rates.window_ms,
        verdicts(summary).markdown(),
        minutes(summary).markdown()
    )
}

/// False verdicts and power.
fn verdicts(summary: &CalibrationSummary) -> Table {
    let headers = "figure | handicap | effect, as derived | over all blocks | comparisons | claimed a difference | in \
        the wrong direction | spread of a block | blocks, median (most) | time, median (most)";
    let row = |figure: &str, power: &Power| {
        let relative = |value: f64| format!("{:+.2} %", value * 100.0);
        vec![
            figure.to_owned(),
            handicap(power.handicap),
            dash(power.expected, relative),
            dash(power.overall, |value| estimate(value, relative)),
            power.claimed.of.to_string(),
            shown(power.claimed),
            power.wrong_way.count.to_string(),
            format!("{:.1} %", power.spread * 100.0),
            format!("{:.0} ({})", power.blocks.0, power.blocks.1),
            format!("{:.0} s ({:.0} s)", power.seconds.0, power.seconds.1),
        ]
    };
    let is_of_cpu = |power: &&Power| power.figure == Figure::CpuUsPerRequest && summary.trials > 0;
    let cpu = summary.ours.iter().filter(is_of_cpu);
    let cpu = cpu.map(|power| row("CPU time", power));
    let rates = summary.rates.iter().flat_map(|rates| &rates.ours).map(|power| row("rate", power));
    Table::of(headers, 2, cpu.chain(rates))
}

/// What a minute resolves.
fn minutes(summary: &CalibrationSummary) -> Table {
    let headers = "figure | blocks | spread of a block | time of a block | interval after a minute | after three | \
        false verdicts | smallest difference seen in 90 % | after";
    let row = |figure: &str, sharpness: Option<Sharpness>, resampled: &[Resampled]| {
        let often =
            |row: &&Resampled| row.difference > 0.0 && f64::from(row.claimed) >= OFTEN * f64::from(row.of);
        let seen = resampled.iter().find(often);
        let none = resampled.iter().find(|row| row.difference <= 0.0);
        let time = seen.zip(sharpness).map(|(seen, sharpness)| seen.blocks * sharpness.block_s);
        vec![
            figure.to_owned(),
            dash(sharpness, |of| of.blocks.to_string()),
            dash(sharpness, |of| relative(of.spread)),
            dash(sharpness, |of| format!("{:.1} s", of.block_s)),
            dash(sharpness, |of| format!("±{}", relative(of.in_a_minute))),
            dash(sharpness, |of| format!("±{}", relative(of.in_a_minute / 3.0_f64.sqrt()))),
            dash(none, |row| format!("{} of {}", row.claimed, row.of)),
            dash(seen, |row| format!("{:.1} %", row.difference * 100.0)),
            dash(time, |seconds| format!("{seconds:.0} s")),
        ]
    };
    let cpu = || row("CPU time, duets", summary.sharpness, &summary.resampled);
    let cpu = (summary.trials > 0).then(cpu);
    let rates = summary.rates.iter().map(|rates| row("rate", rates.sharpness, &rates.resampled));
    Table::of(headers, 1, cpu.into_iter().chain(rates))
}
