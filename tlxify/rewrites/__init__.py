"""Plan → text: one concern per file. No decision is taken here; what to do stands in the plan."""
