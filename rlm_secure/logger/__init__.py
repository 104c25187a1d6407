"""What a run leaves behind: a trajectory, a display, an audit log; each without secrets and without escapes."""
