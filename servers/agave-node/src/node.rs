//! The parts of a node that its RPC service answers from, and the service in front of them.
//!
//! The service is the one that a validator starts. Its banks and its block store hold a ledger of this project: accounts in an
//! accounts database, one bank for each slot, rooted slots in RocksDB. What else a validator runs is left out: replay, voting,
//! gossip, subscriptions and above all proof of history, which keeps a core busy. So the chain does not advance, as in the other servers.
//!
//! No blocks. All slots but the first are rooted without one, so that methods that read a block find none.

use std::collections::HashMap;
use std::net::{SocketAddr, UdpSocket};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use agave_snapshots::snapshot_config::SnapshotConfig;
use anyhow::{Context, Result, anyhow, ensure};
use solana_account::Account;
use solana_accounts_db::accounts_db::AccountsDbConfig;
use solana_epoch_schedule::EpochSchedule;
use solana_genesis_config::GenesisConfig;
use solana_gossip::cluster_info::ClusterInfo;
use solana_gossip::contact_info::ContactInfo;
use solana_keypair::{Keypair, Signer};
use solana_ledger::blockstore::{Blockstore, create_new_ledger};
use solana_ledger::blockstore_options::LedgerColumnOptions;
use solana_ledger::leader_schedule_cache::LeaderScheduleCache;
use solana_net_utils::SocketAddrSpace;
use solana_rpc::optimistically_confirmed_bank_tracker::OptimisticallyConfirmedBank;
use solana_rpc::rpc::JsonRpcConfig;
use solana_rpc::rpc_service::{JsonRpcService, JsonRpcServiceConfig, RpcTpuClientArgs};
use solana_runtime::bank::Bank;
use solana_runtime::bank_forks::BankForks;
use solana_runtime::commitment::{BlockCommitmentCache, CommitmentSlots};
use solana_runtime::genesis_utils::create_genesis_config_with_leader;
use tokio::runtime::{self, Runtime};
use tokio_util::sync::CancellationToken;
use validator_state::{Commitment, Ledger};

/// Lamports of the genesis' one validator, as in a test validator, and of its mint.
const STAKE_LAMPORTS: u64 = 1_000_000 * 1_000_000_000;

/// Most banks that are made for rooted slots, at about a millisecond each. A longer chain gets banks for its newest slots, and its
/// block heights count from there.
const MOST_ROOTED_BANKS: usize = 5_000;

/// After this many roots their accounts are moved from memory to files, as a validator does in the background.
const ROOTS_A_FLUSH: usize = 100;

/// The most that the genesis archive may unpack to, in bytes: the node's own limit.
const MAX_GENESIS_BYTES: u64 = 10 * 1_024 * 1_024;

/// A running RPC service.
pub struct Node {
    /// How it was set up.
    pub config: JsonRpcConfig,
    service: JsonRpcService,
    exit: Arc<AtomicBool>,
    cancel: CancellationToken,
    /// Where the service would send transactions from.
    client: Runtime,
}

impl Node {
    /// Starts the service on `addr` with `threads` threads that answer. `folder` is an empty one for the node's files.
    ///
    /// # Errors
    /// A chain that no node can have, files that can't be written, or an address that can't be listened on.
    pub fn start(ledger: &Ledger, addr: SocketAddr, threads: usize, folder: &Path) -> Result<Self> {
        let root = ledger.tip(Commitment::Finalized);
        let confirmed = ledger.tip(Commitment::Confirmed);
        let roots: Vec<u64> = ledger.roots().collect();
        ensure!(
            roots.first() == Some(&0),
            "--ledger: a node's chain has slot 0, its genesis; add it to `rooted` in chain.json"
        );

        let exit = Arc::new(AtomicBool::new(false));
        let identity = Arc::new(Keypair::new());
        let genesis = genesis(ledger, &identity, folder)?;
        let bank_forks = banks(&genesis, &roots, ledger, folder, &exit)?;
        let forks = bank_forks.read().unwrap_or_else(PoisonError::into_inner);
        let confirmed_bank =
            forks.get(confirmed).with_context(|| format!("no bank for the confirmed slot {confirmed}"))?;
        let root_bank = forks.root_bank();
        drop(forks);
        let blockstore = block_store(folder, &roots, &confirmed_bank)?;

        let config = JsonRpcConfig { full_api: true, rpc_threads: threads, ..JsonRpcConfig::default() };
        let client = runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let cancel = CancellationToken::new();
        let contact = ContactInfo::new_localhost(&identity.pubkey(), 0);
        let service = JsonRpcService::new_with_config(JsonRpcServiceConfig {
            rpc_addr: addr,
            rpc_config: config.clone(),
            snapshot_config: Some(snapshots(folder)),
            bank_forks,
            block_commitment_cache: locked(commitments(ledger)),
            blockstore: Arc::new(blockstore),
            cluster_info: Arc::new(ClusterInfo::new(
                contact,
                Arc::clone(&identity),
                SocketAddrSpace::Unspecified,
            )),
            poh_recorder: None,
            genesis_hash: genesis.hash(),
            ledger_path: folder.to_owned(),
            validator_exit: Arc::default(),
            exit: Arc::clone(&exit),
            override_health_check: Arc::default(),
            optimistically_confirmed_bank: locked(OptimisticallyConfirmedBank { bank: confirmed_bank }),
            send_transaction_service_config: Default::default(),
            max_slots: Arc::default(),
            leader_schedule_cache: Arc::new(LeaderScheduleCache::new_from_bank(&root_bank)),
            max_complete_transaction_status_slot: Arc::new(AtomicU64::new(root)),
            prioritization_fee_cache: Some(Arc::default()),
            rpc_tpu_client_args: RpcTpuClientArgs(
                &identity,
                UdpSocket::bind(("127.0.0.1", 0)).context("make a socket for transactions")?,
                client.handle().clone(),
                cancel.clone(),
            ),
        });
        let service = service.map_err(|problem| anyhow!("--listen {addr}: {problem}"))?;
        Ok(Self { config, service, exit, cancel, client })
    }

