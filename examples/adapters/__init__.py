"""Sandboxes of others behind `rlm_secure.testing.Adapter`, ready for `rlm-secure audit --env`. See README.md."""
