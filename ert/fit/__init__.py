"""The first fit and the good one: pure functions on arrays."""
