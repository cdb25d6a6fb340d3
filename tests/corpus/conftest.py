"""A few pages of the LibreOffice help."""

import pytest
from archive_forms import deb, tar

PAGE = """<!DOCTYPE html><html lang="{language}"><head><title>{heading}</title></head><body>
<div id="DisplayArea"><h1 id="hd_id1" dir="auto">{heading}</h1>
<p id="par_id2" class="paragraph">{text}</p><p>No id, no pair.</p></div></body></html>"""


@pytest.fixture
def help_pages():
    """Two pages of the help in English and German, path -> HTML."""
    texts = {
        "en-US": ("Saving Documents", "Click <span class='emph'>Save</span> &amp; wait a moment."),
        "de": ("Dokumente speichern", "Klicken Sie auf <b>Speichern</b> und warten Sie."),
    }
    return {
        f"{tag}/text/{page}.html": PAGE.format(language=tag, heading=heading, text=text).encode()
        for tag, (heading, text) in texts.items()
        for page in ("swriter/main", "shared/01/save")
    }


@pytest.fixture
def help_packs(tmp_path, help_pages):
    """A folder with a help pack a language, as The Document Foundation publishes them."""
    for tag in ("en-US", "de"):
        pages = {f"./opt/office/help/{path}": data for path, data in help_pages.items()}
        mine = {path: data for path, data in pages.items() if f"/{tag}/" in path}
        pack = {f"pack_{tag}/DEBS/help-{tag}.deb": deb(mine), f"pack_{tag}/readme.txt": b"read"}
        (tmp_path / f"helppack_{tag}.tar.gz").write_bytes(tar(pack))
    return tmp_path
