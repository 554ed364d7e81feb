"""Claims sandboxes with the official client of agent-sandbox.

    claims.py create NAME       claims a pod of the warm pool for the agent NAME and waits until it is ready
    claims.py adopt NAME        the same for a claim that exists: finds it again
    claims.py delete NAME       deletes it

Each prints one JSON object. The cluster is the one of KUBECONFIG.
"""

from __future__ import annotations

import json
import sys
import time

from k8s_agent_sandbox import SandboxClient

NAMESPACE, POOL, LABEL = "agents", "agent-pool", "sandbox.users.io/agent"


def main() -> None:
    command, name = sys.argv[1:]
    client = SandboxClient()
    began = time.monotonic()
    found: dict[str, object] = {"claim": name}
    if command == "delete":
        client.delete_sandbox(name, NAMESPACE)
    else:
        # The label names the agent. The claim's own name is the same, so that one can be found by the other.
        sandbox = client.create_sandbox(
            POOL,
            NAMESPACE,
            sandbox_ready_timeout=60,
            claim_name=name,
            adopt_existing=command == "adopt",
            pod_labels={LABEL: name},
            shutdown_after_seconds=3600,
        )
        found |= {"sandbox": sandbox.sandbox_id, "pod": sandbox.get_pod_name()}
    found["ms"] = round((time.monotonic() - began) * 1000)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
