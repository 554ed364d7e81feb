"""What a pod does: the published client with a token file and no key."""

from polign_recall import Client

with Client.from_env() as memory:
    memory.remember(subject="user", predicate="prefers_editor", value="vim")
    memory.remember(subject="user", predicate="prefers_editor", value="helix")
    print([belief.value for belief in memory.recall(subject="user", predicate="prefers_editor")])
