#include "cli/verbs.h"
#include "sys/standard_streams.h"

int main(int argc, char** argv) {
  cove::sys::keep_standard_streams();
  return cove::cli::cove({argv + (argc > 0 ? 1 : 0), argv + argc});
}
