"""Tables and seats: plays fixtures and makes their records."""
