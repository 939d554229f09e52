"""Why did my bot do that: what it was asked then, out of a journal or a bundle, and what it answers now."""
