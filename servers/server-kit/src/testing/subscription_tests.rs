//! What every server has to do with subscriptions to slots, whatever its framework.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::sockets::{HEALTH, Subject};
use super::websocket_tests::assert_answers;
use super::ws_client::{CloseCode, Message, WsConnection, WsEnd};
use super::{PATIENCE, Running};

const SUBSCRIBE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"slotSubscribe"}"#;

/// For how long a connection that should hear nothing is listened to.
const QUIET: Duration = Duration::from_millis(400);

fn unsubscribe(number: &Value) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":2,"method":"slotUnsubscribe","params":[{number}]}}"#)
}

/// The error to a number that the connection has no subscription of.
fn unknown_number() -> Value {
    let error = json!({"code": -32602, "message": "Invalid subscription id."});
    json!({"jsonrpc": "2.0", "error": error, "id": 2})
}

/// A connection with the notifications that came while it waited for answers.
struct Subscriber {
    connection: WsConnection,
    announced: Vec<Value>,
}

impl Subscriber {
    fn open(server: &Running) -> Self {
        Self { connection: WsConnection::open(server), announced: Vec::new() }
    }

    /// The answer to a call.
    fn ask(&mut self, call: &str) -> Value {
        self.connection.send(call);
        loop {
            let message = self.connection.answer();
            if message["method"].is_null() {
                return message;
            }
            self.announced.push(message);
        }
    }

    /// The number of a new subscription.
    fn subscribe(&mut self) -> Value {
        let answer = self.ask(SUBSCRIBE);
        assert!(answer["result"].is_u64(), "{answer}");
        answer["result"].clone()
    }

    /// Reads until `count` more slots have been announced to a subscription.
    fn listen(&mut self, number: &Value, count: usize) {
        let wanted = self.slots(number).len() + count;
        while self.slots(number).len() < wanted {
            let message = self.connection.answer();
            self.announced.push(message);
        }
    }

    /// What was announced to a subscription, as (parent, root, slot).
    fn slots(&self, number: &Value) -> Vec<[u64; 3]> {
        let own = self.announced.iter().filter(|message| message["params"]["subscription"] == *number);
        let members = ["parent", "root", "slot"];
        own.map(|message| members.map(|name| message["params"]["result"][name].as_u64().unwrap())).collect()
    }
}

/// Each slot's parent is the slot before it, and no root is above its slot.
fn assert_in_a_row(slots: &[[u64; 3]]) {
    for pair in slots.windows(2) {
        let [[_, earlier_root, parent], [claimed, root, slot]] = [pair[0], pair[1]];
        assert_eq!(claimed, parent, "{slots:?}");
        assert!(slot > parent && root >= earlier_root && root < slot, "{slots:?}");
    }
}

impl Subject {
    /// Two subscriptions of a connection and one of another, which end one after the other.
    ///
    /// # Panics
    /// A slot is missing, comes twice or has another shape, or a number is not refused as a node refuses it.
    pub fn assert_slots_announced(&self) {
        let server = self.start(&["--slot-interval-ms", "20"]);
        let [mut subscriber, mut other] = [(); 2].map(|()| Subscriber::open(&server));
        let [one, two] = [(); 2].map(|()| subscriber.subscribe());
        let third = other.subscribe();
        assert!(one != two && one != third, "{one} {two} {third}");
        subscriber.listen(&one, 10);
        subscriber.listen(&two, 10);
        assert_eq!(other.ask(&unsubscribe(&one)), unknown_number());
        assert_eq!(other.ask(HEALTH)["result"], "ok");
        let ended = json!({"jsonrpc": "2.0", "result": true, "id": 2});
        assert_eq!(subscriber.ask(&unsubscribe(&one)), ended);
        assert_eq!(subscriber.ask(&unsubscribe(&one)), unknown_number());
        let before = subscriber.slots(&one).len();
        subscriber.listen(&two, 10);
        // One may have been under way.
        assert!(subscriber.slots(&one).len() <= before + 1, "announced after the end");
        assert_eq!(subscriber.ask(&unsubscribe(&two)), ended);
        other.listen(&third, 20);
        for (subscriber, number) in [(&subscriber, &one), (&subscriber, &two), (&other, &third)] {
            assert_in_a_row(&subscriber.slots(number));
        }
        let [parent, root, slot] = other.slots(&third)[0];
        let result = json!({"parent": parent, "root": root, "slot": slot});
        let params = json!({"result": result, "subscription": third});
        assert_eq!(
            other.announced[0],
            json!({"jsonrpc": "2.0", "method": "slotNotification", "params": params})
        );
    }

    /// A subscription while the chain does not advance, as by default, with each tuning.
    ///
    /// # Panics
    /// It is refused, or something is announced.
    pub fn assert_standing_chain_is_silent(&self) {
        for tuning in ["equal", "shipped"] {
            let server = self.start(&["--tuning", tuning]);
            let mut subscriber = Subscriber::open(&server);
            let number = subscriber.subscribe();
            assert!(subscriber.connection.receive_within(QUIET).is_none(), "{tuning}");
            assert_answers(&mut subscriber.connection);
            assert_eq!(subscriber.ask(&unsubscribe(&number))["result"], true, "{tuning}");
        }
    }

