"""The site of a season: pages and HTTP API. It reads the published documents, and writes requests into the inbox."""
