/* The command quern of the wheel: all of it is in libquern.so. */
int quern_main(int argc, char** argv);
int main(int argc, char** argv) { return quern_main(argc, argv); }
