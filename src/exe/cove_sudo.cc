#include "init/sudo_client.h"
#include "sys/standard_streams.h"

int main(int, char** argv) {
  cove::sys::keep_standard_streams();
  return cove::init::sudo_main(argv);
}
