"""The supervisor: serves the broker protocol in Docker and cloud sandboxes. A local session never loads it."""
