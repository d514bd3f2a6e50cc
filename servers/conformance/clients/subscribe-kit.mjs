// Subscribes through @solana/kit: node subscribe-kit.mjs HTTP WEBSOCKET prints one JSON object.
// This client makes its calls over HTTP alone. It ends a subscription by its signal and hides the answer.
import { createSolanaRpc, createSolanaRpcSubscriptions } from '@solana/kit';

const [http, ws] = process.argv.slice(2);
const rpc = createSolanaRpc(http);
const ending = new AbortController();
const slots = [];
const notifications = await createSolanaRpcSubscriptions(ws).slotNotifications().subscribe({ abortSignal: ending.signal });
for await (const slot of notifications) {
  slots.push(slot);
  if (slots.length === 5) break;
}
ending.abort();
const seen = { health: await rpc.getHealth().send(), blocks: await rpc.getBlocks(5n, 10n).send(), slots, ended: true };
console.log(JSON.stringify(seen, (_, value) => (typeof value === 'bigint' ? Number(value) : value)));
process.exit(0);
