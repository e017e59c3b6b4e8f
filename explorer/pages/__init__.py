"""What is on each page: one module, or a folder where it has parts of its own."""
