"""The server: HTTP in, JSON out; it talks to `workflows` and never to a model itself."""
