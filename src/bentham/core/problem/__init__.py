"""The problem: arms, studies, the events of a run and the decisions made."""
