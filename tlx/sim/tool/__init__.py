"""The simulator as a command: a user's launches in, findings out. Nothing here is needed to simulate."""
