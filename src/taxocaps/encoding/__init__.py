"""Where texts meet models: documents tokenised once, encoded once, in memory or in a store on disk."""
