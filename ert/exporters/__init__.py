"""Writers for other tools, one file per format."""
