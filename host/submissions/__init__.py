"""Turns a submitted folder into a program that croupier can ask."""
