import pydoc


def f(a: int) -> str:
    """Says something about a."""


print(pydoc.render_doc(f, renderer=pydoc.plaintext))
import __main__

print(pydoc.plain(pydoc.render_doc(__main__))[:700])
