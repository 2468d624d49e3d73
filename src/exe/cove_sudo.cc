#include "init/sudo_client.h"

int main(int, char** argv) { return cove::init::sudo_main(argv); }
