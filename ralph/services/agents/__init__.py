"""Agents: how to start each family, and what its output means (A-1)."""
