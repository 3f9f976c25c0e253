"""The form with which a reader changes a theory's assumptions on a page (assets/live.js makes it work)."""

from __future__ import annotations

import html
import re

from book.ledger import LedgerError, Live
from book.markup import code, scroll, table, text
from checks.audit import current
from checks.run.bounded import SECONDS, too_long
from checks.run.theories import theories
from derivations.theories.theory import Knob, Theory


def block(name: str, live: Live) -> str:
    """The form of a theory; where the book brings no Python, its knobs as a table, and why.

    Raises LedgerError for a theory that there is not.
    """
    known = theories()
    if name not in known:
        raise LedgerError(f"no theory {name!r} has a form; there are {', '.join(known)}")
    theory = known[name]
    if live.missing:
        return f"{_absent(name, live.missing)}\n\n{knobs(theory)}"
    return f"```{{raw}} html\n{_form(theory, live)}\n```"


def knobs(theory: Theory) -> str:
    """The knobs of a theory as a table."""
    rows = [
        [code(k.name), code(_default(theory, k)), ", ".join(map(code, k.allowed)), text(k.meaning)]
        for k in theory.knobs
    ]
    return scroll(table(["Knob", "The paper's", "Allowed", "Decides"], rows))


def _absent(name: str, why: str) -> str:
    return (
        ":::{note}\nThis book was built without Python for the browser, so that this page cannot derive: "
        f"{text(why)}. In a terminal: {code(f'{current().command} derive {name} --set KNOB=VALUE')}.\n:::"
    )


def _default(theory: Theory, knob: Knob) -> str:
    return str(getattr(theory.defaults, knob.name))


def _form(theory: Theory, live: Live) -> str:
    quoted = html.escape(too_long(SECONDS))
    return f"""<form class="live" data-theory="{theory.name}" data-derive="{live.derive}"
data-judge="{live.judge}" data-limit="{SECONDS}" data-late="{quoted}">
<div class="live-knobs">
{"".join(_field(theory, knob) for knob in theory.knobs)}</div>
<p class="live-buttons"><button type="submit">Derive here</button>
<button type="button" class="live-judge">Which verdicts change</button>
<button type="button" class="live-stop" hidden>Stop</button>
<button type="button" class="live-reset">The paper's</button>
<button type="button" class="live-link">Copy the link</button></p>
<p class="live-terminal">In a terminal: <code class="live-command">attest derive {theory.name}</code>
<button type="button" class="live-copy">Copy the command</button></p>
<p class="live-status" role="status">Deriving starts Python in your browser: {live.derive:g} MB from this
book's own folder. Nothing is loaded before, and nothing is sent anywhere.</p>
<noscript><p>This form needs JavaScript; the command does the same in a terminal.</p></noscript>
</form>"""


def _field(theory: Theory, knob: Knob) -> str:
    """A list to choose from, or a line to write in where a value can be written that is not listed."""
    default = _default(theory, knob)
    name, kept = html.escape(knob.name), html.escape(default)
    listed = [value for value in knob.allowed if not _is_placeholder(value)]
    if len(listed) == len(knob.allowed):
        options = "".join(_option(value, value == default) for value in listed)
        entry = f'<select name="{name}" data-default="{kept}">{options}</select>'
    else:
        values = dict.fromkeys([default, *listed, *knob.examples])
        entry = (
            f'<input name="{name}" value="{kept}" data-default="{kept}" spellcheck="false" '
            f'autocomplete="off" list="{theory.name}-{name}">'
            f'<datalist id="{theory.name}-{name}">{"".join(_option(v) for v in values)}</datalist>'
            f"<small>{html.escape(', '.join(knob.allowed))}</small>"
        )
    return f"<label><code>{name}</code>{entry}<small>{html.escape(knob.meaning)}</small></label>\n"


def _option(value: str, chosen: bool = False) -> str:
    shown = html.escape(value)
    return f'<option value="{shown}"{" selected" if chosen else ""}>{shown}</option>'


def _is_placeholder(value: str) -> bool:
    """Whether an allowed value stands for many: it has a word in capitals."""
    return re.search("[A-Z]{2}", value) is not None
