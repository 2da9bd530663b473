"""What the benchmarks share: tools, an origin, samples, and the ledger that becomes RESULTS.md."""
