"""What the benchmarks share: tools, an origin to ask, samples, and the ledger that becomes RESULTS.md."""
