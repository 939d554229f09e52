"""Do what commands do, without parsing or printing: the commands and the Python interface call these functions."""
