"""Whether the lanes work before anybody needs them: the fallback drill and the contract check."""
