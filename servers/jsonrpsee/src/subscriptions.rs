//! Subscriptions to slots by the framework's own subscriptions.

use std::sync::Arc;

use jsonrpsee::core::server::MethodCallback;
use jsonrpsee::core::to_json_raw_value;
use jsonrpsee::server::{MethodResponse, PendingSubscriptionSink, RpcModule};
use jsonrpsee::types::{Id, Params as RpcParams, Response, ResponsePayload};
use server_kit::{NOTIFICATION, SUBSCRIBE, StartError, UNSUBSCRIBE};
use tokio::select;
use validator_state::RpcError;

use crate::adapter::{Node, own_error, own_params};

/// Registers the two methods.
///
/// # Errors
/// Their names are taken.
pub fn register(module: &mut RpcModule<Node>) -> Result<(), StartError> {
    let failed = |error| StartError::failed("register the subscriptions", error);
    module
        .register_subscription(SUBSCRIBE, NOTIFICATION, UNSUBSCRIBE, |params, pending, node, _| {
            announce(params, pending, node)
        })
        .map_err(failed)?;
    let Some(MethodCallback::Unsubscription(unsubscribe)) = module.remove_method(UNSUBSCRIBE) else {
        return Err(StartError::failed("register the subscriptions", "the framework has no way to end one"));
    };
    // The framework answers `false` where a node answers with an error.
    let unsubscribe = move |id: Id<'_>, params: RpcParams<'_>, connection, most, extensions| {
        let response = unsubscribe(id.clone(), params, connection, most, extensions);
        if !is_false(&response) {
            return response;
        }
        let (_, _, extensions) = response.into_parts();
        MethodResponse::error(id, own_error(RpcError::invalid_subscription())).with_extensions(extensions)
    };
    let callback = MethodCallback::Unsubscription(Arc::new(unsubscribe));
    module.verify_and_insert(UNSUBSCRIBE, callback).map(drop).map_err(failed)
}

fn is_false(response: &MethodResponse) -> bool {
    let response = serde_json::from_str::<Response<'_, bool>>(response.as_ref());
    response.is_ok_and(|response| matches!(response.payload, ResponsePayload::Success(done) if !*done))
}

/// Announces each slot to a client, until either side ends the subscription. The framework's buffer of messages is the queue: a client
/// that lets it fill up loses the subscription. The framework has no way to end the connection with it.
async fn announce(params: RpcParams<'static>, pending: PendingSubscriptionSink, node: Arc<Node>) {
    if let Err(error) = own_params(&params).none() {
        return pending.reject(own_error(error)).await;
    }
    let mut slots = node.slots.subscribe();
    // An error says that the connection has ended.
    let Ok(mut sink) = pending.accept().await else { return };
    loop {
        let slot = select! {
            () = sink.closed() => return,
            slot = slots.recv() => slot,
        };
        let Some(message) = slot.ok().and_then(|slot| to_json_raw_value(&slot).ok()) else { return };
        if sink.try_send(message).is_err() {
            return;
        }
    }
}
