// Calls and subscribes through @solana/web3.js 1.x: node subscribe-web3.mjs HTTP WEBSOCKET prints one JSON object.
// This client makes its own calls over HTTP, so those over WebSocket go through its transport. It hides the answer to the end of a
// subscription, and fails where that is an error.
import { Connection } from '@solana/web3.js';

const [http, wsEndpoint] = process.argv.slice(2);
const connection = new Connection(http, { wsEndpoint });

const slots = [];
const enough = await new Promise((resolve) => {
  const listener = connection.onSlotChange((slot) => {
    slots.push(slot);
    if (slots.length === 5) resolve(listener);
  });
});
const socket = connection._rpcWebSocket;
const health = await socket.call('getHealth', []);
const overHttp = await connection.getBlocks(5, 10);
const blocks = await socket.call('getBlocks', [5, 10]);
await connection.removeSlotChangeListener(enough);
const same = JSON.stringify(overHttp) === JSON.stringify(blocks);
console.log(JSON.stringify({ health, blocks: same ? blocks : { overHttp, blocks }, slots: slots.slice(0, 5), ended: true }));
process.exit(0);
