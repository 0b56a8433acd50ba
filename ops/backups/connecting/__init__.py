"""Direct sessions on the source and on the server that takes the copy."""
