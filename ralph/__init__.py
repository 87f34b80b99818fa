"""ralph runs a coding agent in a loop and ends every run in exactly one truthful state."""

__version__ = "0.1.0"
