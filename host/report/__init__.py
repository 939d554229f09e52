"""What has been played, for people and for programs."""
