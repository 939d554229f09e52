"""Programs that know the rules of games and speak referee/1 (protocols/referee.md). Each is a process of its own."""
