"""The pages' own words are held to the same rules as the drafted lines."""

from ops.page_wording import lint_page


def test_text_buttons_and_spoken_attributes_are_all_read() -> None:
    page = '<p>Server</p><button aria-label="An error">Go</button><input placeholder="Invalid">'

    assert {finding.sentence for finding in lint_page("page.html", page)} == {"Server", "An error", "Invalid"}


def test_a_word_in_bold_stays_in_its_sentence() -> None:
    page = "<p>I can sit here with <strong>you</strong> and read what you like to say now.</p>"

    (finding,) = lint_page("page.html", page)

    assert finding.rule == "14 words in a sentence, at most 13"


def test_template_tags_comments_styles_and_scripts_are_not_words() -> None:
    page = "{% load error %}{# server #}<style>error{}</style><script>server()</script><!-- error --><p>{{ x }}</p>"

    assert lint_page("page.html", page) == []
