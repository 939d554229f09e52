"""Turns a submitted folder into a program that can be asked."""
