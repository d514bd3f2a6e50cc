//! The end of a server that is in the middle of its work.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use server_kit::testing::{Answers, PATIENCE, connect, request};
use socket2::{Domain, Socket, Type};

use super::client::{balance_call, call};
use super::{Check, Subject};

/// Connections that request a balance, over and over.
const SMALL: usize = 24;

/// Connections that request an answer of some 400 kB, over and over.
const LARGE: usize = 8;

/// The buffer of a slow reader's socket. It takes no more at once than that, and waits for [`SLOW_PAUSE`] before.
const SLOW_PART_BYTES: usize = 65_536;
const SLOW_PAUSE: Duration = Duration::from_millis(25);

/// How a client's last request ended.
struct Last {
    /// When all of it was sent; `None` if the connection was closed before.
    sent_at: Option<Instant>,
    /// Whether a part of the answer came.
    begun: bool,
    /// Answers that came whole before.
    whole: usize,
    /// Whether the server's last answer announced the end of the connection.
    announced: bool,
}

/// Ends servers under load, one after the other.
pub fn press(subject: &Subject<'_>, check: &mut Check) {
    let (mut whole, mut announced, mut cut, mut dropped, mut slow_cut) = (0, 0, 0, 0, 0);
    let (mut codes_wrong, mut ports_taken, mut longest) = (0, 0, Duration::ZERO);
    for _ in 0..subject.plan.endings {
        let server = subject.server.start_large();
        let addr = server.addr;
        let pid = i32::try_from(server.pid()).expect("process ids are small");
        let small = (0..SMALL).map(|_| thread::spawn(move || ask(addr, &balance_call(1))));
        let large = (0..LARGE).map(|_| thread::spawn(move || ask(addr, &call(1, "getBlocks", "[0,60000]"))));
        let clients: Vec<_> = small.chain(large).collect();
        thread::sleep(Duration::from_millis(400));
        let slow = begin_slowly(addr);
        let signalled = Instant::now();
        // SAFETY: the call has no memory to do with; the process is ours and not yet waited for.
        assert_eq!(unsafe { libc::kill(pid, libc::SIGTERM) }, 0, "the server runs");
        let slow = thread::spawn(move || finish_slowly(slow));
        let status = server.wait_for_end();
        longest = longest.max(signalled.elapsed());
        ports_taken += usize::from(TcpListener::bind(addr).is_err());
        codes_wrong += usize::from(status.code() != Some(0));
        for client in clients {
            let last = client.join().expect("a client does not panic");
            whole += last.whole;
            announced += usize::from(last.announced);
            cut += usize::from(last.begun);
            dropped += usize::from(!last.begun && last.sent_at.is_some_and(|sent| sent < signalled));
        }
        slow_cut += usize::from(!slow.join().expect("a client does not panic"));
    }
    check.figure("endings", subject.plan.endings as f64, "");
    check.figure("connections at each", (SMALL + LARGE + 1) as f64, "");
    check.figure("answers that came whole", whole as f64, "");
    check.figure("connections whose end was announced by Connection: close", announced as f64, "");
    check.figure("answers cut", cut as f64, "");
    check.figure("requests sent before the signal and not answered", dropped as f64, "");
    check.figure("answers cut for a slow reader", slow_cut as f64, "");
    check.figure("longest time from signal to end", longest.as_secs_f64(), "s");
    check.demand(cut == 0, || format!("{cut} answers were cut"));
    check.demand(dropped == 0, || format!("{dropped} requests were not answered"));
    check.demand(slow_cut == 0, || format!("{slow_cut} answers to slow readers were cut"));
    check.demand(whole > 0, || "no answer came whole".to_owned());
    check.demand(codes_wrong == 0, || format!("{codes_wrong} exit codes are not 0"));
    check.demand(ports_taken == 0, || format!("{ports_taken} ports could not be bound at once"));
}

/// Sends requests until the server closes the connection.
fn ask(addr: SocketAddr, body: &str) -> Last {
    let mut answers = Answers::new(connect(addr).expect("the server accepts"));
    let request = request(body);
    let mut last = Last { sent_at: None, begun: false, whole: 0, announced: false };
    loop {
        if answers.stream().write_all(&request).is_err() {
            return Last { sent_at: None, ..last };
        }
        last.sent_at = Some(Instant::now());
        let Ok(answer) = answers.next(false) else {
            return Last { begun: answers.has_begun(), ..last };
        };
        last.whole += 1;
        if answer.closes {
            return Last { sent_at: None, announced: true, ..last };
        }
    }
}

/// A client that has taken the first bytes of a large answer, most of which waits in the server.
fn begin_slowly(addr: SocketAddr) -> TcpStream {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
    socket.set_recv_buffer_size(SLOW_PART_BYTES).expect("sockets have buffers");
    socket.connect(&addr.into()).expect("the server accepts");
    let mut stream: TcpStream = socket.into();
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout above 0");
    stream.write_all(&request(&call(1, "getBlocks", "[0,500000]"))).expect("the server reads");
    stream.peek(&mut [0]).expect("the server answers");
    stream
}

/// Takes the rest in parts; gives whether it came whole.
fn finish_slowly(stream: TcpStream) -> bool {
    Answers::new(SlowReader(stream)).next(false).is_ok()
}

/// Takes a part at a time and waits before the next.
struct SlowReader(TcpStream);

impl Read for SlowReader {
    fn read(&mut self, part: &mut [u8]) -> io::Result<usize> {
        thread::sleep(SLOW_PAUSE);
        self.0.read(part)
    }
}
