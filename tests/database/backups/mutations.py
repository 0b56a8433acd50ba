"""What can be wrong with a copy, each as the SQL that makes it so and the difference that must name it."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Mutation:
    """One fault. `kind` and `name` are what the difference must say."""

    fault: str
    sql: str
    kind: str
    name: str

    def __str__(self) -> str:
        return self.fault.replace(" ", "_")


def row_mutation(fault: str, sql: str, name: str = "public.person") -> Mutation:
    """A fault of a table's content. Triggers and foreign keys sleep meanwhile."""
    quietly = f"SET session_replication_role = replica; {sql}; SET session_replication_role = origin"
    return Mutation(fault=fault, sql=quietly, kind="table", name=name)


def object_mutation(fault: str, sql: str, kind: str, name: str) -> Mutation:
    """A fault of the catalogue."""
    return Mutation(fault=fault, sql=sql, kind=kind, name=f"public.{name}")


MUTATIONS = [
    row_mutation("one value", "UPDATE person SET name = name || '.' WHERE id = 5"),
    row_mutation("1.0 to 1.00", "UPDATE person SET money = 1.00 WHERE id = 5"),
    row_mutation("json white space", """UPDATE person SET notes = '{"a": 1,  "b": [1, 2]}' WHERE id = 5"""),
    row_mutation(
        "last bit of a float", "UPDATE person SET height = height + 2.220446049250313e-16 * 2 WHERE id = 5"
    ),
    row_mutation("upper case in a citext", "UPDATE person SET email = upper(email::text) WHERE id = 5"),
    row_mutation("minus nought", "UPDATE heap SET a = a; UPDATE person SET height = '-0' WHERE id = 5"),
    row_mutation(
        "two rows swap a value",
        "UPDATE person p SET nick = q.nick FROM person q WHERE (p.id, q.id) IN ((3, 4), (4, 3))",
    ),
    row_mutation("a row missing", "DELETE FROM person WHERE id = 399"),
    row_mutation(
        "a row replaced",
        "DELETE FROM heap WHERE a = 2; INSERT INTO heap VALUES (2, 'too')",
        "public.heap",
    ),
    row_mutation("NULL to empty", "UPDATE person SET nick = '' WHERE nick IS NULL"),
    row_mutation(
        "a duplicate in a table without a key",
        "DELETE FROM heap WHERE a = 2; INSERT INTO heap VALUES (1, 'one')",
        "public.heap",
    ),
    row_mutation("a table emptied", "TRUNCATE visit", "public.visit"),
    row_mutation("a row in a partition", "DELETE FROM log WHERE id = 40", "public.log_2026"),
    row_mutation("a row of a child table", "UPDATE child SET c = 9 WHERE a = 1", "public.child"),
    row_mutation("an unlogged table emptied", "TRUNCATE quick", "public.quick"),
    row_mutation(
        "a large object", "SELECT lo_put(oid, 0, '\\x09') FROM pg_largeobject_metadata", "large objects"
    ),
    Mutation(
        fault="a ledger row missing",
        sql="DELETE FROM django_migrations WHERE name = '0002_second'",
        kind="migration ledger",
        name="companion.0002_second",
    ),
    object_mutation("a sequence set back", "SELECT setval('ticket', 50)", "sequence", "ticket"),
    object_mutation(
        "a sequence short of its column", "SELECT setval('person_id_seq', 9)", "sequence", "person_id_seq"
    ),
    object_mutation("a falling sequence set back", "SELECT setval('down', -1, false)", "sequence", "down"),
    object_mutation("a sequence's step", "ALTER SEQUENCE ticket INCREMENT 2", "sequence", "ticket"),
    object_mutation("an index missing", "DROP INDEX person_by_name", "index", "person_by_name"),
    object_mutation(
        "an index invalid",
        "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'person_by_name'::regclass",
        "index",
        "person_by_name",
    ),
    object_mutation(
        "a partial index's predicate",
        "DROP INDEX person_staff; "
        "CREATE INDEX person_staff ON person (id) WHERE kind IN ('staff', 'boss') AND age BETWEEN 18 AND 71",
        "index",
        "person_staff",
    ),
    object_mutation(
        "an index's expression",
        "DROP INDEX person_by_name; CREATE INDEX person_by_name ON person (upper(name), age DESC)",
        "index",
        "person_by_name",
    ),
    object_mutation(
        "a check's bound",
        "ALTER TABLE person DROP CONSTRAINT person_age_check, "
        "ADD CONSTRAINT person_age_check CHECK (age BETWEEN 0 AND 121)",
        "constraint",
        "person.person_age_check",
    ),
    object_mutation(
        "a check's list",
        "ALTER TABLE person DROP CONSTRAINT person_kind_check, "
        "ADD CONSTRAINT person_kind_check CHECK (kind IN ('guest', 'staff', 'ghost'))",
        "constraint",
        "person.person_kind_check",
    ),
    object_mutation(
        "a constraint not validated",
        "ALTER TABLE visit DROP CONSTRAINT visit_state, "
        "ADD CONSTRAINT visit_state CHECK (state IN ('open', 'over', 'lost')) NOT VALID",
        "constraint",
        "visit.visit_state",
    ),
    object_mutation(
        "a foreign key missing",
        "ALTER TABLE visit DROP CONSTRAINT visit_person",
        "constraint",
        "visit.visit_person",
    ),
    object_mutation(
        "a view's literal",
        "CREATE OR REPLACE VIEW staff AS "
        "SELECT id, name FROM person WHERE kind IN ('staff', 'bass') AND age BETWEEN 18 AND 70",
        "view",
        "staff",
    ),
    object_mutation(
        "a materialized view not filled",
        "REFRESH MATERIALIZED VIEW totals WITH NO DATA",
        "relation",
        "totals",
    ),
    object_mutation(
        "a trigger disabled",
        "ALTER TABLE person DISABLE TRIGGER person_touch",
        "trigger",
        "person.person_touch",
    ),
    object_mutation(
        "a trigger's condition",
        "DROP TRIGGER person_touch ON person; CREATE TRIGGER person_touch BEFORE UPDATE ON person FOR EACH ROW "
        "WHEN (OLD.kind IN ('guest', 'ghost')) EXECUTE FUNCTION touch()",
        "trigger",
        "person.person_touch",
    ),
    object_mutation(
        "a function's body",
        "CREATE OR REPLACE FUNCTION double(n integer) RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT n * 3'",
        "function",
        "double(n integer)",
    ),
    object_mutation(
        "a standard function's body",
        "CREATE OR REPLACE FUNCTION triple(n integer) RETURNS integer LANGUAGE sql RETURN n * 4",
        "function",
        "triple(n integer)",
    ),
    object_mutation(
        "an enum's order",
        "UPDATE pg_enum SET enumsortorder = 3.5 WHERE enumlabel = 'sad' AND enumtypid = 'mood'::regtype",
        "type",
        "mood",
    ),
    object_mutation(
        "a domain's check",
        "ALTER DOMAIN handle DROP CONSTRAINT handle_check; "
        "ALTER DOMAIN handle ADD CONSTRAINT handle_check CHECK (VALUE IN ('rosa', 'otto') AND VALUE <> '')",
        "domain constraint",
        "handle.handle_check",
    ),
    object_mutation(
        "a column's default",
        "ALTER TABLE person ALTER name SET DEFAULT 'anybody'",
        "column",
        "person.name",
    ),
    object_mutation("a column's type", "ALTER TABLE lonely ALTER id TYPE bigint", "column", "lonely.id"),
    object_mutation(
        "a column's NOT NULL", "ALTER TABLE person ALTER name DROP NOT NULL", "column", "person.name"
    ),
    object_mutation(
        "a column's collation",
        'ALTER TABLE person ALTER nick TYPE text COLLATE "POSIX"',
        "column",
        "person.nick",
    ),
    Mutation(
        fault="an extension missing",
        sql="DROP EXTENSION pg_trgm CASCADE",
        kind="extension",
        name="pg_trgm",
    ),
    object_mutation("a table missing", "DROP TABLE lonely", "table", "lonely"),
    object_mutation("an owner", "ALTER TABLE lonely OWNER TO CURRENT_USER", "relation", "lonely"),
    object_mutation("a grant missing", "REVOKE SELECT ON visit FROM sample_reader", "grant", "visit"),
    object_mutation(
        "a column's grant missing",
        "REVOKE UPDATE (name) ON person FROM sample_reader",
        "grant",
        "person.name",
    ),
    object_mutation(
        "a policy's rule",
        "ALTER POLICY visit_own ON visit USING (state IN ('open', 'lost'))",
        "policy",
        "visit.visit_own",
    ),
    object_mutation("row security off", "ALTER TABLE visit DISABLE ROW LEVEL SECURITY", "relation", "visit"),
    Mutation(
        fault="a comment",
        sql="COMMENT ON TABLE person IS 'persons'",
        kind="comment",
        name="table public.person",
    ),
    object_mutation(
        "a statistics object missing",
        "DROP STATISTICS person_together",
        "statistics object",
        "person_together",
    ),
    object_mutation(
        "foreign-key triggers off",
        "ALTER TABLE visit DISABLE TRIGGER ALL",
        "constraint",
        "visit.visit_person",
    ),
    object_mutation(
        "foreign-key triggers of the parent off",
        "ALTER TABLE person DISABLE TRIGGER ALL",
        "constraint",
        "visit.visit_person",
    ),
    object_mutation(
        "a statistics object's owner",
        "ALTER STATISTICS person_together OWNER TO CURRENT_USER",
        "statistics object",
        "person_together",
    ),
    object_mutation(
        "a statistics object's target",
        "ALTER STATISTICS person_together SET STATISTICS 100",
        "statistics object",
        "person_together",
    ),
    Mutation(
        fault="a large object's owner",
        sql="ALTER LARGE OBJECT 4242 OWNER TO CURRENT_USER",
        kind="large object",
        name="all",
    ),
    Mutation(
        fault="a large object's grant",
        sql="REVOKE SELECT ON LARGE OBJECT 4242 FROM sample_reader",
        kind="large object",
        name="all",
    ),
    object_mutation("a range type's owner", "ALTER TYPE span OWNER TO CURRENT_USER", "type", "span"),
    object_mutation(
        "a range type's difference",
        "UPDATE pg_range SET rngsubdiff = 0 WHERE rngtypid = 'span'::regtype",
        "type",
        "span",
    ),
    Mutation(
        fault="an operator's function",
        sql="UPDATE pg_operator SET oprcode = 'plus_three'::regproc WHERE oprname = '|+|'",
        kind="operator",
        name="public.|+|(integer,integer)",
    ),
    object_mutation(
        "an operator class missing",
        "DROP OPERATOR CLASS int_ops USING btree",
        "operator class",
        "int_ops using btree",
    ),
    object_mutation(
        "an operator family's operator",
        "ALTER OPERATOR FAMILY int_ops USING btree ADD OPERATOR 1 < (integer, bigint)",
        "operator family",
        "int_ops using btree",
    ),
    Mutation(
        fault="a cast's use",
        sql="UPDATE pg_cast SET castcontext = 'i' WHERE castfunc = 'mood_number'::regproc",
        kind="cast",
        name="public.mood as integer",
    ),
    object_mutation("a conversion missing", "DROP CONVERSION latin_to_utf", "conversion", "latin_to_utf"),
    Mutation(
        fault="an access method missing", sql="DROP ACCESS METHOD pile", kind="access method", name="pile"
    ),
    Mutation(
        fault="a language no longer trusted",
        sql="UPDATE pg_language SET lanpltrusted = false WHERE lanname = 'plsample'",
        kind="language",
        name="plsample",
    ),
    Mutation(
        fault="a language's owner",
        sql="ALTER LANGUAGE plsample OWNER TO sample_owner",
        kind="language",
        name="plsample",
    ),
    Mutation(
        fault="a language's grant",
        sql="GRANT USAGE ON LANGUAGE plsample TO PUBLIC",
        kind="grant",
        name="language plsample",
    ),
    object_mutation(
        "a collation's locale",
        "DROP COLLATION plain; CREATE COLLATION plain (provider = libc, locale = 'POSIX')",
        "collation",
        "plain",
    ),
    object_mutation(
        "a text search configuration's mapping",
        "ALTER TEXT SEARCH CONFIGURATION talk ALTER MAPPING FOR asciiword WITH simple",
        "text search configuration",
        "talk",
    ),
    object_mutation(
        "a text search dictionary's option",
        "ALTER TEXT SEARCH DICTIONARY words (ACCEPT = false)",
        "text search dictionary",
        "words",
    ),
    Mutation(
        fault="a foreign-data wrapper's option",
        sql="ALTER FOREIGN DATA WRAPPER afar OPTIONS (SET debug 'false')",
        kind="foreign-data wrapper",
        name="afar",
    ),
    Mutation(
        fault="a foreign-data wrapper's grant",
        sql="REVOKE USAGE ON FOREIGN DATA WRAPPER afar FROM sample_reader",
        kind="grant",
        name="foreign-data wrapper afar",
    ),
    Mutation(
        fault="a foreign server's host",
        sql="ALTER SERVER elsewhere OPTIONS (SET host 'example.com')",
        kind="foreign server",
        name="elsewhere",
    ),
    Mutation(
        fault="a user mapping missing",
        sql="DROP USER MAPPING FOR sample_reader SERVER elsewhere",
        kind="user mapping",
        name="for sample_reader at elsewhere",
    ),
    object_mutation(
        "a foreign table's option",
        "ALTER FOREIGN TABLE distant OPTIONS (SET name 'here')",
        "foreign table",
        "distant",
    ),
    object_mutation(
        "a foreign column's option",
        "ALTER FOREIGN TABLE distant ALTER id OPTIONS (SET remote 'n')",
        "column",
        "distant.id",
    ),
    Mutation(
        fault="a publication's columns",
        sql="ALTER PUBLICATION news SET TABLE person (id) WHERE (id > 5), visit",
        kind="publication",
        name="news",
    ),
    Mutation(
        fault="a publication's condition",
        sql="ALTER PUBLICATION news SET TABLE person (id, name) WHERE (id > 6), visit",
        kind="publication",
        name="news",
    ),
    Mutation(
        fault="a publication's owner",
        sql="ALTER PUBLICATION news OWNER TO sample_owner",
        kind="publication",
        name="news",
    ),
    Mutation(
        fault="an event trigger disabled",
        sql="ALTER EVENT TRIGGER watching DISABLE",
        kind="event trigger",
        name="watching",
    ),
    Mutation(
        fault="a grant on a function of the server missing",
        sql="REVOKE EXECUTE ON FUNCTION pg_catalog.pg_ls_logdir() FROM sample_reader",
        kind="grant",
        name="function pg_catalog.pg_ls_logdir()",
    ),
]
