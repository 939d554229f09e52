"""Where fixtures are played: local workers, Dask."""
