"""The site from what lies in the repository as it is: `make site`.

The pages of the root (README, CHANGELOG, ...) stand beside those of docs/, README as the first; files that a
page links to come along; links lead to the same file on the site as in the repository.  docs/demo.md shows
the report of `make demo`, and docs/commands.md gets the options of the learners.
"""

import posixpath
import re
from dataclasses import fields
from pathlib import Path

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

from flyannot.base.options import format_default, to_kebab_case
from flyannot.sparse.learners import LEARNERS

ROOT = Path(__file__).resolve().parents[1]
DEMO = ROOT / "demo-output"
_LINK = re.compile(r"(\]\()(?!https?:|mailto:|#)([^)#\s]+)")
_ROOT_PAGES = {"README.md": "index.md"}
_REPORT = """
[Open it in a tab of its own](demo-report/report.html).

<iframe src="demo-report/report.html" title="The report of the demo" width="100%" height="800"></iframe>
"""
_RECORDS = ("papers", "measured", "commands", "CHANGELOG")  # whose tables would come first in every search


def on_config(config):
    """Where the navigation has a pattern such as papers/*.md, the pages of that name stand."""
    config.nav = list(_filled(config.nav))
    return config


def on_post_build(config):
    """Without an address of the site there is no map of it, and no page for addresses that it lacks."""
    for name in ("sitemap.xml", "sitemap.xml.gz", "404.html"):
        if not config.site_url:
            (Path(config.site_dir) / name).unlink()


def _filled(entries):
    for entry in list(entries):
        if isinstance(entry, dict):
            yield {name: list(_filled(to)) if isinstance(to, list) else to for name, to in entry.items()}
        elif "*" in entry:
            pages = sorted((ROOT / "docs").glob(entry))
            yield from (page.relative_to(ROOT / "docs").as_posix() for page in pages)
        else:
            yield entry


def on_files(files, config):
    """Add the pages of the root, what is linked from anywhere, and the demo's report."""
    waiting = list(ROOT.glob("*.md"))
    waiting += [ROOT / "docs" / file.src_uri for file in files.documentation_pages()]
    known = {file.src_uri for file in files}
    while waiting:
        path = waiting.pop()
        if (name := _on_site(path)) not in known:
            known.add(name)
            files.append(File.generated(config, name, abs_src_path=str(path)))
        if path.suffix == ".md":
            targets = (path.parent / target for _, target in _LINK.findall(path.read_text(encoding="utf-8")))
            found = (target.resolve() for target in targets if target.is_file())
            waiting += [target for target in found if _on_site(target) not in known]
    if not (DEMO / "report.html").is_file():
        raise PluginError("there is no report of the demo yet: make demo")
    for path in sorted([DEMO / "report.html", *DEMO.glob("report.html-files-*/**/*")]):
        if path.is_file():
            name = f"demo-report/{path.relative_to(DEMO).as_posix()}"
            files.append(File.generated(config, name, abs_src_path=str(path)))
    return files


def _on_site(path):
    """Return the name on the site of a file of the repository."""
    name = path.relative_to(ROOT).as_posix()
    return name.removeprefix("docs/") if name.startswith("docs/") else _ROOT_PAGES.get(name, name)


def on_page_markdown(markdown, page, config, files):
    """Every link to a file leads to where that file is on the site."""
    source = Path(page.file.abs_src_path)
    if page.file.src_uri == "demo.md":  # room for the report
        page.meta["hide"] = ["navigation", "toc"]
        markdown += _REPORT
    if page.file.src_uri == "commands.md":
        markdown += learner_tables()
    if page.file.src_uri.startswith(_RECORDS):
        page.meta["search"] = {"boost": 0.2}

    def moved(found):
        target = (source.parent / found[2]).resolve()
        if not target.is_file():
            return found[0]  # of which mkdocs complains
        return found[1] + posixpath.relpath(_on_site(target), posixpath.dirname(page.file.src_uri) or ".")

    return _LINK.sub(moved, markdown)


def learner_tables():
    """Return the options of every learner as tables of Markdown."""
    lines = []
    for name, learner in LEARNERS.items():
        lines += ["", f"### {name}", "", "| | value | default | |", "|---|---|---|---|"]
        for field in fields(learner.Options):
            kind = field.metadata["kind"]
            value = ", ".join(f"`{choice}`" for choice in kind.choices) or kind.words
            text = field.metadata["help"].replace("|", "\\|")
            lines.append(f"| `{to_kebab_case(field.name)}` | {value} | {format_default(field)} | {text} |")
    return "\n".join(lines) + "\n"
