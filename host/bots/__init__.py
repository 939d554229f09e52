"""A bot as a process: found, built, put into a sandbox, and asked within its limits."""
