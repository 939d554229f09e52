"""Backends play fixtures: workers on this machine, or the machines of a Dask cluster."""
