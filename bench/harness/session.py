"""A loop over one `requests.Session`, as Python users write it: `python3 session.py FILE`, one URL per line."""

import sys

import requests

found = 0
with requests.Session() as session, open(sys.argv[1]) as urls:
    session.headers["Accept"] = "application/rdap+json"
    for url in urls:
        answer = session.get(url.strip(), timeout=30)
        answer.raise_for_status()
        found += answer.json()["objectClassName"] == "domain"
        print(answer.text)
print(f"{found} found", file=sys.stderr)
