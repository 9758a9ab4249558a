"""Jobs: work that takes longer than a turn of the engine, in separate processes and threads."""
