// The official TypeScript SDKs work unchanged, over HTTP and through `recall connect`.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Client as ClientV2, StreamableHTTPClientTransport as HttpV2 } from "@modelcontextprotocol/client";
import { StdioClientTransport as StdioV2 } from "@modelcontextprotocol/client/stdio";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as StdioV1 } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport as HttpV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

import { key, setting, url } from "./support.mjs";

const STATELESS = "2026-07-28";
const NEWEST_WITH_HANDSHAKE = "2025-11-25";

const clients = [
  { name: "version 1", make: () => new ClientV1({ name: "test", version: "1" }), Http: HttpV1, Stdio: StdioV1, stateless: false },
  ...[
    ["as it is", undefined, false],
    ["that finds out", { mode: "auto" }, true],
    ["pinned", { mode: { pin: STATELESS } }, true],
  ].map(([kind, versionNegotiation, stateless]) => ({
    name: `version 2 ${kind}`,
    make: () => new ClientV2({ name: "test", version: "2" }, versionNegotiation && { versionNegotiation }),
    Http: HttpV2,
    Stdio: StdioV2,
    stateless,
  })),
];

for (const client of clients) {
  test(`${client.name} over HTTP`, async () => {
    const headers = { Authorization: "Bearer " + (await key()) };
    await session(client, new client.Http(new URL(url + "/mcp"), { requestInit: { headers } }));
  });
  test(`${client.name} through recall connect`, async () => {
    const env = { PATH: process.env.PATH, RECALL_URL: url, RECALL_API_KEY: await key() };
    await session(client, new client.Stdio({ command: setting("RECALL_TEST_PROGRAM"), args: ["connect"], env }));
  });
}

/** Lists, writes, reads, and calls what is not there. */
async function session({ make, stateless, name }, transport) {
  const client = make();
  await client.connect(transport);
  try {
    if (name !== "version 1") assert.equal(client.getNegotiatedProtocolVersion(), stateless ? STATELESS : NEWEST_WITH_HANDSHAKE);
    const { tools } = await client.listTools();
    assert.deepEqual(tools.slice(0, 5).map((tool) => tool.name), ["remember", "recall", "forget", "history", "diff"]);
    const kept = await client.callTool({ name: "remember", arguments: { text: "My cat is called Figaro." } });
    assert.equal(kept.structuredContent.kept_as_text, true);
    const found = await client.callTool({ name: "recall", arguments: { question: "cat" } });
    assert.equal(found.structuredContent.memories[0].text, "My cat is called Figaro.");
    assert.equal(JSON.parse(found.content[0].text).memories[0].text, "My cat is called Figaro.");
    const unknown = client.callTool({ name: "no_such_tool", arguments: {} });
    if (stateless) {
      await assert.rejects(unknown, (error) => error.code === -32602);
    } else {
      const refused = await unknown;
      assert.equal(refused.isError, true);
      assert.match(refused.content[0].text, /unknown memory tool "no_such_tool"/);
    }
  } finally {
    await client.close();
  }
}
