"""Jobs: work that takes longer than a turn of the engine, in processes and threads of its own."""
