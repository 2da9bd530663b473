"""Asks one URL with the standard library: asking.py URL BYTES, where BYTES are sent if there are any."""

import http.client
import os
import ssl
import sys
import urllib.parse

url, size = urllib.parse.urlsplit(sys.argv[1]), int(sys.argv[2])
if url.scheme == "https":
    context = ssl.create_default_context(cafile=os.environ["ORIGIN_CA"])
    connection = http.client.HTTPSConnection(url.netloc, context=context, timeout=30)
else:
    connection = http.client.HTTPConnection(url.netloc, timeout=30)
path = url.path + ("?" + url.query if url.query else "")
connection.request("POST" if size else "GET", path, b"x" * size if size else None)
connection.getresponse().read()
connection.close()
