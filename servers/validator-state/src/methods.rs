//! The seven methods: what each checks, in which order, and what it answers.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;

use crate::MAX_BLOCKS_RANGE;
use crate::error::RpcError;
use crate::params::{Config, Params};
use crate::pubkey::Pubkey;
use crate::state::{Commitment, Snapshot, State};
use crate::store::BlockStore;

/// A method of the contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Method {
    /// Balance of an account.
    GetBalance,
    /// Produced slots from a start to an end.
    GetBlocks,
    /// Produced slots from a start, up to a number of them.
    GetBlocksWithLimit,
    /// Newest slot of a commitment.
    GetSlot,
    /// Produced slots below the newest slot of a commitment.
    GetBlockHeight,
    /// Whether the node is well.
    GetHealth,
    /// The node's version.
    GetVersion,
}

impl Method {
    /// All methods.
    pub const ALL: [Self; 7] = [
        Self::GetBalance,
        Self::GetBlocks,
        Self::GetBlocksWithLimit,
        Self::GetSlot,
        Self::GetBlockHeight,
        Self::GetHealth,
        Self::GetVersion,
    ];

    /// The name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::GetBalance => "getBalance",
            Self::GetBlocks => "getBlocks",
            Self::GetBlocksWithLimit => "getBlocksWithLimit",
            Self::GetSlot => "getSlot",
            Self::GetBlockHeight => "getBlockHeight",
            Self::GetHealth => "getHealth",
            Self::GetVersion => "getVersion",
        }
    }

    /// Whether its answer is a list of slots, which a block store is walked for.
    pub const fn lists_blocks(self) -> bool {
        matches!(self, Self::GetBlocks | Self::GetBlocksWithLimit)
    }

    /// The method of that name, if there is one. Case counts.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.name() == name)
    }
}

impl fmt::Display for Method {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

/// What an answer was read from.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AnswerContext {
    api_version: &'static str,
    /// The slot that the value was read at.
    pub slot: u64,
}

/// getBalance's answer. The value is the balance at the context's slot.
#[derive(Debug, Clone, Serialize)]
pub struct Balance {
    /// What it was read from.
    pub context: AnswerContext,
    /// The balance, in lamports.
    pub value: u64,
}

/// getVersion's answer.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Version {
    feature_set: u32,
    solana_core: &'static str,
}

/// The answer of a method; serialises as its `result` member.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub enum Answer {
    /// Of getBalance.
    Balance(Balance),
    /// Of getBlocks and getBlocksWithLimit: produced slots, in order.
    Blocks(Vec<u64>),
    /// Of getSlot and getBlockHeight.
    Number(u64),
    /// Of getHealth.
    Health(&'static str),
    /// Of getVersion.
    Version(Version),
}

/// Slots that the calls of one HTTP request may still answer with, all together: a batch must not be a way to ask for a
/// hundred times the largest answer.
#[derive(Debug)]
pub struct SlotBudget(AtomicU64);

impl Default for SlotBudget {
    fn default() -> Self {
        Self(AtomicU64::new(MAX_BLOCKS_RANGE + 1))
    }
}

impl SlotBudget {
    /// Takes the slots of an answer from the budget; an answer that no longer fits becomes the error of a range that is
    /// too large.
    ///
    /// # Errors
    /// The budget is used up.
    pub fn charge(&self, answer: Answer) -> Result<Answer, RpcError> {
        let Answer::Blocks(slots) = &answer else { return Ok(answer) };
        let slots = slots.len() as u64;
        self.0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(slots))
            .map_or_else(|_| Err(range_too_large()), |_| Ok(answer))
    }
}

fn range_too_large() -> RpcError {
    RpcError::invalid_params(format!("Slot range too large; max {MAX_BLOCKS_RANGE}"))
}

impl State {
    /// Calls a method.
    ///
    /// # Errors
    /// The error that goes over the wire. Of kind parse error where [`Params::Raw`] is not JSON.
    pub fn call(&self, method: Method, params: Params<'_>) -> Result<Answer, RpcError> {
        match method {
            Method::GetBalance => self.get_balance(params),
            Method::GetBlocks => self.walked(self.get_blocks(params)),
            Method::GetBlocksWithLimit => self.walked(self.get_blocks_with_limit(params)),
            Method::GetSlot => self.get_slot(params.config()?).map(Answer::Number),
            Method::GetBlockHeight => self.get_block_height(params.config()?),
            Method::GetHealth => params.none().map(|()| Answer::Health("ok")),
            Method::GetVersion => params.none().map(|()| self.version()),
        }
    }

