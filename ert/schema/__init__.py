"""JSON Schemas of the files ert writes."""
