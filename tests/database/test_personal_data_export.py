"""An export of a participant's conversation (S6)."""

from pathlib import Path

from ops.models import AuditEntry
from tests.commands import BY, refused, run
from tests.people import Person, in_database
from tests.personal_data import SECRET, add_turn, fill, named


def test_an_export_names_each_speaker_in_order_and_leaves_half_answers_out(
    rosa: Person, tmp_path: Path
) -> None:
    add_turn(rosa, "Is <b>tea</b> good?", days_ago=1, reply="Yes, it warms.")
    add_turn(rosa, "And now?", state="paused", reply="half an ans", line="I have to stop.")
    flag = fill(rosa)
    target = tmp_path / "rosa.html"
    assert run("export", *named(rosa), "--to", str(target), *BY) == f"{target}\n"
    page = target.read_text()
    assert target.stat().st_mode & 0o777 == 0o600
    assert "Is &lt;b&gt;tea&lt;/b&gt; good?" in page
    places = [
        page.index(words) for words in ("Yes, it warms.", "And now?", "I have to stop.", "What came of it?")
    ]
    assert places == sorted(places)
    assert '<span class="who">Robin</span>' in page
    assert '<span class="who">Sam</span>' in page
    assert "half an ans" not in page
    chosen = page.split("What was chosen for the page")[1]
    assert "Biggest. As a whole, once it is done. Short and easy words." in chosen and "by sam" in chosen
    assert SECRET not in page.split("When staff were called")[1]
    assert in_database(lambda: AuditEntry.objects.filter(about=rosa.row.pk, what="exported_person").exists())

    with_notes = tmp_path / "notes.html"
    run("export", *named(rosa), "--to", str(with_notes), "--with-notes", *BY)
    assert SECRET in with_notes.read_text().split("When staff were called")[1]
    assert flag.pk


def test_an_export_never_overwrites_a_file(rosa: Person, tmp_path: Path) -> None:
    target = tmp_path / "there.html"
    target.write_text("mine")
    assert "is there already" in refused("export", *named(rosa), "--to", str(target), *BY)
    assert target.read_text() == "mine"
