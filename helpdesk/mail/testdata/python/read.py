"""Reads mails with Python's email package and says what it found, one JSON object a line.

Usage: read.py FILE... ; the names may also come one a line on standard input.
"""

import datetime
import email
import email.header
import email.policy
import email.utils
import json
import sys


def guarded(read):
    """The package raises on some malformed fields; what it says is a result as well."""
    try:
        return read()
    except Exception as problem:  # whatever it raises is what we came to see
        return {"error": type(problem).__name__}


def addresses(message, name):
    field = message[name]
    if field is None:
        return []
    return [[a.display_name, a.addr_spec] for a in field.addresses]


def date(message):
    field = message["date"]
    if field is None or field.datetime is None:
        return None
    moment = field.datetime
    if moment.tzinfo is None:  # "-0000"
        moment = moment.replace(tzinfo=datetime.timezone.utc)
    return int(moment.timestamp())


def content(part):
    try:
        return part.get_content()
    except LookupError:  # a charset that Python does not know
        return part.get_payload(decode=True).decode("utf-8", "replace")


def leaves(part):
    """All parts that hold no parts; an attached mail is one of them."""
    if part.get_content_maintype() == "multipart" and part.is_multipart():
        for inner in part.iter_parts() if hasattr(part, "iter_parts") else part.get_payload():
            yield from leaves(inner)
    else:
        yield part


def bodies(message):
    texts, pages, names = [], [], []
    for part in leaves(message):
        kind = part.get_content_type()
        if kind in ("text/plain", "text/html") and part.get_content_disposition() != "attachment" and not (
            part.get_filename() and part is not message
        ):
            (texts if kind == "text/plain" else pages).append(content(part))
        elif kind.startswith("multipart/"):
            texts.append(content(part) if kind.startswith("text/") else str(part.get_payload()))
        else:
            names.append(part.get_filename())
    return {"text": texts, "html": pages, "attachments": names}


def look(path):
    with open(path, "rb") as source:
        message = email.message_from_binary_file(source, policy=email.policy.default)
    found = {
        "file": path,
        "subject": guarded(lambda: None if message["subject"] is None else str(message["subject"])),
        "from": guarded(lambda: addresses(message, "from")),
        "date": guarded(lambda: date(message)),
    }
    parts = guarded(lambda: bodies(message))
    for key in ("text", "html", "attachments"):
        found[key] = parts if "error" in parts else parts[key]
    return found


def main():
    for path in sys.argv[1:] or (line.rstrip("\n") for line in sys.stdin):
        # Raw bytes of a header come as surrogates, which JSON escapes and Go reads as U+FFFD.
        print(json.dumps(look(path)))


if __name__ == "__main__":
    main()
