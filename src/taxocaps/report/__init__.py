"""Pages and tables for people, made from results."""