    /// Closes the listener and waits for what has begun to be answered.
    pub fn stop(self) {
        self.exit.store(true, Ordering::Relaxed);
        self.cancel.cancel();
        // A thread of the service that has panicked has said so; the process ends either way.
        let _ = self.service.join();
        self.client.shutdown_background();
    }
}

/// A genesis with one validator and the ledger's accounts. Its block store and its archive are written into `folder`.
fn genesis(ledger: &Ledger, identity: &Keypair, folder: &Path) -> Result<GenesisConfig> {
    let made = create_genesis_config_with_leader(STAKE_LAMPORTS, &identity.pubkey(), STAKE_LAMPORTS);
    let mut genesis = made.genesis_config;
    genesis.epoch_schedule = EpochSchedule::without_warmup();
    // Before our accounts are in it: to pack 100,000 of them into the archive takes seconds, and nobody fetches it.
    create_new_ledger(folder, &genesis, MAX_GENESIS_BYTES, LedgerColumnOptions::default())
        .context("make the block store")?;
    for (pubkey, lamports) in ledger.accounts() {
        let account = || Account { lamports, ..Account::default() };
        genesis.accounts.entry(pubkey.0.into()).or_insert_with(account);
    }
    Ok(genesis)
}

/// The block store of `folder`, with these roots.
fn block_store(folder: &Path, roots: &[u64], confirmed: &Bank) -> Result<Blockstore> {
    let store = Blockstore::open(folder).context("open the block store")?;
    store.set_roots(roots.iter()).context("write the roots")?;
    // A node is healthy where its own confirmed bank is not behind the newest slot that it knows to be confirmed.
    store
        .insert_optimistic_slot(confirmed.slot(), &confirmed.hash(), 0)
        .context("write the confirmed slot")?;
    Ok(store)
}

/// Which slot is newest for each commitment.
fn commitments(ledger: &Ledger) -> BlockCommitmentCache {
    let root = ledger.tip(Commitment::Finalized);
    let slots = CommitmentSlots {
        slot: ledger.tip(Commitment::Processed),
        root,
        highest_confirmed_slot: ledger.tip(Commitment::Confirmed),
        highest_super_majority_root: root,
    };
    BlockCommitmentCache::new(HashMap::new(), STAKE_LAMPORTS, slots)
}

/// Where snapshots would be. None is written; but a validator has this setting, and every request clones it with the rest.
fn snapshots(folder: &Path) -> SnapshotConfig {
    SnapshotConfig {
        full_snapshot_archives_dir: folder.to_owned(),
        incremental_snapshot_archives_dir: folder.to_owned(),
        bank_snapshots_dir: folder.to_owned(),
        ..SnapshotConfig::default()
    }
}

fn locked<T>(value: T) -> Arc<RwLock<T>> {
    Arc::new(RwLock::new(value))
}

/// A frozen bank for each produced slot (but see [`MOST_ROOTED_BANKS`]), the rooted ones rooted.
fn banks(
    genesis: &GenesisConfig,
    roots: &[u64],
    ledger: &Ledger,
    folder: &Path,
    exit: &Arc<AtomicBool>,
) -> Result<Arc<RwLock<BankForks>>> {
    let accounts =
        AccountsDbConfig { bank_hash_details_dir: folder.to_owned(), ..AccountsDbConfig::default() };
    let paths = vec![folder.join("accounts")];
    let first = Bank::new_from_genesis(
        genesis,
        Arc::default(),
        paths,
        None,
        accounts,
        None,
        None,
        Arc::clone(exit),
        None,
        None,
    );
    first.squash();
    let leader = *first.leader();
    let bank_forks = BankForks::new_rw_arc(first);
    // Banks are made without the lock, since they may ask the forks themselves.
    let forks = || bank_forks.write().unwrap_or_else(PoisonError::into_inner);
    let mut newest = forks().root_bank();

    let skipped = roots.len().saturating_sub(MOST_ROOTED_BANKS).max(1);
    for (position, &slot) in roots.iter().enumerate().skip(skipped) {
        let bank = Bank::warp_from_parent(newest, leader, slot);
        newest = forks().insert(bank).clone_without_scheduler();
        drop(forks().set_root(slot, None, Some(slot)));
        if position.is_multiple_of(ROOTS_A_FLUSH) {
            newest.force_flush_accounts_cache();
        }
    }
    newest.force_flush_accounts_cache();

    for slot in ledger.unrooted() {
        let bank = Bank::warp_from_parent(newest, leader, slot);
        newest = forks().insert(bank).clone_without_scheduler();
    }
    Ok(bank_forks)
}