    fn get_balance(&self, params: Params<'_>) -> Result<Answer, RpcError> {
        let params = params.balance()?;
        let account = Pubkey::parse(&params.pubkey)
            .map_err(|error| RpcError::invalid_params(format!("Invalid param: {error:?}")))?;
        let slot = self.get_slot(params.config)?;
        let context = AnswerContext { api_version: self.ledger().api_version, slot };
        Ok(Answer::Balance(Balance { context, value: self.balance_at(&account, slot) }))
    }

    fn get_blocks(&self, params: Params<'_>) -> Result<Answer, RpcError> {
        let params = params.blocks()?;
        check_at_least_confirmed(params.config)?;
        let chain = self.snapshot();
        check_min_context_slot(params.config, chain.finalized)?;
        let end = params.end.unwrap_or(params.start.saturating_add(MAX_BLOCKS_RANGE));
        let end = end.min(chain.tip(params.config.commitment));
        if end < params.start {
            return Ok(Answer::Blocks(Vec::new()));
        }
        if end - params.start > MAX_BLOCKS_RANGE {
            return Err(range_too_large());
        }
        match self.store() {
            None => Ok(Answer::Blocks(chain.slots.range(params.start, end))),
            Some(store) => stored(store, &chain, params.start, end, usize::MAX),
        }
    }

    fn get_blocks_with_limit(&self, params: Params<'_>) -> Result<Answer, RpcError> {
        let params = params.blocks_with_limit()?;
        check_at_least_confirmed(params.config)?;
        if params.limit as u64 > MAX_BLOCKS_RANGE {
            return Err(RpcError::invalid_params(format!("Limit too large; max {MAX_BLOCKS_RANGE}")));
        }
        let chain = self.snapshot();
        check_min_context_slot(params.config, chain.finalized)?;
        let tip = chain.tip(params.config.commitment);
        match (params.limit.checked_sub(1), self.store()) {
            (None, _) => Ok(Answer::Blocks(Vec::new())),
            (Some(further), None) => {
                let below = params.start.checked_sub(1).map_or(0, |slot| chain.slots.count_through(slot));
                let last = chain.slots.nth(below + further).unwrap_or(tip).min(tip);
                Ok(Answer::Blocks(chain.slots.range(params.start, last)))
            }
            (Some(_), Some(store)) => stored(store, &chain, params.start, tip, params.limit),
        }
    }

    fn get_slot(&self, config: Config) -> Result<u64, RpcError> {
        let slot = self.tip(config.commitment);
        check_min_context_slot(config, slot)?;
        Ok(slot)
    }

    fn get_block_height(&self, config: Config) -> Result<Answer, RpcError> {
        let chain = self.snapshot();
        let slot = chain.tip(config.commitment);
        check_min_context_slot(config, slot)?;
        Ok(Answer::Number(chain.slots.count_through(slot).saturating_sub(1) as u64))
    }

    fn version(&self) -> Answer {
        Answer::Version(Version {
            feature_set: self.ledger().feature_set,
            solana_core: self.ledger().api_version,
        })
    }
}

/// The slots from `first` to `last`, `limit` of them at most. The rooted ones are read from the store; what is confirmed and not
/// yet rooted is in the node's memory.
fn stored(
    store: &dyn BlockStore,
    chain: &Snapshot,
    first: u64,
    last: u64,
    limit: usize,
) -> Result<Answer, RpcError> {
    let rooted = last.min(chain.finalized);
    let mut slots = if first <= rooted {
        store.roots(first, rooted, limit).map_err(|_| RpcError::internal_error())?
    } else {
        Vec::new()
    };
    if last > rooted {
        let above = chain.slots.range(first.max(rooted.saturating_add(1)), last);
        slots.extend(above.into_iter().take(limit.saturating_sub(slots.len())));
    }
    Ok(Answer::Blocks(slots))
}

fn check_at_least_confirmed(config: Config) -> Result<(), RpcError> {
    if config.commitment == Commitment::Processed {
        return Err(RpcError::invalid_params("Method does not support commitment below `confirmed`"));
    }
    Ok(())
}

fn check_min_context_slot(config: Config, slot: u64) -> Result<(), RpcError> {
    match config.min_context_slot {
        Some(minimum) if slot < minimum => Err(RpcError::min_context_slot(slot)),
        _ => Ok(()),
    }
}
