// Ranks that are MPI processes (`mpirun -n N quern …`, srun). Written to MPI-3.1; messages are non-blocking and
// polled, so that waits are bounded and leave the core to others on a machine with more ranks than cores. Without MPI
// at build time these functions exist and say so.
#pragma once
#include <functional>

#include "quern/comm/communicator.h"

namespace quern {

bool mpi_built();
bool under_mpi();  // a launcher started this process as one of several: its environment says so

// Starts MPI, calls fn with the communicator of all processes, ends MPI. Once in a process. If fn throws, the message
// goes to stderr with the rank's number and all processes end with code 1.
struct MpiOptions {
  double timeout_s = 1800;  // of one wait
};
void run_mpi(const std::function<void(Communicator&)>& fn, const MpiOptions& options = {});

}  // namespace quern
