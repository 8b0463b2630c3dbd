"""Every pair of activations: generated rates against the definition of the update."""
