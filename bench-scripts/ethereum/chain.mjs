// Gets anvil, a node for Ethereum development, from npm and makes the chain that it is measured with (transfers.mjs). Run from the
// repository's root; does nothing where both are there already.
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { createInterface } from "node:readline";
import { ACCOUNTS, BEGAN, fill } from "./transfers.mjs";

const VERSION = "1.7.1";
const FOLDER = "target/anvil";
const [PROGRAM, CHAIN] = [`${FOLDER}/anvil`, `${FOLDER}/chain-with-token.json`];

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
