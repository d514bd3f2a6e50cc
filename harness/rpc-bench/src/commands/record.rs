//! `rpc-bench record`: passes calls on to a service and writes each into a file, which a workload then sends.

mod line;

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use bench_core::foreign_text::shown;
use bench_core::headers::{Access, Headers};
use bench_core::readable_numbers::counted;
use bench_core::target::Target;
use bench_measure::client::{Answer, Connection};
use bench_measure::interrupt::Interrupt;
use serde_json::value::RawValue;
use tiny_http::{Header, Method, Request, Response, Server};

use line::{Call, LEFT_OUT, is_of};

/// Calls that are passed on at one time.
const AT_ONCE: usize = 32;

/// Bytes that a message may have.
const MOST_BYTES: u64 = 64 << 20;

/// Characters of a method's name that are printed.
const LONGEST_NAME: usize = 100;

/// How long the service may take for one.
const PATIENCE: Duration = Duration::from_secs(60);

/// Whose calls to record.
#[derive(clap::Args)]
pub struct Args {
    /// Where the service answers: http://HOST:PORT/PATH (or https, ws, wss), or unix:/PATH.
    #[arg(long, value_name = "URL")]
    upstream: String,
    /// The file that is made: a call on each line.
    #[arg(long, value_name = "FILE", default_value = "calls.jsonl")]
    to: PathBuf,
    /// Where clients send their calls, over HTTP. Port 0 takes any free port.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// A method whose calls are passed on and not recorded; * stands for any text. Those that sign or send transactions
    /// never are.
    #[arg(long, value_name = "METHOD")]
    leave_out: Vec<String>,
    /// End after this many recorded calls; without it Ctrl-C ends it.
    #[arg(long, value_name = "N")]
    calls: Option<u64>,
    /// A header of each request to the service, such as 'Authorization: Bearer ${TOKEN}' with a variable of the
    /// environment. Those of the clients are neither passed on nor recorded.
    #[arg(long = "header", value_name = "NAME: VALUE")]
    headers: Vec<String>,
    /// Certificates that are trusted in the place of the system's, as PEM; of https and wss.
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
}

/// What is recorded, and where.
struct Recorder {
    left_out: Vec<String>,
    most: Option<u64>,
    written: Mutex<Written>,
    /// Requests whose calls are written down, and whose client does not have the answer yet.
    under_way: AtomicUsize,
}

struct Written {
    file: File,
    /// Recorded calls by method.
    methods: BTreeMap<String, u64>,
    /// Calls whose methods are not to be recorded.
    left_out: u64,
    /// What is no call that a workload could send.
    no_calls: u64,
    /// Why the file takes no more.
    error: Option<std::io::Error>,
}

/// Passes calls on until Ctrl-C or the last call that is wished, and says what was recorded.
pub fn record(args: &Args) -> Result<bool> {
    let interrupt = Interrupt::install()?;
    let access = Access { headers: Headers::parse(&args.headers).context("--header")?, ca: args.ca.clone() };
    let target = Target::parse(&args.upstream).context("--upstream")?.with_access(&access);
    let server = Server::http(args.listen).map_err(|error| anyhow!("--listen {}: {error}", args.listen))?;
    // Whatever it holds, it is the user's: a file that is there is never written to.
    let file = OpenOptions::new().write(true).create_new(true).open(&args.to);
    let file =
        file.with_context(|| format!("--to: can't make {}; choose another --to", args.to.display()))?;
    let left_out = LEFT_OUT.iter().map(|name| (*name).to_owned()).chain(args.leave_out.clone()).collect();
    let written = Written { file, methods: BTreeMap::new(), left_out: 0, no_calls: 0, error: None };
    let recorder = Arc::new(Recorder {
        left_out,
        most: args.calls,
        written: Mutex::new(written),
        under_way: AtomicUsize::new(0),
    });
    let at = server.server_addr().to_ip().context("it listens on no address")?;
    bench_core::say!("send calls to http://{at}/ in the place of {}; Ctrl-C ends it", target);
    let server = Arc::new(server);
    for _ in 0..AT_ONCE {
        let (server, target, recorder) = (Arc::clone(&server), target.clone(), Arc::clone(&recorder));
        std::thread::spawn(move || {
            let mut connection = None;
            while let Ok(request) = server.recv() {
                // A client that has gone needs no answer.
                let _ = serve(request, &target, &mut connection, &recorder);
            }
        });
    }
    interrupt.wait_for_end(|| Ok(recorder.is_done()))?;
    let written = recorder.written();
    // It is this command's own, and would only be in the way of the next one.
    if written.file.metadata().is_ok_and(|file| file.len() == 0) {
        fs::remove_file(&args.to).with_context(|| format!("can't remove {}", args.to.display()))?;
    }
    if let Some(error) = &written.error {
        return Err(anyhow!("{}: {error}", args.to.display()));
    }
    let calls = written.calls();
    let to = args.to.display();
    match calls {
        0 => bench_core::say!("no call was recorded, so there is no {to}"),
        _ => bench_core::say!("{} of {} in {to}", counted(calls, "call"), methods(&written)),
    }
    if written.left_out > 0 {
        let left_out = counted(written.left_out, "call");
        bench_core::say!("{left_out} left out, as --leave-out and its defaults say");
    }
    if written.no_calls > 0 {
        let no_calls = counted(written.no_calls, "message");
        bench_core::say!("{no_calls} left out: no JSON, no method, or no array or object as parameters");
    }
    if calls > 0 {
        bench_core::say!(
            "to send them, in a workload: requests = {:?}, order = \"file\", expected = \"no error\"",
            args.to.file_name().unwrap_or_default()
        );
    }
    Ok(true)
}

