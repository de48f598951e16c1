// Ranks that are MPI processes (`mpirun -n N quern …`, srun). Uses MPI-3.1; messages are non-blocking and polled, so
// that waits are bounded and yield the core on machines with more ranks than cores. In a build without MPI these
// functions exist and report that.
#pragma once
#include <functional>

#include "quern/comm/communicator.h"

namespace quern::comm {

bool mpi_built();
bool under_mpi();  // a launcher started this process as one of several: its environment says so

// Starts MPI, calls fn with the communicator of all processes, ends MPI. Once in a process. If fn throws, the message
// goes to stderr with the rank's number and all processes end with code 1.
struct MpiOptions {
  double timeout_s = 1800;  // of one wait
};
void run_mpi(const std::function<void(Communicator&)>& fn, const MpiOptions& options = {});

}  // namespace quern::comm
