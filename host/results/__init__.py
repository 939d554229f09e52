"""What a run has recorded: the journal, and what follows from its records alone."""
