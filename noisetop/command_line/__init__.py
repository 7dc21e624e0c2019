"""How a command declares itself, and what is made of that: help, completion, manual pages."""
