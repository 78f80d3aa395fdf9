"""Why a document gets its labels."""
