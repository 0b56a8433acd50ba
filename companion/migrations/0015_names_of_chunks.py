"""Gives a database of 0.1.0 the table and the column of chunks under their present names.

0001_initial creates them so, and a database that had the migrations of 0.1.0 never ran it. Processes of 0.1.0 go on over
the old names: the table as a view, the column kept in step. The next release may drop both, with `link_misses` and
`link_missed_at` of participants, which 0.1.0 alone writes.
"""

from django.db import migrations

RENAME = """
DO $do$
BEGIN
    IF to_regclass('companion_spoken') IS NULL OR to_regclass('companion_replychunk') IS NOT NULL THEN
        RETURN;
    END IF;
    ALTER TABLE companion_spoken RENAME TO companion_replychunk;
    CREATE VIEW companion_spoken AS SELECT turn_id, seq, text FROM companion_replychunk;
    ALTER TABLE companion_turn ADD COLUMN chunk_lengths integer[] DEFAULT '{}' NOT NULL;
    UPDATE companion_turn SET chunk_lengths = cuts WHERE cuts <> '{}';
    CREATE FUNCTION companion_turn_cuts() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF NEW.cuts IS DISTINCT FROM OLD.cuts THEN
            NEW.chunk_lengths := NEW.cuts;
        ELSE
            NEW.cuts := NEW.chunk_lengths;
        END IF;
        RETURN NEW;
    END
    $$;
    CREATE TRIGGER companion_turn_cuts BEFORE UPDATE OF cuts, chunk_lengths ON companion_turn
        FOR EACH ROW EXECUTE FUNCTION companion_turn_cuts();
END
$do$;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("companion", "0014_card_places"),
    ]

    operations = [
        migrations.RunSQL(RENAME, migrations.RunSQL.noop),
    ]
