//! Subscriptions to slots: the feed of the chain that every server reads from, and what one WebSocket connection has subscribed
//! to, for frameworks that have no subscriptions of their own.
//!
//! The feed is one ring of the newest slots. A connection holds its place in it and nothing else, so subscribers cost no memory
//! by being slow. One that falls behind by the whole ring is to be disconnected, as a node does it.

use std::future::pending;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;
use serde_json::Value;
use tokio::sync::broadcast::{self, Receiver, Sender};
use validator_state::{Params, RpcError, SlotInfo};

/// Slots that a connection may be behind before it is disconnected.
pub const QUEUE_SLOTS: usize = 1_024;

/// Subscriptions that one connection may have.
pub const MAX_SUBSCRIPTIONS: usize = 1_024;

/// The method that subscribes.
pub const SUBSCRIBE: &str = "slotSubscribe";

/// The method that ends a subscription.
pub const UNSUBSCRIBE: &str = "slotUnsubscribe";

/// What a slot is announced by.
pub const NOTIFICATION: &str = "slotNotification";

/// Announces the slots of the chain. A clone announces to the same subscribers.
#[derive(Debug, Clone)]
pub struct SlotFeed {
    slots: Sender<SlotInfo>,
    next_number: Arc<AtomicU64>,
}

impl Default for SlotFeed {
    fn default() -> Self {
        Self { slots: broadcast::channel(QUEUE_SLOTS).0, next_number: Arc::default() }
    }
}

impl SlotFeed {
    /// Announces a slot to all subscribers; costs one lock where there is none.
    pub(crate) fn announce(&self, slot: SlotInfo) {
        // An error says that nobody has subscribed.
        let _nobody = self.slots.send(slot);
    }

    /// The slots from now on. It is an error to receive later than [`QUEUE_SLOTS`] slots after.
    pub fn subscribe(&self) -> Receiver<SlotInfo> {
        self.slots.subscribe()
    }

    /// A number that no other subscription of this server has; the first is 0.
    pub fn next_number(&self) -> u64 {
        self.next_number.fetch_add(1, Ordering::Relaxed)
    }
}

/// What one WebSocket connection has subscribed to. A clone is of the same connection.
#[derive(Debug, Clone)]
pub struct Subscriptions(Arc<Connection>);

#[derive(Debug)]
struct Connection {
    feed: SlotFeed,
    numbers: Mutex<Vec<u64>>,
}

#[derive(Serialize)]
struct Notification {
    jsonrpc: &'static str,
    method: &'static str,
    params: NotificationParams,
}

#[derive(Serialize)]
struct NotificationParams {
    result: SlotInfo,
    subscription: u64,
}

impl Subscriptions {
    fn new(feed: &SlotFeed) -> Self {
        Self(Arc::new(Connection { feed: feed.clone(), numbers: Mutex::default() }))
    }

    /// The answer of a method about subscriptions; `None` where the method is another.
    pub fn call(&self, method: &str, params: Params<'_>) -> Option<Result<Value, RpcError>> {
        match method {
            SUBSCRIBE => Some(self.subscribe(params).map(Value::from)),
            UNSUBSCRIBE => Some(self.unsubscribe(params).map(|()| Value::Bool(true))),
            _ => None,
        }
    }

    fn subscribe(&self, params: Params<'_>) -> Result<u64, RpcError> {
        params.none()?;
        self.with_numbers(|numbers| {
            if numbers.len() >= MAX_SUBSCRIPTIONS {
                return Err(RpcError::too_many_subscriptions(MAX_SUBSCRIPTIONS));
            }
            let number = self.0.feed.next_number();
            numbers.push(number);
            Ok(number)
        })
    }

    fn unsubscribe(&self, params: Params<'_>) -> Result<(), RpcError> {
        let ended = params.subscription()?;
        self.with_numbers(|numbers| {
            let at = numbers.iter().position(|number| *number == ended);
            numbers.remove(at.ok_or_else(RpcError::invalid_subscription)?);
            Ok(())
        })
    }

