"""The protocol between host and guest: one decoder for what a guest says."""
