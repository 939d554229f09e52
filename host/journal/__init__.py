"""The file of a run: its state, the records of its fixtures, their seals and chain, and its folder."""
