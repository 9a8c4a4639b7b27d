"""``ert doctor``: what is installed, what is missing and how to get it, and what disturbs the machine right now."""
