#include "cli/verbs.h"

int main(int argc, char** argv) { return cove::cli::cove({argv + (argc > 0 ? 1 : 0), argv + argc}); }
