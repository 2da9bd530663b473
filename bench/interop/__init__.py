"""The interop matrix: cases, peers, one game of a client and a server over an emulated path, and its judge."""
