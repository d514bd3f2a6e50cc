//! Answers compared with the truth while the load is on: about ten requests a second on a connection of their own,
//! drawn as the load's are. The answers before and after a window can't show a server that is right only without load.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use validator_state::State;

use crate::client::{Answer, Connection, settled};
use crate::probe::process_usage::thread_cpu_s;
use crate::probe::watcher::Watcher;
use bench_core::foreign_text::shown;
use bench_core::observation::{Checked, Differences};
use bench_core::workload::requests::{DrawnRequest, Stream};

/// Time between two requests.
const EVERY: Duration = Duration::from_millis(100);

/// The harness takes at most one part in this many of a core for it: after a long answer it waits longer.
const CORE_PARTS: f64 = 50.0;

/// Characters of a request, of an answer and of the true one that are kept.
const SHOWN: usize = 200;

/// What to request of whom, and the counts so far.
pub(super) struct Checker {
    /// To the server, with the time after which a request is given up.
    pub connection: Connection,
    /// The load's own requests, drawn with another seed than the load's, so that other ones come.
    pub stream: Stream,
    /// The ledger that gives the true answers.
    pub state: Arc<State>,
    /// Whether the answers' context is left open.
    pub any_context: bool,
    /// The counts.
    pub checked: Checked,
    /// Where answers differ from a reference's, whose differences are counted.
    pub differences: Differences,
    /// The highest number so far of each request whose answers never fall.
    pub highest: BTreeMap<usize, u64>,
}

/// The result.
#[derive(Debug, Default)]
pub(super) struct CheckedWindow {
    /// The counts; `None` where nothing was checked.
    pub checked: Option<Checked>,
    /// Where answers differ from a reference's, whose differences are counted.
    pub differences: Differences,
    /// CPU time that the harness took for it, in seconds.
    pub cpu_s: Option<f64>,
}

/// Begins to send, until the window ends and the last request has its answer or is given up.
pub(super) fn begin(mut checker: Checker) -> Watcher<CheckedWindow> {
    Watcher::start(move |ended| {
        let mut pause = EVERY;
        while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(pause) {
            let before = thread_cpu_s();
            checker.request();
            let took_s = thread_cpu_s() - before;
            pause = EVERY.max(Duration::from_secs_f64((took_s * CORE_PARTS).max(0.0)));
        }
        let Checker { checked, differences, .. } = checker;
        CheckedWindow { checked: Some(checked), differences, cpu_s: Some(thread_cpu_s()) }
    })
}

impl Checker {
    fn request(&mut self) {
        let Some(request) = self.stream.next() else { return };
        self.checked.asked += 1;
        let answer = self.connection.request(&request.body);
        // No answer in time, or an honest refusal: the load tool counts those.
        let Some(answer) = answer.ok().filter(Answer::is_ok) else {
            self.checked.unanswered += 1;
            return;
        };
        if let Err(difference) = self.compare(&request, &answer.text) {
            self.checked.wrong += 1;
            self.checked.first_wrong.get_or_insert(difference);
        }
    }

    /// Whether an answer is the true one; where not, the request, its answer, and the true one.
    fn compare(&mut self, request: &DrawnRequest, text: &str) -> Result<(), String> {
        let shown = |text: &str| shown(text, SHOWN);
        let requested = shown(&request.body);
        let truth =
            request.truth(&self.state).map_err(|error| format!("requested {requested}: {error:#}"))?;
        let counts_differences = truth.counts_differences();
        let Ok(truth) = settled(&truth, &request.body) else {
            // The other server has not said what is right, which is no fault of this one.
            self.checked.unanswered += 1;
            return Ok(());
        };
        let truth = if self.any_context { truth.without_context() } else { truth };
        let parsed: Option<serde_json::Value> = serde_json::from_str(text).ok();
        let both = parsed.as_ref().filter(|_| counts_differences).and_then(|answer| truth.both(answer));
        if let Some((answer, reference)) = both {
            self.differences.add(&request.body, &answer, &reference);
            return Ok(());
        }
        let misfit = parsed.as_ref().and_then(|answer| truth.misfit(answer));
        let misfit = misfit.map_or_else(String::new, |misfit| format!(" ({})", shown(&misfit)));
        let Some(answer) = parsed.filter(|answer| truth.accepts(answer)) else {
            let (answered, right) = (shown(text), shown(&truth.words()));
            return Err(format!("requested {requested}: {answered} instead of {right}{misfit}"));
        };
        rises(&mut self.highest, request.request, truth.number(&answer))
            .map_err(|fell| format!("requested {requested}: {fell}"))
    }
}

