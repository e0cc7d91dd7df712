"""The parts that every step shares: its description, its inputs, its output in parts, and its execution."""
