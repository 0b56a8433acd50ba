"""The CSV file of people: what spreadsheets write is read, and what cannot be read is refused with its line."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops.changes import ChangeRefused
from ops.people.people_file import COLUMNS, MAX_PEOPLE, MAX_SITES, read_people, write_people

HEAD = "role,name,sites,username,email"


def read_names(content: bytes) -> list[str]:
    return [person.cells["name"] for person in read_people(content)]


def refusal(content: bytes) -> str:
    with pytest.raises(ChangeRefused) as refused:
        read_people(content)
    return str(refused.value)


@pytest.mark.parametrize("sign", [",", ";", "\t", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_file_is_read_with_any_separator_and_any_line_ending_and_with_a_mark(sign: str, end: str) -> None:
    text = f"name,Role,sites{end}Zoë,participant,elm-house{end}{end}".replace(",", sign)

    for content in (text.encode(), text.encode("utf-8-sig")):
        [person] = read_people(content)
        assert (person.cells["name"], person.cells["role"], person.sites) == (
            "Zoë",
            "participant",
            ["elm-house"],
        )


def test_a_person_is_named_by_the_first_line_of_their_cells() -> None:
    content = f'{HEAD}\n\nparticipant,"Ro\nsa",elm,,\nparticipant,Tom,elm,,\nparticipant,Ann\n'

    people = read_people(content.encode())

    assert [person.line for person in people] == [3, 5, 6]
    assert [bool(person.fault) for person in people] == [False, False, True]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (f"{HEAD}\nparticipant,Zoë,elm,,".encode("cp1252"), "Line 2 has a letter that is not UTF-8"),
        (HEAD.encode("utf-16"), "UTF-16"),
        (b"PK\x03\x04xlsx", "a workbook"),
        (f"{HEAD}\n\0".encode(), "Line 2 holds a null"),
        (HEAD.encode(), "names no person"),
        (b"\n", "is empty"),
        (b"role,name\nparticipant,Rosa", "no column sites"),
        (b"role,name,sites,name\n", "the column name twice"),
        (b"role,name,sites" + b",role" * 1_500_000, "the column role twice"),
        (b"role,name,sites,diagnosis\n", "the column 'diagnosis'"),
        (f'{HEAD}\nparticipant,"Rosa,elm,,\n'.encode(), "Line 2 cannot be read"),
        (b"role,name,sites\n" + b"participant,R,e\n" * (MAX_PEOPLE + 1), f"more than {MAX_PEOPLE}"),
        (
            f"{HEAD}\noperator,I,{' '.join(map(str, range(MAX_SITES + 1)))},i,".encode(),
            "more than 2000 sites",
        ),
        (b"x" * 8_000_001, "more than 8 MB"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_file_that_cannot_be_read_is_refused_in_a_sentence(content: bytes, says: str) -> None:
    assert says in refusal(content)


@pytest.mark.parametrize("name", ["=1+1", "+44", "-x", "@SUM(A1)", "＝1", "'=1", "''=1"])
def test_no_cell_that_is_written_is_a_formula_and_each_is_read_back(name: str) -> None:
    file = io.StringIO()
    cells = ("participant", name, "elm-house", "", "", "")
    write_people(file, [cells])

    assert f",'{name}," in file.getvalue()
    assert read_names(file.getvalue().encode()) == [name]


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("Ro;=1+1;x", "Ro;'=1+1;x"),
        ("Ro; '@SUM(A1)", "Ro; ''@SUM(A1)"),
        ("Ro|-1|+2", "Ro|'-1|'+2"),
        ("Ro,=1", '"Ro,\'=1"'),
    ],
)
def test_a_cell_that_another_separator_would_divide_holds_no_formula_and_is_read_back(
    name: str, written: str
) -> None:
    file = io.StringIO()
    write_people(file, [("participant", name, "elm-house", "", "", "")])

    assert f"participant,{written},elm-house" in file.getvalue()
    assert read_names(file.getvalue().encode()) == [name]


@given(
    st.text(st.sampled_from(" ',;|=+-@x")).map(str.strip).filter(bool)
    | st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1).map(str.strip).filter(bool)
)
def test_every_name_comes_back_from_a_file_as_it_was_written(name: str) -> None:
    file = io.StringIO()
    cells = ("participant", name, "elm-house", "", "", "")
    write_people(file, [cells])

    [person] = read_people(file.getvalue().encode())
    assert tuple(person.cells[column] for column in COLUMNS) == cells
