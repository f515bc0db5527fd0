"""Tells which names stand for secrets: `api_key`, `openaiKey`, `DB_PASSWORD`, `sessionToken`."""

from __future__ import annotations

__all__ = ("Secrecy", "looks_secret", "secrecy")

import re
from enum import IntEnum
from functools import lru_cache

from compass_agent.errors.marks import MASK


class Secrecy(IntEnum):
    """How much a name says about its value."""

    NONE = 0
    """Nothing."""
    LIKELY = 1
    """A secret if it looks like one: `cacheKey`, `auth`."""
    TOKEN = 2
    """A secret when it is assigned; else if it looks like one: models have tokens too."""
    SURE = 3
    """A secret whatever it looks like."""


_DIGIT = re.compile(r"[0-9]")
# From this length on a token without digits is no word any more.
_LONG_TOKEN = 24
_SHORT_TOKEN = 6

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_TRAILING_TEXT = (
    "value string str plain raw b64 base64 hash hashed encoded encrypted old new current previous "
    "confirm confirmation"
)
# "API_KEY_2", "password_confirmation", "secretString": still what the words before it say.
_TRAILING = frozenset(_TRAILING_TEXT.split())
_CONNECTION = re.compile(r"connection_?str(?:ing)?s?\Z|connstrs?\Z")
_SURE_ENDS_TEXT = (
    "authorization cookie credential dsn passcode passphrase passwd password pwd secret"
)
_SURE_ENDS = tuple(_SURE_ENDS_TEXT.split())
_MAKERS_TEXT = (
    "anthropic azure aws google gcp gemini openai groq mistral cohere deepseek openrouter "
    "perplexity fireworks together replicate huggingface hf xai nvidia cerebras voyage jina tavily "
    "stripe github gitlab slack discord telegram twilio sendgrid mailgun datadog sentry langsmith "
    "langfuse litellm exa brave serper pinecone qdrant weaviate cloudflare vercel bedrock vertex"
)
_MAKERS = tuple(_MAKERS_TEXT.split())
_KEYS_FOR_TEXT = (
    "api access account admin app auth authentication authorization client consumer crypto "
    "decrypt decryption deploy developer encrypt encryption function functions hmac license llm "
    "master private secret service shared sign signing ssh storageaccount subscription tenant "
    "token user webhook"
)
_KEYS_FOR = tuple(_KEYS_FOR_TEXT.split()) + _MAKERS
_TOKENS_FOR_TEXT = (
    "access api app auth bearer bot client csrf deploy id identity oauth personal personalaccess "
    "refresh registration runner security service session sas user vault xsrf"
)
_TOKENS_FOR = _TOKENS_FOR_TEXT.split()
_SURE_KEYS = tuple(f"{use}key" for use in _KEYS_FOR)
_SURE_TOKENS = tuple(f"{use}token" for use in (*_TOKENS_FOR, *_MAKERS) if use not in ("id", "ai"))
_PAIRS = frozenset(
    (*((use, "key") for use in _KEYS_FOR), *((use, "token") for use in (*_TOKENS_FOR, *_MAKERS)))
)
# Only as a word of its own, or behind one: "design", "compass", "author" end or begin alike.
_TOKEN_WORDS = frozenset(("token", "signature", "sig", "bearer", "jwt"))
_LIKELY_WORDS_TEXT = "auth key pass"
_LIKELY_WORDS = frozenset(_LIKELY_WORDS_TEXT.split())
_OPEN_KEYS_TEXT = (
    "arrow array any cache cell child column composite conflict cursor data dedup dedupe dict "
    "each entity event every field file first foreign group header hot idempotency index item job "
    "json last lock map message metric model msg node object option page param parent partition "
    "prefix primary pub public query record redis room route routing row s3 shift sort storage "
    "stream tag task thread topic translation unique"
)
_OPEN_KEYS = frozenset(_OPEN_KEYS_TEXT.split())


_NO_KEYS = frozenset(("monkey", "donkey", "turkey", "hockey", "jockey", "whiskey", "hotkey"))
_HOLDERS_TEXT = "admin database db ftp http mail mysql pg postgres redis root smtp user"
_HOLDERS = frozenset(_HOLDERS_TEXT.split())


@lru_cache(maxsize=2048)
def secrecy(name: str) -> Secrecy:
    """Return what `name` says about its value, in whatever way its words are joined."""
    words = [word.lower() for word in _WORDS.findall(name)]
    if _CONNECTION.search("_".join(words[-2:])):
        return Secrecy.SURE
    while len(words) > 1 and (words[-1] in _TRAILING or words[-1].isdigit()):
        words.pop()
    if not words:
        return Secrecy.NONE
    last = words[-1]
    many = last.endswith("s") and not last.endswith("ss")
    if many:
        last = last[:-1]
    before = words[-2] if len(words) > 1 else ""
    if last.endswith(_SURE_ENDS) or last == "cred" or last.endswith(_SURE_KEYS):
        return Secrecy.SURE
    if (before, last) in _PAIRS or last.endswith(_SURE_TOKENS):
        # "accessTokens" may be a count of them.
        return Secrecy.LIKELY if many and last.endswith("token") else Secrecy.SURE
    if last == "pass" and before in _HOLDERS:
        return Secrecy.SURE
    if last in _TOKEN_WORDS:
        return Secrecy.LIKELY if many else Secrecy.TOKEN
    if last in _LIKELY_WORDS or (last.endswith("key") and last not in _NO_KEYS):
        return Secrecy.NONE if before in _OPEN_KEYS else Secrecy.LIKELY
    return Secrecy.NONE


def looks_secret(value: str) -> bool:
    """Tell a token from a word: it is an echo, or long, or has digits."""
    if "[" in value:
        value = value.replace(MASK[:-1], "")  # what is masked already says nothing
    if len(value) >= _LONG_TOKEN or "**" in value or "..." in value or "…" in value:
        return True
    if "••" in value:
        return True
    return len(value) > _SHORT_TOKEN and _DIGIT.search(value) is not None