    fn with_numbers<T>(&self, work: impl FnOnce(&mut Vec<u64>) -> T) -> T {
        work(&mut self.0.numbers.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The slots that are still to be announced to a connection, for the task that writes to its socket.
#[derive(Debug)]
pub struct SlotQueue {
    subscriptions: Subscriptions,
    /// There while the connection has a subscription.
    slots: Option<Receiver<SlotInfo>>,
}

/// A connection has fallen behind by more slots than the queue holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Overrun;

impl SlotQueue {
    /// The queue of a new connection, which has no subscription.
    pub fn new(feed: &SlotFeed) -> Self {
        Self { subscriptions: Subscriptions::new(feed), slots: None }
    }

    /// What the connection has subscribed to.
    pub fn subscriptions(&self) -> &Subscriptions {
        &self.subscriptions
    }

    /// Begins or ends to take slots, as the subscriptions are now. To be called after each call of the connection, before its
    /// answer is sent.
    pub fn follow(&mut self) {
        let wanted = self.subscriptions.with_numbers(|numbers| !numbers.is_empty());
        if wanted != self.slots.is_some() {
            self.slots = wanted.then(|| self.subscriptions.0.feed.subscribe());
        }
    }

    /// Waits for the next slot, and gives a message for each subscription; waits for ever while there is none. A wait that is
    /// given up loses no slot.
    ///
    /// # Errors
    /// The next slot is gone: the connection is to be ended.
    pub async fn next(&mut self) -> Result<Vec<String>, Overrun> {
        let Some(slots) = &mut self.slots else { return pending().await };
        let slot = slots.recv().await.map_err(|_| Overrun)?;
        Ok(self
            .subscriptions
            .with_numbers(|numbers| numbers.iter().map(|number| notification(slot, *number)).collect()))
    }

    /// Waits until as many slots have come as the queue holds, for whoever sends to the client meanwhile: it has not taken
    /// one message in all that time. Waits for ever while there is no subscription.
    pub async fn overrun(&self) {
        if self.slots.is_none() {
            return pending().await;
        }
        let mut passing = self.subscriptions.0.feed.subscribe();
        for _ in 0..QUEUE_SLOTS {
            if passing.recv().await.is_err() {
                return;
            }
        }
    }
}

fn notification(slot: SlotInfo, subscription: u64) -> String {
    let params = NotificationParams { result: slot, subscription };
    // Numbers and fixed texts are always JSON.
    serde_json::to_string(&Notification { jsonrpc: "2.0", method: NOTIFICATION, params }).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;
    use tokio::runtime::{Builder, Runtime};
    use tokio::time::timeout;

    use super::*;

    const MOMENT: Duration = Duration::from_millis(20);

    fn runtime() -> Runtime {
        Builder::new_current_thread().enable_time().build().unwrap()
    }

    fn slot(slot: u64) -> SlotInfo {
        SlotInfo { parent: slot - 1, root: slot - 32, slot }
    }

    fn call(queue: &mut SlotQueue, method: &str, params: &str) -> Result<Value, RpcError> {
        let answer = queue.subscriptions().call(method, Params::Raw(params)).unwrap();
        queue.follow();
        answer
    }

    #[test]
    fn a_message_has_the_shape_of_a_nodes() {
        let message: Value = serde_json::from_str(&notification(slot(76), 3)).unwrap();
        let params = json!({"result": {"parent": 75, "root": 44, "slot": 76}, "subscription": 3});
        assert_eq!(message, json!({"jsonrpc": "2.0", "method": "slotNotification", "params": params}));
    }

    #[test]
    fn each_slot_is_announced_to_each_subscription_until_it_ends() {
        let feed = SlotFeed::default();
        let mut queue = SlotQueue::new(&feed);
        runtime().block_on(async {
            feed.announce(slot(40));
            assert_eq!(call(&mut queue, SUBSCRIBE, "[]"), Ok(json!(0)));
            assert_eq!(call(&mut queue, SUBSCRIBE, "null"), Ok(json!(1)));
            assert!(timeout(MOMENT, queue.next()).await.is_err(), "what was before is not announced");
            feed.announce(slot(41));
            assert_eq!(queue.next().await.unwrap(), [0, 1].map(|number| notification(slot(41), number)));
            assert_eq!(call(&mut queue, UNSUBSCRIBE, "[0]"), Ok(json!(true)));
            feed.announce(slot(42));
            assert_eq!(queue.next().await.unwrap(), [notification(slot(42), 1)]);
            assert_eq!(call(&mut queue, UNSUBSCRIBE, "[1]"), Ok(json!(true)));
            feed.announce(slot(43));
            assert!(timeout(MOMENT, queue.next()).await.is_err());
        });
    }

    #[test]
    fn a_number_belongs_to_one_connection() {
        let feed = SlotFeed::default();
        let [mut one, mut other] = [SlotQueue::new(&feed), SlotQueue::new(&feed)];
        assert_eq!(call(&mut one, SUBSCRIBE, "[]"), Ok(json!(0)));
        assert_eq!(call(&mut other, SUBSCRIBE, "[]"), Ok(json!(1)));
        assert_eq!(call(&mut other, UNSUBSCRIBE, "[0]"), Err(RpcError::invalid_subscription()));
        assert!(call(&mut one, SUBSCRIBE, "[1]").is_err_and(|error| error.code == -32602));
        assert_eq!(one.subscriptions().call("getHealth", Params::None), None);
    }

    #[test]
    fn a_connection_has_a_largest_number_of_subscriptions() {
        let mut queue = SlotQueue::new(&SlotFeed::default());
        for number in 0..MAX_SUBSCRIPTIONS {
            assert_eq!(call(&mut queue, SUBSCRIBE, "[]"), Ok(json!(number)));
        }
        assert!(call(&mut queue, SUBSCRIBE, "[]").is_err_and(|error| error.code == -32006));
        assert_eq!(call(&mut queue, UNSUBSCRIBE, "[5]"), Ok(json!(true)));
        assert!(call(&mut queue, SUBSCRIBE, "[]").is_ok());
    }

    #[test]
    fn falling_behind_by_the_whole_queue_is_an_error() {
        let feed = SlotFeed::default();
        let mut queue = SlotQueue::new(&feed);
        runtime().block_on(async {
            assert!(timeout(MOMENT, queue.overrun()).await.is_err(), "without a subscription never");
            assert_eq!(call(&mut queue, SUBSCRIBE, "[]"), Ok(json!(0)));
            let most = QUEUE_SLOTS as u64;
            for number in 0..most - 1 {
                feed.announce(slot(100 + number));
            }
            assert_eq!(queue.next().await.unwrap(), [notification(slot(100), 0)]);
            {
                let overrun = queue.overrun();
                tokio::pin!(overrun);
                assert!(timeout(MOMENT, &mut overrun).await.is_err());
                for number in 0..most {
                    feed.announce(slot(5_000 + number));
                }
                assert!(timeout(MOMENT, overrun).await.is_ok());
            }
            assert_eq!(queue.next().await, Err(Overrun));
        });
    }
}
