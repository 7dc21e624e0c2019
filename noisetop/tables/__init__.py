"""What goes through every row of a table; knows no kernel."""
