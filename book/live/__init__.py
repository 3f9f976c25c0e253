"""The page that derives and judges in the reader's browser: what it asks Python, and how that gets there.

`answers` runs in the browser, under Pyodide, and imports what deriving and judging need only; `pack` puts
Python, SymPy and this project into the book; `form` writes the forms with the knobs.
"""
