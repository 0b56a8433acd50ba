"""The database itself refuses to change or delete a ceiling: what operators set, and why, stays."""

from django.db import migrations

FORWARDS = """
CREATE FUNCTION companion_ceiling_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'ceilings are append-only';
END
$$;
CREATE TRIGGER companion_ceiling_rows BEFORE UPDATE OR DELETE ON companion_ceiling
    FOR EACH ROW EXECUTE FUNCTION companion_ceiling_append_only();
CREATE TRIGGER companion_ceiling_table BEFORE TRUNCATE ON companion_ceiling
    FOR EACH STATEMENT EXECUTE FUNCTION companion_ceiling_append_only();
"""

BACKWARDS = """
DROP TRIGGER companion_ceiling_rows ON companion_ceiling;
DROP TRIGGER companion_ceiling_table ON companion_ceiling;
DROP FUNCTION companion_ceiling_append_only();
"""


class Migration(migrations.Migration):
    dependencies = [("companion", "0005_house_ceiling")]

    operations = [migrations.RunSQL(FORWARDS, BACKWARDS)]
