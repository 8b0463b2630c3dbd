"""Generated solver modules; regenerate, do not edit."""
