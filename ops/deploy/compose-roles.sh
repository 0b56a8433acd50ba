#!/bin/sh
# Run once by the image of PostgreSQL in a new database: the role of the service may use rows and change no table.
set -eu
psql --set ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" \
    --set password="$(cat /run/secrets/service_password)" <<'STATEMENTS'
CREATE ROLE companion_service LOGIN PASSWORD :'password';
ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO companion_service;
ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT USAGE, SELECT ON SEQUENCES TO companion_service;
STATEMENTS
