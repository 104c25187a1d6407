"""The protocol between host and guest: one decoder for everything from a guest."""
