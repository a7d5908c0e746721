"""The relay alone: a web app that knows nothing of it, served through a folder to a client that knows nothing of it."""
