/* The C interface by its short name. */
#include <quern/quern.h>
