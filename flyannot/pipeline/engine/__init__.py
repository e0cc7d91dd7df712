"""What every step is made of: options from a file, inputs, an output in parts, and how it is carried out."""
