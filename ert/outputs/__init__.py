"""What operators' systems read already: one module per format."""
