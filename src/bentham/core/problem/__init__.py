"""Data types of the scheduling problem: arms, studies, events and decisions."""