impl Written {
    fn calls(&self) -> u64 {
        self.methods.values().sum()
    }

    fn is_done(&self, most: Option<u64>) -> bool {
        self.error.is_some() || most.is_some_and(|most| self.calls() >= most)
    }
}

fn methods(written: &Written) -> String {
    let each =
        written.methods.iter().map(|(method, calls)| format!("{} ({calls})", shown(method, LONGEST_NAME)));
    each.collect::<Vec<_>>().join(", ")
}

/// Passes one message on, with the service's status and answer back.
fn serve(
    mut request: Request,
    target: &Target,
    connection: &mut Option<Connection>,
    recorder: &Recorder,
) -> Result<()> {
    let refuse = |request: Request, status: u16, why: &str| {
        request.respond(Response::from_string(why).with_status_code(status)).context("no client")
    };
    if *request.method() != Method::Post {
        return refuse(request, 405, "send calls by POST");
    }
    let mut body = String::new();
    let read = request.as_reader().take(MOST_BYTES + 1).read_to_string(&mut body);
    if read.is_err() || body.len() as u64 > MOST_BYTES {
        return refuse(request, 400, "no text, or too long");
    }
    let answer = match pass_on(&body, target, connection) {
        Ok(answer) => answer,
        Err(error) => return refuse(request, 502, &format!("{error:#}")),
    };
    let json = Header::from_bytes("content-type", "application/json").map_err(|()| anyhow!("no header"))?;
    let response = Response::from_string(answer.text).with_status_code(answer.status.unwrap_or(200));
    recorder.under_way.fetch_add(1, Ordering::SeqCst);
    recorder.take(&body);
    let answered = request.respond(response.with_header(json)).context("no client");
    recorder.under_way.fetch_sub(1, Ordering::SeqCst);
    answered
}

/// Passes a body on by the connection that is there, or a new one. One that failed is not there any more.
fn pass_on(body: &str, target: &Target, connection: &mut Option<Connection>) -> Result<Answer> {
    let mut own = connection.take().map_or_else(|| Connection::new(target, PATIENCE), Ok)?;
    let answer = own.request(body)?;
    *connection = Some(own);
    Ok(answer)
}

impl Recorder {
    fn written(&self) -> std::sync::MutexGuard<'_, Written> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the last call is written and its client has the answer.
    fn is_done(&self) -> bool {
        self.written().is_done(self.most) && self.under_way.load(Ordering::SeqCst) == 0
    }

    /// Writes the calls of a message down, a batch's too.
    fn take(&self, body: &str) {
        let calls = match body.trim_start().starts_with('[') {
            true => serde_json::from_str(body),
            false => serde_json::from_str(body).map(|call| vec![call]),
        };
        match calls {
            Ok(calls) => calls.into_iter().for_each(|call| self.take_one(call)),
            Err(_) => self.written().no_calls += 1,
        }
    }

    fn take_one(&self, call: &RawValue) {
        let read = Call::read(call);
        // Locked until it is written: others may be about to write the last call, too.
        let mut written = self.written();
        if written.is_done(self.most) {
            return;
        }
        let Ok((method, line)) = read else {
            written.no_calls += 1;
            return;
        };
        if self.left_out.iter().any(|pattern| is_of(pattern, &method)) {
            written.left_out += 1;
            return;
        }
        match writeln!(written.file, "{line}") {
            Ok(()) => *written.methods.entry(method).or_insert(0) += 1,
            Err(error) => written.error = Some(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_written_a_line_each_until_there_are_enough() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("calls.jsonl");
        let file = File::create(&path).unwrap();
        let written =
            Mutex::new(Written { file, methods: BTreeMap::new(), left_out: 0, no_calls: 0, error: None });
        let recorder = Recorder {
            left_out: vec!["eth_sign*".to_owned()],
            most: Some(3),
            written,
            under_way: AtomicUsize::new(0),
        };
        recorder.take(r#"{"id":1,"method":"a","params":[1]}"#);
        recorder.take(r#"[{"id":1,"method":"b"},{"id":2,"method":"eth_sign"},{"id":3}]"#);
        recorder.take("no JSON");
        recorder.take(r#"[{"method":"a","params":[2]},{"method":"a","params":[3]}]"#);
        assert!(recorder.is_done());
        assert_eq!(methods(&recorder.written()), "a (2), b (1)");
        recorder.written().methods = BTreeMap::from([("\u{1b}[2J\u{202e}\0".to_owned(), 1)]);
        assert_eq!(methods(&recorder.written()), "\\u{1b}[2J\\u{202e}\\0 (1)");
        assert_eq!(recorder.written().left_out, 1);
        assert_eq!(recorder.written().no_calls, 2);
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(
            text,
            "{\"method\":\"a\",\"params\":[1]}\n{\"method\":\"b\"}\n{\"method\":\"a\",\"params\":[2]}\n"
        );
    }

    #[test]
    fn clients_at_one_time_record_no_call_too_many() {
        for _ in 0..200 {
            let file = tempfile::tempfile().unwrap();
            let written =
                Mutex::new(Written { file, methods: BTreeMap::new(), left_out: 0, no_calls: 0, error: None });
            let under_way = AtomicUsize::new(0);
            let recorder = Recorder { left_out: Vec::new(), most: Some(20), written, under_way };
            let together = std::sync::Barrier::new(8);
            std::thread::scope(|scope| {
                for _ in 0..8 {
                    scope.spawn(|| {
                        together.wait();
                        (0..10).for_each(|_| recorder.take(r#"{"method":"a"}"#));
                    });
                }
            });
            assert_eq!(recorder.written().calls(), 20);
        }
    }
}
