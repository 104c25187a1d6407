"""The supervisor: serves the broker protocol inside Docker and cloud sandboxes. A local session never loads it."""
