#include <stdlib.h>

int run(int count);

int main(int argc, char **argv)
{
    return run(argc > 1 ? (int)strtol(argv[1], NULL, 10) : 3) == 0;
}
