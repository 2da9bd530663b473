"""Looks up each URL, one after the other, and prints how many milliseconds all of them took.

    lookups.py [--no-reuse] CA URL...

As in the article: `requests.get` opens a connection each time, a `Session` keeps one. Without the package `requests`
the standard library does the same, and standard error says so.
"""

import http.client
import ssl
import sys
import time
import urllib.parse


def with_requests(requests, ca, urls, reuse):
    if reuse:
        with requests.Session() as session:
            session.verify = ca
            # Proxies and certificates that the environment names are ignored.
            session.trust_env = False
            for url in urls:
                session.get(url).raise_for_status()
    else:
        for url in urls:
            requests.get(url, verify=ca).raise_for_status()


def with_the_standard_library(ca, urls, reuse):
    context = ssl.create_default_context(cafile=ca)
    connection = None
    for url in urls:
        parts = urllib.parse.urlsplit(url)
        if connection is None or not reuse:
            connection = http.client.HTTPSConnection(parts.hostname, parts.port, context=context)
        connection.request("GET", parts.path)
        answer = connection.getresponse()
        answer.read()
        if answer.status >= 400:
            sys.exit(f"{url}: {answer.status}")
        if not reuse:
            connection.close()


def main():
    arguments = sys.argv[1:]
    reuse = "--no-reuse" not in arguments
    ca, *urls = [argument for argument in arguments if argument != "--no-reuse"]
    try:
        import requests
    except ImportError:
        requests = None
        print("note: no package requests, the standard library asks", file=sys.stderr)
    began = time.perf_counter()
    if requests:
        with_requests(requests, ca, urls, reuse)
    else:
        with_the_standard_library(ca, urls, reuse)
    print(f"{(time.perf_counter() - began) * 1e3:.3f}")


main()
