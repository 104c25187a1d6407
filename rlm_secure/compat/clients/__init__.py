"""Upstream's `rlm.clients`. No `.env` file is read."""

from rlm_secure.clients import BaseLM, get_client

__all__ = ["BaseLM", "get_client"]
