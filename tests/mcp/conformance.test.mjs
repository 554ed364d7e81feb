// The conformance suite of the protocol, its checks by id.
//
// The server has tools alone, so checks that ask for prompts, resources or tools of the suite's own
// cannot pass: they are named here, and everything else must.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";

import { withKey } from "./support.mjs";

const RELEASED = "node_modules/conformance-released/dist/index.js";
const NEXT = "node_modules/@modelcontextprotocol/conformance/dist/index.js";

/** Needs prompts, resources or a tool that only the suite has. */
const NOT_APPLICABLE = new Set([
  "sep-2575-server-rejects-undeclared-capability",
  "sep-2575-missing-capability-http-400",
  "sep-2575-http-server-no-independent-requests-on-stream",
  "sep-2575-server-no-log-without-loglevel",
  "sep-2549-prompts-list-caching-hints",
  "sep-2549-resources-list-caching-hints",
  "sep-2549-resources-templates-list-caching-hints",
]);

/** Scenarios and how many of their checks pass. */
const SCENARIOS = [
  [RELEASED, null, { "server-initialize": 1, ping: 1, "tools-list": 1, "dns-rebinding-protection": 2 }],
  [NEXT, "2025-11-25", { "server-initialize": 2, ping: 2, "tools-list": 3, "dns-rebinding-protection": 2 }],
  [
    NEXT,
    "2026-07-28",
    {
      "tools-list": 4,
      "dns-rebinding-protection": 2,
      "server-stateless": 21,
      "http-header-validation": 14,
      caching: 4,
      "server-sse-multiple-streams": 1,
      "sep-2164-resource-not-found": 2,
      "input-required-result-unsupported-methods": 2,
      "input-required-result-missing-input-response": 1,
      "input-required-result-ignore-extra-params": 1,
      "input-required-result-validate-input": 3,
    },
  ],
];

let server;
before(async () => (server = await withKey()));
after(() => server.close());

for (const [suite, revision, scenarios] of SCENARIOS) {
  for (const [scenario, expected] of Object.entries(scenarios)) {
    test(`${scenario}, ${revision ?? "released suite"}`, async () => {
      const checks = await run(suite, revision, scenario);
      const failed = checks.filter((check) => check.status === "FAILURE" && !NOT_APPLICABLE.has(check.id));
      assert.deepEqual(failed, []);
      const passed = checks.filter((check) => check.status === "SUCCESS").length;
      assert.ok(passed >= expected, `${passed} of ${expected} checks passed`);
    });
  }
}

/** Runs one scenario and answers its checks. */
async function run(suite, revision, scenario) {
  const out = mkdtempSync(join(tmpdir(), "recall-conformance-"));
  try {
    const flags = ["server", "--url", server.url, "--scenario", scenario, "-o", out];
    if (revision) flags.push("--spec-version", revision);
    // What it exits with is no more than a summary of the checks.
    await promisify(execFile)(process.execPath, [suite, ...flags], { timeout: 60_000 }).catch(() => {});
    const files = readdirSync(out, { recursive: true }).filter((name) => name.endsWith("checks.json"));
    return files.flatMap((name) => JSON.parse(readFileSync(join(out, name), "utf8")));
  } finally {
    rmSync(out, { recursive: true });
  }
}
