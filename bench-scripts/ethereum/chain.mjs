// Gets anvil, a node for Ethereum development, from npm and makes the chain that it is measured with: 200 blocks, each with ten transfers of
// ether and fifty of a token between its accounts, the same each time. Run from the repository's root; does nothing where both are there
// already.
//
// token.hex is token.sol as solc 0.8.37 of npm compiles it: optimizer on, 200 runs, evmVersion shanghai, no metadata.
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { createInterface } from "node:readline";

const VERSION = "1.7.1";
const FOLDER = "target/anvil";
const [PROGRAM, CHAIN] = [`${FOLDER}/anvil`, `${FOLDER}/chain-with-token.json`];
const [BLOCKS, TRANSFERS, TOKEN_TRANSFERS, ACCOUNTS, BEGAN] = [200, 10, 50, 100, 1700000000];
// Where the first contract of the first account stands.
const TOKEN = "0x5fbdb2315678afecb367f032d93f642f64180aa3";

const arch = { x64: "amd64", arm64: "arm64" }[process.arch];
const installed = `node_modules/@foundry-rs/anvil-linux-${arch}/bin/anvil`;

if (!existsSync(PROGRAM)) {
  mkdirSync(FOLDER, { recursive: true });
  const options = ["--prefix", FOLDER, "--no-save", "--no-audit", "--no-fund", "--silent"];
  execFileSync("npm", ["install", ...options, `@foundry-rs/anvil@${VERSION}`], { stdio: "inherit" });
  // A link that leads nowhere is of an earlier attempt.
  rmSync(PROGRAM, { force: true });
  symlinkSync(installed, PROGRAM);
}
if (!existsSync(CHAIN)) {
  const made = `${CHAIN}.part`;
  rmSync(made, { force: true });
  const options = ["--host", "127.0.0.1", "--port", "0", "--accounts", `${ACCOUNTS}`, "--timestamp", `${BEGAN}`];
  const node = spawn(PROGRAM, [...options, "--no-mining", "--dump-state", made]);
  const ended = new Promise((resolve) => node.once("exit", resolve));
  try {
    await fill(await address(node));
  } finally {
    // It writes its state when it is interrupted.
    node.kill("SIGINT");
    await ended;
  }
  if (!existsSync(made)) throw new Error("anvil wrote no state");
  renameSync(made, CHAIN);
}

// Where it listens, which it prints.
async function address(node) {
  for await (const line of createInterface({ input: node.stdout })) {
    const found = line.match(/Listening on (\S+)/);
    if (found) {
      // What it prints from now on is not read, and must not stop it.
      node.stdout.resume();
      return found[1];
    }
  }
  throw new Error("anvil ended before it listened");
}

async function fill(addr) {
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
