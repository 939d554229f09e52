"""From a submitted folder to a program that can be asked."""
