"""Links between pages lead somewhere; so do the pages that the source names."""

import re

import pytest

from support.pages import DOCS, EXAMPLES, ROOT, anchors, hand_written, links, name_of, pages, slug

PAGES = [*pages(), ROOT / "CONTRIBUTING.md"]
SOURCES = [
    *(p for folder in ("src", "benchmarks", "tests") for p in (ROOT / folder).rglob("*.py")),
    ROOT / "CONTRIBUTING.md",
    ROOT / "Makefile",
]


def gallery_page(target):
    """The script behind a page that the gallery makes, or None for another page."""
    found = re.search(r"auto_examples/(\w+)\.rst$", target)
    if found is None:
        return None
    return EXAMPLES / ("GALLERY_HEADER.rst" if found[1] == "index" else f"{found[1]}.py")


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_and_anchors_exist(page):
    for link in links(page):
        path, _, anchor = link.partition("#")
        target = gallery_page(path) or ((page.parent / path) if path else page)
        assert target.exists(), f"{name_of(page)} links to {link}"
        if anchor:
            assert anchor in anchors(target), f"{name_of(page)} links to {link}"


def test_pages_of_the_site_link_within_it():
    """Sphinx has no README and no source: a link to them would be dead on the site."""
    for page in hand_written("*.md"):
        for link in links(page):
            target = (page.parent / link.partition("#")[0]).resolve()
            assert target.is_relative_to(DOCS), f"{name_of(page)} links to {link}"


def test_pages_that_the_source_names_exist():
    """The changelog is history and may name pages that have moved since."""
    for source in SOURCES:
        for found in re.findall(r"\bdocs/[\w/-]+\.(?:md|png|rst)", source.read_text("utf-8")):
            assert (ROOT / found).exists(), f"{source.relative_to(ROOT)} names {found}"


def test_documents_that_the_gallery_and_the_reference_name_exist():
    for source in [*EXAMPLES.glob("plot_*.py"), EXAMPLES / "GALLERY_HEADER.rst"]:
        for found in re.findall(r":doc:`(?:[^`<]*<)?([\w/.]+)>?`", source.read_text("utf-8")):
            assert (DOCS / "auto_examples" / f"{found}.md").resolve().exists(), (source.name, found)
    for found in re.findall(
        r":doc:`(?:[^`<]*<)?([\w/.]+)>?`", (DOCS / "reference/api.rst").read_text()
    ):
        assert (DOCS / "reference" / f"{found}.md").exists(), found


def test_every_page_is_in_a_table_of_contents():
    listed = {DOCS / "index.md"}
    for page in hand_written("*.md"):
        text = page.read_text(encoding="utf-8")
        for body in re.findall(r"^```\{toctree\}\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
            names = [line for line in body.split() if line and not line.startswith(":")]
            listed |= {(page.parent / f"{name}.md").resolve() for name in names}
            listed |= {(page.parent / f"{name}.rst").resolve() for name in names}
    missing = [
        name_of(p) for p in (*hand_written("*.md"), *hand_written("*.rst")) if p not in listed
    ]
    assert not [name for name in missing if "_templates" not in name]


def test_slugs_are_those_of_the_sites():
    assert slug("What `auto` does, and why") == "what-auto-does-and-why"
    assert slug("[Files](files.md): formats") == "files-formats"
