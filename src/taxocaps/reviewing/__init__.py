"""What is worth a second look in a labelled corpus, and what to label next; pure functions of scores and labels."""
