"""Batch files: text with positions, and what is wrong with it. What a command may say is the hub's to judge."""
