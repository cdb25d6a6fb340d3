"""The messages of programs, which their catalogs pair with the translation.

A catalog of GNU gettext holds the English message with each translation, so only the sentences of
long messages have to be aligned. A document is a catalog. A program has one, and a large program
one for each of its parts. Catalogs come from packages of Debian or Ubuntu (`apt`), or from packages
or catalogs on disk (`folder`).
"""

import logging
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd
from pydantic import Field

from bottomup.core.errors import UserError
from bottomup.core.settings import Folder
from bottomup.corpus import catalogs, debian
from bottomup.corpus.archives import members
from bottomup.corpus.folders import below, once
from bottomup.corpus.losses import carry, of_texts, tell
from bottomup.corpus.sources import COLUMNS

log = logging.getLogger(__name__)

ELSEWHERE = (
    "remove what apt lacks from `packages`, or set `from: folder` and the `folder` of packages "
    "(.deb) or of catalogs"
)
# Those of Debian 12 that have most text for their size. {language} is that of the translation.
PACKAGES = [
    "4pane", "aegisub-l10n", "amule-common", "anjuta-common", "anope", "apper-data", "appstream",
    "aptitude-common", "ardour-data", "audacity-data", "auto-multiple-choice-common",
    "balsa-data", "basket-data", "bcnc", "binutils-common", "bluefish-data", "boinc-manager",
    "brasero-common", "budgie-control-center-data", "cairo-dock-core", "cairo-dock-plug-in-data",
    "caja-common", "calligrasheets-data", "cataclysm-dda-data", "cinnamon-l10n",
    "claws-mail-i18n", "clisp", "coreutils", "cryptsetup-bin", "darktable", "digikam-data",
    "dnf-data", "dnsmasq-base-lua", "dolphin-emu-data", "dopewars-data", "dpkg", "dvdisaster",
    "e2fsprogs-l10n", "easytag", "elinks-data", "epiphany-browser-data", "evolution-common",
    "evolution-data-server-common", "exfalso", "fcitx-data", "fdroidserver", "filezilla-common",
    "fish-common", "flatpak", "fontforge-common", "freeciv-data", "freedombox", "freeipa-common",
    "gajim", "gawk", "gbrainy", "gcal-common", "gconf2-common", "geany-common",
    "geany-plugins-common", "gedit-common", "genius-common", "gettext", "gftp-common",
    "gimp-data", "git", "glom", "gnome-commander-data", "gnome-disk-utility",
    "gnome-packagekit-common", "gnome-settings-daemon-common", "gnome-software-common",
    "gnubg-data", "gnucash-common", "gnumed-client", "gnumeric-common", "gnupg-l10n",
    "gnupg1-l10n", "gparted-common", "gramps", "grass-core", "gretl", "grisbi-common",
    "grub-common", "gsettings-desktop-schemas", "gtkpod-data", "gufw", "gutenprint-locales",
    "hexchat-common", "icingaweb2-module-director", "inkscape", "k3b-i18n", "kalarm",
    "kdepim-addons", "kdepim-runtime", "kdesvn", "kdevelop-l10n", "kdiff3", "kexi-data",
    "kf5-messagelib-data", "kgpg", "kig", "kile-l10n", "kio", "kleopatra", "kmymoney-common",
    "konsole", "konversation-data", "korganizer", "krb5-locales", "krita-l10n", "krusader",
    "ktexteditor-data", "ktorrent-data", "lgeneral", "libaqbanking-data", "libc-l10n",
    "libdpkg-perl", "libexif12", "libexiv2-27", "libgda-5.0-common", "libgegl-common",
    "libgladeui-common", "libglib2.0-data", "libgoffice-0.10-10-common", "libgphoto2-l10n",
    "libgtk-3-common", "libkf5sysguard-data", "libparted-i18n", "libqalculate-data",
    "libreoffice-l10n-{language}", "libsane-common", "libsynfig0a", "libvirt-l10n",
    "libxine2-bin", "lifelines", "lilypond", "login", "lokalize", "lynx-common", "lyx-common",
    "mailutils-common", "manaplus-data", "marco-common", "mate-panel-common", "menu-l10n",
    "mercurial-common", "minetest-data", "mkvtoolnix", "mnemosyne", "motion", "mutt",
    "mypaint-data", "nautilus-data", "neomutt", "neovim-runtime", "network-manager",
    "network-manager-gnome", "network-manager-openconnect", "orca", "pacman-package-manager",
    "php-horde-ansel", "php-horde-imp", "php-horde-kronolith", "phpmyadmin", "picard",
    "pidgin-data", "plasma-nm", "postgresql-15", "postgresql-client-15", "procps", "pspp",
    "python3-django-horizon", "python3-django-postorius", "python3-sepolgen", "qalculate-gtk",
    "quota", "r-cran-nlme", "rapid-photo-downloader", "remmina-common", "rkward-data",
    "rox-filer", "rpm-i18n", "sawfish-data", "shotwell-common", "siril-common", "slrn", "solfege",
    "soundkonverter", "spacefm-common", "spyder-common", "subtitleeditor", "subversion",
    "sudo-ldap", "sylpheed-i18n", "sympa", "synaptic", "tar", "tellico-data", "texinfo",
    "thunar-data", "tin", "tortoisehg", "trustedqsl", "ufoai-misc", "util-linux-locales",
    "vdradmin-am", "vim-runtime", "virtinst", "vlc-l10n", "weechat-core", "wesnoth-1.16-did",
    "wesnoth-1.16-dm", "wesnoth-1.16-dw", "wesnoth-1.16-ei", "wesnoth-1.16-httt",
    "wesnoth-1.16-l", "wesnoth-1.16-low", "wesnoth-1.16-nr", "wesnoth-1.16-sof",
    "wesnoth-1.16-sota", "wesnoth-1.16-sotbe", "wesnoth-1.16-thot", "wesnoth-1.16-tsg",
    "wesnoth-1.16-ttb", "wesnoth-1.16-utbs", "wget", "wmaker-common", "wx3.2-i18n", "wxmaxima",
    "xfce4-weather-plugin", "xfsdump", "xfsprogs", "xmoto", "xournalpp", "znc", "zypper-common",
]  # fmt: skip


