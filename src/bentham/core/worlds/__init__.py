"""What-if worlds: copies of a scheduler, and draws of scores and costs from its posterior."""