    /// Subscribers that close their connections without a word, and one that stays.
    ///
    /// # Panics
    /// The server keeps a connection, or announces nothing more to the one that stays.
    pub fn assert_subscriptions_end_with_connections(&self) {
        let server = self.start(&["--slot-interval-ms", "20"]);
        let mut staying = Subscriber::open(&server);
        let number = staying.subscribe();
        let before = server.open_files();
        for _ in 0..3 {
            let mut leaving = [(); 20].map(|()| Subscriber::open(&server));
            for subscriber in &mut leaving {
                let number = subscriber.subscribe();
                subscriber.listen(&number, 1);
            }
        }
        wait_for_open_files(&server, before, || staying.listen(&number, 1));
        assert_in_a_row(&staying.slots(&number));
        assert_answers(&mut Subscriber::open(&server).connection);
    }

    /// SIGTERM while slots are announced.
    ///
    /// # Panics
    /// The server does not end in time with exit code 0, or leaves the connection open.
    pub fn assert_ends_under_subscribers(&self) {
        let server = self.start(&["--slot-interval-ms", "5"]);
        let mut subscriber = Subscriber::open(&server);
        let number = subscriber.subscribe();
        subscriber.listen(&number, 3);
        server.signal("TERM");
        let reading = thread::spawn(move || while subscriber.connection.receive().is_ok() {});
        assert_eq!(server.wait_for_end().code(), Some(0));
        reading.join().unwrap();
    }

    /// A client with many subscriptions that reads nothing, next to one that reads.
    ///
    /// # Panics
    /// The server keeps the connection of the first, or fails the second.
    pub fn assert_slow_subscriber_is_disconnected(&self) {
        let server = self.start(&["--slot-interval-ms", "2"]);
        let mut reading = Subscriber::open(&server);
        let number = reading.subscribe();
        let before = server.open_files();
        let mut slow = slow_subscriber(&server);
        wait_for_open_files(&server, before, || {
            reading.announced.clear();
            reading.listen(&number, 1);
        });
        assert_answers(&mut WsConnection::open(&server));
        // What was under way still arrives, and then the end.
        while let Ok(message) = slow.receive() {
            assert!(matches!(message, Message::Text(_)), "{message:?}");
        }
        assert_eq!(slow.receive(), Err(WsEnd::Cut));
    }

    /// A framework that can't end a connection which takes nothing, but does so once something is taken, and says why.
    ///
    /// # Panics
    /// The server goes on to announce slots to the client, or does not end the connection.
    pub fn assert_slow_subscriber_is_disconnected_once_it_reads(&self) {
        let (_server, _, ended) = self.outrun_subscriber();
        assert_eq!(ended, Some(WsEnd::Frame(Some(CloseCode::Policy))));
    }

    /// A framework that can't end the connection of a client which takes nothing: it ends the subscriptions.
    ///
    /// # Panics
    /// The server goes on to announce slots to the client, or no longer answers it.
    pub fn assert_slow_subscriber_loses_its_subscriptions(&self) {
        let (_server, mut slow, ended) = self.outrun_subscriber();
        assert_eq!(ended, None);
        assert_answers(&mut slow);
    }

    /// A framework that gives up the connection of a client which takes nothing, but leaves the socket open until the client resets
    /// it: it does not notice a client that closes.
    ///
    /// # Panics
    /// The server goes on to announce slots to the client, or keeps the connection after that.
    pub fn assert_slow_subscriber_is_given_up(&self) {
        let (server, slow, ended) = self.outrun_subscriber();
        assert_eq!(ended, None);
        let with_it = server.open_files();
        slow.reset();
        wait_for_open_files(&server, with_it - 1, || thread::sleep(Duration::from_millis(5)));
        assert_answers(&mut WsConnection::open(&server));
    }

    /// A client with many subscriptions that reads nothing for thousands of slots, and then all that there is to read; gives how the
    /// server then ended the connection, if it did.
    fn outrun_subscriber(&self) -> (Running, WsConnection, Option<WsEnd>) {
        const SLOTS: usize = 3_000;
        let server = self.start(&["--slot-interval-ms", "2"]);
        let mut reading = Subscriber::open(&server);
        let number = reading.subscribe();
        let mut slow = slow_subscriber(&server);
        // By then the socket and the queue would have run over many times.
        for _ in 0..SLOTS {
            reading.announced.clear();
            reading.listen(&number, 1);
        }
        let mut received = 0;
        loop {
            match slow.receive_within(QUIET) {
                None => return (server, slow, None),
                Some(Err(end)) => return (server, slow, Some(end)),
                Some(Ok(_)) => received += 1,
            }
            assert!(received < SLOTS * SLOW_SUBSCRIPTIONS / 2, "slots are announced without an end");
        }
    }
}

/// Subscriptions of a client that is to be slow: they fill its buffers sooner than one would.
const SLOW_SUBSCRIPTIONS: usize = 200;

fn slow_subscriber(server: &Running) -> WsConnection {
    let mut slow = WsConnection::open_narrow(server);
    for _ in 0..SLOW_SUBSCRIPTIONS {
        slow.send(SUBSCRIBE);
    }
    slow
}

/// Waits, with something to do meanwhile, until a server has no more files open than before.
fn wait_for_open_files(server: &Running, before: usize, mut meanwhile: impl FnMut()) {
    let deadline = Instant::now() + PATIENCE;
    while server.open_files() > before {
        assert!(Instant::now() < deadline, "{} files are open, and were {before}", server.open_files());
        meanwhile();
    }
}
