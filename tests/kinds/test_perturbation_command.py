"""What is special to `coupling perturbation`: a line a size, and radii."""
