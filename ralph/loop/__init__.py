"""Ask core for the next step, do it, record what came of it."""
