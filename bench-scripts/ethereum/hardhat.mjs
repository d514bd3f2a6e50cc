// Gets hardhat, another node for Ethereum development, from npm; or, with an address, runs it there until it is ended, with the chain that
// anvil has (transfers.mjs). It keeps no chain, so each start takes a minute. Run from the repository's root.
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { ACCOUNTS, BEGAN, fill } from "./transfers.mjs";

// The last version for Node 20.
const VERSION = "2.29.1";
const FOLDER = "target/hardhat";
const PROGRAM = `${FOLDER}/node_modules/hardhat/internal/cli/bootstrap.js`;

const CONFIG = {
  networks: {
    hardhat: {
      chainId: 31337,
      accounts: {
        mnemonic: "test test test test test test test test test test test junk",
        count: ACCOUNTS,
        accountsBalance: "10000000000000000000000",
      },
      mining: { auto: false, interval: 0 },
      initialDate: new Date(BEGAN * 1000).toISOString(),
      blockGasLimit: 30_000_000,
    },
  },
  solidity: "0.8.28",
};

const [, , address] = process.argv;
if (address === undefined) {
  if (!existsSync(PROGRAM)) {
    mkdirSync(FOLDER, { recursive: true });
    const options = ["--prefix", FOLDER, "--no-save", "--no-audit", "--no-fund", "--silent"];
    execFileSync("npm", ["install", ...options, `hardhat@${VERSION}`], { stdio: "inherit" });
  }
  writeFileSync(`${FOLDER}/hardhat.config.js`, `module.exports = ${JSON.stringify(CONFIG, null, 2)};\n`);
  writeFileSync(`${FOLDER}/package.json`, '{ "private": true }\n');
} else {
  const [hostname, port] = address.split(":");
  // It prints each call, which nobody reads.
  const environment = { ...process.env, HARDHAT_DISABLE_TELEMETRY_PROMPT: "true", HARDHAT_EXPERIMENTAL_ALLOW_NON_LOCAL_INSTALLATION: "true" };
  const node = spawn(process.execPath, ["node_modules/hardhat/internal/cli/bootstrap.js", "node", "--hostname", hostname, "--port", port], {
    cwd: FOLDER,
    env: environment,
    stdio: ["ignore", "ignore", "inherit"],
  });
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => node.kill(signal));
  node.once("exit", (code) => process.exit(code ?? 1));
  await listening(address);
  await fill(address);
}

// Waits until something listens there.
async function listening(address) {
  const call = { method: "POST", headers: { "content-type": "application/json" }, body: '{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}' };
  for (;;) {
    try {
      await fetch(`http://${address}/`, call);
      return;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}
