"""One gradient step and ridge on a Gaussian mixture with spikes: network and equivalent models."""
