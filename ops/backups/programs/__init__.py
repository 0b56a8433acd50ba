"""PostgreSQL's own programs, and a private server made with them."""