/// Whether the number of an answer is not below that of an earlier answer to the same request.
pub(super) fn rises(
    highest: &mut BTreeMap<usize, u64>,
    request: usize,
    number: Option<u64>,
) -> Result<(), String> {
    let Some(number) = number else { return Ok(()) };
    let before = highest.insert(request, number).unwrap_or(0);
    if number < before { Err(format!("{number} after {before}, and it must not fall")) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::sync::atomic::{AtomicU64, Ordering};

    use validator_state::{Ledger, SeededSpec};

    use super::*;
    use bench_core::target::Target;
    use bench_core::workload::Workload;

    const LEDGER: SeededSpec = SeededSpec { accounts: 50, slots: 100, seed: 1 };

    /// Longer than any answer takes.
    const LONG: Duration = Duration::from_secs(60);

    /// What a server does with the true answer to its n-th request, from 1.
    type Habit = fn(u64, String) -> Option<(u16, String)>;

    /// A server with a habit; it counts its connections and its requests.
    struct Server {
        addr: String,
        state: Arc<State>,
        connections: Arc<AtomicU64>,
        requests: Arc<AtomicU64>,
    }

    impl Server {
        fn start(habit: Habit) -> Self {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let addr = listener.local_addr().unwrap().to_string();
            let state = Arc::new(State::new(Ledger::seeded(&LEDGER)));
            let (connections, requests) = (Arc::<AtomicU64>::default(), Arc::<AtomicU64>::default());
            let server = Self { addr, state, connections, requests };
            let (state, connections, requests) =
                (server.state.clone(), server.connections.clone(), server.requests.clone());
            std::thread::spawn(move || {
                for client in listener.incoming() {
                    connections.fetch_add(1, Ordering::SeqCst);
                    let _ = serve(client.unwrap(), &state, &requests, habit);
                }
            });
            server
        }

        /// Waits until the server has had that number of requests.
        fn check(&self, requests: u64, timeout: Duration) -> Checked {
            let mix = r#"{"why":"a test","request":[{"weight":1,"method":"getBalance","account":"uniform"},
                {"weight":1,"method":"getBlocks","blocks":{"slots":9,"from":"random"}}]}"#;
            let workload: Workload = serde_json::from_str(mix).unwrap();
            let checker = begin(Checker {
                connection: Connection::new(&Target::http(&self.addr), timeout).unwrap(),
                stream: Arc::new(workload.requests(&LEDGER).unwrap()).stream(1),
                state: self.state.clone(),
                any_context: false,
                checked: Checked::default(),
                differences: Differences::default(),
                highest: BTreeMap::new(),
            });
            let mut patience = 10_000;
            while self.requests.load(Ordering::SeqCst) < requests && patience > 0 {
                std::thread::sleep(Duration::from_millis(5));
                patience -= 1;
            }
            let found = checker.end();
            assert!(found.cpu_s.unwrap() > 0.0);
            let checked = found.checked.unwrap();
            assert!(checked.asked >= requests, "{checked:?}");
            checked
        }
    }

    fn serve(client: TcpStream, state: &State, requests: &AtomicU64, habit: Habit) -> std::io::Result<()> {
        client.set_nodelay(true)?;
        let mut reader = BufReader::new(client.try_clone()?);
        let mut client = client;
        loop {
            let (mut length, mut line) = (0, String::new());
            while line != "\r\n" {
                line.clear();
                if reader.read_line(&mut line)? == 0 {
                    return Ok(());
                }
                if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body)?;
            let mut out = Vec::new();
            typed_rpc::answer(state, std::str::from_utf8(&body).unwrap(), &mut out);
            let number = requests.fetch_add(1, Ordering::SeqCst) + 1;
            // Without an answer it waits for the next request, or for the end.
            if let Some((status, text)) = habit(number, String::from_utf8(out).unwrap()) {
                write!(client, "HTTP/1.1 {status} X\r\ncontent-length: {}\r\n\r\n{text}", text.len())?;
            }
        }
    }

    #[test]
    fn true_answers_are_counted_and_one_connection_does() {
        let server = Server::start(|_, text| Some((200, text)));
        let checked = server.check(5, LONG);
        let Checked { asked, wrong, unanswered, first_wrong } = checked;
        assert_eq!((wrong, unanswered, first_wrong), (0, 0, None));
        assert_eq!(asked, server.requests.load(Ordering::SeqCst));
        assert_eq!(server.connections.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn a_server_that_lies_under_load_is_found() {
        let lies: Habit = |number, text| {
            Some((200, if number > 2 { text.replace("\"result\":", "\"result\":7,\"was\":") } else { text }))
        };
        let checked = Server::start(lies).check(4, LONG);
        assert_eq!((checked.wrong, checked.unanswered), (checked.asked - 2, 0));
        let first = checked.first_wrong.unwrap();
        assert!(
            first.contains("\"id\":3") && first.contains("\"result\":7") && first.contains("instead of"),
            "{first}"
        );
        assert_eq!(first.lines().count(), 1, "{first}");
    }

    #[test]
    fn an_answer_to_another_question_is_wrong() {
        let checked =
            Server::start(|_, text| Some((200, text.replace("\"id\":", "\"id\":1")))).check(2, LONG);
        assert_eq!(checked.wrong, checked.asked, "{checked:?}");
    }

    #[test]
    fn a_refusal_and_silence_are_no_wrong_answers() {
        for habit in [(|_, text| Some((503, text))) as Habit, |_, _| None] {
            let checked = Server::start(habit).check(2, Duration::from_millis(200));
            assert_eq!((checked.wrong, checked.unanswered), (0, checked.asked), "{checked:?}");
        }
    }
}
