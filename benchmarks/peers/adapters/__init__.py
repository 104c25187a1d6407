"""One file for each peer, with a class `Adapter`. Each runs in its peer's own interpreter: see benchmarks/peers/peer.py."""
