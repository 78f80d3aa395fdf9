"""The command line: one file a command; it talks to `workflows` and prints what comes back."""
