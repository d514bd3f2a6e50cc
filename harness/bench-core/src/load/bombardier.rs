//! bombardier 1.2.6, the load generator of the original test.
//!
//! What to know of it: its exit code is 0 even when every request failed; failed requests enter its latencies; its own
//! mean rate is weighted oddly, so the rate is worked out from counts and time; its own JSON stops at the 99th
//! percentile, so it is given a template; it takes no load below a second, but ends well when interrupted; its default
//! client has no limit on the time to connect and repeats a request up to five times where a server closes before the
//! first byte.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use super::load_tool::{
    About, Bodies, Build, Driver, Files, Invocation, Job, Reading, command, is_for_a_file, text,
};
use super::{Client, Latency, Load, LoadSample, OpenWindow};
use crate::transport::Transport;

/// What the tool prints its result by: counts and the quantile function of latency.
pub(super) const TEMPLATE: &str = include_str!("bombardier.template");

/// The tool of closed loops.
pub struct Bombardier;

impl Driver for Bombardier {
    fn about(&self) -> About {
        use super::Capability::*;
        About {
            name: "bombardier",
            can: &[Over(Transport::Http), ClosedLoop, Rate, ClosesEach],
            template: Some(("bombardier.template", TEMPLATE)),
            version: "1.2.6",
            build: Build::Go {
                package: "github.com/codesenberg/bombardier",
                folder: "",
                variable: "BOMBARDIER",
                // bombardier version v1.2.6 linux/amd64
                own_version: ("--version", 2),
                is_quick: true,
            },
        }
    }

    fn caveat(&self, version: &str) -> Option<String> {
        let pinned = self.about().version;
        let major = |version: &str| version.split('.').next().map(str::to_owned);
        (major(version.trim_start_matches('v')) != major(pinned)).then(|| {
            format!(
                "bombardier {version} was used, not {pinned}: version 2 differs in its clients and timeouts, so its \
                 figures are not comparable with those of {pinned}"
            )
        })
    }

    fn prepare(&self, job: &Job<'_>, bodies: &mut Bodies<'_>) -> Result<Invocation> {
        let Bodies::One(body) = bodies else { bail!("bombardier sends the same body again and again") };
        let in_file = if is_for_a_file(body) { Some(job.files.write_body(body)?) } else { None };
        let body = in_file.as_deref().map_or(Body::Text(body), Body::File);
        let (args, interrupted) = measured(job.load, job.connecting_ms, body, job.url, &job.files.template);
        Ok(Invocation { args, interrupted, bodies: u64::MAX })
    }

    fn read(&self, load: &Load, _: u64, _: &Files, printed: &mut dyn Read) -> Result<Reading> {
        let sample = parse(&text(printed)?)?;
        Ok(if load.rate.is_some() { at_rate(sample, load) } else { sample }.into())
    }

    fn by_hand(&self, load: &Load, body: &str, url: &str) -> Vec<Vec<String>> {
        if is_for_a_file(body) {
            let args = arguments(load, Body::File("/dev/stdin"), url, &[]);
            return vec![command("echo", vec![body.to_owned()]), command(self.about().name, args)];
        }
        vec![command(self.about().name, arguments(load, Body::Text(body), url, &[]))]
    }
}

/// The shortest load that the tool takes, in milliseconds.
const SHORTEST_MS: u64 = 1_000;

/// What a load that will be interrupted is started with beyond its length, in milliseconds: too long to end by itself
/// before.
const INTERRUPTED_MS: u64 = 5_000;

