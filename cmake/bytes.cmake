# Writes the bytes of a file into a header, as an array.
file(READ ${PROGRAM} hex HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
file(WRITE ${OUTPUT} "#pragma once\n\nnamespace cove::init {\n\ninline constexpr unsigned char ${NAME}[] = {${bytes}};\n\n}  // namespace cove::init\n")
