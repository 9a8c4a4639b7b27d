"""Readers of application measurements, one file per format, chosen by content."""
