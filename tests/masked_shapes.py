"""The shapes of secrets that no text for people, line of a log or frame may hold."""

from __future__ import annotations

__all__ = ("SHAPES",)

# Name: a text, what must be gone, and what a reader still needs of it.
SHAPES: dict[str, tuple[str, str, str]] = {
    "a key of OpenAI": ("Bad key sk-proj-AbCd1234EfGh5678 in use", "AbCd1234", "in use"),
    "an old key of OpenAI": ("Bad key sk-AbCd1234EfGh5678 in use", "EfGh5678", "in use"),
    "a key of Anthropic": ("Invalid API key: sk-ant-api03-abc…", "abc…", "Invalid API key"),
    "a key of OpenRouter": ("with sk-or-v1-0123456789abcdef", "0123456789abcdef", "with"),
    "a key of Google": ("Key AIzaSyD1234567890abcdefghijklmnop1 bad", "SyD12345", "bad"),
    "a key of xAI": ("Key xai-abcdefghij0123456789 bad", "abcdefghij0123456789", "bad"),
    "a key of Groq": ("Key gsk_zyxwvutsrq0123456789 bad", "zyxwvutsrq", "bad"),
    "a key of AWS": ("AKIAIOSFODNN7EXAMPLE may not", "IOSFODNN7", "may not"),
    "a token of GitHub": ("ghp_kjihgfedcb0123456789 may not", "kjihgfedcb", "may not"),
    "a token of Hugging Face": ("hf_qwertyuiopASDFGHJKL may not", "qwertyuiop", "may not"),
    "a token of Slack": ("xoxb-987654321-abcdef may not", "987654321", "may not"),
    "a web token": ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI3In0.c2ln x", "eyJzdWIiOiI3In0", "x"),
    "a key with stars": ("Incorrect API key provided: sk-ab****wxyz. See", "wxyz", "See"),
    "a key with dots": ("Received API Key = sk-...9876, hm", "9876", "hm"),
    "a bearer token": ("Authorization: Bearer tok-uvwxyz-11 x", "uvwxyz-11", "Authorization"),
    "a bearer token alone": ("sent bearer m1n2b3v4c5x6 today", "m1n2b3v4", "today"),
    "basic credentials": ("Authorization: Basic dXNlcjpwYXNz x", "dXNlcjpw", "x"),
    "a dump of headers": ("{'x-api-key': 'kkk-secret', 'accept': '*/*'}", "kkk-secret", "accept"),
    "a cookie": ("Cookie: sid=qqq111; other=rrr222", "qqq111", "Cookie"),
    "user info in a URL": ("GET https://bob:hunter-8@host.example/x", "hunter-8", "host.example/x"),
    "the query of a URL": ("GET https://host.example/x?key=kq7&y=1 no", "kq7", "host.example/x"),
    "a signed URL": ("https://b.example/o?X-Amz-Signature=ab12cd", "ab12cd", "b.example/o"),
    "a connection string": ("postgresql+asyncpg://app:pw9@db.intern:5432/m no", "db.intern", "no"),
    "a connection string of a key store": ("redis://:pw77x@cache.intern:6379/0 no", "pw77x", "no"),
    "a connection string in parts": (
        "Server=db;User Id=sa;Password=pwd-5x;",
        "pwd-5x",
        "Server=db",
    ),
    "an account key": ("AccountName=a;AccountKey=ak/9z==;End", "ak/9z", "AccountName=a"),
    "a variable with a key": ("OPENAI_API_KEY=what-ever-1 is set", "what-ever-1", "is set"),
}
