"""How coupling and the effect of edits go together, over many prompts."""
