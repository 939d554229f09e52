"""Play fixtures: in workers on this machine, or on the machines of a Dask cluster."""
