"""The front door: parse, wire, translate errors to exit codes."""
