"""From measured points to memory levels, compute ceilings and the corner between them: pure functions on arrays.

``levels``, ``compute`` and ``corner`` are the three questions; only ``read`` opens files.
"""
