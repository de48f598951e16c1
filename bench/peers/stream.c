// Copy and triad as McCalpin's STREAM defines them: double precision, arrays beyond the caches, plain loops, the best of
// the repetitions, counted as bytes read plus bytes written. In huge pages, as Quern's own memory lies; with 4 as the
// third word in ordinary ones.   gcc -O3 -march=native -fopenmp stream.c; a.out MIB REPS [4]
#define _DEFAULT_SOURCE
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

static double* array(long n, int huge) {
  const size_t page = 2 << 20, bytes = (8 * (size_t)n + page - 1) / page * page;
  double* p = aligned_alloc(page, bytes);
  if (huge) madvise(p, bytes, MADV_HUGEPAGE);
  return p;
}

int main(int argc, char** argv) {
  const long n = (argc > 1 ? atol(argv[1]) : 128) * (1 << 20) / 24;
  const int reps = argc > 2 ? atoi(argv[2]) : 10;
  double *a = array(n, argc < 4), *b = array(n, argc < 4), *c = array(n, argc < 4);
  double copy = 1e9, triad = 1e9;
#pragma omp parallel for
  for (long i = 0; i < n; ++i) a[i] = 1, b[i] = 2, c[i] = 0;
  for (int r = 0; r < reps; ++r) {
    double begin = omp_get_wtime();
#pragma omp parallel for
    for (long i = 0; i < n; ++i) c[i] = a[i];
    double t = omp_get_wtime() - begin;
    copy = t < copy ? t : copy;
    begin = omp_get_wtime();
#pragma omp parallel for
    for (long i = 0; i < n; ++i) a[i] = b[i] + 3 * c[i];
    t = omp_get_wtime() - begin;
    triad = t < triad ? t : triad;
  }
  printf("copy %.3f triad %.3f check %g\n", 16e-9 * (double)n / copy, 24e-9 * (double)n / triad, a[n / 2]);
  return 0;
}
