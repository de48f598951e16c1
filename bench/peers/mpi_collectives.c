// MPI's own collectives, timed as quern bench comm times ours: calls in a row on zeros, the slowest rank, the median of
// the repetitions. Prints "operation bytes seconds" a line.   mpicc -O2 mpi_collectives.c; mpirun -n N a.out MAX_MIB REPS
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int rank, ranks;

static void call(int what, float* in, float* out, int n, int* root) {
  const int own = n / ranks, last = ranks - 1;
  switch (what) {
    case 0:
      MPI_Allreduce(MPI_IN_PLACE, in, n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
      break;
    case 1:
      MPI_Reduce_scatter_block(in, out, own, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
      break;
    case 2:
      MPI_Allgather(in, own, MPI_FLOAT, out, own, MPI_FLOAT, MPI_COMM_WORLD);
      break;
    case 3:
      MPI_Bcast(in, n, MPI_FLOAT, *root, MPI_COMM_WORLD);
      *root = (*root + 1) % ranks;
      break;
    case 4:
      MPI_Alltoall(in, own, MPI_FLOAT, out, own, MPI_FLOAT, MPI_COMM_WORLD);
      break;
    case 5:
      if (rank == last) MPI_Recv(out, n, MPI_FLOAT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      if (rank == 0) MPI_Send(in, n, MPI_FLOAT, last, 0, MPI_COMM_WORLD);
      if (rank == last) MPI_Send(in, n, MPI_FLOAT, 0, 0, MPI_COMM_WORLD);
      if (rank == 0) MPI_Recv(out, n, MPI_FLOAT, last, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      break;
    default:
      MPI_Sendrecv(in, n, MPI_FLOAT, (rank + 1) % ranks, 0, out, n, MPI_FLOAT, (rank + ranks - 1) % ranks, 0,
                   MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

static double timed(int what, float* in, float* out, int n, int calls, int* root) {
  double slowest = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  for (int i = 0; i < calls; ++i) call(what, in, out, n, root);
  const double mine = (MPI_Wtime() - begin) / calls / (what == 5 ? 2 : 1);
  MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return slowest;
}

static int by_size(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

int main(int argc, char** argv) {
  static const char* names[] = {"all-reduce", "reduce-scatter", "all-gather", "broadcast",
                                "all-to-all", "message",        "shift"};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const long most = argc > 1 ? atol(argv[1]) << 20 : 1 << 20;
  const int reps = argc > 2 ? atoi(argv[2]) : 7;
  double* seconds = malloc(sizeof(double) * (size_t)reps);
  float *in = calloc((size_t)most, 1), *out = calloc((size_t)most, 1);
  for (int what = 0; what < 7; ++what)
    for (long bytes = 8; bytes <= most; bytes *= 2) {
      const int n = (int)(bytes / 4);
      int root = 0;
      if (n < ranks && what != 3 && what < 5) continue;  // pieces of equal length
      call(what, in, out, n, &root);
      const double once = timed(what, in, out, n, 1, &root);
      int calls = (int)(0.01 / once) + 1;
      calls = calls < 2 ? 2 : calls > 1000 ? 1000 : calls;
      for (int r = 0; r < reps; ++r) seconds[r] = timed(what, in, out, n, calls, &root);
      qsort(seconds, (size_t)reps, sizeof(double), by_size);
      if (rank == 0) printf("%s %ld %.9f\n", names[what], bytes, seconds[reps / 2]);
    }
  MPI_Finalize();
  return 0;
}
