// std::random_device of GCC 12's libstdc++ calls arc4random, which glibc has since 2.36. With this one the wheel runs
// on glibc 2.34 as well.
#include <sys/random.h>

#include <cstdint>
#include <cstdlib>

extern "C" uint32_t arc4random() {
  uint32_t bits = 0;
  if (getentropy(&bits, sizeof bits) != 0) std::abort();  // no source of random numbers: nothing that could go on
  return bits;
}
