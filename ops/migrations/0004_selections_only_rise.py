"""The database itself holds what a selection is: its version rises, whoever writes, and nothing is rewritten."""

from django.db import migrations

FORWARDS = """
CREATE FUNCTION ops_selection_rises() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    -- One at a time: each sees what the one before it has committed. The same lock as ops.selections.pins.LOCK.
    PERFORM pg_advisory_xact_lock(7205759404);
    IF NEW.version <= (SELECT coalesce(max(version), 0) FROM ops_selection) THEN
        RAISE EXCEPTION 'the version of a selection only rises' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END
$$;
CREATE FUNCTION ops_selection_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'selections are append-only';
END
$$;
CREATE TRIGGER ops_selection_insert BEFORE INSERT ON ops_selection
    FOR EACH ROW EXECUTE FUNCTION ops_selection_rises();
CREATE TRIGGER ops_selection_rows BEFORE UPDATE OR DELETE ON ops_selection
    FOR EACH ROW EXECUTE FUNCTION ops_selection_append_only();
CREATE TRIGGER ops_selection_table BEFORE TRUNCATE ON ops_selection
    FOR EACH STATEMENT EXECUTE FUNCTION ops_selection_append_only();
"""

BACKWARDS = """
DROP TRIGGER ops_selection_insert ON ops_selection;
DROP TRIGGER ops_selection_rows ON ops_selection;
DROP TRIGGER ops_selection_table ON ops_selection;
DROP FUNCTION ops_selection_rises();
DROP FUNCTION ops_selection_append_only();
"""


class Migration(migrations.Migration):
    dependencies = [("ops", "0003_selections_probes_alerts")]

    operations = [migrations.RunSQL(FORWARDS, BACKWARDS)]
