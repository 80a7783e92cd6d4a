"""Vector recourse: the directed search and the choice among its candidates."""
