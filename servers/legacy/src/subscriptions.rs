//! Subscriptions to slots by jsonrpc-pubsub, as validators had them on jsonrpc-ws-server before they gave it up.
//!
//! One task announces each slot to all subscribers, through the session of each one's connection. What a client does not take waits
//! in the buffer of its socket, whose limit is jsonrpc-ws-server's.

use std::collections::HashMap;
use std::future::ready;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use core_rpc::{Handler, Limits, Meta, as_params, wire_error};
use jsonrpc_core::{Error, ErrorCode, Params, Value};
use jsonrpc_http_server::tokio::runtime::Handle;
use jsonrpc_http_server::tokio::sync::broadcast::Receiver;
use jsonrpc_http_server::tokio::sync::broadcast::error::RecvError;
use jsonrpc_pubsub::{PubSubHandler, Sink, Subscriber, SubscriptionId};
use serde_json::json;
use server_kit::{NOTIFICATION, SUBSCRIBE, SlotFeed, UNSUBSCRIBE};
use validator_state::SlotInfo;

/// Subscriptions of all connections together: a node's own limit.
const MAX_SUBSCRIPTIONS: usize = 1_000_000;

/// The sink of each subscriber, by the number of its subscription.
#[derive(Clone, Default)]
struct Subscribers(Arc<Mutex<HashMap<u64, Sink>>>);

/// These methods, and the two of subscriptions. The announcing task runs on `runtime`.
pub fn add(methods: Handler, feed: &SlotFeed, runtime: &Handle) -> PubSubHandler<Meta, Limits> {
    let subscribers = Subscribers::default();
    runtime.spawn(announce(feed.subscribe(), subscribers.clone()));
    let (ended, numbers) = (subscribers.clone(), feed.clone());
    let subscribe = move |params: Params, _: Meta, subscriber: Subscriber| {
        let number = as_params(params).none().map_err(wire_error).and_then(|()| subscribers.room(&numbers));
        // Errors say that the connection has ended.
        match number {
            Err(error) => drop(subscriber.reject(error)),
            Ok(number) => {
                if let Ok(sink) = subscriber.assign_id(SubscriptionId::Number(number)) {
                    subscribers.lock().insert(number, sink);
                }
            }
        }
    };
    // Called for numbers of the connection's own subscriptions alone, and for those left when it ends.
    let unsubscribe = move |id: SubscriptionId, _: Option<Meta>| {
        if let SubscriptionId::Number(number) = id {
            ended.lock().remove(&number);
        }
        ready(Ok(Value::Bool(true)))
    };
    let mut handler = PubSubHandler::new(methods);
    handler.add_subscription(NOTIFICATION, (SUBSCRIBE, subscribe), (UNSUBSCRIBE, unsubscribe));
    handler
}

impl Subscribers {
    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Sink>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A number for one more subscription.
    fn room(&self, numbers: &SlotFeed) -> Result<u64, Error> {
        if self.lock().len() < MAX_SUBSCRIPTIONS {
            return Ok(numbers.next_number());
        }
        Err(Error {
            code: ErrorCode::InternalError,
            message: "Internal Error: Subscription refused. Node subscription limit reached".to_owned(),
            data: None,
        })
    }
}

async fn announce(mut slots: Receiver<SlotInfo>, subscribers: Subscribers) {
    loop {
        match slots.recv().await {
            // An error says that the subscriber's connection has ended.
            Ok(slot) => subscribers.lock().retain(|number, sink| sink.notify(params(slot, *number)).is_ok()),
            // There are too many subscribers to announce each slot in time.
            Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => return,
        }
    }
}

fn params(slot: SlotInfo, subscription: u64) -> Params {
    let members = [("result".to_owned(), json!(slot)), ("subscription".to_owned(), subscription.into())];
    Params::Map(members.into_iter().collect())
}