/// A request's body, for the tool's arguments.
#[derive(Debug, Clone, Copy)]
pub enum Body<'a> {
    /// Its text.
    Text(&'a str),
    /// The file that it is in.
    File(&'a str),
}

/// The tool's arguments for a load on a URL. A load shorter than the tool takes becomes the shortest that it takes. A
/// load at a rate is still a closed loop: the tool holds back what would exceed the rate, but each of its connections
/// waits for an answer before it sends again.
pub fn arguments(load: &Load, body: Body<'_>, url: &str, format: &[&str]) -> Vec<String> {
    let connections = load.connections.to_string();
    let duration = format!("{}ms", load.duration_ms.max(SHORTEST_MS));
    let timeout = format!("{}ms", load.timeout_ms);
    let mut args = vec!["-c", &connections, "-d", &duration, "-t", &timeout, "-m", "POST"];
    let (option, body) = match body {
        Body::Text(text) => ("-b", text),
        Body::File(path) => ("-f", path),
    };
    args.extend(["-H", "Content-Type: application/json", option, body, "-l"]);
    let host = load.access.headers.host().map(|host| format!("Host: {host}"));
    args.extend(host.iter().flat_map(|host| ["-H", host]));
    // Its own option for that is one of another client than its default.
    args.extend(["-H", "Connection: close"].into_iter().filter(|_| load.close_each));
    args.extend((load.client == Client::Http1).then_some("--http1"));
    let rate = load.rate.map(|rate| rate.to_string());
    args.extend(rate.iter().flat_map(|rate| ["-r", rate]));
    args.extend_from_slice(format);
    args.push(url);
    args.into_iter().map(str::to_owned).collect()
}

/// The arguments that make the tool print its result by [`TEMPLATE`], kept at `template`, and nothing else; and whether
/// to interrupt it (SIGINT) at the window's end: where the load is shorter than it takes, or lasts from when its
/// connections are established, for which `connecting_ms` are allowed. It then waits for the answers in flight and
/// prints its result as it does at the end.
fn measured(
    load: &Load,
    connecting_ms: Option<u64>,
    body: Body<'_>,
    url: &str,
    template: &Path,
) -> (Vec<String>, bool) {
    let is_interrupted = connecting_ms.is_some() || load.duration_ms < SHORTEST_MS;
    let own_ms = load.duration_ms + connecting_ms.unwrap_or(0) + INTERRUPTED_MS;
    let longer = Load { duration_ms: if is_interrupted { own_ms } else { load.duration_ms }, ..load.clone() };
    let format = ["-o", &format!("path:{}", template.display()), "-p", "r"];
    (arguments(&longer, body, url, &format), is_interrupted)
}

/// The sample of a load at a rate. When a request was due is not known: the latency counts from when it was sent, and
/// requests that a late answer kept from being sent are only missed in `sent`.
fn at_rate(sample: LoadSample, load: &Load) -> LoadSample {
    let sent = sample.succeeded + sample.failures();
    let open = OpenWindow {
        requested_rate: f64::from(load.rate.unwrap_or(0)),
        achieved_rate: sent as f64 / sample.time_taken_s,
        intended: load.intended(),
        sent,
        send_lag_us: None,
        own_lag_us: None,
        from_send_us: sample.latency_us,
    };
    LoadSample { open: Some(open), ..sample }
}

#[derive(Deserialize)]
struct Output {
    result: Counted,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Counted {
    bytes_read: u64,
    bytes_written: u64,
    time_taken_seconds: f64,
    req1xx: u64,
    req2xx: u64,
    req3xx: u64,
    req4xx: u64,
    req5xx: u64,
    others: u64,
    errors: Vec<Failure>,
    latency_us: Option<LatencyUs>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Failure {
    description_html: String,
    count: u64,
}

#[derive(Deserialize)]
struct LatencyUs {
    mean: f64,
    max: f64,
    /// By probability, rising.
    quantiles: Vec<(f64, f64)>,
}

/// Reads what the tool printed by [`TEMPLATE`].
///
/// # Errors
/// It is not that: what is missing.
pub fn parse(text: &str) -> Result<LoadSample> {
    let Output { result } =
        serde_json::from_str(text).context("bombardier's output is not what its template gives")?;
    ensure!(result.time_taken_seconds > 0.0, "bombardier took no time");
    let failed = failures(&result);
    let latency = result.latency_us.context("bombardier ended no request, so it has no latencies")?;
    Ok(LoadSample {
        succeeded: result.req2xx,
        failed,
        time_taken_s: result.time_taken_seconds,
        bytes_read: result.bytes_read,
        bytes_written: Some(result.bytes_written),
        latency_us: Latency::given("bombardier", latency.mean, latency.max, &latency.quantiles)?,
        quantiles: latency.quantiles,
        ..LoadSample::default()
    })
}

/// Failures by kind. Those without a status are in `others`, of which the tool explains as many as it can.
fn failures(result: &Counted) -> BTreeMap<String, u64> {
    let statuses =
        [("1xx", result.req1xx), ("3xx", result.req3xx), ("4xx", result.req4xx), ("5xx", result.req5xx)];
    let mut failed = BTreeMap::from(statuses.map(|(status, count)| (format!("HTTP {status}"), count)));
    let mut unexplained = result.others;
    for failure in &result.errors {
        unexplained = unexplained.saturating_sub(failure.count);
        *failed.entry(without_ports(&plain(&failure.description_html))).or_insert(0) += failure.count;
    }
    failed.insert("unexplained".to_owned(), unexplained);
    failed.retain(|_, count| *count > 0);
    failed
}

/// Text that the template escaped for HTML, as it was.
fn plain(html: &str) -> String {
    // The ampersand comes last, or what it makes would be taken for an escape.
    [("&lt;", "<"), ("&gt;", ">"), ("&#34;", "\""), ("&#39;", "'"), ("&amp;", "&")]
        .into_iter()
        .fold(html.to_owned(), |text, (escape, character)| text.replace(escape, character))
}

/// The description without addresses, since each connection has a port of its own: `read tcp a:1->b:2: i/o timeout`
/// becomes `read tcp: i/o timeout`.
pub(super) fn without_ports(description: &str) -> String {
    let words = description.split(' ').filter_map(|word| {
        // Go's client names the URL: Post "http://a:1/": context deadline exceeded
        if word.starts_with("\"http://") {
            return word.ends_with(':').then_some(":");
        }
        let address =
            word.trim_end_matches(':').rsplit(':').next().is_some_and(|port| port.parse::<u16>().is_ok());
        if address { word.ends_with(':').then_some(":") } else { Some(word) }
    });
    words.collect::<Vec<_>>().join(" ").replace(" :", ":")
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLEAN: &str = include_str!("../../tests/fixtures/bombardier-1.2.6-clean.json");
    const REFUSED: &str = include_str!("../../tests/fixtures/bombardier-1.2.6-refused.json");
    const TIMEOUTS: &str = include_str!("../../tests/fixtures/bombardier-1.2.6-timeouts.json");
    const ODD: &str = include_str!("../../tests/fixtures/bombardier-1.2.6-odd-errors.json");

    #[test]
    fn a_clean_window() {
        let sample = parse(CLEAN).unwrap();
        assert_eq!((sample.succeeded, sample.failures()), (3_527, 0));
        assert_eq!((sample.bytes_read, sample.bytes_written), (141_080, Some(412_659)));
        assert_eq!(sample.latency_us.p99, 4_352.0);
        assert_eq!((sample.latency_us.p999, sample.latency_us.max), (Some(6_412.0), 8_906.0));
        assert!((sample.requests_per_second() - 3_527.0 / 1.001_498_243).abs() < 1e-9);
    }

    #[test]
    fn the_quantile_function_rises_from_the_fastest_to_the_slowest() {
        for text in [CLEAN, REFUSED, TIMEOUTS, ODD] {
            let LoadSample { quantiles, latency_us, .. } = parse(text).unwrap();
            assert!((50..=70).contains(&quantiles.len()), "{}", quantiles.len());
            assert_eq!(quantiles.first().unwrap().0, 0.0);
            assert_eq!(*quantiles.last().unwrap(), (1.0, latency_us.max));
            assert!(quantiles.windows(2).all(|two| two[0].0 < two[1].0 && two[0].1 <= two[1].1));
            for wanted in [0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999] {
                assert!(quantiles.iter().any(|(of, _)| *of == wanted), "{wanted}");
            }
        }
    }

    #[test]
    fn failures_as_the_tool_gives_them() {
        let refused = "dial tcp: connect: connection refused";
        for (text, succeeded, kind, failed) in
            [(REFUSED, 0, refused, 50_770), (TIMEOUTS, 1_090, "timeout", 57)]
        {
            let sample = parse(text).unwrap();
            assert_eq!(sample.succeeded, succeeded);
            assert_eq!(sample.failed, BTreeMap::from([(kind.to_owned(), failed)]));
        }
        let latency = parse(TIMEOUTS).unwrap().latency_us;
        assert!(latency.p90 < 100_000.0 && latency.p99 > 100_000.0);
    }

    #[test]
    fn odd_characters_in_descriptions_are_kept() {
        let sample = parse(ODD).unwrap();
        assert_eq!((sample.succeeded, sample.failures()), (1_776, 889 + 892));
        assert_eq!(sample.failed["HTTP 4xx"], 889);
        let (closed, other): (Vec<_>, Vec<_>) =
            sample.failed.keys().partition(|kind| kind.starts_with("the server closed"));
        assert!(closed[0].contains("returns 'Connection: close' response"), "{closed:?}");
        assert!(other.iter().any(|kind| kind.contains(r#"\xff\"'<\\>& what"#)), "{other:?}");
    }

    #[test]
    fn ports_do_not_split_one_failure_into_many() {
        let two = ["1", "2"]
            .map(|port| without_ports(&format!("read tcp 127.0.0.1:{port}->127.0.0.1:9: i/o timeout")));
        assert_eq!(two, ["read tcp: i/o timeout", "read tcp: i/o timeout"]);
        assert_eq!(without_ports("timeout"), "timeout");
        let url = r#"Post "http://127.0.0.1:39001/": context deadline exceeded"#;
        assert_eq!(without_ports(url), "Post: context deadline exceeded");
    }

    #[test]
    fn other_text_is_an_error_and_not_a_zero() {
        for text in [
            "",
            "Bombarding http://…",
            "{}",
            &CLEAN.replace("req2xx", "req2yy"),
            &CLEAN.replace("[0.99,", "[0.989,"),
            &CLEAN.replace("\"errors\"", "\"failures\""),
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    fn load(duration_ms: u64) -> Load {
        Load { connections: 3, duration_ms, timeout_ms: 700, ..Load::default() }
    }

    #[test]
    fn a_load_that_is_short_or_waits_for_its_connections_is_interrupted() {
        for (ms, connecting_ms, given, is_interrupted) in [
            (250, None, "5250ms", true),
            (1_000, None, "1000ms", false),
            (3_000, Some(10_000), "18000ms", true),
        ] {
            let (args, interrupted) =
                measured(&load(ms), connecting_ms, Body::Text("{}"), "http://a/", Path::new("t"));
            assert_eq!((args[3].as_str(), interrupted), (given, is_interrupted));
        }
        assert_eq!(arguments(&load(250), Body::Text("{}"), "http://a/", &[])[3], "1000ms", "by hand");
    }

    #[test]
    fn bad_requests_failed_or_were_too_late() {
        let at = |text: &str, timeout_ms| parse(text).unwrap().bad(timeout_ms);
        assert_eq!((at(CLEAN, 9), at(CLEAN, 8)), (0, 1), "the slowest took 8.9 ms");
        // 57 timed out after 100 ms; the same requests are the slowest of the quantile function, and count once.
        assert_eq!((at(TIMEOUTS, 100), at(TIMEOUTS, 2_000)), (57, 57));
        assert_eq!(at(REFUSED, 2_000), 50_770);
        let sample = parse(CLEAN).unwrap();
        let above_p99 = sample.slower_than(4_351.0);
        assert!((35..=36).contains(&above_p99), "1 % of 3,527: {above_p99}");
        assert_eq!(sample.slower_than(sample.latency_us.max), 0);
    }

    #[test]
    fn a_rate_is_held_and_latency_counts_from_the_send() {
        let load = Load { rate: Some(4_000), ..load(1_000) };
        let (args, _) = measured(&load, None, Body::Text("{}"), "http://a/", Path::new("t"));
        assert!(args.windows(2).any(|two| two == ["-r", "4000"]), "{args:?}");
        let sample = at_rate(parse(CLEAN).unwrap(), &load);
        let open = sample.open.unwrap();
        assert_eq!((open.intended, open.sent, open.send_lag_us), (4_000, 3_527, None));
        assert_eq!(open.from_send_us, sample.latency_us);
        assert!((open.achieved_rate - 3_527.0 / 1.001_498_243).abs() < 1e-9);
    }

    #[test]
    fn settings_of_a_load_are_arguments() {
        let mut load = Load { close_each: true, client: Client::Http1, ..load(1_000) };
        load.access.headers = load.access.headers.with_host("node.example:80");
        let has = |load: &Load, wanted: &[&str]| {
            let args = arguments(load, Body::File("f"), "http://127.0.0.1:80/", &[]);
            args.windows(wanted.len()).any(|some| some == wanted)
        };
        let settings = [&["-H", "Connection: close"][..], &["-H", "Host: node.example:80"], &["--http1"]];
        for wanted in settings {
            assert!(has(&load, wanted) && !has(&Load::default(), wanted), "{wanted:?}");
        }
        assert!(has(&load, &["-f", "f"]));
    }
}
