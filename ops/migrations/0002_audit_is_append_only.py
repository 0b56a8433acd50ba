"""The database itself refuses to change or delete a row of the audit record."""

from django.db import migrations

FORWARDS = """
CREATE FUNCTION ops_auditentry_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the audit record is append-only';
END
$$;
CREATE TRIGGER ops_auditentry_rows BEFORE UPDATE OR DELETE ON ops_auditentry
    FOR EACH ROW EXECUTE FUNCTION ops_auditentry_append_only();
CREATE TRIGGER ops_auditentry_table BEFORE TRUNCATE ON ops_auditentry
    FOR EACH STATEMENT EXECUTE FUNCTION ops_auditentry_append_only();
"""

BACKWARDS = """
DROP TRIGGER ops_auditentry_rows ON ops_auditentry;
DROP TRIGGER ops_auditentry_table ON ops_auditentry;
DROP FUNCTION ops_auditentry_append_only();
"""


class Migration(migrations.Migration):
    dependencies = [("ops", "0001_first")]

    operations = [migrations.RunSQL(FORWARDS, BACKWARDS)]
