// The chain that nodes for Ethereum development are given: 200 blocks, each with ten transfers of ether and fifty of a token between their
// accounts, the same each time.
//
// token.hex is token.sol as solc 0.8.37 of npm compiles it: optimizer on, 200 runs, evmVersion shanghai, no metadata.
import { readFileSync } from "node:fs";

export const [BLOCKS, ACCOUNTS, BEGAN] = [200, 100, 1700000000];
const [TRANSFERS, TOKEN_TRANSFERS] = [10, 50];
// Where the first contract of the first account stands.
const TOKEN = "0x5fbdb2315678afecb367f032d93f642f64180aa3";

// Fills the chain of a node that mines on demand.
export async function fill(addr) {
  const call = async (method, ...params) => {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
    const answer = await fetch(`http://${addr}/`, { method: "POST", headers: { "content-type": "application/json" }, body });
    const { result, error } = await answer.json();
    if (error) throw new Error(`${method}: ${error.message}`);
    return result;
  };
  const accounts = await call("eth_accounts");
  // Marsaglia's xorshift, so that every chain has the same transfers.
  let state = 1;
  const drawn = (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % below;
  };
  const hex = (number) => `0x${number.toString(16)}`;
  const word = (text) => text.replace("0x", "").padStart(64, "0");
  const price = 2_000_000_000;
  const send = (transaction) => call("eth_sendTransaction", { gasPrice: hex(price), ...transaction });
  // What the token's constructor gets: where the list of holders begins, what each has, and the list.
  const holders = accounts.map(word).join("");
  const given = word(hex(64)) + word(hex(10n ** 24n)) + word(hex(ACCOUNTS)) + holders;
  const code = readFileSync(new URL("token.hex", import.meta.url), "utf8").trim();
  // The one that pays more comes first in its block.
  await send({ from: accounts[0], data: `0x${code}${given}`, gas: hex(8_000_000), gasPrice: hex(price + 1) });
  for (let block = 1; block <= BLOCKS; block += 1) {
    for (let transfer = 0; transfer < TRANSFERS; transfer += 1) {
      const [from, to] = [accounts[drawn(ACCOUNTS)], accounts[drawn(ACCOUNTS)]];
      await send({ from, to, value: hex(1 + drawn(1_000_000)), gas: hex(21_000) });
    }
    for (let transfer = 0; transfer < TOKEN_TRANSFERS; transfer += 1) {
      const [from, to] = [accounts[drawn(ACCOUNTS)], accounts[drawn(ACCOUNTS)]];
      const data = `0xa9059cbb${word(to)}${word(hex(1 + drawn(1_000_000)))}`;
      await send({ from, to: TOKEN, data, gas: hex(90_000) });
    }
    await call("evm_setNextBlockTimestamp", BEGAN + 12 * block);
    await call("evm_mine");
  }
  const logs = await call("eth_getLogs", { address: TOKEN, fromBlock: "0x1", toBlock: hex(BLOCKS) });
  const wanted = ACCOUNTS + BLOCKS * TOKEN_TRANSFERS;
  if (logs.length !== wanted) throw new Error(`the chain has ${logs.length} events of the token and not ${wanted}`);
}
