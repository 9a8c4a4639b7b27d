"""Known workloads measured and placed on the roof: the two classic experiments, with their predictions checked."""
