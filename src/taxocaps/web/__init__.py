"""The server: HTTP in, JSON out; models are reached through `workflows`."""
