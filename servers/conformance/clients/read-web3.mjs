// Reads what the contract offers through @solana/web3.js 1.x: node read-web3.mjs URL prints one JSON object.
// getBlocksWithLimit and getHealth have no method in this client, so they go through its own transport. getBlocks
// with `processed` is refused by the client itself.
import { Connection, PublicKey } from '@solana/web3.js';

const account = new PublicKey('4EVAJ81v9fLjz2wp44SZmxgTbvYB8dBRZ6s1SAqP99eZ');
const absent = new PublicKey(new Uint8Array(32).fill(7));
const connection = new Connection(process.argv[2]);

const raw = async (method, params) => (await connection._rpcRequest(method, params)).result;
const code = (promise) => promise.then(() => 'no error', (error) => error.code);

const seen = {
  balance: await connection.getBalanceAndContext(account),
  balance_processed: await connection.getBalanceAndContext(account, 'processed'),
  balance_confirmed: await connection.getBalanceAndContext(account, 'confirmed'),
  balance_finalized: await connection.getBalanceAndContext(account, 'finalized'),
  balance_absent: await connection.getBalanceAndContext(absent),
  blocks_from: await connection.getBlocks(400),
  blocks_range: await connection.getBlocks(5, 10),
  blocks_confirmed: await connection.getBlocks(400, 450, 'confirmed'),
  blocks_with_limit: await raw('getBlocksWithLimit', [5, 3]),
  slot: await connection.getSlot(),
  slot_processed: await connection.getSlot('processed'),
  slot_confirmed: await connection.getSlot('confirmed'),
  height: await connection.getBlockHeight(),
  height_confirmed: await connection.getBlockHeight('confirmed'),
  health: await raw('getHealth', []),
  version: await connection.getVersion(),
  error_too_early: await code(connection.getSlot({ minContextSlot: 1_000_000 })),
};
console.log(JSON.stringify(seen));
