// Reads what the contract offers through @solana/kit: node read-kit.mjs URL prints one JSON object.
// This client sends `confirmed` by default, and leaves `finalized` out: it is the default of the server.
import { address, createSolanaRpc, isSolanaError } from '@solana/kit';

const account = address('4EVAJ81v9fLjz2wp44SZmxgTbvYB8dBRZ6s1SAqP99eZ');
const absent = address('US517G5965aydkZ46HS38QLi7UQiSojurfbQfKCELFx');
const rpc = createSolanaRpc(process.argv[2]);

const code = (promise) =>
  promise.then(() => 'no error', (error) => (isSolanaError(error) ? error.context.__code : String(error)));

const seen = {
  balance: await rpc.getBalance(account).send(),
  balance_processed: await rpc.getBalance(account, { commitment: 'processed' }).send(),
  balance_confirmed: await rpc.getBalance(account, { commitment: 'confirmed' }).send(),
  balance_finalized: await rpc.getBalance(account, { commitment: 'finalized' }).send(),
  balance_absent: await rpc.getBalance(absent).send(),
  blocks_from: await rpc.getBlocks(400n).send(),
  blocks_range: await rpc.getBlocks(5n, 10n).send(),
  blocks_confirmed: await rpc.getBlocks(400n, 450n, { commitment: 'confirmed' }).send(),
  blocks_with_limit: await rpc.getBlocksWithLimit(5n, 3).send(),
  slot: await rpc.getSlot().send(),
  slot_processed: await rpc.getSlot({ commitment: 'processed' }).send(),
  slot_confirmed: await rpc.getSlot({ commitment: 'confirmed' }).send(),
  height: await rpc.getBlockHeight().send(),
  height_confirmed: await rpc.getBlockHeight({ commitment: 'confirmed' }).send(),
  health: await rpc.getHealth().send(),
  version: await rpc.getVersion().send(),
  error_too_early: await code(rpc.getSlot({ minContextSlot: 1_000_000n }).send()),
  error_bad_commitment: await code(rpc.getBlocks(5n, 10n, { commitment: 'processed' }).send()),
};
// Every number here is small enough for JSON; JSON.stringify alone refuses a BigInt.
console.log(JSON.stringify(seen, (_, value) => (typeof value === 'bigint' ? Number(value) : value)));
