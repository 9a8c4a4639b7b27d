"""Known workloads measured and placed on the roof."""
