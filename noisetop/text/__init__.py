"""How figures, names and CPU lists are written and read."""
