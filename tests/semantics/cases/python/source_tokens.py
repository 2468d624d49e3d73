import ast
import io
import tokenize

with tokenize.open(__file__) as file:
    print(file.encoding, len(file.read()))
with open(__file__, "rb") as file:
    print([token.string for token in tokenize.tokenize(file.readline)][:6])
print(ast.dump(ast.parse(open(__file__).read()).body[0]))
print(ast.get_docstring(ast.parse(io.StringIO('"""x"""').read())))
