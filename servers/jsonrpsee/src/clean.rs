//! Marks the answers of clean calls: those that succeeded, alone or all in a batch.
//!
//! The framework reads some requests more kindly than the contract, and says so nowhere: it overlooks members that no
//! request has, takes a call in a batch that is written as an array, and skips white space that JSON does not have.
//! [`Clean::is_all_of`] finds those by counting.
//!
//! Not for: what happens to an answer without a mark; see `mend`.

use std::future::{Future, ready};
use std::sync::Arc;

use jsonrpsee::server::BatchResponseBuilder;
use jsonrpsee::server::middleware::rpc::{
    Batch, BatchEntry, MethodResponse, Notification, Request, RpcServiceT,
};
use jsonrpsee::types::Id;
use validator_state::SlotBudget;

/// Characters that tell how many members and arrays a body has beside its parameters.
///
/// A member beyond those of a request brings the two quotes of its name at least, and a call that is written as an array
/// brings a bracket. Nothing else that the framework accepts can have fewer of either than the request it was read as. So
/// where both counts agree, nothing was overlooked; where they don't (an id that holds a quote), the general way answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Shape {
    quotes: usize,
    brackets: usize,
}

impl Shape {
    fn of(text: &[u8]) -> Self {
        let count = |wanted: u8| text.iter().filter(|byte| **byte == wanted).count();
        Self { quotes: count(b'"'), brackets: count(b'[') }
    }

    /// The least that this call was written with: three or four names, the version, the method, and a textual id.
    fn of_call(request: &Request<'_>) -> Self {
        let mut shape = Self { quotes: 2 * (3 + 2), brackets: 0 };
        if let Some(params) = &request.params {
            shape = shape + Self::of(params.get().as_bytes()) + Self { quotes: 2, brackets: 0 };
        }
        if let Id::Str(_) = request.id {
            shape.quotes += 2;
        }
        shape
    }
}

impl std::ops::Add for Shape {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { quotes: self.quotes + other.quotes, brackets: self.brackets + other.brackets }
    }
}

/// The mark of an answer whose calls have all succeeded.
#[derive(Debug, Clone, Copy)]
pub struct Clean {
    shape: Shape,
    /// How many calls the answer answers.
    pub answered: u64,
}

impl Clean {
    /// Whether the body holds what the framework read in it, and nothing that it overlooked.
    pub fn is_all_of(&self, body: &[u8]) -> bool {
        self.shape == Shape::of(body) && begins_as_json(body)
    }
}

/// Marks the answers of calls that succeed, alone or all in a batch.
#[derive(Debug, Clone)]
pub struct MarkClean<S> {
    inner: S,
}

impl<S> MarkClean<S> {
    /// Wraps the framework's own service.
    pub fn new(inner: S) -> Self {
        Self { inner }
    }
}

impl<S> RpcServiceT for MarkClean<S>
where
    S: RpcServiceT<MethodResponse = MethodResponse> + Clone + Send + Sync + 'static,
{
    type MethodResponse = MethodResponse;
    type NotificationResponse = MethodResponse;
    type BatchResponse = MethodResponse;

    fn call<'a>(&self, request: Request<'a>) -> impl Future<Output = MethodResponse> + Send + 'a {
        let clean = Clean { shape: Shape::of_call(&request), answered: 1 };
        let answering = self.inner.call(request);
        async move {
            let mut answer = answering.await;
            if answer.is_success() {
                answer.extensions_mut().insert(clean);
            }
            answer
        }
    }

    fn batch<'a>(&self, batch: Batch<'a>) -> impl Future<Output = MethodResponse> + Send + 'a {
        let inner = self.inner.clone();
        async move { clean_batch(&inner, batch).await.unwrap_or_else(MethodResponse::notification) }
    }

    /// Executes nothing, and is not marked: only the general way can tell a notification from a call with a bad id.
    fn notification<'a>(&self, _: Notification<'a>) -> impl Future<Output = MethodResponse> + Send + 'a {
        ready(MethodResponse::notification())
    }
}

/// The marked answer of a batch that holds nothing but calls that succeed.
async fn clean_batch<S>(inner: &S, batch: Batch<'_>) -> Option<MethodResponse>
where
    S: RpcServiceT<MethodResponse = MethodResponse>,
{
    let budget = Arc::<SlotBudget>::default();
    let mut answers = BatchResponseBuilder::new_with_limit(usize::MAX);
    let mut clean = Clean { shape: Shape { quotes: 0, brackets: 1 }, answered: 0 };
    for entry in batch {
        let Ok(BatchEntry::Call(mut request)) = entry else { return None };
        clean.shape = clean.shape + Shape::of_call(&request);
        clean.answered += 1;
        request.extensions_mut().insert(Arc::clone(&budget));
        let answer = inner.call(request).await;
        if !answer.is_success() {
            return None;
        }
        answers.append(answer).ok()?;
    }
    if answers.is_empty() {
        return None;
    }
    let mut answer = MethodResponse::from_batch(answers.finish());
    answer.extensions_mut().insert(clean);
    Some(answer)
}

/// Whether no form feed, which JSON does not have, is among the white space that the framework takes off the front.
fn begins_as_json(body: &[u8]) -> bool {
    !body.iter().take_while(|byte| byte.is_ascii_whitespace()).any(|byte| *byte == b'\x0c')
}