class Options(debian.PackageOptions):
    """Which programs, and where their catalogs come from."""

    packages: list[debian.Package] = Field(
        PACKAGES,
        min_length=1,
        description="apt: packages with catalogs; the language that is not English, as in "
        "libreoffice-l10n-pt-br, replaces {language}; the log names those that apt lacks, and the "
        "versions of the others",
    )
    folder: Folder | None = Field(
        None,
        description="folder: a folder with packages (.deb), or with <language>/LC_MESSAGES/*.mo at "
        "some depth",
    )

    def read_files(self) -> list[str]:
        return [str(path) for path in _files(self.folder)] if self.folder else []


def fetch(options: Options, download_folder: Path) -> pd.DataFrame:
    """The sentences of the messages that are translated. A document is a catalog, named by its path
    without the language; an element is the number of a sentence in it.

    Raises UserError if packages cannot be fetched or read, and if they hold no catalog.
    """
    with debian.reading("catalogs"):
        by_name = _catalogs(options, download_folder)
    rows: list[tuple[str, ...]] = []
    unpaired: list[str] = []
    n = 0
    for name in sorted(by_name):
        of_messages = [
            (text, catalogs.pairs(text, to)) for text, to in _messages(name, by_name[name])
        ]
        pairs = [pair for _, of_message in of_messages for pair in of_message]
        rows += [(name, str(number), *pair) for number, pair in enumerate(pairs, start=1)]
        unpaired += [text for text, of_message in of_messages if not of_message]
        n += len(of_messages)
    english = ["source", "target"] if options.languages[0] == "en" else ["target", "source"]
    table = pd.DataFrame(rows, columns=["document", "element", *english], dtype=str)
    step, key = "pairing the sentences of messages", "corpus.sources.program_messages"
    return carry(table[COLUMNS], tell([of_texts(step, key, unpaired, n, "messages")]))


def _catalogs(options: Options, download_folder: Path) -> dict[str, bytes]:
    """The catalogs of the language by name; the first, if several have one name.

    Raises UserError if there are none.
    """
    tag = options.translation.replace("_", "-").lower()
    names = [name.replace("{language}", tag) for name in options.packages]
    if options.folder:
        files = _files(options.folder)
    else:
        download_folder.mkdir(parents=True, exist_ok=True)
        offered = _offered(names, download_folder)
        files = debian.packages(offered, download_folder, ELSEWHERE)
        log.info("packages: %s", ", ".join(file.name for file in files))
    by_name: dict[str, bytes] = {}
    language = options.translation
    wanted = re.compile(_CATALOG.format(language=f"{language}(?:_{language.upper()})?"))
    for file in files:
        for path, data in _contents(file, wanted, options.folder):
            by_name.setdefault(_name(path), data)
    if not by_name:
        raise UserError(
            f"no catalog of messages in {language!r} in {options.folder or 'the packages'}; "
            f"expected {language}/LC_MESSAGES/*.mo at some depth"
        )
    return by_name


def _offered(names: Sequence[str], folder: Path) -> list[str]:
    """The packages that are in apt's indices; all, if it has no index.

    Releases rename packages, and one that apt lacks would stop the download of all.
    """
    if all(any(folder.glob(f"{name}_*.deb")) for name in names):
        return list(names)
    debian.renew_lists(folder, [], ELSEWHERE)
    known: set[str] = set()
    for index in (folder / "apt/lists").glob("*_Packages"):
        lines = index.read_text("utf-8").splitlines()
        known |= {line.split()[1] for line in lines if line.startswith("Package: ")}
    offered = [name for name in names if name in known]
    if offered and (lacking := sorted(set(names) - known)):
        log.warning("left out of the text, since apt lacks them: %s", ", ".join(lacking))
    return offered or list(names)


_CATALOG = r"(?:^|/){language}/LC_MESSAGES/[^/]+\.mo$"


def _files(folder: Path) -> list[Path]:
    """The packages and catalogs in a folder, without aliases."""
    files = [path for path in below(folder) if path.suffix in (".deb", ".mo")]
    return once([path for path in files if path.is_file()])


def _contents(file: Path, wanted: re.Pattern, folder: Path | None) -> Iterator[tuple[str, bytes]]:
    if file.suffix == ".deb":
        with file.open("rb") as stream:
            yield from members(stream, wanted, file.name)
    elif folder and wanted.search(path := file.relative_to(folder).as_posix()):
        yield path, file.read_bytes()


def _name(path: str) -> str:
    """A catalog's path without what all have: git for usr/share/locale/de/LC_MESSAGES/git.mo."""
    name = re.sub(r"[^/]+/LC_MESSAGES/", "", path.removeprefix("./")).removesuffix(".mo")
    return name.removeprefix("usr/share/locale/")


def _messages(name: str, catalog: bytes) -> list[tuple[str, str]]:
    """The messages of a catalog and their translations; none, with a warning, if it is damaged."""
    try:
        return list(catalogs.messages(catalog))
    except ValueError as error:
        log.warning(
            "the catalog %s.mo is damaged, or not in its encoding (%s); it is left out", name, error
        )
        return []
