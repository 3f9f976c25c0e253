"""The audit of mypaper."""

from attention_audit import Audit, Paper

AUDIT = Audit(
    __name__,
    "The claims of mypaper, judged",
    (Paper("mypaper", "A. Author, My paper on attention (2026)", "Author 2026", folder="claims"),),
)
