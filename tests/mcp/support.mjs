// What the tests know about the server under test.

import { readFileSync } from "node:fs";
import { createServer, request } from "node:http";

/** The value of a variable that `cargo xtask test --only mcp` sets. */
export function setting(name) {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set: run \`cargo xtask test --only mcp\`, which starts the server and sets it`);
  return value;
}

export const url = setting("RECALL_TEST_TEXT_URL");

/** A key for a namespace that nobody else uses. */
export async function key() {
  const admin = readFileSync(setting("RECALL_TEST_ADMIN_KEY_FILE"), "utf8").trim();
  const namespace = "mcp-" + Math.random().toString(36).slice(2);
  const answer = await fetch(url + "/v1/keys", {
    method: "POST",
    headers: { Authorization: "Bearer " + admin },
    body: JSON.stringify({ namespace }),
  });
  if (answer.status !== 201) throw new Error(`no key: ${answer.status}`);
  return (await answer.json()).key;
}

/** A server on loopback that adds a key to each request and changes nothing else. */
export async function withKey() {
  const bearer = "Bearer " + (await key());
  const { hostname, port } = new URL(url);
  const proxy = createServer((asked, answered) => {
    const headers = { ...asked.headers, authorization: bearer };
    const forwarded = request({ hostname, port, method: asked.method, path: asked.url, headers, setHost: false }, (answer) => {
      answered.writeHead(answer.statusCode, answer.rawHeaders);
      answer.pipe(answered);
    });
    forwarded.on("error", () => answered.destroy());
    answered.on("close", () => forwarded.destroy());
    asked.pipe(forwarded);
  });
  await new Promise((ready) => proxy.listen(0, "127.0.0.1", ready));
  // The conformance suite takes no other name for this machine.
  return { url: `http://localhost:${proxy.address().port}/mcp`, close: () => proxy.close() };
}
