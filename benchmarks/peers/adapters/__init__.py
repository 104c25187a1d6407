"""One file for each peer, with a class `Adapter` (peer.py). Each runs in its peer's own interpreter."""
