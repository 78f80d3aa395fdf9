"""Networks that read words one after another; each file is one publication, and none knows another."""
