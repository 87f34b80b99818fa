"""A growing set whose older versions stay valid: what a run has seen so far (L-16)."""

from __future__ import annotations

from collections.abc import Iterable


class Seen:
    """Immutable set of strings with cheap growth.

    Keeps frozen sets of falling size; ``plus`` merges those of like size, so that adding costs
    amortised O(log n) a string and a lookup O(log n) sets.
    """

    __slots__ = ("_parts",)

    def __init__(self, parts: tuple[frozenset[str], ...] = ()) -> None:
        self._parts = parts

    def __contains__(self, key: str) -> bool:
        return any(key in part for part in self._parts)

    def __len__(self) -> int:
        return sum(len(part) for part in self._parts)

    def unseen(self, keys: Iterable[str]) -> frozenset[str]:
        """Those of ``keys`` that are not in the set."""
        return frozenset(key for key in keys if key not in self)

    def plus(self, keys: Iterable[str]) -> Seen:
        """The set with ``keys`` added."""
        fresh = self.unseen(keys)
        if not fresh:
            return self
        parts = self._parts
        while parts and len(parts[-1]) <= len(fresh):
            fresh |= parts[-1]
            parts = parts[:-1]
        return Seen((*parts, fresh))
